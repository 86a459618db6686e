//! What `Glob` answers.

use std::fs::File;
use std::time::{Duration, SystemTime};

use expect_test::expect;
use serde_json::json;

use super::super::tests::Room;

/// A workspace whose files all have one age, so that they come by their paths.
fn room(files: &[&str]) -> Room {
    let room = Room::with(&[]);
    for name in files {
        room.write(name, b"");
        set_age(&room, name, 0);
    }
    room
}

fn set_age(room: &Room, name: &str, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000 - seconds);
    File::options().write(true).open(room.path(name)).unwrap().set_modified(time).unwrap();
}

#[test]
fn what_cannot_be_looked_for_is_said() {
    let room = room(&["a.txt", ".git/config"]);
    for (input, expected) in [
        (
            json!({ "pattern": "a[" }),
            expect!["error: the pattern is not a glob: unclosed character class; missing ']'"],
        ),
        (
            json!({ "pattern": "{a" }),
            expect![
                "error: the pattern is not a glob: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)"
            ],
        ),
        (
            json!({ "pattern": "[z-a]" }),
            expect!["error: the pattern is not a glob: invalid range; 'z' > 'a'"],
        ),
        (
            json!({ "pattern": "../*" }),
            expect!["error: a pattern cannot lead up with `..`; give the directory as path"],
        ),
        (
            json!({ "pattern": "/etc/*" }),
            expect!["error: `/etc/*` is outside the workspace /shown; only files below it can be read"],
        ),
        (
            json!({ "pattern": "*", "path": "a.txt" }),
            expect!["error: `a.txt` is a file; Glob looks below a directory"],
        ),
        (
            json!({ "pattern": "*", "path": "b" }),
            expect!["error: `b` does not exist; Glob and LS show what does"],
        ),
        (
            json!({ "pattern": "*", "path": ".git" }),
            expect!["error: `.git` is not searched; Read and LS show what is in it"],
        ),
        (
            json!({ "pattern": "*.rs" }),
            expect![
                "no files match `*.rs`; what .gitignore names is left out, and hidden files unless the pattern names a dot"
            ],
        ),
    ] {
        room.check("Glob", input, expected);
    }
}

#[test]
fn a_directory_that_may_not_be_read_is_said() {
    let mut room = room(&["a.txt", "locked/b.txt"]);
    if room.lock("locked") {
        let expected = expect![[r#"
            a.txt
            [1 path could not be read, first locked]"#]];
        room.check("Glob", json!({ "pattern": "**" }), expected);
    }
}

#[test]
fn more_paths_than_fit_are_counted() {
    let names: Vec<String> = (0..1_005).map(|number| format!("{number:04}.txt")).collect();
    let mut room = room(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let output = room.call("Glob", &json!({ "pattern": "*" }));
    let lines: Vec<&str> = output.text.lines().collect();
    assert_eq!((lines.len(), lines[999]), (1_001, "0999.txt"));
    expect!["[the first 1,000 of 1,005 paths; for the rest narrow pattern or path]"].assert_eq(lines[1_000]);
    room.context.output_bytes_max = 200;
    room.check(
        "Glob",
        json!({ "pattern": "*" }),
        expect![[r#"
            0000.txt
            0001.txt
            0002.txt
            0003.txt
            0004.txt
            0005.txt
            0006.txt
            0007.txt
            0008.txt
            0009.txt
            0010.txt
            [the first 11 of 1,005 paths; for the rest narrow pattern or path]"#]],
    );
}

#[test]
fn links_out_and_linked_directories_are_not_followed() {
    let room = room(&["real/a.txt"]);
    room.write_outside("secret.txt");
    room.link("out.txt", "../secret.txt");
    room.link("broken.txt", "nowhere");
    room.link("alias.txt", "real/a.txt");
    room.link("linked", "real");
    room.link("up", "..");
    room.fifo("pipe.txt");
    room.check(
        "Glob",
        json!({ "pattern": "**/*.txt" }),
        expect![[r#"
        alias.txt
        real/a.txt"#]],
    );
}

#[test]
fn patterns_match_from_the_path() {
    let room = room(&["a.rs", "src/b.rs", "src/deep/c.rs", "src/deep/d.ts", "odd\nname.rs"]);
    for (input, expected) in [
        (
            json!({ "pattern": "*.rs" }),
            expect![[r#"
            a.rs
            odd\nname.rs"#]],
        ),
        (
            json!({ "pattern": "**/*.rs" }),
            expect![[r#"
            a.rs
            odd\nname.rs
            src/b.rs
            src/deep/c.rs"#]],
        ),
        (
            json!({ "pattern": "./src/**/*.{rs,ts}" }),
            expect![[r#"
            src/b.rs
            src/deep/c.rs
            src/deep/d.ts"#]],
        ),
        (json!({ "pattern": "*.rs", "path": "src" }), expect!["src/b.rs"]),
        (
            json!({ "pattern": "**", "path": "src/deep" }),
            expect![[r#"
            src/deep/c.rs
            src/deep/d.ts"#]],
        ),
        (json!({ "pattern": "/shown/src/*" }), expect!["src/b.rs"]),
        (
            json!({ "pattern": "src" }),
            expect![
                "no files match `src`; what .gitignore names is left out, and hidden files unless the pattern names a dot"
            ],
        ),
    ] {
        room.check("Glob", input, expected);
    }
}

#[test]
fn ignored_and_hidden_files_are_left_out() {
    let room = room(&["a.log", "b.txt", "sub/c.log", "sub/d.txt", ".hidden/e.txt", ".env", ".git/config"]);
    room.write(".gitignore", b"*.log\n");
    set_age(&room, ".gitignore", 0);
    for (input, expected) in [
        (
            json!({ "pattern": "**" }),
            expect![[r#"
            b.txt
            sub/d.txt"#]],
        ),
        (
            json!({ "pattern": "*.log", "path": "sub" }),
            expect![
                "no files match `*.log`; what .gitignore names is left out, and hidden files unless the pattern names a dot"
            ],
        ),
        (
            json!({ "pattern": "**/.*" }),
            expect![[r#"
            .env
            .gitignore"#]],
        ),
        (json!({ "pattern": ".hidden/**" }), expect![".hidden/e.txt"]),
        (json!({ "pattern": "*", "path": ".hidden" }), expect![".hidden/e.txt"]),
        (
            json!({ "pattern": "{.env,b.txt}" }),
            expect![[r#"
            .env
            b.txt"#]],
        ),
        (
            json!({ "pattern": ".git/**" }),
            expect![
                "no files match `.git/**`; what .gitignore names is left out, and hidden files unless the pattern names a dot"
            ],
        ),
    ] {
        room.check("Glob", input, expected);
    }
}

#[test]
fn paths_are_sorted_whatever_their_age() {
    let room = room(&["a", "b", "c", "d"]);
    set_age(&room, "a", 30);
    set_age(&room, "d", 10);
    room.check(
        "Glob",
        json!({ "pattern": "*" }),
        expect![[r#"
        a
        b
        c
        d"#]],
    );
}

#[test]
fn a_gitignore_that_would_never_end_is_not_opened() {
    let room = room(&["a.txt", "fifo/b.txt", "endless/c.txt", "large/d.txt", "linked/e.txt", "broken/f.txt"]);
    room.fifo("fifo/.gitignore");
    room.link("endless/.gitignore", "/dev/zero");
    room.write("large/.gitignore", &[b'x'; (1 << 20) + 1]);
    room.write("shared", b"e.*\n");
    set_age(&room, "shared", 0);
    room.link("linked/.gitignore", "../shared");
    room.link("broken/.gitignore", "nowhere");
    room.check(
        "Glob",
        json!({ "pattern": "**" }),
        expect![[r#"
        a.txt
        broken/f.txt
        shared
        [3 paths could not be read, first endless]"#]],
    );
    room.check(
        "Glob",
        json!({ "pattern": "**", "path": "fifo" }),
        expect!["error: `fifo/.gitignore` is not a small text file; nothing was searched"],
    );
}

#[test]
fn nothing_above_a_workspace_or_its_repository_has_a_say() {
    let room = room(&["a.txt", "b.log", "sub/c.txt", "sub/d.log"]);
    room.write("../.gitignore", b"*\n");
    room.write(".gitignore", b"*.log\n");
    room.check(
        "Glob",
        json!({ "pattern": "**" }),
        expect![[r#"
        a.txt
        sub/c.txt"#]],
    );
    room.check(
        "Glob",
        json!({ "pattern": "**", "path": "sub" }),
        expect![[r#"
        sub/c.txt
        sub/d.log"#]],
    );
    room.write(".git/", b"");
    room.check(
        "Glob",
        json!({ "pattern": "**" }),
        expect![[r#"
        a.txt
        sub/c.txt"#]],
    );
    room.check("Glob", json!({ "pattern": "**", "path": "sub" }), expect!["sub/c.txt"]);
}
