//! What `Write` does and answers.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use expect_test::{Expect, expect};
use serde_json::json;

use super::super::tests::Room;
use super::super::{ToolOutput, Touch, builtin};

/// What is in the workspace, links and temporary files too.
fn files(room: &Room) -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), vec![room.path("")]);
    while let Some(directory) = open.pop() {
        for path in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            } else {
                found.push(path.strip_prefix(room.path("")).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}

fn write(room: &Room, path: &str, content: &str) -> ToolOutput {
    room.call("Write", &json!({ "file_path": path, "content": content }))
}

fn check(room: &Room, path: &str, content: &str, expected: Expect) {
    room.check("Write", json!({ "file_path": path, "content": content }), expected);
}

#[test]
fn a_file_that_was_not_read_is_not_replaced() {
    let room = Room::with(&[("a.txt", "old\n"), ("b.txt", "old\n")]);
    check(
        &room,
        "a.txt",
        "new\n",
        expect!["error: `a.txt` has not been read since this run began or was resumed; Read it first"],
    );
    room.call("Read", &json!({ "file_path": "a.txt" }));
    room.write("a.txt", b"els\n");
    check(&room, "a.txt", "new\n", expect!["error: `a.txt` has changed since it was read; Read it again"]);
    room.write("a.txt", b"old\n");
    check(&room, "a.txt", "new\n", expect!["replaced `a.txt` (1 line, 4 bytes)"]);
    assert_eq!(fs::read_to_string(room.path("a.txt")).unwrap(), "new\n");
    assert_eq!(files(&room), ["a.txt", "b.txt"]);
}

#[test]
fn what_was_written_may_be_written_again() {
    let room = Room::with(&[]);
    check(&room, "deep/er/a.txt", "one\n", expect!["created `deep/er/a.txt` (1 line, 4 bytes)"]);
    check(&room, "deep/er/a.txt", "two\n", expect!["replaced `deep/er/a.txt` (1 line, 4 bytes)"]);
    fs::remove_file(room.path("deep/er/a.txt")).unwrap();
    check(&room, "deep/er/a.txt", "", expect!["created `deep/er/a.txt` (0 lines, 0 bytes)"]);
}

#[test]
fn reading_a_part_or_at_once_counts() {
    let mut room = Room::with(&[("a.txt", "1\n2\n3\n"), ("b.txt", "1\n2\n")]);
    room.call("Read", &json!({ "file_path": "a.txt", "offset": 2, "limit": 1 }));
    check(&room, "a.txt", "x", expect!["replaced `a.txt` (1 line, 1 byte)"]);
    room.context.is_near = true;
    room.call("Read", &json!({ "file_path": "b.txt", "limit": 1 }));
    check(&room, "/shown/b.txt", "x", expect!["replaced `b.txt` (1 line, 1 byte)"]);
}

#[test]
fn a_failed_read_does_not_count() {
    let room = Room::with(&[("a.txt", "1\n")]);
    room.write("b.bin", b"\0\0");
    assert!(room.call("Read", &json!({ "file_path": "b.bin" })).is_error);
    check(
        &room,
        "b.bin",
        "x",
        expect!["error: `b.bin` has not been read since this run began or was resumed; Read it first"],
    );
}

#[test]
fn what_is_no_place_for_a_file_is_refused() {
    let room = Room::with(&[("src/a.txt", "x\n")]);
    room.write_outside("secret.txt");
    room.link("out", "../secret.txt");
    room.link("up", "..");
    room.link("broken", "nowhere");
    room.link("broken_out", "../nowhere");
    room.fifo("pipe");
    for (path, expected) in [
        ("src", expect!["error: `src` is a directory; LS shows what is in it"]),
        ("", expect!["error: `.` is a directory; LS shows what is in it"]),
        ("new/", expect!["error: `new` names a directory, not a file"]),
        ("src/a.txt/b", expect!["error: `src/a.txt/b` cannot be made: `src/a.txt` is a file"]),
        ("pipe", expect!["error: `pipe` is a FIFO, not a regular file"]),
        ("broken", expect!["error: `broken` is or goes through a link that leads nowhere"]),
        ("broken/a", expect!["error: `broken/a` is or goes through a link that leads nowhere"]),
        ("broken_out", expect!["error: `broken_out` is or goes through a link that leads nowhere"]),
        ("out", expect!["error: `out` is outside the workspace /shown; only files below it can be changed"]),
        (
            "up/new.txt",
            expect![
                "error: `up/new.txt` is outside the workspace /shown; only files below it can be changed"
            ],
        ),
        (
            "../new.txt",
            expect![
                "error: `../new.txt` is outside the workspace /shown; only files below it can be changed"
            ],
        ),
        (
            "/etc/posse-new",
            expect![
                "error: `/etc/posse-new` is outside the workspace /shown; only files below it can be changed"
            ],
        ),
        ("new/../../x", expect!["error: `new/../../x` leads up from a directory that does not exist"]),
        ("nul\0", expect![[r#"error: `nul\u{0}` is no path: it has a NUL in it"#]]),
    ] {
        check(&room, path, "x", expected);
    }
    assert_eq!(files(&room), ["broken", "broken_out", "out", "pipe", "src/a.txt", "up"]);
    assert_eq!(fs::read_to_string(room.path("../secret.txt")).unwrap(), "secret\n");
}

#[test]
fn a_link_that_stays_inside_is_followed() {
    let room = Room::with(&[("real/a.txt", "x\n")]);
    room.link("alias.txt", "real/a.txt");
    room.link("dir", "real");
    room.call("Read", &json!({ "file_path": "real/a.txt" }));
    check(&room, "alias.txt", "y\n", expect!["replaced `real/a.txt` (1 line, 2 bytes)"]);
    check(&room, "dir/new/b.txt", "z\n", expect!["created `real/new/b.txt` (1 line, 2 bytes)"]);
    assert!(room.path("alias.txt").is_symlink());
    assert_eq!(files(&room), ["alias.txt", "dir", "real/a.txt", "real/new/b.txt"]);
}

#[test]
fn the_mode_stays_and_protection_is_held() {
    let room = Room::with(&[("run.sh", "x\n"), ("locked.txt", "x\n")]);
    let mode = |name: &str| fs::metadata(room.path(name)).unwrap().permissions().mode() & 0o7777;
    fs::set_permissions(room.path("run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    fs::set_permissions(room.path("locked.txt"), fs::Permissions::from_mode(0o444)).unwrap();
    for name in ["run.sh", "locked.txt"] {
        room.call("Read", &json!({ "file_path": name }));
    }
    check(&room, "run.sh", "y\n", expect!["replaced `run.sh` (1 line, 2 bytes)"]);
    assert_eq!(mode("run.sh"), 0o750);
    if fs::File::options().write(true).open(room.path("locked.txt")).is_err() {
        check(
            &room,
            "locked.txt",
            "y\n",
            expect!["error: `locked.txt` cannot be written: permission denied"],
        );
    }
}

#[test]
fn a_directory_that_may_not_be_written_is_said() {
    let mut room = Room::with(&[("locked/a.txt", "x\n")]);
    room.call("Read", &json!({ "file_path": "locked/a.txt" }));
    if room.protect("locked") {
        let expected = expect!["error: `locked/a.txt` cannot be written: permission denied"];
        check(&room, "locked/a.txt", "y\n", expected);
        let expected = expect!["error: `locked/b.txt` cannot be written: permission denied"];
        check(&room, "locked/b.txt", "y\n", expected);
    }
}

#[test]
fn content_that_is_too_long_is_refused() {
    let room = Room::with(&[]);
    check(
        &room,
        "huge.txt",
        &"x".repeat((16 << 20) + 1),
        expect!["error: `huge.txt` would have or has 16,777,217 bytes; files of up to 16 MiB are changed"],
    );
    let file = fs::File::create(room.path("sparse.bin")).unwrap();
    file.set_len(17 << 20).unwrap();
    check(
        &room,
        "sparse.bin",
        "x",
        expect!["error: `sparse.bin` would have or has 17,825,792 bytes; files of up to 16 MiB are changed"],
    );
    assert_eq!(files(&room), ["sparse.bin"]);
}

#[test]
fn a_change_is_shown_as_a_diff_within_its_limit() {
    let room = Room::with(&[]);
    let diff = |content: &str| write(&room, "a.txt", content).diff.unwrap();
    expect![[r#"
        --- /dev/null
        +++ b/a.txt
        @@ -0,0 +1,2 @@
        +one
        +two
    "#]]
    .assert_eq(&diff("one\ntwo\n"));
    expect![[r#"
        --- a/a.txt
        +++ b/a.txt
        @@ -1,2 +1,2 @@
         one
        -two
        +2
        \ No newline at end of file
    "#]]
    .assert_eq(&diff("one\n2"));
    let long = diff(&"a line of thirty characters...\n".repeat(10_000));
    assert!(long.len() < (16 << 10) + 100, "{}", long.len());
    expect!["[cut: 16,368 of 320,080 bytes]"].assert_eq(long.lines().next_back().unwrap());
}

#[test]
fn a_call_says_what_it_would_touch() {
    let room = Room::with(&[]);
    let touches = |tool: &str, input| builtin(tool).unwrap().touches(&input, &room.context);
    let change = |name: &str| vec![Touch::Change(room.path(name))];
    assert_eq!(touches("Write", json!({ "file_path": "a/./b/../c.txt" })), change("a/c.txt"));
    assert_eq!(touches("Edit", json!({ "file_path": "/shown/x" })), change("x"));
    assert_eq!(
        touches("MultiEdit", json!({ "file_path": "/etc/../etc/x" })),
        [Touch::Change("/etc/x".into())]
    );
    assert_eq!(
        touches("Read", json!({ "file_path": "../a" })),
        [Touch::Look(room.path("a").parent().unwrap().parent().unwrap().join("a"))]
    );
    assert_eq!(
        touches("Grep", json!({ "pattern": "x" })),
        [Touch::Look(room.path("").components().collect())]
    );
}
