//! What `Grep` answers.

use std::fs::File;

use expect_test::expect;
use serde_json::json;

use super::super::tests::Room;

#[test]
fn what_cannot_be_searched_for_is_said() {
    let room = Room::with(&[("a.txt", "x\n"), ("bin", "x\0\n"), (".git/config", "x\n")]);
    room.fifo("pipe");
    for (input, expected) in [
        (
            json!({ "pattern": "a(" }),
            expect![[r#"
            error: the pattern is not a regular expression: regex parse error:
                (?:a()
                ^
            error: unclosed group"#]],
        ),
        (
            json!({ "pattern": "a\\nb" }),
            expect![[r#"
            error: the pattern is not a regular expression: the literal "\n" is not allowed in a regex
            set multiline for that"#]],
        ),
        (
            json!({ "pattern": "(?:a{1000}){1000}{1000}" }),
            expect![
                "error: the pattern is not a regular expression: compiled regex exceeds size limit of 10485760"
            ],
        ),
        (
            json!({ "pattern": "x", "glob": "a[" }),
            expect![
                "error: glob is not right: error parsing glob 'a[': unclosed character class; missing ']'"
            ],
        ),
        (
            json!({ "pattern": "x", "type": "rsut" }),
            expect!["error: type `rsut` is not known; near ones: `rst`, `rust`; or use glob"],
        ),
        (
            json!({ "pattern": "x", "type": "javascript" }),
            expect!["error: type `javascript` is not known; near ones: `java`; or use glob"],
        ),
        (json!({ "pattern": "x", "type": "qqqq" }), expect!["error: type `qqqq` is not known; use glob"]),
        (
            json!({ "pattern": "x", "path": "b.txt" }),
            expect!["error: `b.txt` does not exist; did you mean `a.txt`?"],
        ),
        (json!({ "pattern": "x", "path": "pipe" }), expect!["error: `pipe` is a FIFO, not a regular file"]),
        (json!({ "pattern": "x", "path": "bin" }), expect!["error: `bin` is binary; only text is searched"]),
        (
            json!({ "pattern": "x", "path": ".git/config" }),
            expect!["error: `.git` is not searched; Read and LS show what is in it"],
        ),
        (json!({ "pattern": "y" }), expect!["no matches"]),
        (json!({ "pattern": "x" }), expect!["a.txt"]),
    ] {
        room.check("Grep", input, expected);
    }
}

#[test]
fn what_may_not_be_read_is_said() {
    let mut room = Room::with(&[("a.txt", "x\n"), ("b.txt", "x\n"), ("locked/c.txt", "x\n")]);
    if room.lock("b.txt") && room.lock("locked") {
        let expected = expect![[r#"
            a.txt
            [1 path could not be read, first locked]
            [1 path could not be searched, first b.txt]"#]];
        room.check("Grep", json!({ "pattern": "x" }), expected);
        let expected = expect!["error: `b.txt` cannot be read: permission denied"];
        room.check("Grep", json!({ "pattern": "x", "path": "b.txt" }), expected);
    }
}

#[test]
fn a_link_is_not_followed_by_a_search() {
    let room = Room::with(&[("a.txt", "secret\n")]);
    room.write_outside("secret.txt");
    room.link("out.txt", "../secret.txt");
    room.link("up", "..");
    room.link("alias.txt", "a.txt");
    room.check("Grep", json!({ "pattern": "secret" }), expect!["a.txt"]);
}

#[test]
fn a_huge_file_of_nothing_is_left_at_once() {
    let room = Room::with(&[("a.txt", "x\n"), ("huge.log", "x\n")]);
    File::options().write(true).open(room.path("huge.log")).unwrap().set_len(8 << 30).unwrap();
    let input = json!({ "pattern": "x", "path": "huge.log", "output_mode": "count" });
    room.check("Grep", input, expect!["error: `huge.log` is binary; only text is searched"]);
    room.check("Grep", json!({ "pattern": "x", "multiline": true }), expect!["a.txt"]);
}

#[test]
fn the_result_ends_at_its_limits_and_says_so() {
    let mut room = Room::with(&[("a.txt", &"x\n".repeat(300)), ("b.txt", "x\n"), ("c.txt", "x\n")]);
    let last_lines = |room: &Room, input: &serde_json::Value| {
        let output = room.call("Grep", input);
        assert!(output.text.len() <= room.context.output_bytes_max);
        let lines: Vec<&str> = output.text.lines().collect();
        lines[lines.len() - 2..].join("\n")
    };
    let content = json!({ "pattern": "x", "output_mode": "content" });
    expect![[r#"
        a.txt:250:x
        [the first 250 lines; for the rest raise head_limit, or narrow pattern, path or glob]"#]]
    .assert_eq(&last_lines(&room, &content));
    let unlimited = json!({ "pattern": "x", "output_mode": "content", "head_limit": 0 });
    expect![[r#"
        b.txt:1:x
        c.txt:1:x"#]]
    .assert_eq(&last_lines(&room, &unlimited));
    room.check(
        "Grep",
        json!({ "pattern": "x", "head_limit": 2 }),
        expect![[r#"
        a.txt
        b.txt
        [the first 2 files; for the rest raise head_limit, or narrow pattern, path or glob]"#]],
    );
    room.check(
        "Grep",
        json!({ "pattern": "x", "head_limit": 3 }),
        expect![[r#"
        a.txt
        b.txt
        c.txt"#]],
    );
    room.check(
        "Grep",
        json!({ "pattern": "x", "head_limit": 1, "output_mode": "count" }),
        expect![[r#"
        a.txt:300
        [the first 1 file; for the rest raise head_limit, or narrow pattern, path or glob]"#]],
    );
    room.context.output_bytes_max = 160;
    room.check(
        "Grep",
        unlimited,
        expect![[r#"
        a.txt:1:x
        a.txt:2:x
        a.txt:3:x
        a.txt:4:x
        a.txt:5:x
        a.txt:6:x
        a.txt:7:x
        a.txt:8:x
        [the first 8 lines; for the rest narrow pattern, path or glob]"#]],
    );
}

#[test]
fn a_long_line_is_cut_around_its_match() {
    let far = format!("{}needle{}", "é".repeat(1_000), "y".repeat(1_000));
    let last = format!("{}needle", "y".repeat(100_000));
    let room = Room::with(&[("a.txt", &format!("needle{}\n{far}\n{last}\n", "z".repeat(600)))]);
    let output = room.call("Grep", &json!({ "pattern": "needle", "output_mode": "content" }));
    let expected = [
        format!("a.txt:1:needle{}…", "z".repeat(494)),
        format!("a.txt:2:…{}needle{}…", "é".repeat(50), "y".repeat(444)),
        format!("a.txt:3:…{}needle", "y".repeat(494)),
    ];
    assert_eq!(output.text, expected.join("\n"));
}

#[test]
fn lines_come_with_their_neighbours() {
    let text = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
    let room = Room::with(&[("a.txt", text), ("b.txt", "six\r\nSIX\r\n")]);
    for (input, expected) in [
        (
            json!({ "pattern": "two|six$" }),
            expect![[r#"
            a.txt:2:two
            a.txt:6:six
            b.txt:1:six"#]],
        ),
        (
            json!({ "pattern": "two|six$", "-A": 1 }),
            expect![[r#"
            a.txt:2:two
            a.txt-3-three
            --
            a.txt:6:six
            a.txt-7-seven
            --
            b.txt:1:six
            b.txt-2-SIX"#]],
        ),
        (
            json!({ "pattern": "two|four", "-C": 1, "-n": false }),
            expect![[r#"
            a.txt-one
            a.txt:two
            a.txt-three
            a.txt:four
            a.txt-five"#]],
        ),
        (
            json!({ "pattern": "two|six$", "-A": 1, "head_limit": 2 }),
            expect![[r#"
            a.txt:2:two
            a.txt-3-three
            [the first 2 lines; for the rest raise head_limit, or narrow pattern, path or glob]"#]],
        ),
        (
            json!({ "pattern": "four", "-C": 2.0, "-B": 0 }),
            expect![[r#"
            a.txt:4:four
            a.txt-5-five
            a.txt-6-six"#]],
        ),
        (
            json!({ "pattern": "six", "-i": true, "path": "b.txt" }),
            expect![[r#"
            b.txt:1:six
            b.txt:2:SIX"#]],
        ),
        (
            json!({ "pattern": "two.three\\nf", "multiline": true }),
            expect![[r#"
            a.txt:2:two
            a.txt:3:three
            a.txt:4:four"#]],
        ),
    ] {
        let mut input = input;
        input["output_mode"] = json!("content");
        room.check("Grep", input, expected);
    }
}

#[test]
fn files_are_chosen_by_glob_and_type_and_sorted_by_path() {
    let room = Room::with(&[
        ("b.rs", "x\nx\n"),
        ("a/c.rs", "x\n"),
        ("a/d.ts", "x\n"),
        ("a/e.tsx", "x\n"),
        (".github/f.yml", "x\n"),
        ("ignored.rs", "x\n"),
        ("binary.rs", "x\n\0"),
        (".git/g.rs", "x\n"),
        (".gitignore", "ignored.rs\n"),
    ]);
    room.write("wide.txt", b"\xff\xfex\0\n\0");
    for (input, expected) in [
        (
            json!({ "pattern": "x" }),
            expect![[r#"
            .github/f.yml
            a/c.rs
            a/d.ts
            a/e.tsx
            b.rs
            wide.txt"#]],
        ),
        (
            json!({ "pattern": "x", "output_mode": "count" }),
            expect![[r#"
            .github/f.yml:1
            a/c.rs:1
            a/d.ts:1
            a/e.tsx:1
            b.rs:2
            wide.txt:1"#]],
        ),
        (json!({ "pattern": "x", "glob": "*.rs", "path": "a" }), expect!["a/c.rs"]),
        (
            json!({ "pattern": "x", "glob": "*.ts, *.tsx" }),
            expect![[r#"
            a/d.ts
            a/e.tsx"#]],
        ),
        (
            json!({ "pattern": "x", "glob": "a/**/*.{ts,tsx}" }),
            expect![[r#"
            a/d.ts
            a/e.tsx"#]],
        ),
        (
            json!({ "pattern": "x", "glob": "!*.rs" }),
            expect![[r#"
            .github/f.yml
            a/d.ts
            a/e.tsx
            wide.txt"#]],
        ),
        (
            json!({ "pattern": "x", "type": "rust" }),
            expect![[r#"
            a/c.rs
            b.rs"#]],
        ),
        (json!({ "pattern": "x", "path": "ignored.rs" }), expect!["ignored.rs"]),
    ] {
        room.check("Grep", input, expected);
    }
}
