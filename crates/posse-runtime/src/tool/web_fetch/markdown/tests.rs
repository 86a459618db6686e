//! Pages and what they become.

use expect_test::{Expect, expect};
use reqwest::Url;

use super::markdown;

#[allow(clippy::needless_pass_by_value)]
fn check(html: &str, expected: Expect) {
    let page = markdown(html, &Url::parse("https://example.org/docs/a.html").unwrap());
    let title = if page.title.is_empty() { String::new() } else { format!("title: {}\n", page.title) };
    expected.assert_eq(&format!("{title}{}", page.text));
}

#[test]
fn what_has_no_words_is_left_out() {
    check(
        "<!doctype html><html><head><title> A &amp;\n B </title><style>p { x: '</p>' }</style>
         <script>if (a < b) document.write('<p>no</p>')</script></head>
         <body><!-- no --><svg><title>no</title><path/></svg><p>yes</p><template><template>no</template>no</template></body>",
        expect![[r#"
            title: A & B
            yes"#]],
    );
}

#[test]
fn headings_paragraphs_and_lists() {
    check(
        "<h1>One</h1><p>Some   <b>bold</b>\n text,<br>broken.</p><div><div>nested</div></div>
         <ul><li>a<li>b<ol><li>b1</li><li>b2</li></ol></li></ul><h2>Two</h2><blockquote><p>said</p><p>more</p></blockquote><hr>end",
        expect![[r#"
            # One

            Some bold text,
            broken.

            nested

            - a
            - b
              1. b1
              2. b2

            ## Two

            > said
            >
            > more

            ---

            end"#]],
    );
}

#[test]
fn links_and_pictures_are_absolute() {
    check(
        "See <a href='b.html'>the <i>next</i></a>, <a href='#top'>top</a>, <a href='javascript:x()'>bad</a>,
         <a href='/x'></a><a href='//other.org/y'>other</a>.<img src=i.png alt='a  map'><img src=j.png>
         <a href=/z>open <a href=/w>closed</a>",
        expect![
            "See [the next](https://example.org/docs/b.html), top, bad, [other](https://other.org/y).![a map](https://example.org/docs/i.png) [open](https://example.org/z) [closed](https://example.org/w)"
        ],
    );
}

#[test]
fn code_keeps_its_shape() {
    check(
        "<p>Use <code>a &lt; b</code>:</p><pre><code class=rust>fn x() {\n    1\n}\n</code></pre><p>then",
        expect![[r#"
            Use `a < b`:

            ```
            fn x() {
                1
            }
            ```

            then"#]],
    );
}

#[test]
fn tables_are_rows() {
    check(
        "<table><thead><tr><th>a</th><th>b</th></tr></thead><tr><td><p>1</p></td><td>2<br>3</td></tr></table>after",
        expect![[r#"
            | a | b |
            |---|---|
            | 1 | 2 3 |

            after"#]],
    );
}

#[test]
fn a_page_that_means_harm_costs_no_more_than_its_length() {
    let base = Url::parse("https://example.org").unwrap();
    for piece in [
        "<div>",
        "<ul><li>",
        "<a href=x>",
        "<b id=1><p>",
        "<table><tr><td>",
        "<pre>",
        "<blockquote>",
        "</a></li>",
        "<svg>",
    ] {
        let page = markdown(&piece.repeat(10_000), &base);
        assert!(page.text.len() < 600_000, "{piece}: {}", page.text.len());
    }
}
