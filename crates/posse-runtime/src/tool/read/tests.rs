//! What `Read` answers.

use std::fs::File;
use std::os::unix::net::UnixListener;

use expect_test::expect;
use posse_core::message::Media;
use serde_json::json;

use super::super::tests::Room;

#[test]
fn what_is_no_regular_file_is_refused_and_never_waited_for() {
    let room = Room::with(&[("src/", "")]);
    room.fifo("pipe");
    room.link("link", "pipe");
    let _listener = UnixListener::bind(room.path("socket")).unwrap();
    for (path, expected) in [
        ("pipe", expect!["error: `pipe` is a FIFO, not a regular file"]),
        ("link", expect!["error: `pipe` is a FIFO, not a regular file"]),
        ("socket", expect!["error: `socket` is a socket, not a regular file"]),
        ("src", expect!["error: `src` is a directory; LS shows what is in it"]),
        ("", expect!["error: `.` is a directory; LS shows what is in it"]),
    ] {
        room.check("Read", json!({ "file_path": path }), expected);
    }
}

#[test]
fn a_missing_file_names_those_that_are_alike() {
    let room = Room::with(&[("src/main.rs", ""), ("src/maim.rs", ""), ("src/Main.ts", ""), ("src/x", "")]);
    room.link("broken", "nowhere");
    room.link("loop", "loop");
    for (path, expected) in [
        (
            "src/mian.rs",
            expect![
                "error: `src/mian.rs` does not exist; did you mean `src/main.rs`, `src/Main.ts`, `src/maim.rs`?"
            ],
        ),
        (
            "src/main.js",
            expect![
                "error: `src/main.js` does not exist; did you mean `src/Main.ts`, `src/main.rs`, `src/maim.rs`?"
            ],
        ),
        ("src/other.txt", expect!["error: `src/other.txt` does not exist; Glob and LS show what does"]),
        ("nowhere/main.rs", expect!["error: `nowhere/main.rs` does not exist; Glob and LS show what does"]),
        ("src/main.rs/x", expect!["error: `src/main.rs/x` does not exist; Glob and LS show what does"]),
        ("broken", expect!["error: `broken` is a link that leads nowhere"]),
        (
            "loop",
            expect!["error: `loop` cannot be read: filesystem loop or indirection limit (e.g. symlink loop)"],
        ),
        ("nul\0", expect![[r#"error: `nul\u{0}` cannot be read: invalid input parameter"#]]),
    ] {
        room.check("Read", json!({ "file_path": path }), expected);
    }
}

#[test]
fn a_file_that_may_not_be_read_is_said() {
    let mut room = Room::with(&[("secret.txt", "x\n"), ("locked/a.txt", "x\n")]);
    if room.lock("secret.txt") && room.lock("locked") {
        let expected = expect!["error: `secret.txt` cannot be read: permission denied"];
        room.check("Read", json!({ "file_path": "secret.txt" }), expected);
        let expected = expect!["error: `locked/a.txt` cannot be read: permission denied"];
        room.check("Read", json!({ "file_path": "locked/a.txt" }), expected);
    }
}

#[test]
fn a_binary_file_is_named_by_its_content_or_its_name() {
    let room = Room::with(&[]);
    for (name, content, expected) in [
        (
            "photo.heic",
            &b"\0\0\0\x18ftypheic"[..],
            expect!["error: `photo.heic` is an MP4 video or HEIF image, 12 bytes; Read shows only text"],
        ),
        (
            "a.docx",
            b"PK\x03\x04\0\0",
            expect![
                "error: `a.docx` is a ZIP archive, or a document or package in one, 6 bytes; Read shows only text"
            ],
        ),
        ("a.pyc", b"a\0b", expect!["error: `a.pyc` is a binary file (.pyc), 3 bytes; Read shows only text"]),
        ("noname", b"a\0b", expect!["error: `noname` is a binary file, 3 bytes; Read shows only text"]),
        (
            "utf16.txt",
            b"\xff\xfea\0b\0",
            expect!["error: `utf16.txt` is UTF-16 text (Grep can search it), 6 bytes; Read shows only text"],
        ),
    ] {
        room.write(name, content);
        room.check("Read", json!({ "file_path": name }), expected);
    }
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

#[test]
fn what_a_model_cannot_see_or_is_too_large_is_said() {
    let mut room = Room::with(&[]);
    room.write("logo.txt", PNG);
    room.write("a.pdf", b"%PDF-1.7\n");
    for name in ["big.png", "big.pdf"] {
        room.write(name, if name == "big.png" { PNG } else { b"%PDF-1.7\n" });
        File::options().write(true).open(room.path(name)).unwrap().set_len((10 << 20) + 1).unwrap();
    }
    for (name, expected) in [
        (
            "logo.txt",
            expect!["error: `logo.txt` is image/png, 16 bytes; the model of this run cannot see it"],
        ),
        ("a.pdf", expect!["error: `a.pdf` is application/pdf, 9 bytes; the model of this run cannot see it"]),
    ] {
        room.check("Read", json!({ "file_path": name }), expected);
    }
    room.context.takes_media = true;
    for (name, expected) in [
        (
            "big.png",
            expect![
                "error: `big.png` (image/png) is too large to be shown: it has more than 3,932,160 bytes"
            ],
        ),
        (
            "big.pdf",
            expect![
                "error: `big.pdf` (application/pdf) is too large to be shown: it has more than 10,485,760 bytes"
            ],
        ),
    ] {
        room.check("Read", json!({ "file_path": name }), expected);
    }
}

#[test]
fn a_picture_is_shown_whole_by_its_content_and_not_its_name() {
    let mut room = Room::with(&[("fake.png", "words\n")]);
    room.context.takes_media = true;
    room.write("logo.txt", PNG);
    room.write("b.jpg", b"\xff\xd8\xff\xe0");
    room.write("c.gif", b"GIF89a\0");
    room.write("d.webp", b"RIFF\x10\0\0\0WEBPVP8 ");
    room.write("e.pdf", b"%PDF-1.7\n");
    for is_near in [false, true] {
        room.context.is_near = is_near;
        for (name, media_type, base64) in [
            ("logo.txt", "image/png", "iVBORw0KGgoAAAANSUhEUg=="),
            ("b.jpg", "image/jpeg", "/9j/4A=="),
            ("c.gif", "image/gif", "R0lGODlhAA=="),
            ("d.webp", "image/webp", "UklGRhAAAABXRUJQVlA4IA=="),
            ("e.pdf", "application/pdf", "JVBERi0xLjcK"),
        ] {
            let output = room.call("Read", &json!({ "file_path": name }));
            let media = Media { media_type: media_type.to_owned(), base64: base64.into() };
            assert_eq!((output.is_error, output.media), (false, vec![media]), "{name}: {}", output.text);
        }
        let output = room.call("Read", &json!({ "file_path": "fake.png" }));
        assert_eq!((output.text.as_str(), output.media), ("     1\twords", Vec::new()));
    }
    room.check(
        "Read",
        json!({ "file_path": "logo.txt" }),
        expect!["[`logo.txt`: image/png, 16 bytes, shown]"],
    );
}

#[test]
fn a_huge_file_is_counted_up_to_a_limit() {
    let room = Room::with(&[("huge.log", &"a line of text\n".repeat(1_000))]);
    let file = File::options().write(true).open(room.path("huge.log")).unwrap();
    file.set_len(8 << 30).unwrap();
    room.check(
        "Read",
        json!({ "file_path": "huge.log", "limit": 2 }),
        expect![[r#"
            ok:
                 1	a line of text
                 2	a line of text
            [lines 1-2 of more than 1,001, counted up to 64 MiB; the rest: offset 3]"#]],
    );
    room.check(
        "Read",
        json!({ "file_path": "huge.log", "offset": 5000 }),
        expect!["error: Read looks only at the first 64 MiB of `huge.log`, 1,001 lines; use Grep"],
    );
}

#[test]
fn a_long_line_is_cut() {
    let room = Room::with(&[
        ("exact.txt", &"é".repeat(2_000)),
        ("long.txt", &format!("{}\nshort\n", "é".repeat(2_001))),
        ("longer.txt", &format!("{}\r\nshort\r\n", "x".repeat(100_000))),
    ]);
    let text = |name: &str| room.call("Read", &json!({ "file_path": name })).text;
    assert_eq!(text("exact.txt"), format!("     1\t{}", "é".repeat(2_000)));
    let cut = format!("     1\t{}… [line cut; 2 more bytes]\n     2\tshort", "é".repeat(2_000));
    assert_eq!(text("long.txt"), cut);
    let cut = format!("     1\t{}… [line cut; 98,002 more bytes]\n     2\tshort", "x".repeat(2_000));
    assert_eq!(text("longer.txt"), cut);
}

#[test]
fn a_result_ends_before_its_limit_and_says_how_to_read_on() {
    let numbers: String = (1..=5_003).map(|number| format!("line {number}\n")).collect();
    let mut room = Room::with(&[("numbers.txt", &numbers), ("long.txt", &"x".repeat(1_000))]);
    let last_lines = |room: &Room, offset: u64| {
        let output = room.call("Read", &json!({ "file_path": "numbers.txt", "offset": offset }));
        assert!(output.text.len() <= room.context.output_bytes_max);
        let lines: Vec<&str> = output.text.lines().collect();
        lines[lines.len() - 2..].join("\n")
    };
    expect![[r#"
          1771	line 1771
        [lines 1-1771 of 5,003; the rest: offset 1772]"#]]
    .assert_eq(&last_lines(&room, 1));
    expect![[r#"
          5003	line 5003
        [lines 4000-5003 of 5,003]"#]]
    .assert_eq(&last_lines(&room, 4_000));
    room.context.output_bytes_max = 1_000_000;
    expect![[r#"
          2000	line 2000
        [lines 1-2000 of 5,003; the rest: offset 2001]"#]]
    .assert_eq(&last_lines(&room, 1));
    room.context.output_bytes_max = 120;
    room.check(
        "Read",
        json!({ "file_path": "long.txt" }),
        expect![[r#"
            ok:
                 1	xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…"#]],
    );
    room.check(
        "Read",
        json!({ "file_path": "numbers.txt" }),
        expect![[r#"
            ok:
                 1	line 1
                 2	line 2
                 3	line 3
                 4	line 4
            [lines 1-4 of 5,003; the rest: offset 5]"#]],
    );
}

#[test]
fn lines_are_numbered_and_counted() {
    let room = Room::with(&[("three.txt", "one\ntwo\nthree"), ("empty.txt", ""), ("break.txt", "\n")]);
    for (input, expected) in [
        (
            json!({ "file_path": "three.txt" }),
            expect![[r#"
                ok:
                     1	one
                     2	two
                     3	three"#]],
        ),
        (
            json!({ "file_path": "three.txt", "offset": 2, "limit": 1 }),
            expect![[r#"
                ok:
                     2	two
                [lines 2-2 of 3; the rest: offset 3]"#]],
        ),
        (
            json!({ "file_path": "three.txt", "offset": 2.0, "limit": null, "extra": 1 }),
            expect![[r#"
                ok:
                     2	two
                     3	three
                [lines 2-3 of 3]"#]],
        ),
        (
            json!({ "file_path": "three.txt", "offset": 0, "limit": 0 }),
            expect![[r#"
                ok:
                     1	one
                     2	two
                     3	three"#]],
        ),
        (
            json!({ "file_path": "three.txt", "offset": 3 }),
            expect![[r#"
                ok:
                     3	three
                [lines 3-3 of 3]"#]],
        ),
        (
            json!({ "file_path": "three.txt", "offset": 4 }),
            expect!["error: `three.txt` has 3 lines; offset 4 is past its end"],
        ),
        (
            json!({ "file_path": "three.txt", "offset": u64::MAX, "limit": u64::MAX }),
            expect!["error: `three.txt` has 3 lines; offset 18446744073709551615 is past its end"],
        ),
        (json!({ "file_path": "empty.txt" }), expect!["[`empty.txt` is empty]"]),
        (
            json!({ "file_path": "break.txt" }),
            expect![[r#"
            ok:
                 1	"#]],
        ),
    ] {
        room.check("Read", input, expected);
    }
}

#[test]
fn text_of_other_systems_is_read() {
    let room = Room::with(&[("dos.txt", "\u{feff}one\r\n\r\ntwo\rstill two\r\n")]);
    room.write("latin.txt", b"caf\xe9 cr\xe8me\nplain\n");
    room.check(
        "Read",
        json!({ "file_path": "dos.txt" }),
        expect![[r#"
            ok:
                 1	one
                 2	
                 3	two\rstill two"#]],
    );
    room.check(
        "Read",
        json!({ "file_path": "latin.txt" }),
        expect![[r#"
            ok:
                 1	caf� cr�me
                 2	plain
            [not all of it is UTF-8; other bytes are shown as �]"#]],
    );
    room.check(
        "Read",
        json!({ "file_path": "latin.txt", "offset": 2 }),
        expect![[r#"
            ok:
                 2	plain
            [lines 2-2 of 2]"#]],
    );
}
