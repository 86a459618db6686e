//! What `LS` answers.

use expect_test::expect;
use serde_json::json;

use super::super::tests::Room;

#[test]
fn what_cannot_be_listed_is_said() {
    let mut room = Room::with(&[("a.txt", ""), ("src/", ""), ("locked/", "")]);
    for (input, expected) in [
        (json!({ "path": "a.txt" }), expect!["error: `a.txt` is a file; Read shows what is in it"]),
        (json!({ "path": "scr" }), expect!["error: `scr` does not exist; did you mean `src`?"]),
        (json!({ "path": "src" }), expect!["[`src` is empty]"]),
        (
            json!({ "path": ".", "ignore": ["a["] }),
            expect!["error: ignore: `a[`: unclosed character class; missing ']'"],
        ),
        (json!({ "path": ".", "ignore": ["*"] }), expect!["[`.` is empty, but for what was to be ignored]"]),
    ] {
        room.check("LS", input, expected);
    }
    if room.lock("locked") {
        let expected = expect!["error: `locked` cannot be read: permission denied"];
        room.check("LS", json!({ "path": "locked" }), expected);
    }
}

#[test]
fn entries_are_sorted_and_say_what_they_are() {
    let room = Room::with(&[
        ("src/main.rs", ""),
        ("Cargo.toml", "x"),
        ("big.bin", &"x".repeat(12_345)),
        (".git/config", ""),
        ("odd\nname", ""),
        ("node_modules/x", ""),
        ("a.log", ""),
    ]);
    room.fifo("pipe");
    room.link("link", "src/main.rs");
    room.link("out", "/etc/passwd");
    room.check(
        "LS",
        json!({ "path": "." }),
        expect![[r#"
        .git/
        Cargo.toml (1 byte)
        a.log (0 bytes)
        big.bin (12,345 bytes)
        link -> src/main.rs
        node_modules/
        odd\nname (0 bytes)
        out -> /etc/passwd
        pipe (FIFO)
        src/"#]],
    );
    let ignore = json!(["node_modules/", "**/*.log", ".git"]);
    room.check(
        "LS",
        json!({ "path": "/shown", "ignore": ignore }),
        expect![[r#"
        Cargo.toml (1 byte)
        big.bin (12,345 bytes)
        link -> src/main.rs
        odd\nname (0 bytes)
        out -> /etc/passwd
        pipe (FIFO)
        src/"#]],
    );
}

#[test]
fn more_entries_than_fit_are_counted() {
    let mut room = Room::with(&[]);
    for number in 0..1_005 {
        room.write(&format!("{number:04}.txt"), b"");
    }
    let output = room.call("LS", &json!({ "path": "" }));
    let lines: Vec<&str> = output.text.lines().collect();
    assert_eq!((lines.len(), lines[999]), (1_001, "0999.txt (0 bytes)"));
    expect!["[1,000 of 1,005 entries; for the rest use ignore, or Glob with a pattern]"]
        .assert_eq(lines[1_000]);
    room.context.output_bytes_max = 200;
    room.check(
        "LS",
        json!({ "path": "" }),
        expect![[r#"
        0000.txt (0 bytes)
        0001.txt (0 bytes)
        0002.txt (0 bytes)
        0003.txt (0 bytes)
        0004.txt (0 bytes)
        [5 of 1,005 entries; for the rest use ignore, or Glob with a pattern]"#]],
    );
}
