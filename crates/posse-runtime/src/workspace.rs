//! A git worktree as the workspace of a run: made from the current commit, removed again if nothing changed in it. Posse
//! calls git itself here, outside of every isolation, so nothing that an agent may have written is taken as git's settings.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::child::{Captured, Unavailable, Variable, capture};
use crate::write_atomically;

/// How long one call of git may take; a checkout of a large repository is the longest.
const GIT_LIMIT: Duration = Duration::from_mins(5);
/// How many characters of a run's identity name its branch.
const SHORT_CHARACTERS: usize = 8;
/// What git must not run or ask, whatever a repository says.
const GIT_SETTINGS: &[&str] = &["core.fsmonitor=false", "core.hooksPath=/dev/null", "gc.auto=0"];
/// The directory below the state directory.
const DIRECTORY: &str = "worktrees";

/// Where worktrees are made, and with which variables git is called.
#[derive(Debug, Clone)]
pub struct Worktrees {
    /// The user's state directory.
    pub state: PathBuf,
    /// What [`crate::child::environment`] makes.
    pub variables: Vec<Variable>,
}

/// A worktree of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worktree {
    /// The run it was made for.
    pub run: String,
    /// The top of the worktree.
    pub path: PathBuf,
    /// Its branch.
    pub branch: String,
    /// The directory in it that corresponds to the one it was asked for.
    pub workspace: PathBuf,
    /// The top of the repository it was made from.
    repository: PathBuf,
    /// What git keeps about it. The file `.git` in it says so too, but an agent may have written another.
    git_directory: PathBuf,
    /// The commit it was made from.
    base: String,
}

/// What became of a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finished {
    /// Nothing had changed in it, and it is gone with its branch.
    Removed,
    /// It is still there.
    Kept {
        /// Where.
        path: PathBuf,
        /// On which branch.
        branch: String,
        /// Why: what changed, or what could not be found out.
        why: String,
    },
}

impl Worktrees {
    /// Makes a worktree of the repository that a directory is in.
    pub async fn create(&self, directory: &Path, run: &str) -> Result<Worktree, Unavailable> {
        let found = self.git(directory, &["rev-parse", "--show-toplevel", "--show-prefix"]).await;
        let found = found.map_err(|why| {
            let reason = format!("{} is not in a git repository: {why}", directory.display());
            Unavailable::new(reason, "write `workspace: shared`, or run `git init` and commit")
        })?;
        let (top, prefix) = found.split_once('\n').unwrap_or((&found, ""));
        let repository = PathBuf::from(top);
        let base = self.git(&repository, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).await;
        let base = base.map_err(|_| {
            Unavailable::new(format!("{top} has no commit to make a worktree from"), "commit something first")
        })?;
        let path = self.state.join(DIRECTORY).join(run);
        let branch = format!("posse/{}", short(run));
        let workspace = path.join(prefix);
        let git_directory = PathBuf::new();
        let mut worktree =
            Worktree { run: run.to_owned(), path, branch, workspace, repository, git_directory, base };
        self.add(&mut worktree).await.map_err(|why| {
            Unavailable::new(format!("cannot make a worktree of {top}: {why}"), "write `workspace: shared`")
        })?;
        Ok(worktree)
    }

    async fn add(&self, worktree: &mut Worktree) -> Result<(), String> {
        let said = |error: io::Error| error.to_string();
        std::fs::create_dir_all(self.state.join(DIRECTORY)).map_err(said)?;
        // Before git makes anything: what a crash leaves behind is found by its record.
        self.record(worktree).map_err(said)?;
        let added = self.add_and_locate(worktree).await;
        if added.is_err() {
            drop(std::fs::remove_file(self.record_of(&worktree.run)));
        }
        worktree.git_directory = added?;
        self.record(worktree).map_err(said)
    }

    async fn add_and_locate(&self, worktree: &Worktree) -> Result<PathBuf, String> {
        let path = worktree.path.as_os_str();
        let words = ["worktree", "add", "--quiet", "-b", &worktree.branch].map(OsStr::new);
        self.call(&worktree.repository, &[&words[..], &[path, OsStr::new(&worktree.base)]].concat()).await?;
        self.locate(worktree).await
    }

    async fn locate(&self, worktree: &Worktree) -> Result<PathBuf, String> {
        self.git(&worktree.path, &["rev-parse", "--absolute-git-dir"]).await.map(PathBuf::from)
    }

    /// Removes a worktree in which nothing changed; says where any other is.
    pub async fn finish(&self, worktree: &Worktree) -> Finished {
        let kept = |why: String| Finished::Kept {
            path: worktree.path.clone(),
            branch: worktree.branch.clone(),
            why,
        };
        match self.change(worktree).await {
            Ok(None) => match self.remove(worktree).await {
                Ok(()) => Finished::Removed,
                Err(why) => kept(why),
            },
            Ok(Some(why)) | Err(why) => kept(why),
        }
    }

    /// Removes what runs left behind that are gone, if nothing changed in it; tells what is kept.
    pub async fn sweep(&self, is_alive: impl Fn(&str) -> bool) -> Vec<(String, Finished)> {
        let Ok(entries) = std::fs::read_dir(self.state.join(DIRECTORY)) else { return Vec::new() };
        let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
        let mut records: Vec<PathBuf> =
            paths.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect();
        records.sort();
        let mut swept = Vec::new();
        for record in records {
            let read = std::fs::read(&record).ok();
            let Some(worktree) = read.and_then(|bytes| serde_json::from_slice::<Worktree>(&bytes).ok())
            else {
                continue;
            };
            if !is_alive(&worktree.run) {
                let finished = self.finish(&worktree).await;
                swept.push((worktree.run, finished));
            }
        }
        swept
    }

    /// What changed in a worktree since it was made, if anything did.
    async fn change(&self, worktree: &Worktree) -> Result<Option<String>, String> {
        if !worktree.path.exists() {
            return Ok(None);
        }
        let status = ["status", "--porcelain", "--untracked-files=all"];
        if !self.inside(worktree, &status).await?.is_empty() {
            return Ok(Some("files changed".to_owned()));
        }
        for reference in ["HEAD".to_owned(), format!("refs/heads/{}", worktree.branch)] {
            let words = ["rev-parse", "--verify", "--quiet", reference.as_str()];
            if self.inside(worktree, &words).await? != worktree.base {
                return Ok(Some("there are new commits".to_owned()));
            }
        }
        Ok(None)
    }

    async fn remove(&self, worktree: &Worktree) -> Result<(), String> {
        if worktree.path.exists() {
            let words = ["worktree", "remove"].map(OsStr::new);
            let path = worktree.path.as_os_str();
            self.call(&worktree.repository, &[&words[..], &[path]].concat()).await?;
        } else if worktree.repository.exists() {
            self.git(&worktree.repository, &["worktree", "prune"]).await?;
        }
        let reference = format!("refs/heads/{}", worktree.branch);
        // Only while it is where it was made: a branch that somebody went on with is theirs.
        let words = ["update-ref", "-d", &reference, &worktree.base];
        // One that was never made needs no removing.
        drop(self.git(&worktree.repository, &words).await);
        std::fs::remove_file(self.record_of(&worktree.run)).map_err(|error| error.to_string())
    }

    fn record(&self, worktree: &Worktree) -> io::Result<()> {
        write_atomically(&self.record_of(&worktree.run), &serde_json::to_vec(worktree)?)
    }

    fn record_of(&self, run: &str) -> PathBuf {
        self.state.join(DIRECTORY).join(format!("{run}.json"))
    }

    /// Git in a worktree, told where its own files are.
    async fn inside(&self, worktree: &Worktree, words: &[&str]) -> Result<String, String> {
        let mut directory = OsString::from("--git-dir=");
        if worktree.git_directory.as_os_str().is_empty() {
            // Posse ended while it was being made: no agent has been here yet, and git may look by itself.
            directory.push(self.locate(worktree).await?);
        } else {
            directory.push(&worktree.git_directory);
        }
        let mut tree = OsString::from("--work-tree=");
        tree.push(&worktree.path);
        let places = [directory.as_os_str(), tree.as_os_str()];
        let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
        self.call(&worktree.path, &[&places[..], &words].concat()).await
    }

    async fn git(&self, directory: &Path, words: &[&str]) -> Result<String, String> {
        let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
        self.call(directory, &words).await
    }

    async fn call(&self, directory: &Path, words: &[&OsStr]) -> Result<String, String> {
        let settings = GIT_SETTINGS.iter().flat_map(|setting| ["-c", setting]).map(OsStr::new);
        let words: Vec<&OsStr> =
            [OsStr::new("git")].into_iter().chain(settings).chain(words.iter().copied()).collect();
        let no_prompt = [("GIT_TERMINAL_PROMPT".into(), "0".into()), ("LC_ALL".into(), "C".into())];
        let variables = [&self.variables[..], &no_prompt].concat();
        let Captured { succeeded, stdout, stderr } =
            capture(&words, directory, &variables, GIT_LIMIT).await?;
        if succeeded { Ok(stdout) } else { Err(stderr.lines().next().unwrap_or("git fails").to_owned()) }
    }
}

/// The end of an identity: identities of the same moment begin alike.
fn short(run: &str) -> &str {
    let start = run.char_indices().rev().nth(SHORT_CHARACTERS - 1).map_or(0, |(index, _)| index);
    &run[start..]
}
