//! What a run has read and written: a file that it has not seen as it is now is not replaced.
//!
//! Only hashes are kept. A file that was touched, or changed and changed back, is the same file; one that was
//! changed within the grain of its time stamp is not.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use sha2::{Digest, Sha256};

/// The most files that are remembered.
const FILES_MAX: usize = 10_000;

/// The hash of a file's content.
pub(super) type Hash = [u8; 32];

/// The files of a run by their paths from the workspace, without links, and what they held.
#[derive(Debug, Default)]
// Calls that only look run beside each other on several threads; held for a few instructions.
pub struct Seen(Mutex<HashMap<PathBuf, Hash>>);

/// What a run knows about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// It has not read it.
    Unread,
    /// It has read something else.
    Changed,
    /// It has read or written just this.
    AsItIs,
}

/// A reader that hashes what passes.
pub(super) struct Hashing<R> {
    reader: R,
    hash: Sha256,
}

impl Seen {
    /// Remembers what a file holds.
    pub(super) fn note(&self, relative: &Path, hash: Hash) {
        let mut files = self.files();
        if files.len() == FILES_MAX && !files.contains_key(relative) {
            // Whichever it is, its file can be read again.
            let any = files.keys().next().cloned();
            any.map(|any| files.remove(&any));
        }
        files.insert(relative.to_owned(), hash);
    }

    /// What is known about a file that holds `bytes` now.
    pub(super) fn known(&self, relative: &Path, bytes: &[u8]) -> Known {
        match self.files().get(relative) {
            None => Known::Unread,
            Some(seen) if *seen == hash(bytes) => Known::AsItIs,
            Some(_) => Known::Changed,
        }
    }

    fn files(&self) -> MutexGuard<'_, HashMap<PathBuf, Hash>> {
        self.0.lock().expect("nobody panics while holding the lock")
    }
}

impl<R> Hashing<R> {
    /// The same reader, hashed.
    pub(super) fn new(reader: R) -> Hashing<R> {
        Hashing { reader, hash: Sha256::new() }
    }

    /// The hash of all that passed.
    pub(super) fn finish(self) -> Hash {
        self.hash.finalize().into()
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.hash.update(&buffer[..read]);
        Ok(read)
    }
}

/// The hash of bytes that are at hand.
pub(super) fn hash(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}
