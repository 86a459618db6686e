//! What happens to a change when the tree is changed under it.

use std::fs;

use expect_test::{Expect, expect};

use super::super::blocking::Stop;
use super::super::tests::Room;
use super::Draft;

/// A draft of `dir/a.txt`, which was seen, with something done to the tree before it is put in its place.
#[allow(clippy::needless_pass_by_value)]
fn check(meanwhile: impl FnOnce(&Room), expected: Expect) {
    let room = Room::with(&[("dir/a.txt", "old\n"), ("other/a.txt", "other\n")]);
    room.write_outside("a.txt");
    room.call("Read", &serde_json::json!({ "file_path": "dir/a.txt" }));
    let draft = Draft::open("dir/a.txt", &room.context).unwrap();
    draft.check_seen().unwrap();
    meanwhile(&room);
    let done = draft.replace(b"new\n", &Stop::default());
    let outside = fs::read_to_string(room.path("../a.txt")).unwrap();
    let other = fs::read_to_string(room.path("other/a.txt")).unwrap_or_default();
    assert_eq!((outside.as_str(), other.as_str()), ("secret\n", "other\n"));
    expected.assert_eq(&done.err().unwrap_or_else(|| "done".to_owned()));
}

#[test]
fn a_directory_that_became_a_link_out_is_not_followed() {
    let swap = |room: &Room| {
        fs::rename(room.path("dir"), room.path("moved")).unwrap();
        room.link("dir", "..");
    };
    check(swap, expect!["`dir/a.txt` cannot be written: not a directory"]);
}

#[test]
fn a_directory_that_became_another_is_noticed() {
    let swap = |room: &Room| {
        fs::rename(room.path("dir"), room.path("moved")).unwrap();
        fs::create_dir(room.path("dir")).unwrap();
        fs::write(room.path("dir/a.txt"), "theirs\n").unwrap();
    };
    check(swap, expect!["`dir/a.txt` was changed by somebody else just now; Read it again"]);
}

#[test]
fn a_file_that_became_a_link_is_not_followed() {
    let swap = |room: &Room| {
        fs::remove_file(room.path("dir/a.txt")).unwrap();
        room.link("dir/a.txt", "../../a.txt");
    };
    check(swap, expect!["`dir/a.txt` was changed by somebody else just now; Read it again"]);
}

#[test]
fn a_file_that_was_written_or_removed_meanwhile_is_left_alone() {
    let write = |room: &Room| room.write("dir/a.txt", b"theirs\n");
    check(write, expect!["`dir/a.txt` was changed by somebody else just now; Read it again"]);
    let remove = |room: &Room| fs::remove_file(room.path("dir/a.txt")).unwrap();
    check(remove, expect!["`dir/a.txt` cannot be written: entity not found"]);
}

#[test]
fn a_file_that_somebody_made_meanwhile_is_not_replaced() {
    let room = Room::with(&[]);
    let draft = Draft::open("new.txt", &room.context).unwrap();
    room.write("new.txt", b"theirs\n");
    let refused = draft.replace(b"ours\n", &Stop::default()).unwrap_err();
    expect!["`new.txt` was changed by somebody else just now; Read it again"].assert_eq(&refused);
    assert_eq!(fs::read_dir(room.path("")).unwrap().count(), 1);
}
