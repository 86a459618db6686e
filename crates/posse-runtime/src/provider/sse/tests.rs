//! What the reader makes of streams, whole and in pieces.

use super::{EVENT_BYTES_MAX, Sse, SseError};

/// All events of a stream that arrives in these pieces, one line each.
fn read(pieces: &[&[u8]]) -> Result<Vec<String>, SseError> {
    let mut sse = Sse::default();
    let mut events = Vec::new();
    for piece in pieces {
        sse.feed(piece);
        while let Some((name, data)) = sse.next()? {
            events.push(format!("{name}|{data}"));
        }
    }
    if let Some((name, data)) = sse.finish()? {
        events.push(format!("{name}|{data}"));
    }
    Ok(events)
}

/// Checks a stream whole, cut at every place, cut at every two places, and byte by byte.
#[track_caller]
fn check(stream: &str, expected: &[&str]) {
    let bytes = stream.as_bytes();
    assert_eq!(read(&[bytes]).unwrap(), expected, "whole");
    for first in 0..=bytes.len() {
        let (head, rest) = bytes.split_at(first);
        assert_eq!(read(&[head, rest]).unwrap(), expected, "cut at {first}");
        for second in 0..=rest.len() {
            let (middle, tail) = rest.split_at(second);
            assert_eq!(read(&[head, middle, tail]).unwrap(), expected, "cut at {first} and {second} more");
        }
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(read(&single).unwrap(), expected, "byte by byte");
}

#[test]
fn events_end_with_a_blank_line() {
    check("event: a\ndata: 1\n\ndata: 2\n\n", &["a|1", "|2"]);
}

#[test]
fn carriage_returns_end_lines_with_and_without_line_feeds() {
    check("event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", &["a|1", "|2"]);
    check("event: a\rdata: 1\r\rdata: 2\r\r", &["a|1", "|2"]);
    check("data: 1\r\n\ndata: 2\n\r\ndata: 3\r\r\n", &["|1", "|2", "|3"]);
}

#[test]
fn lines_of_data_are_joined() {
    check("data: 1\ndata:\ndata: 2\ndata\n\ndata: 3\n\n", &["|1\n\n2\n", "|3"]);
}

#[test]
fn one_space_after_the_colon_is_not_of_the_value() {
    check("event:a\ndata:1\n\nevent:  b\ndata:  2\n\n", &["a|1", " b| 2"]);
}

#[test]
fn colons_in_data_are_of_the_data() {
    check("data: {\"a\": \": \"}\n\n", &["|{\"a\": \": \"}"]);
}

#[test]
fn comments_and_other_fields_are_passed_over() {
    check(": OPENROUTER PROCESSING\n\nid: 7\nretry: 10\n:\ndata: 1\nunknown\n: x\n\n", &["|1"]);
}

#[test]
fn an_event_without_data_is_none_and_leaves_no_name_behind() {
    check("event: ping\n\ndata: 1\n\n", &["|1"]);
}

#[test]
fn the_last_name_of_an_event_counts() {
    check("event: a\ndata: 1\nevent: b\n\n", &["b|1"]);
}

#[test]
fn a_byte_order_mark_is_skipped_at_the_start_only() {
    check("\u{feff}data: 1\n\n", &["|1"]);
    check("data: \u{feff}1\n\n", &["|\u{feff}1"]);
}

#[test]
fn characters_may_be_cut_anywhere() {
    check("event: ä\ndata: 💚é\ndata: 漢\n\n", &["ä|💚é\n漢"]);
}

#[test]
fn the_last_event_needs_no_blank_line() {
    check("data: 1\n\nevent: a\ndata: 2\n", &["|1", "a|2"]);
    check("data: 1\n\nevent: a\ndata: 2", &["|1", "a|2"]);
    check("data: 1\r\n\r\ndata: 2\r", &["|1", "|2"]);
}

#[test]
fn nothing_is_no_event() {
    check("", &[]);
    check("\n\n\r\n", &[]);
    check(": only a comment", &[]);
}

#[test]
fn what_is_not_utf_8_is_an_error() {
    assert_eq!(read(&[b"data: \xff\n\n"]), Err(SseError::NotUtf8));
    assert_eq!(read(&[b"data: 1\ndata: \xff\n\n"]), Err(SseError::NotUtf8));
    assert_eq!(read(&[b"event: \xff\ndata: 1\n\n"]), Err(SseError::NotUtf8));
    assert_eq!(read(&[b"data: \xe6\xbc"]), Err(SseError::NotUtf8));
}

#[test]
fn an_event_that_does_not_end_is_an_error_before_it_fills_memory() {
    let piece = vec![b'x'; EVENT_BYTES_MAX / 2];
    let mut pieces: Vec<&[u8]> = vec![b"data: ", &piece];
    assert_eq!(read(&pieces).map(|events| events.len()), Ok(1));
    pieces.push(&piece);
    assert_eq!(read(&pieces), Err(SseError::TooLong));
    let line = [b"data: ".as_slice(), &piece, b"\n"].concat();
    assert_eq!(read(&[&line, &line]), Err(SseError::TooLong));
}

#[test]
fn many_events_and_comments_are_not_one_long_event() {
    let comments = [b':'; 1024 * 1024].as_slice();
    let mut pieces = Vec::new();
    for _ in 0..10 {
        pieces.extend([comments, b"\n"]);
    }
    pieces.push(b"data: 1\n\n");
    assert_eq!(read(&pieces), Ok(vec!["|1".to_owned()]));
}

#[test]
fn errors_say_what_is_wrong() {
    assert_eq!(SseError::TooLong.to_string(), "an event of the stream has more than 8388608 bytes");
    assert_eq!(SseError::NotUtf8.to_string(), "an event of the stream is not UTF-8");
}
