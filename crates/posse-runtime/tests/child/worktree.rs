//! Worktrees of real repositories: made, removed when nothing changed, kept otherwise, swept after a crash.

use std::path::Path;
use std::process::Command as Process;

use posse_runtime::child::environment;
use posse_runtime::workspace::{Finished, Worktree, Worktrees};

const RUN: &str = "0192f0c4-0000-7000-8000-0000cafe0001";

struct Repository {
    directory: tempfile::TempDir,
}

fn git(directory: &Path, words: &[&str]) -> String {
    let output = Process::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"])
        .args(words)
        .current_dir(directory)
        .output()
        .expect("git is there");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn repository() -> Repository {
    let repository = Repository { directory: tempfile::tempdir().expect("a directory") };
    let top = repository.top();
    std::fs::create_dir_all(top.join("below")).expect("a directory");
    std::fs::write(top.join("below/file"), "one\n").expect("a file");
    std::fs::write(top.join(".gitignore"), "target\n").expect("a file");
    git(&top, &["init", "--quiet"]);
    git(&top, &["add", "."]);
    git(&top, &["commit", "--quiet", "-m", "first"]);
    repository
}

impl Repository {
    fn top(&self) -> std::path::PathBuf {
        let path = self.directory.path().canonicalize().expect("a path").join("repository");
        std::fs::create_dir_all(&path).expect("a directory");
        path
    }

    fn worktrees(&self) -> Worktrees {
        let home = ("HOME".into(), self.directory.path().into());
        Worktrees {
            state: self.directory.path().canonicalize().expect("a path").join("state"),
            variables: environment(std::env::vars_os().filter(|(name, _)| name == "PATH"), &[home]),
        }
    }

    async fn create(&self) -> Worktree {
        self.worktrees().create(&self.top().join("below"), RUN).await.expect("a worktree")
    }

    /// Branches and worktrees, as git has them.
    fn known(&self) -> (String, usize) {
        let branches = git(&self.top(), &["branch", "--format=%(refname:short)"]).replace('\n', " ");
        (branches, git(&self.top(), &["worktree", "list"]).lines().count())
    }
}

/// Makes a worktree, lets something happen in it, and finishes it.
async fn check(happens: impl Fn(&Worktree), expected: Option<&str>) {
    let repository = repository();
    let worktree = repository.create().await;
    assert_eq!(worktree.workspace, worktree.path.join("below"));
    assert_eq!(std::fs::read_to_string(worktree.workspace.join("file")).expect("a file"), "one\n");
    happens(&worktree);
    let finished = repository.worktrees().finish(&worktree).await;
    match expected {
        None => {
            assert_eq!(finished, Finished::Removed);
            assert!(!worktree.path.exists());
            assert_eq!(repository.known(), ("main".to_owned(), 1));
        }
        Some(why) => {
            let (path, branch, why) = (worktree.path.clone(), "posse/cafe0001".to_owned(), why.to_owned());
            assert_eq!(finished, Finished::Kept { path, branch, why });
            assert_eq!(repository.known(), ("main posse/cafe0001".to_owned(), 2));
        }
    }
}

fn write(worktree: &Worktree, name: &str) {
    std::fs::write(worktree.path.join(name), "two\n").expect("a file");
}

#[tokio::test]
async fn a_worktree_in_which_nothing_changed_is_removed() {
    check(|_| {}, None).await;
}

#[tokio::test]
async fn what_git_ignores_is_no_change() {
    check(|worktree| write(worktree, "target"), None).await;
}

#[tokio::test]
async fn a_changed_file_keeps_it() {
    check(|worktree| write(worktree, "below/file"), Some("files changed")).await;
}

#[tokio::test]
async fn a_new_file_keeps_it() {
    check(|worktree| write(worktree, "new"), Some("files changed")).await;
}

#[tokio::test]
async fn a_new_commit_keeps_it() {
    let commit = |worktree: &Worktree| {
        write(worktree, "new");
        git(&worktree.path, &["add", "."]);
        git(&worktree.path, &["commit", "--quiet", "-m", "second"]);
    };
    check(commit, Some("there are new commits")).await;
}

/// An agent that may write only in its worktree must not make Posse's own git run something.
#[tokio::test]
async fn settings_of_a_repository_that_an_agent_put_there_are_not_used() {
    let repository = repository();
    let worktree = repository.create().await;
    let evil = worktree.path.join("evil");
    git(&worktree.path, &["init", "--quiet", "evil"]);
    let marker = repository.directory.path().join("ran");
    git(&evil, &["config", "core.fsmonitor", &format!("touch {}", marker.display())]);
    std::fs::remove_file(worktree.path.join(".git")).expect("a file");
    std::fs::write(worktree.path.join(".git"), format!("gitdir: {}/.git\n", evil.display())).expect("a file");
    let finished = repository.worktrees().finish(&worktree).await;
    assert!(matches!(finished, Finished::Kept { .. }), "{finished:?}");
    assert!(!marker.exists());
}

#[tokio::test]
async fn a_sweep_removes_what_the_dead_left_unchanged() {
    let repository = repository();
    let unchanged = repository.create().await;
    let worktrees = repository.worktrees();
    assert_eq!(worktrees.sweep(|_| true).await, []);
    assert_eq!(worktrees.sweep(|run| run != RUN).await, [(RUN.to_owned(), Finished::Removed)]);
    assert!(!unchanged.path.exists());
    assert_eq!(worktrees.sweep(|_| false).await, []);
}

#[tokio::test]
async fn a_sweep_keeps_and_names_what_changed() {
    let repository = repository();
    let worktree = repository.create().await;
    write(&worktree, "new");
    let kept =
        Finished::Kept { path: worktree.path, branch: worktree.branch, why: "files changed".to_owned() };
    assert_eq!(repository.worktrees().sweep(|_| false).await, [(RUN.to_owned(), kept)]);
}

#[tokio::test]
async fn a_sweep_removes_what_was_being_made_when_posse_ended() {
    let repository = repository();
    let worktree = repository.create().await;
    let record = worktree.path.with_extension("json");
    let mut known: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&record).expect("a record")).expect("JSON");
    known["git_directory"] = "".into();
    std::fs::write(&record, known.to_string()).expect("a record");
    assert_eq!(repository.worktrees().sweep(|_| false).await, [(RUN.to_owned(), Finished::Removed)]);
    assert_eq!(repository.known(), ("main".to_owned(), 1));
}

#[tokio::test]
async fn a_sweep_clears_up_after_somebody_removed_the_directory() {
    let repository = repository();
    let worktree = repository.create().await;
    std::fs::remove_dir_all(&worktree.path).expect("it is there");
    assert_eq!(repository.worktrees().sweep(|_| false).await, [(RUN.to_owned(), Finished::Removed)]);
    assert_eq!(repository.known(), ("main".to_owned(), 1));
}

#[tokio::test]
async fn what_is_no_repository_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let worktrees =
        Worktrees { state: directory.path().into(), variables: environment(std::env::vars_os(), &[]) };
    let refused = worktrees.create(directory.path(), RUN).await.expect_err("there is no repository");
    assert!(refused.reason.contains("is not in a git repository"), "{refused}");
    git(directory.path(), &["init", "--quiet"]);
    let refused = worktrees.create(directory.path(), RUN).await.expect_err("there is no commit");
    assert!(refused.reason.contains("has no commit"), "{refused}");
}
