//! What `Edit` and `MultiEdit` do and answer.

use std::fs;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::super::tests::Room;

/// A file that was read, one call, and what the file holds then.
#[allow(clippy::needless_pass_by_value)]
fn check(before: &str, tool: &str, mut input: Value, expected: Expect) {
    let room = Room::with(&[("a.txt", before)]);
    room.call("Read", &json!({ "file_path": "a.txt" }));
    input["file_path"] = "a.txt".into();
    let output = room.call(tool, &input);
    let after = fs::read_to_string(room.path("a.txt")).unwrap();
    let file = if after == before { "as before".to_owned() } else { format!("{after:?}") };
    if output.is_error {
        assert_eq!(after, before);
        assert_eq!(output.diff, None);
    }
    let kind = if output.is_error { "error: " } else { "" };
    expected.assert_eq(&format!("{kind}{}\n-> {file}", output.text));
}

fn check_edit(before: &str, old: &str, new: &str, expected: Expect) {
    check(before, "Edit", json!({ "old_string": old, "new_string": new }), expected);
}

#[test]
fn a_file_that_was_not_read_or_has_changed_is_not_edited() {
    let room = Room::with(&[("a.txt", "old\n")]);
    let input = json!({ "file_path": "a.txt", "old_string": "old", "new_string": "new" });
    let expected =
        expect!["error: `a.txt` has not been read since this run began or was resumed; Read it first"];
    room.check("Edit", input.clone(), expected);
    room.call("Read", &json!({ "file_path": "a.txt" }));
    room.write("a.txt", b"old and new\n");
    let expected = expect!["error: `a.txt` has changed since it was read; Read it again"];
    room.check("Edit", input, expected);
}

#[test]
fn a_text_that_is_not_there_is_explained() {
    check_edit(
        "fn main() {\n\tlet answer = compute(6, 7);\n\tprint(answer);\n}\n",
        "    let answer = compute(6, 7);\n    print(answer);",
        "",
        expect![[r#"
            error: `a.txt`: old_string `let answer = compute(6, 7); print(answer);` is not in it; these lines differ from it only in white space; where the file has 1 tab, it has 4 blanks:
                 2		let answer = compute(6, 7);
                 3		print(answer);
            -> as before"#]],
    );
    check_edit(
        "one\ntwo  \nthree\n",
        "two\nthree",
        "x",
        expect![[r#"
            error: `a.txt`: old_string `two three` is not in it; these lines differ from it only in white space:
                 2	two  
                 3	three
            -> as before"#]],
    );
    check_edit(
        "fn main() {\n    let answer = compute(6, 7);\n}\n",
        "let answer = compute(6, 8);",
        "x",
        expect![[r#"
            error: `a.txt`: old_string `let answer = compute(6, 8);` is not in it; the nearest line is 2:
                 1	fn main() {
                 2	    let answer = compute(6, 7);
                 3	}
            -> as before"#]],
    );
    check_edit(
        "one\ntwo\n",
        "     1\tone\n     2\ttwo\n",
        "x",
        expect![[r#"
            error: `a.txt`: old_string `1 one 2 two` is not in it; its lines begin with the numbers that Read shows; leave them out
            -> as before"#]],
    );
    check_edit(
        "one\ntwo\n",
        "something else entirely",
        "x",
        expect![[r#"
            error: `a.txt`: old_string `something else entirely` is not in it; nothing in the file is like it; Read the file again
            -> as before"#]],
    );
}

#[test]
fn an_edit_that_is_not_one_is_refused() {
    check_edit(
        "a\nb\na\n",
        "a",
        "x",
        expect![[r#"
            error: `a.txt`: old_string is found 2 times, in lines 1, 3; add lines around the one you mean, or set replace_all
            -> as before"#]],
    );
    check_edit(
        &"a\n".repeat(2_000),
        "a",
        "x",
        expect![[r#"
            error: `a.txt`: old_string is found 2,000 times, in lines 1, 2, 3, 4, 5, …; add lines around the one you mean, or set replace_all
            -> as before"#]],
    );
    check_edit(
        "a\n",
        "a",
        "a",
        expect![[r#"
            error: `a.txt`: old_string and new_string are the same
            -> as before"#]],
    );
    check_edit(
        "a\n",
        "",
        "x",
        expect![[r#"
            error: `a.txt`: old_string is empty, which only makes a new file; Write replaces one
            -> as before"#]],
    );
}

#[test]
fn a_missing_file_is_made_by_an_empty_text_only() {
    let room = Room::with(&[("main.rs", "")]);
    room.check(
        "Edit",
        json!({ "file_path": "mian.rs", "old_string": "a", "new_string": "b" }),
        expect!["error: `mian.rs` does not exist; did you mean `main.rs`?"],
    );
    room.check(
        "Edit",
        json!({ "file_path": "new/a.rs", "old_string": "", "new_string": "b\n" }),
        expect!["created `new/a.rs` (1 line)"],
    );
    room.check(
        "MultiEdit",
        json!({ "file_path": "b.rs", "edits": [
            { "old_string": "", "new_string": "one\n" },
            { "old_string": "one", "new_string": "two" },
        ] }),
        expect!["created `b.rs` (1 line)"],
    );
    assert_eq!(fs::read_to_string(room.path("b.rs")).unwrap(), "two\n");
}

#[test]
fn what_is_no_text_is_not_edited() {
    let room = Room::with(&[]);
    room.write("latin.txt", b"caf\xe9\n");
    room.call("Read", &json!({ "file_path": "latin.txt" }));
    room.check(
        "Edit",
        json!({ "file_path": "latin.txt", "old_string": "caf", "new_string": "x" }),
        expect!["error: `latin.txt` is not UTF-8 text; only such files are edited"],
    );
}

#[test]
fn an_edit_is_shown_where_it_was_made() {
    let lines: String = (1..=20).map(|number| format!("line {number}\n")).collect();
    check_edit(
        &lines,
        "line 10\n",
        "ten\nand a half\n",
        expect![[r#"
            edited `a.txt` (1 replacement):
                 6	line 6
                 7	line 7
                 8	line 8
                 9	line 9
                10	ten
                11	and a half
                12	line 11
                13	line 12
                14	line 13
                15	line 14
                16	line 15
            -> "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\nten\nand a half\nline 11\nline 12\nline 13\nline 14\nline 15\nline 16\nline 17\nline 18\nline 19\nline 20\n""#]],
    );
    check(
        "a b a\n",
        "Edit",
        json!({ "old_string": "a", "new_string": "é", "replace_all": true }),
        expect![[r#"
            edited `a.txt` (2 replacements):
                 1	é b é
            -> "é b é\n""#]],
    );
    check_edit(
        "only\n",
        "only\n",
        "",
        expect![[r#"
            edited `a.txt` (1 replacement); it is empty now
            -> """#]],
    );
}

#[test]
fn ends_of_lines_and_the_mark_stay() {
    check_edit(
        "\u{feff}one\r\ntwo\r\nthree\r\n",
        "one\ntwo\n",
        "1\n2\n3\n",
        expect![[r#"
            edited `a.txt` (1 replacement):
                 1	1
                 2	2
                 3	3
                 4	three
            -> "\u{feff}1\r\n2\r\n3\r\nthree\r\n""#]],
    );
    check_edit(
        "mixed\nunix\nhere\r\nunix\n",
        "here\r\n",
        "there\r\n",
        expect![[r#"
            edited `a.txt` (1 replacement):
                 1	mixed
                 2	unix
                 3	there
                 4	unix
            -> "mixed\nunix\nthere\nunix\n""#]],
    );
    check_edit(
        "a\r\nb\nc\r\nd\r\n",
        "d",
        "e\nf",
        expect![[r#"
            edited `a.txt` (1 replacement):
                 1	a
                 2	b
                 3	c
                 4	e
                 5	f
            -> "a\r\nb\nc\r\ne\r\nf\r\n""#]],
    );
}

#[test]
fn several_edits_are_made_in_order_or_not_at_all() {
    check(
        "one\ntwo\n",
        "MultiEdit",
        json!({ "edits": [
            { "old_string": "one", "new_string": "two" },
            { "old_string": "two", "new_string": "three", "replace_all": true },
        ] }),
        expect![[r#"
            edited `a.txt` (3 replacements):
                 1	three
                 2	three
            -> "three\nthree\n""#]],
    );
    check(
        "one\ntwo\n",
        "MultiEdit",
        json!({ "edits": [
            { "old_string": "one", "new_string": "1" },
            { "old_string": "one", "new_string": "2" },
        ] }),
        expect![[r#"
            error: `a.txt`: edit 2 of 2: old_string `one` is not in it; nothing in the file is like it; Read the file again
            Nothing was changed.
            -> as before"#]],
    );
    check(
        "one\n",
        "MultiEdit",
        json!({ "edits": [] }),
        expect![[r#"
            error: there are no edits
            -> as before"#]],
    );
}
