//! Which project files a person has agreed to, by the hash of what they agreed to.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::file::write_atomically;

/// The version of the record.
const VERSION: u64 = 1;

/// The hashes a person has agreed to, by absolute path; entries of one file as `path#entry`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    hashes: BTreeMap<String, String>,
}

/// How something that needs trust stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nobody has agreed to it.
    New,
    /// It is not what was agreed to any more.
    Changed,
    /// It is what was agreed to.
    Trusted,
}

/// Something of a project that needs trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The absolute path, with `#entry` for one of several in a file.
    pub key: String,
    /// The hash of its content.
    pub hash: String,
}

impl Item {
    /// The item for a file, or for one entry of it.
    pub fn new(path: &Path, entry: Option<&str>, content: &[u8]) -> Item {
        let path = path.display();
        let key = entry.map_or_else(|| path.to_string(), |entry| format!("{path}#{entry}"));
        Item { key, hash: hash(content) }
    }
}

impl Trust {
    /// Reads what was recorded; nothing recorded is nothing trusted.
    pub fn load(state: Option<&Path>) -> io::Result<Trust> {
        let Some(path) = state.map(file) else { return Ok(Trust::default()) };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Trust::default()),
            Err(error) => return Err(annotated(&path, &error)),
        };
        let json: Value = serde_json::from_str(&text).map_err(|error| annotated(&path, &error))?;
        let files = json["files"].as_object().ok_or_else(|| annotated(&path, &"no `files` in it"))?;
        let hashes =
            files.iter().filter_map(|(key, hash)| Some((key.clone(), hash.as_str()?.to_owned()))).collect();
        Ok(Trust { hashes })
    }

    /// True when exactly this content was agreed to.
    pub fn holds(&self, item: &Item) -> bool {
        self.standing(item) == Standing::Trusted
    }

    /// How an item stands.
    pub fn standing(&self, item: &Item) -> Standing {
        match self.hashes.get(&item.key) {
            None => Standing::New,
            Some(hash) if *hash == item.hash => Standing::Trusted,
            Some(_) => Standing::Changed,
        }
    }

    /// What is recorded below a directory.
    pub fn below(&self, directory: &Path) -> Vec<&str> {
        self.hashes.keys().map(String::as_str).filter(|key| Path::new(key).starts_with(directory)).collect()
    }

    /// Everything that is recorded.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.hashes.keys().map(String::as_str)
    }

    /// Records what a person has agreed to.
    pub fn record(state: &Path, items: &[Item]) -> io::Result<()> {
        change(state, |hashes| hashes.extend(items.iter().map(|item| (item.key.clone(), item.hash.clone()))))
    }

    /// Forgets everything below a directory; gives how many files that were.
    pub fn revoke(state: &Path, directory: &Path) -> io::Result<usize> {
        let mut forgotten = 0;
        change(state, |hashes| {
            let before = hashes.len();
            hashes.retain(|key, _| !Path::new(key).starts_with(directory));
            forgotten = before - hashes.len();
        })?;
        Ok(forgotten)
    }
}

fn file(state: &Path) -> PathBuf {
    state.join("trust.json")
}

fn annotated(path: &Path, error: &dyn std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}

/// Reads, changes and writes under a lock, so that two processes lose nothing of each other's.
fn change(state: &Path, edit: impl FnOnce(&mut BTreeMap<String, String>)) -> io::Result<()> {
    fs::create_dir_all(state).map_err(|error| annotated(state, &error))?;
    let lock_path = state.join("trust.lock");
    let lock = File::create(&lock_path).map_err(|error| annotated(&lock_path, &error))?;
    lock.lock()?;
    let mut trust = Trust::load(Some(state))?;
    edit(&mut trust.hashes);
    let json = serde_json::json!({ "version": VERSION, "files": trust.hashes });
    write_atomically(&file(state), format!("{json:#}\n").as_bytes())
}

fn hash(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{Item, Standing, Trust};
    use std::path::Path;

    #[test]
    fn only_the_content_that_was_agreed_to_is_trusted() {
        let state = tempfile::tempdir().expect("a directory");
        let item = Item::new(Path::new("/p/a.md"), None, b"one");
        Trust::record(state.path(), std::slice::from_ref(&item)).expect("recorded");
        let trust = Trust::load(Some(state.path())).expect("loaded");
        let changed = Item::new(Path::new("/p/a.md"), None, b"two");
        assert!(trust.holds(&item) && !trust.holds(&changed));
        assert_eq!(trust.standing(&changed), Standing::Changed);
    }

    #[test]
    fn revoking_forgets_a_directory_and_nothing_else() {
        let state = tempfile::tempdir().expect("a directory");
        let items =
            [Item::new(Path::new("/p/a.md"), None, b""), Item::new(Path::new("/pp/a.md"), Some("x"), b"")];
        Trust::record(state.path(), &items).expect("recorded");
        assert_eq!(Trust::revoke(state.path(), Path::new("/p")).expect("revoked"), 1);
        let trust = Trust::load(Some(state.path())).expect("loaded");
        assert_eq!(trust.all().collect::<Vec<_>>(), ["/pp/a.md#x"]);
    }

    #[test]
    fn many_writers_lose_nothing() {
        let state = tempfile::tempdir().expect("a directory");
        std::thread::scope(|scope| {
            for index in 0..16 {
                let directory = state.path();
                scope.spawn(move || {
                    let path = format!("/p/{index}.md");
                    Trust::record(directory, &[Item::new(Path::new(&path), None, b"")]).expect("recorded");
                });
            }
        });
        assert_eq!(Trust::load(Some(state.path())).expect("loaded").all().count(), 16);
    }

    #[test]
    fn a_damaged_record_is_an_error_and_not_nothing() {
        let state = tempfile::tempdir().expect("a directory");
        std::fs::write(state.path().join("trust.json"), "{").expect("written");
        assert!(Trust::load(Some(state.path())).is_err());
    }
}
