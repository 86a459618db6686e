//! What the tests of all tools share, and what holds for every tool.

use std::future::{Future, poll_fn};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Barrier};
use std::task::Poll;
use std::{fs, panic};

use expect_test::{Expect, expect};
use posse_core::message::{ToolCall, ToolSpec};
use serde_json::{Value, json};

use super::blocking::{Stop, run};
use super::{
    AVAILABLE, EFFECTFUL, Effect, Endpoint, EngineKind, OUTPUT_BYTES_MAX_DEFAULT, REACHING, Tool,
    ToolContext, ToolOutput, WebSearch, builtin,
};
use crate::toolbox::Toolbox;

/// A workspace that is known to the model as `/shown`.
pub(super) struct Room {
    directory: tempfile::TempDir,
    locked: Vec<PathBuf>,
    pub context: ToolContext,
}

impl Drop for Room {
    /// Gives permissions back, without which the directory could not be removed.
    fn drop(&mut self) {
        for path in &self.locked {
            fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
        }
    }
}

impl Room {
    /// A workspace with these files; a name that ends with `/` is a directory.
    pub(super) fn with(files: &[(&str, &str)]) -> Room {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap().join("workspace");
        fs::create_dir(&workspace).unwrap();
        let workspace_shown = PathBuf::from("/shown");
        let context = ToolContext {
            held: Arc::default(),
            workspace,
            workspace_shown,
            is_near: false,
            output_bytes_max: OUTPUT_BYTES_MAX_DEFAULT,
            seen: Arc::default(),
            takes_media: false,
            private_hosts: Arc::new([]),
        };
        let room = Room { directory, locked: Vec::new(), context };
        for (name, content) in files {
            room.write(name, content.as_bytes());
        }
        room
    }

    /// Puts a file, or a directory, into the workspace.
    pub(super) fn write(&self, name: &str, content: &[u8]) {
        let path = self.path(name);
        if name.ends_with('/') {
            return fs::create_dir_all(path).unwrap();
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Puts a link into the workspace.
    pub(super) fn link(&self, name: &str, target: &str) {
        std::os::unix::fs::symlink(target, self.path(name)).unwrap();
    }

    /// Puts a FIFO into the workspace.
    pub(super) fn fifo(&self, name: &str) {
        assert!(std::process::Command::new("mkfifo").arg(self.path(name)).status().unwrap().success());
    }

    /// Puts a file beside the workspace, where nothing may be read.
    pub(super) fn write_outside(&self, name: &str) {
        fs::write(self.directory.path().join(name), "secret\n").unwrap();
    }

    /// Takes all permissions away; false when that means nothing, as for root.
    pub(super) fn lock(&mut self, name: &str) -> bool {
        let path = self.path(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        self.locked.push(path.clone());
        fs::File::open(&path).is_err()
    }

    /// Takes the permission to write away; false when that means nothing, as for root.
    pub(super) fn protect(&mut self, name: &str) -> bool {
        let path = self.path(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o500)).unwrap();
        self.locked.push(path.clone());
        fs::File::create(path.join("probe")).is_err()
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.context.workspace.join(name)
    }

    pub(super) fn call(&self, tool: &str, input: &Value) -> ToolOutput {
        block_on(builtin(tool).unwrap().call(input, &self.context))
    }

    /// The one way in: the whole result of a call.
    #[allow(clippy::needless_pass_by_value)]
    pub(super) fn check(&self, tool: &str, input: Value, expected: Expect) {
        let output = self.call(tool, &input);
        assert!(output.text.len() <= self.context.output_bytes_max, "{} bytes", output.text.len());
        let kind = match output.text.starts_with(' ') {
            _ if output.is_error => "error: ",
            // An expected text loses the blanks that all of its lines begin with.
            true => "ok:\n",
            false => "",
        };
        expected.assert_eq(&format!("{kind}{}", output.text.replace('\r', "\\r")));
    }
}

pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[test]
fn every_path_that_leads_out_is_refused_by_every_tool() {
    let room = Room::with(&[("inside.txt", "x\n")]);
    room.write_outside("secret.txt");
    room.link("link", "../secret.txt");
    room.link("up", "..");
    let outside = room.directory.path().join("secret.txt").display().to_string();
    let missing = room.directory.path().join("missing.txt").display().to_string();
    let paths = [
        "/etc/passwd",
        "/etc/missing",
        "..",
        "../secret.txt",
        "../missing.txt",
        "link",
        "up/secret.txt",
        "up/missing.txt",
        "/shown/../secret.txt",
        "/shown/up",
        "/dev/zero",
        "/proc/self/environ",
        &outside,
        &missing,
    ];
    for path in paths {
        for (tool, key) in [("Read", "file_path"), ("Glob", "path"), ("Grep", "path"), ("LS", "path")] {
            let output = room.call(tool, &json!({ key: path, "pattern": "x" }));
            let text = format!("`{path}` is outside the workspace /shown; only files below it can be read");
            assert_eq!(output, ToolOutput::error(text), "{tool}");
        }
    }
}

#[test]
fn a_path_is_understood_from_the_workspace_as_shown_and_as_it_is() {
    let room = Room::with(&[("src/a.txt", "x\n")]);
    room.link("alias", "src/a.txt");
    let real = room.path("src/a.txt").display().to_string();
    for path in ["src/a.txt", "./src/../src/a.txt", "/shown/src/a.txt", "alias", &real] {
        room.check(
            "Read",
            json!({ "file_path": path }),
            expect![[r#"
                ok:
                     1	x"#]],
        );
        room.check(
            "Grep",
            json!({ "pattern": "x", "path": path, "output_mode": "content" }),
            expect!["src/a.txt:1:x"],
        );
    }
    for path in ["src", "src/", "/shown/src", "/shown/src/."] {
        room.check("Glob", json!({ "pattern": "*", "path": path }), expect!["src/a.txt"]);
        room.check("LS", json!({ "path": path }), expect!["a.txt (2 bytes)"]);
    }
}

#[test]
fn what_the_kernel_makes_up_is_not_read() {
    let mut room = Room::with(&[]);
    room.context.workspace = PathBuf::from("/");
    if cfg!(target_os = "linux") {
        room.check(
            "Read",
            json!({ "file_path": "/proc/self/environ" }),
            expect!["error: `/proc/self/environ` is made up by the kernel; only files on disk can be read"],
        );
        room.check(
            "Read",
            json!({ "file_path": "/dev/zero" }),
            expect!["error: `dev/zero` is a device, not a regular file"],
        );
        room.check(
            "LS",
            json!({ "path": "/proc" }),
            expect!["error: `/proc` is made up by the kernel; only files on disk can be read"],
        );
    }
}

#[test]
fn an_input_that_does_not_fit_is_said() {
    let room = Room::with(&[]);
    room.check(
        "Read",
        json!({}),
        expect!["error: the input does not fit the schema: missing field `file_path`"],
    );
    room.check(
        "Read",
        json!({ "file_path": "a", "offset": -1 }),
        expect!["error: the input does not fit the schema: -1 is not a count"],
    );
    room.check(
        "Read",
        json!({ "file_path": "a", "offset": 1.5 }),
        expect!["error: the input does not fit the schema: 1.5 is not a count"],
    );
    room.check("Grep", json!({ "pattern": "a", "output_mode": "lines" }), expect!["error: the input does not fit the schema: unknown variant `lines`, expected one of `content`, `files_with_matches`, `count`"]);
    room.check(
        "LS",
        json!({ "path": "", "ignore": "x" }),
        expect![[
            r#"error: the input does not fit the schema: invalid type: string "x", expected a sequence"#
        ]],
    );
}

#[test]
fn a_message_about_a_long_path_is_short() {
    let mut room = Room::with(&[]);
    room.check("Read", json!({ "file_path": "deep/\n".repeat(100) }), expect![[r#"error: `deep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/\ndeep/…` does not exist; Glob and LS show what does"#]]);
    room.context.output_bytes_max = 40;
    room.check(
        "Read",
        json!({ "file_path": "missing.txt" }),
        expect!["error: `missing.txt` does not exist; Glob and L"],
    );
}

#[test]
fn the_table_has_the_tools_in_their_order() {
    let names: Vec<&str> = super::BUILTIN.iter().map(|tool| tool.spec().name).collect();
    assert_eq!(names, [AVAILABLE, EFFECTFUL, REACHING].concat());
    let effect = |name: &&str| builtin(name).unwrap().effect();
    assert!(AVAILABLE.iter().chain(REACHING).all(|name| effect(name) == Effect::ReadOnly));
    assert!(EFFECTFUL.iter().all(|name| effect(name) == Effect::Effectful));
    assert!(builtin("read").is_none());
}

fn web_search() -> WebSearch {
    let url = "http://127.0.0.1/".parse().unwrap();
    WebSearch::new(Endpoint { kind: EngineKind::Searxng, url, key: None })
}

/// What a tool's schema says to an input.
fn check_input(tool: &str, input: Value, expected: &Expect) {
    let names = [AVAILABLE, EFFECTFUL, REACHING].concat();
    let toolbox = Toolbox::of(&names).with(Arc::new(web_search()));
    let offered: Vec<String> = toolbox.names().iter().map(|name| (*name).to_owned()).collect();
    let (id, name) = ("call_1".to_owned(), tool.to_owned());
    let call = ToolCall { id, name, input, malformed: None, seal: None };
    expected.assert_eq(&toolbox.check(&call, &offered).map_or_else(|error| error, |_| "fits".to_owned()));
}

#[test]
fn inputs_as_claude_code_has_them_fit() {
    let edit = json!({ "old_string": "a", "new_string": "b", "replace_all": true });
    let todo = json!({ "content": "a", "status": "in_progress", "activeForm": "doing a" });
    for (tool, input) in [
        ("Write", json!({ "file_path": "/a", "content": "" })),
        ("Edit", json!({ "file_path": "/a", "old_string": "a", "new_string": "b", "replace_all": false })),
        ("MultiEdit", json!({ "file_path": "/a", "edits": [edit] })),
        (
            "NotebookEdit",
            json!({ "notebook_path": "/a", "cell_id": "x", "new_source": "", "cell_type": "code", "edit_mode": "insert" }),
        ),
        ("TodoWrite", json!({ "todos": [todo] })),
        ("AttachFile", json!({ "path": "/a" })),
        ("AttachFile", json!({ "file_path": "/a" })),
        ("WebFetch", json!({ "url": "https://example.org", "prompt": "what is it?" })),
        ("WebSearch", json!({ "query": "ab", "allowed_domains": ["a.org"], "blocked_domains": [] })),
    ] {
        check_input(tool, input, &expect!["fits"]);
    }
    check_input(
        "MultiEdit",
        json!({ "file_path": "/a", "edits": [] }),
        &expect!["The input of `MultiEdit` is wrong: /edits: [] has less than 1 item"],
    );
    check_input(
        "TodoWrite",
        json!({ "todos": [{ "content": "a", "status": "done" }] }),
        &expect![[
            r#"The input of `TodoWrite` is wrong: /todos/0/status: "done" is not one of "pending", "in_progress" or "completed""#
        ]],
    );
    check_input(
        "Write",
        json!({ "content": 1 }),
        &expect![[
            r#"The input of `Write` is wrong: "file_path" is a required property; /content: 1 is not of type "string""#
        ]],
    );
}

#[test]
fn the_tools_cost_a_model_few_bytes() {
    let bytes_of = |spec: &ToolSpec| {
        let told = json!({ "name": spec.name, "description": spec.description, "schema": spec.schema });
        told.to_string().len()
    };
    let bytes = |name: &str| bytes_of(builtin(name).unwrap().spec());
    assert!(bytes("Read") <= 1_000, "{}", bytes("Read"));
    let all = |names: &[&str]| names.iter().map(|name| bytes(name)).sum::<usize>();
    let looking = all(&AVAILABLE[..4]);
    assert!(looking <= 3_000, "{looking}");
    let others = all(&AVAILABLE[4..]) + all(EFFECTFUL) + all(REACHING) + bytes_of(web_search().spec());
    // With every tool there will be, a request has at most 12 KB of our words.
    assert!(others <= 5_500, "{others}");
    expect!["596 of 2746, and 3205 bytes"]
        .assert_eq(&format!("{} of {looking}, and {others} bytes", bytes("Read")));
}

#[test]
fn work_that_panics_gives_a_result() {
    fn broken(_: &Value, _: &ToolContext, _: &Stop) -> Result<ToolOutput, String> {
        // Silent: the panic is what is tested.
        panic::resume_unwind(Box::new("the reason"))
    }
    let output = block_on(run(broken, json!({}), Room::with(&[]).context.clone()));
    assert_eq!(output, ToolOutput::error("the tool broke, which is not your mistake: the reason"));
}

#[test]
fn abandoned_work_is_told_to_stop() {
    static MEETING: Barrier = Barrier::new(2);
    fn patient(_: &Value, _: &ToolContext, stop: &Stop) -> Result<ToolOutput, String> {
        MEETING.wait();
        while !stop.is_set() {
            std::thread::yield_now();
        }
        MEETING.wait();
        Ok(ToolOutput::default())
    }
    block_on(async {
        let mut call = Box::pin(run(patient, json!({}), Room::with(&[]).context.clone()));
        poll_fn(|waker| {
            assert!(call.as_mut().poll(waker).is_pending());
            Poll::Ready(())
        })
        .await;
        MEETING.wait();
        drop(call);
        MEETING.wait();
    });
}
