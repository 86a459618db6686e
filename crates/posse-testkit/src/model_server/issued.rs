//! Ids and signatures that the server issues and later recognises without remembering them.
//!
//! An id carries the number of the reply, the turn it was given in, and whether thinking came with it;
//! a signature is a hash of what was signed with a check of itself. So any number of runs can be
//! served at once, and a run can go on at another server.

use std::fmt::Display;

use serde_json::Value;

/// The name of one reply, from which its ids are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tag(String);

impl Tag {
    /// The tag of a reply: `number` is unique in a server, `turns` tells servers apart that continue one
    /// another.
    pub(super) fn new(number: u64, turns: usize, thought: bool) -> Tag {
        Tag(format!("{number:04x}t{turns}{}", if thought { "k" } else { "" }))
    }

    pub(super) fn id(&self, prefix: &str) -> String {
        format!("{prefix}_{}", self.0)
    }

    pub(super) fn item_id(&self, prefix: &str, item: impl Display) -> String {
        format!("{prefix}_{}_{item}", self.0)
    }

    /// Reads the tag out of an id that this kind of server issued under `prefix`.
    pub(super) fn read(id: &str, prefix: &str) -> Option<Tag> {
        let rest = id.strip_prefix(prefix)?.strip_prefix('_')?;
        let tag = rest.split('_').next()?;
        let (number, turns) = tag.split_once('t')?;
        let digits = turns.strip_suffix('k').unwrap_or(turns);
        let hex = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_hexdigit());
        let decimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        (hex && decimal).then(|| Tag(tag.to_owned()))
    }

    /// Whether thinking came with the reply.
    pub(super) fn thought(&self) -> bool {
        self.0.ends_with('k')
    }
}

/// The signature of a text: 32 hexadecimal digits, which is also valid base64.
pub(super) fn sign(text: &str) -> String {
    let hash = hash(text.as_bytes());
    format!("{hash:016x}{:016x}", mix(hash))
}

/// The signature of a call, whatever the order of its arguments.
pub(super) fn sign_call(name: &str, arguments: &Value) -> String {
    let mut sorted = arguments.clone();
    sorted.sort_all_objects();
    sign(&format!("{name}\n{sorted}"))
}

/// Whether some text has this signature.
pub(super) fn is_signature(signature: &str) -> bool {
    if signature.len() != 32 || !signature.is_ascii() {
        return false;
    }
    let number = |digits| u64::from_str_radix(digits, 16).ok();
    match (number(&signature[..16]), number(&signature[16..])) {
        (Some(hash), Some(check)) => mix(hash) == check,
        (None, _) | (_, None) => false,
    }
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The finaliser of `SplitMix64`.
fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
