//! What an effectful tool of a test leaves behind, so that a test can see what was done how often.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;

/// A file to which each effect adds one line: it survives the process that had the effect.
#[derive(Debug, Clone)]
pub struct EffectLog {
    path: PathBuf,
}

impl EffectLog {
    /// The log in that file, which need not be there yet.
    pub fn new(path: PathBuf) -> EffectLog {
        EffectLog { path }
    }

    /// Has the effect: one line, written whole whoever else writes.
    pub fn add(&self, effect: &str) {
        assert!(!effect.contains('\n'), "an effect is one line");
        let file = OpenOptions::new().create(true).append(true).open(&self.path);
        let mut file = file.expect("the log can be opened");
        file.write_all(format!("{effect}\n").as_bytes()).expect("the log can be written");
    }

    /// The effects so far, in order.
    pub fn effects(&self) -> Vec<String> {
        match fs::read_to_string(&self.path) {
            Ok(text) => text.lines().map(str::to_owned).collect(),
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => panic!("the log cannot be read: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::EffectLog;

    #[test]
    fn every_effect_is_one_line() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let log = EffectLog::new(directory.path().join("effects"));
        assert_eq!(log.effects(), Vec::<String>::new());
        log.add("a");
        log.clone().add("b");
        assert_eq!(log.effects(), ["a", "b"]);
    }
}
