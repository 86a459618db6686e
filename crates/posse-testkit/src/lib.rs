//! What tests need and nobody else: a temporary project with its own home, stable output, a model
//! server that follows a script, a plan to run, and a record of what a tool did.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub use effect_log::EffectLog;
pub use model_server::{Api, ModelServer, Received, Reply, Script, Stop, Usage};

mod effect_log;
pub mod model_server;
pub mod sample;

/// A project directory and a home directory that vanish with the value.
#[derive(Debug)]
pub struct Project {
    root: tempfile::TempDir,
    program: PathBuf,
}

/// What a program printed and how it ended.
#[derive(Debug)]
pub struct Finished {
    /// Everything on stdout.
    pub stdout: String,
    /// Everything on stderr.
    pub stderr: String,
    /// The exit code.
    pub code: i32,
}

impl Project {
    /// An empty project that runs `program`.
    pub fn new(program: &str) -> Project {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let project = Project { root, program: program.into() };
        fs::create_dir_all(project.work()).expect("a directory can be made");
        fs::create_dir_all(project.home()).expect("a directory can be made");
        project
    }

    /// The project's directory.
    pub fn work(&self) -> PathBuf {
        self.canonical().join("work")
    }

    /// The home directory.
    pub fn home(&self) -> PathBuf {
        self.canonical().join("home")
    }

    fn canonical(&self) -> PathBuf {
        self.root.path().canonicalize().expect("the directory exists")
    }

    /// Writes a file below the project; `~/` is the home directory.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> &Project {
        let full = self.path(path);
        fs::create_dir_all(full.parent().expect("a file has a parent")).expect("a directory can be made");
        fs::write(full, content).expect("a file can be written");
        self
    }

    /// The full path of a file below the project or below `~/`.
    pub fn path(&self, path: &str) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(below) => self.home().join(below),
            None => self.work().join(path),
        }
    }

    /// Reads a file below the project.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).expect("the file can be read")
    }

    /// Runs the program in the project with nothing but its home in the environment.
    pub fn run(&self, arguments: &[&str]) -> Finished {
        let output = self.command(arguments).stdin(Stdio::null()).output().expect("the program runs");
        self.finished(&output)
    }

    /// The command that [`Project::run`] runs, to be changed by a test.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(self.work()).env_clear().env("HOME", self.home());
        command
    }

    /// The output with the directories of this run taken out.
    pub fn finished(&self, output: &Output) -> Finished {
        let stable = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            let text = text.replace(&path_text(&self.work()), "[WORK]");
            text.replace(&path_text(&self.home()), "[HOME]")
        };
        Finished {
            stdout: stable(&output.stdout),
            stderr: stable(&output.stderr),
            code: output.status.code().unwrap_or(-1),
        }
    }
}

fn path_text(path: &Path) -> String {
    path.display().to_string()
}

impl Finished {
    /// Both streams and the exit code as one text.
    pub fn shown(&self) -> String {
        let mut out = String::new();
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                out += &format!("--- {name}\n{text}");
                if !text.ends_with('\n') {
                    out.push('\n');
                }
            }
        }
        out += &format!("--- exit {}\n", self.code);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::Project;

    #[test]
    fn a_program_runs_in_its_own_home() {
        let project = Project::new("/bin/sh");
        project.write("a.txt", "x").write("~/b.txt", "y");
        let finished = project.run(&["-c", "pwd; echo $HOME; cat a.txt ~/b.txt; exit 3"]);
        assert_eq!(finished.shown(), "--- stdout\n[WORK]\n[HOME]\nxy\n--- exit 3\n");
    }
}
