//! One life of a run: killed where the case says, gone on with to the end, and then looked at.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use posse_core::event::{Event, Fact};
use posse_core::message::Api;
use posse_core::outcome::Outcome;
use posse_core::transcript::{CallState, Transcript};
use posse_runtime::owner::is_alive;
use posse_runtime::store::{SqliteStore, Store};
use posse_testkit::{ModelServer, Reply, Script};
use rustix::process::Signal;
use serde_json::json;
use tempfile::TempDir;

use super::child::{HAD_ENDED, Kill, Order, Writes};

/// Questions to the model in a run that nobody kills.
pub(crate) const TURNS: u64 = 4;
/// Events of such a run, the last of which ends it.
pub(crate) const EVENTS: u64 = 30;
/// The effects of such a run, in order.
pub(crate) const LABELS: [&str; 4] = ["a", "b", "c", "d"];

/// Cases that are checked at once: the children, not this process, do the work.
const AT_ONCE: usize = 3;
/// How long an answer that never ends is listened to.
const LISTENED: Duration = Duration::from_millis(20);
const RESULT: &str = "All four marks are made.";

/// Where the processes that carry a run die, one after the other; the last one lives.
#[derive(Debug)]
pub(crate) struct Case {
    pub api: Api,
    pub writes: Writes,
    pub kills: Vec<Kill>,
}

/// Checks all of them and says which are wrong.
pub(crate) fn check_all(cases: Vec<Case>) {
    let cases = Mutex::new(cases);
    let problems = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(case) = cases.lock().expect("no panic holds it").pop() else { return };
                    if let Err(problem) = case.check() {
                        problems.lock().expect("no panic holds it").push(format!("{case:?}: {problem}"));
                    }
                }
            });
        }
    });
    let problems = problems.into_inner().expect("no panic holds it");
    assert!(problems.is_empty(), "{} cases are wrong:\n{}", problems.len(), problems.join("\n"));
}

/// What the model says in each turn: calls beside each other, effects among them, and calls that are wrong.
fn replies() -> Vec<Reply> {
    let read = |path: &str| ("Read", json!({ "file_path": path }));
    let mark = |label: &str| ("Mark", json!({ "label": label }));
    vec![
        Reply::calls(&[read("one.txt"), ("LS", json!({ "path": "." })), ("Glob", json!({ "pattern": "*" }))]),
        Reply::calls(&[mark("a"), read("two.txt"), mark("b"), mark("c")]).and_text("Marking."),
        Reply::calls(&[read("absent.txt"), ("Mrak", json!({})), mark("d"), ("Mark", json!({ "label": 1 }))]),
        Reply::text(RESULT),
    ]
}

/// The same, but the first answer to one turn stops in the middle.
fn script(kill: Option<&Kill>) -> Script {
    let Some(Kill::InAnswer { turn, bytes }) = kill.cloned() else { return Script::by_turn(replies()) };
    let requests = AtomicU64::new(0);
    // A run whose first process dies in a turn has asked every turn before it once.
    Script::route(move |_| {
        let number = requests.fetch_add(1, Ordering::Relaxed) + 1;
        let again = u64::from(number > turn);
        let index = usize::try_from(number - 1 - again).expect("few requests");
        let reply = replies().swap_remove(index);
        if number == turn { reply.chunk_bytes(16).stall_at(bytes) } else { reply }
    })
}

/// What was stored when a process had died.
struct Left {
    events: Vec<Event>,
    transcript: Transcript,
}

impl Case {
    fn check(&self) -> Result<(), String> {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let server = ModelServer::start(script(self.kills.first()));
        let mut order = self.order(&directory, &server);
        let mut left = Vec::new();
        for kill in &self.kills {
            order.kill = Some(kill.clone());
            left.push(live_and_die(&order, &server)?);
        }
        order.kill = None;
        let had_ended = left.last().is_some_and(|left| left.transcript.outcome.is_some());
        live(&order, had_ended)?;
        let end = look(&order)?;
        same_past(&left, &end)?;
        ended_once(&end)?;
        effects_happened_once(&order, &left, &end)?;
        questions_were_not_repeated(&server, &left)?;
        match server.take_problems() {
            problems if problems.is_empty() => Ok(()),
            problems => Err(format!("the model's API was broken: {problems:?}")),
        }
    }

    fn order(&self, directory: &TempDir, server: &ModelServer) -> Order {
        let directory = directory.path().canonicalize().expect("the directory is there");
        let base_url = server.url();
        let order = Order { directory, base_url, api: self.api, writes: self.writes, kill: None };
        std::fs::create_dir(order.workspace()).expect("a directory can be made");
        for name in ["one.txt", "two.txt"] {
            std::fs::write(order.workspace().join(name), name).expect("a file can be written");
        }
        order
    }
}

fn live_and_die(order: &Order, server: &ModelServer) -> Result<Left, String> {
    let mut command = order.command();
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("a child can be started");
    let asking = match order.kill {
        Some(Kill::InAnswer { turn, .. }) => Some(turn),
        _ => None,
    };
    if let Some(turn) = asking {
        server.wait_for_requests(usize::try_from(turn).expect("few turns"));
        // Time for the bytes to arrive; nothing that is checked depends on whether they have.
        std::thread::sleep(LISTENED);
        child.kill().expect("a child can be killed");
    }
    let output = child.wait_with_output().expect("a child ends");
    let had_ended = output.status.code() == Some(HAD_ENDED);
    if output.status.signal() != Some(Signal::KILL.as_raw()) && !had_ended {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the child was to die and did not ({}): {said}", output.status));
    }
    let left = look(order)?;
    match asking {
        Some(turn) if left.transcript.asking != Some(turn) => Err(format!("turn {turn} was answered")),
        _ => Ok(left),
    }
}

fn live(order: &Order, had_ended: bool) -> Result<(), String> {
    let output = order.command().output().expect("a child can be started");
    let expected = if had_ended { HAD_ENDED } else { 0 };
    if output.status.code() == Some(expected) {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("the child ended with {}, not {expected}: {said}", output.status))
}

/// Reads the run as anybody could; looking changes nothing.
fn look(order: &Order) -> Result<Left, String> {
    let store = SqliteStore::open(&order.store()).map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime can be made");
    let events = runtime.block_on(async {
        match store.list(1).await.map_err(|error| error.to_string())?.first() {
            Some(run) if is_alive(&order.owners(), &run.owner) => Err("its owner is still alive".to_owned()),
            Some(run) => store.read(run.run_id, 1).await.map_err(|error| error.to_string()),
            None => Ok(Vec::new()),
        }
    })?;
    let transcript = Transcript::fold(&events).map_err(|error| error.to_string())?;
    Ok(Left { events, transcript })
}

/// What was stored is never changed, and each process went on from where the last one was.
fn same_past(left: &[Left], end: &Left) -> Result<(), String> {
    match left.iter().find(|left| !end.events.starts_with(&left.events)) {
        Some(left) => Err(format!("the first {} events were changed", left.events.len())),
        None if left.is_empty() && end.events.len() as u64 != EVENTS => {
            let kinds: Vec<&str> = end.events.iter().map(|event| event.fact.kind()).collect();
            Err(format!("an undisturbed run has {} events: {kinds:?}", kinds.len()))
        }
        None => Ok(()),
    }
}

fn ended_once(end: &Left) -> Result<(), String> {
    let ends = end.events.iter().filter(|event| matches!(event.fact, Fact::Ended(_))).count();
    let outcome = Outcome::Done { result: RESULT.to_owned(), output: None };
    if ends == 1 && end.transcript.outcome.as_ref() == Some(&outcome) {
        return Ok(());
    }
    Err(format!("it ended {ends} times, with {:?}", end.transcript.outcome))
}

/// Effects of calls that had begun when a process died: nobody can know whether they happened.
fn doubtful(left: &[Left]) -> BTreeSet<String> {
    let open = left.iter().flat_map(|left| &left.transcript.open_calls);
    let begun = open.filter(|open| matches!(open.state, CallState::Begun { effectful: true }));
    begun.map(|open| open.call.input["label"].as_str().unwrap_or_default().to_owned()).collect()
}

fn effects_happened_once(order: &Order, left: &[Left], end: &Left) -> Result<(), String> {
    let effects = order.effects().effects();
    let doubtful = doubtful(left);
    let expected: Vec<&str> = LABELS
        .into_iter()
        .filter(|label| !doubtful.contains(*label) || effects.iter().any(|effect| effect == label))
        .collect();
    if effects != expected {
        return Err(format!("the effects were {effects:?}, with {doubtful:?} in doubt"));
    }
    let mut interrupted = BTreeSet::new();
    let mut begun = BTreeSet::new();
    let mut labels = std::collections::BTreeMap::new();
    for event in &end.events {
        match &event.fact {
            Fact::ToolStarted(started) if started.effectful => {
                if !begun.insert(started.call_id.clone()) {
                    return Err(format!("call {} began twice", started.call_id));
                }
                let label = started.input["label"].as_str().unwrap_or_default().to_owned();
                labels.insert(started.call_id.clone(), label);
            }
            Fact::ToolFinished(finished) if finished.text.starts_with("interrupted: ") => {
                interrupted.extend(labels.get(&finished.call_id).cloned());
            }
            _ => {}
        }
    }
    if interrupted == doubtful {
        Ok(())
    } else {
        Err(format!("the model was told {interrupted:?} are in doubt"))
    }
}

/// A turn that was answered is not asked again; one that was not may be, once for each death.
fn questions_were_not_repeated(server: &ModelServer, left: &[Left]) -> Result<(), String> {
    let unanswered = left.iter().filter(|left| left.transcript.asking.is_some()).count() as u64;
    let requests = server.requests().len() as u64;
    if (TURNS..=TURNS + unanswered).contains(&requests) {
        return Ok(());
    }
    Err(format!("{requests} questions were asked, with {unanswered} that had no answer"))
}
