//! The built program, driven as its users drive it. One test binary.

mod check;
mod corpus;
mod discovery;
mod docs;
mod faults;
mod lab;
mod limits;
mod list;
mod manage;
mod output;
mod permissions;
mod plan_command;
mod refusals;
mod replay;
mod run;
mod seeds;
mod show;
mod steer;
mod tidy;

use expect_test::Expect;
use posse_testkit::Project;
use serde_json::Value;

fn project() -> Project {
    Project::new(env!("CARGO_BIN_EXE_posse"))
}

/// Runs the program and compares everything it printed.
fn check(project: &Project, arguments: &[&str], expected: &Expect) {
    expected.assert_eq(&project.run(arguments).shown());
}

/// The one JSON value on stdout; nothing else may be there.
fn json(project: &Project, arguments: &[&str]) -> Value {
    let finished = project.run(arguments);
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {}", finished.shown()))
}

/// A valid Claude agent with further keys.
fn agent(name: &str, keys: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}\n{keys}---\nDo it.\n")
}

/// The root of the repository.
fn repository() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the repository exists")
}
