//! What a file is, by its first bytes and else by its name.

use std::path::Path;

/// How much of a file is looked at.
pub(super) const HEAD_BYTES: usize = 8 << 10;

/// The media type of a file that begins with `head`.
pub(super) fn media_type(head: &[u8], path: &Path) -> &'static str {
    let by_magic = MAGIC.iter().find(|(at, magic, _)| head.get(*at..).is_some_and(|b| b.starts_with(magic)));
    if let Some((_, _, media_type)) = by_magic {
        // An office document is an archive; its name says which.
        let by_name = (*media_type == "application/zip").then(|| by_extension(path)).flatten();
        return by_name.unwrap_or(media_type);
    }
    let is_text = !head.contains(&0);
    match by_extension(path).filter(|media_type| is_text || !media_type.starts_with("text/")) {
        Some(media_type) => media_type,
        None if is_text => "text/plain",
        None => "application/octet-stream",
    }
}

fn by_extension(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    EXTENSIONS.iter().find(|(known, _)| *known == extension).map(|(_, media_type)| *media_type)
}

/// Where what stands in which files.
const MAGIC: &[(usize, &[u8], &str)] = &[
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBPVP8", "image/webp"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"\x1f\x8b", "application/gzip"),
];

/// What names say where the content does not.
const EXTENSIONS: &[(&str, &str)] = &[
    ("csv", "text/csv"),
    ("css", "text/css"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ipynb", "application/x-ipynb+json"),
    ("json", "application/json"),
    ("md", "text/markdown"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("svg", "image/svg+xml"),
    ("wav", "audio/wav"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
];
