//! What an answer holds, as text: read up to a limit, decoded, and turned into Markdown where it is HTML.

use encoding_rs::{Encoding, UTF_8};
use reqwest::Url;

use super::super::bound::counted;
use super::client::explained;
use super::markdown::{Page, markdown};

/// How much of a page is read.
const BYTES_MAX: usize = MIB_MAX << 20;
pub(super) const MIB_MAX: usize = 5;
/// Where a page may say how it is encoded.
const HEAD_BYTES: usize = 1024;

/// A page as text.
pub(super) struct Content {
    /// Its type, without parameters.
    pub media_type: String,
    /// Its title, where it is HTML that has one.
    pub title: String,
    /// What it says.
    pub text: String,
    /// True when it is longer than what is read.
    pub is_cut: bool,
}

/// How a type is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Html,
    Text,
    /// By its first bytes, because nobody says.
    Unknown,
    /// Not at all.
    Other,
}

impl Content {
    /// Reads an answer; what is not text is refused with its type and size.
    pub(super) async fn read(mut response: reqwest::Response, url: &Url) -> Result<Content, String> {
        let header = |name: &str| {
            response.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let written = header("content-type").unwrap_or_default();
        let media_type = written.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let size =
            response.content_length().map_or_else(|| "of unknown size".to_owned(), |n| counted(n, "byte"));
        if let Some(coding) = header("content-encoding").filter(|coding| coding != "identity") {
            return Err(format!("the page is packed with {coding}, which was not asked for"));
        }
        if form(&media_type) == Form::Other {
            return Err(format!("it is {media_type}, {size}; only text is shown"));
        }
        let mut bytes = Vec::new();
        let mut is_cut = false;
        while let Some(chunk) = response.chunk().await.map_err(|error| explained(&error))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > BYTES_MAX {
                bytes.truncate(BYTES_MAX);
                is_cut = true;
                break;
            }
        }
        let url = url.clone();
        // A long page takes longer than others should wait.
        let read = tokio::task::spawn_blocking(move || decode(&bytes, &written, media_type, &url));
        let content =
            read.await.map_err(|_| "the page broke the reader, which is not your mistake".to_owned())?;
        content.map(|content| Content { is_cut, ..content })
    }
}

fn decode(bytes: &[u8], written: &str, media_type: String, url: &Url) -> Result<Content, String> {
    let looks_html = bytes.trim_ascii_start().starts_with(b"<");
    let form = match form(&media_type) {
        Form::Unknown if bytes.contains(&0) => {
            return Err(format!(
                "it is {} that nobody names and no text",
                counted(bytes.len() as u64, "byte")
            ));
        }
        Form::Unknown if looks_html => Form::Html,
        form => form,
    };
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD_BYTES)]);
    let in_page = (form == Form::Html).then(|| charset(&head)).flatten();
    let encoding = charset(written).or(in_page).unwrap_or(UTF_8);
    let (text, _, _) = encoding.decode(bytes);
    let media_type = if media_type.is_empty() { "unnamed type".to_owned() } else { media_type };
    let Page { title, text } = match form {
        Form::Html => markdown(&text, url),
        Form::Text | Form::Unknown | Form::Other => Page { title: String::new(), text: text.into_owned() },
    };
    Ok(Content { media_type, title, text, is_cut: false })
}

fn form(media_type: &str) -> Form {
    match media_type {
        "" => Form::Unknown,
        "text/html" | "application/xhtml+xml" => Form::Html,
        "application/json"
        | "application/xml"
        | "application/yaml"
        | "application/javascript"
        | "application/toml"
        | "application/x-ndjson" => Form::Text,
        other if other.starts_with("text/") || other.ends_with("+json") || other.ends_with("+xml") => {
            Form::Text
        }
        _ => Form::Other,
    }
}

/// The encoding that a text names after `charset=`.
fn charset(text: &str) -> Option<&'static Encoding> {
    let at = text.to_ascii_lowercase().find("charset=")? + "charset=".len();
    let name = text[at..].trim_start_matches(['"', '\'']);
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | ':' | '.'));
    Encoding::for_label(&name.as_bytes()[..end.unwrap_or(name.len())])
}
