//! What `AttachFile` hands over.

use std::fs::File;

use expect_test::expect;
use posse_core::event::Attachment;
use serde_json::json;

use super::super::tests::Room;

#[test]
fn what_cannot_be_attached_is_refused() {
    let room = Room::with(&[("src/", "")]);
    room.write_outside("secret.txt");
    room.link("out", "../secret.txt");
    File::create(room.path("huge.bin")).unwrap().set_len(101 << 20).unwrap();
    for (path, expected) in [
        ("src", expect!["error: `src` is a directory; LS shows what is in it"]),
        ("missing", expect!["error: `missing` does not exist; Glob and LS show what does"]),
        ("out", expect!["error: `out` is outside the workspace /shown; only files below it can be read"]),
        ("huge.bin", expect!["error: `huge.bin` has 105,906,176 bytes; files of up to 100 MiB are attached"]),
    ] {
        room.check("AttachFile", json!({ "path": path }), expected);
    }
    room.check("AttachFile", json!({}), expect!["error: there is no path"]);
}

#[test]
fn a_file_is_named_with_its_type_and_size() {
    let room = Room::with(&[("notes.md", "# x\n"), ("empty", ""), ("page.HTML", "<p>")]);
    room.write("chart", b"\x89PNG\r\n\x1a\n\0");
    room.write("a.docx", b"PK\x03\x04\0");
    room.write("odd.css", b"\0\x01");
    for (path, text) in [
        ("notes.md", expect!["attached `notes.md` (text/markdown, 4 bytes)"]),
        ("empty", expect!["attached `empty` (text/plain, 0 bytes)"]),
        ("page.HTML", expect!["attached `page.HTML` (text/html, 3 bytes)"]),
        ("/shown/chart", expect!["attached `chart` (image/png, 9 bytes)"]),
        (
            "a.docx",
            expect![
                "attached `a.docx` (application/vnd.openxmlformats-officedocument.wordprocessingml.document, 5 bytes)"
            ],
        ),
        ("odd.css", expect!["attached `odd.css` (application/octet-stream, 2 bytes)"]),
    ] {
        room.check("AttachFile", json!({ "path": path }), text);
    }
    let output = room.call("AttachFile", &json!({ "file_path": "chart" }));
    let path = room.path("chart").display().to_string();
    assert_eq!(output.attachments, [Attachment { path, media_type: "image/png".to_owned(), bytes: 9 }]);
}
