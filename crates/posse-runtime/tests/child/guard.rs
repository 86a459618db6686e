//! Commands under their guard: how they end, what they get, and that nothing of them is left, whatever happens to their owner.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use posse_runtime::child::{
    AsRoot, Ended, Exit, How, Input, Isolation, Network, Output, Probe, Processes, Program, Running,
    StartError, environment,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::lab::{LANDLOCK, LIMIT, Lab, as_nobody, can, guard_program, lab, run, shell};

const ALL: [Isolation; 3] = [Isolation::None, LANDLOCK, Isolation::Sandbox];

/// Starts processes that try to be left behind: in another session, an orphan, deaf to polite signals. Each has the pipe
/// `alive` open, so that its end is seen by whoever reads it.
const TREE: &str = "exec 9>alive; setsid sleep 600 & (sleep 600 &) ; (setsid sh -c 'trap \"\" TERM HUP INT; sleep 600; sleep 600' &) ; \
    nohup sleep 600 >/dev/null 2>&1 & echo ready >&9; sleep 600";

/// Reads the pipe that a tree holds open.
struct Alive {
    lines: mpsc::Receiver<Option<String>>,
}

impl Alive {
    fn new(workspace: &Path) -> Alive {
        let path = workspace.join("alive");
        let made = Process::new("mkfifo").arg(&path).status().expect("mkfifo");
        assert!(made.success());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(std::fs::File::open(path).expect("a pipe"));
            let mut line = String::new();
            while reader.read_line(&mut line).expect("text") > 0 {
                sender.send(Some(std::mem::take(&mut line))).expect("it is awaited");
            }
            drop(sender.send(None));
        });
        Alive { lines }
    }

    fn wait_for_ready(&self) {
        assert_eq!(self.lines.recv_timeout(LIMIT).expect("in time"), Some("ready\n".to_owned()));
    }

    fn wait_for_end(&self) {
        assert_eq!(self.lines.recv_timeout(LIMIT).expect("all of them end"), None);
    }
}

async fn tree(lab: &Lab, processes: &Processes) -> (Running, Alive) {
    let alive = Alive::new(&lab.workspace);
    let running = processes.start(lab.shell(TREE)).await.expect("it starts");
    alive.wait_for_ready();
    (running, alive)
}

#[tokio::test]
async fn a_stopped_command_leaves_nothing() {
    for isolation in ALL {
        if can_hold(isolation).await {
            let lab = lab();
            let processes = lab.processes(isolation, network(isolation));
            let (mut running, alive) = tree(&lab, &processes).await;
            let ended = running.stop(Duration::from_millis(50)).await;
            // Nothing of it lives, whoever else still does.
            alive.wait_for_end();
            assert_eq!(ended, Ended { how: How::Exited(Exit::Signal(15)), left: 0 }, "{isolation:?}");
            let (ended, _) = run(&processes, lab.shell("exit 3")).await;
            assert_eq!(ended, Ended { how: How::Exited(Exit::Code(3)), left: 0 }, "{isolation:?}");
            processes.close().await;
        }
    }
}

#[tokio::test]
async fn a_dropped_command_leaves_nothing() {
    for isolation in ALL {
        if can_hold(isolation).await {
            let lab = lab();
            let processes = lab.processes(isolation, network(isolation));
            let (running, alive) = tree(&lab, &processes).await;
            drop(running);
            alive.wait_for_end();
        }
    }
}

#[tokio::test]
async fn closing_ends_what_still_runs() {
    for isolation in ALL {
        if can_hold(isolation).await {
            let lab = lab();
            let processes = lab.processes(isolation, network(isolation));
            let (mut running, alive) = tree(&lab, &processes).await;
            processes.close().await;
            alive.wait_for_end();
            assert!(!matches!(running.wait().await.how, How::Exited(Exit::Code(_)) | How::TimedOut(_)));
            let again = processes.start(lab.shell("true")).await.map(|_| ());
            assert_eq!(again, Err(StartError::Guard("the run is over".to_owned())));
        }
    }
}

#[tokio::test]
async fn an_owner_that_is_killed_leaves_nothing() {
    for isolation in ALL {
        if can_hold(isolation).await {
            let lab = lab();
            let alive = Alive::new(&lab.workspace);
            let mut owner = Process::new(std::env::current_exe().expect("a path"))
                .args(["owner", "--exact", "--nocapture"])
                .env("POSSE_TEST_OWNER", &lab.workspace)
                .env("POSSE_TEST_ISOLATION", format!("{isolation:?}"))
                .stdout(Stdio::null())
                .spawn()
                .expect("it starts");
            alive.wait_for_ready();
            owner.kill().expect("it lives");
            owner.wait().expect("it ends");
            alive.wait_for_end();
        }
    }
}

#[test]
fn an_owner_without_rights_that_is_killed_leaves_nothing() {
    as_nobody("guard::an_owner_that_is_killed_leaves_nothing");
}

#[test]
fn a_stopped_command_of_a_user_without_rights_leaves_nothing() {
    as_nobody("guard::a_stopped_command_leaves_nothing");
}

/// In another process: starts a tree and waits to be killed.
pub fn be_owner() {
    let Some(workspace) = std::env::var_os("POSSE_TEST_OWNER").map(PathBuf::from) else { return };
    let wanted = std::env::var("POSSE_TEST_ISOLATION").expect("an isolation");
    let isolation =
        ALL.into_iter().find(|isolation| format!("{isolation:?}") == wanted).expect("a known one");
    let confinement = posse_runtime::child::Confinement {
        isolation,
        network: network(isolation),
        scratch: workspace.clone(),
        workspace: workspace.clone(),
        readable: Vec::new(),
        writable: Vec::new(),
        variables: environment([], &[]),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let processes = Processes::new(confinement, guard_program());
        processes.start(shell(&workspace, TREE)).await.expect("it starts").wait().await;
    });
}

#[tokio::test]
async fn what_a_command_leaves_behind_ends_with_it_and_is_counted() {
    let lab = lab();
    let processes = lab.processes(Isolation::None, Network::Full);
    let (ended, _) = run(&processes, lab.shell("sleep 600 & (setsid sleep 600 &); exit 0")).await;
    assert_eq!(ended, Ended { how: How::Exited(Exit::Code(0)), left: 2 });
}

#[tokio::test]
async fn a_command_that_ignores_the_polite_signal_is_killed() {
    let lab = lab();
    let processes = lab.processes(Isolation::None, Network::Full);
    let mut running = processes
        .start(lab.shell("trap '' TERM; echo ready; while :; do sleep 1; done"))
        .await
        .expect("it starts");
    running.stdout.as_mut().expect("a pipe").read_exact(&mut [0; 6]).await.expect("it is ready");
    let ended = running.stop(Duration::from_millis(50)).await;
    assert_eq!(ended, Ended { how: How::Exited(Exit::Signal(9)), left: 0 });
    assert_eq!(running.wait().await, ended, "whoever asks again is told the same");
}

#[tokio::test]
async fn a_command_may_clean_up_before_it_ends() {
    let lab = lab();
    let processes = lab.processes(Isolation::None, Network::Full);
    let text = "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 600 & wait; done";
    let mut running = processes.start(lab.shell(text)).await.expect("it starts");
    running.stdout.as_mut().expect("a pipe").read_exact(&mut [0; 6]).await.expect("it is ready");
    assert_eq!(running.stop(LIMIT).await, Ended { how: How::Exited(Exit::Code(7)), left: 0 });
    let mut rest = String::new();
    running.stdout.as_mut().expect("a pipe").read_to_string(&mut rest).await.expect("text");
    assert_eq!(rest, "bye\n");
}

#[tokio::test]
async fn a_command_past_its_time_is_stopped() {
    let lab = lab();
    let processes = lab.processes(Isolation::None, Network::Full);
    let mut command = lab.shell("sleep 600");
    command.timeout = Duration::from_millis(50);
    let (ended, _) = run(&processes, command).await;
    assert_eq!(ended, Ended { how: How::TimedOut(Exit::Signal(15)), left: 0 });
}

#[tokio::test]
async fn codes_and_signals_are_told_as_they_are() {
    for isolation in ALL {
        if can_hold(isolation).await {
            let lab = lab();
            let processes = lab.processes(isolation, network(isolation));
            for (text, exit) in [
                ("true", Exit::Code(0)),
                ("exit 42", Exit::Code(42)),
                ("kill -KILL $$", Exit::Signal(9)),
                ("kill -SEGV $$", Exit::Signal(11)),
                ("no-such-program 2>/dev/null", Exit::Code(127)),
            ] {
                let (ended, _) = run(&processes, lab.shell(text)).await;
                assert_eq!(ended, Ended { how: How::Exited(exit), left: 0 }, "{isolation:?}: {text}");
            }
        }
    }
}

#[tokio::test]
async fn much_output_comes_whole() {
    const BYTES: usize = 10 << 20;
    for isolation in ALL {
        if can_hold(isolation).await {
            let lab = lab();
            let processes = lab.processes(isolation, network(isolation));
            let (ended, output) = run(&processes, lab.shell(&format!("head -c {BYTES} /dev/zero"))).await;
            assert_eq!((ended.how, output.len()), (How::Exited(Exit::Code(0)), BYTES), "{isolation:?}");
        }
    }
}

#[tokio::test]
async fn a_command_gets_its_directory_and_variables_and_no_others() {
    let lab = lab();
    let processes = lab.processes(Isolation::None, Network::Full);
    let mut command = lab.shell("");
    command.program = Program::Direct("env".into(), Vec::new());
    command.variables = vec![("POSSE_RUN".into(), "r1".into()), ("PATH".into(), "/usr/bin:/bin".into())];
    let (_, output) = run(&processes, command.clone()).await;
    let home = lab.home.display();
    assert_eq!(String::from_utf8_lossy(&output), format!("HOME={home}\nPATH=/usr/bin:/bin\nPOSSE_RUN=r1\n"));
    command.program = Program::Direct("pwd".into(), Vec::new());
    command.cwd = lab.outside.clone();
    let (_, output) = run(&processes, command).await;
    assert_eq!(String::from_utf8_lossy(&output), format!("{}\n", lab.outside.display()));
}

#[tokio::test]
async fn input_and_errors_have_pipes_of_their_own() {
    let lab = lab();
    let processes = lab.processes(Isolation::None, Network::Full);
    let mut command = lab.shell("read line; echo out $line; echo err $line >&2");
    (command.input, command.output) = (Input::Piped, Output::Apart);
    let mut running = processes.start(command).await.expect("it starts");
    running.stdin.take().expect("a pipe").write_all(b"hello\n").await.expect("it is read");
    let (mut out, mut err) = (String::new(), String::new());
    running.stdout.as_mut().expect("a pipe").read_to_string(&mut out).await.expect("text");
    running.stderr.take().expect("a pipe").read_to_string(&mut err).await.expect("text");
    assert_eq!((out.as_str(), err.as_str()), ("out hello\n", "err hello\n"));
    assert_eq!(running.wait().await.how, How::Exited(Exit::Code(0)));
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let lab = lab();
    let processes = lab.processes(Isolation::None, Network::Full);
    let mut command = lab.shell("true");
    command.cwd = lab.workspace.join("gone");
    let error = processes.start(command.clone()).await.map(|_| ()).expect_err("there is no such directory");
    let gone = lab.workspace.join("gone");
    assert_eq!(error.to_string(), format!("cannot start in {}: it is not a directory here", gone.display()));
    command.cwd = lab.workspace.clone();
    command.program = Program::Direct("no-such-program".into(), Vec::new());
    let error = processes.start(command).await.map(|_| ()).expect_err("there is no such program");
    assert_eq!(error.to_string(), "cannot start `no-such-program`: No such file or directory (os error 2)");
}

#[tokio::test]
async fn a_program_that_is_no_guard_is_an_error() {
    let lab = lab();
    let processes = Processes::new(lab.confinement(Isolation::None, Network::Full), "/bin/true".into());
    let error = processes.start(lab.shell("true")).await.map(|_| ()).expect_err("it is none");
    assert!(matches!(error, StartError::Guard(_)), "{error}");
}

/// What a confinement cannot be is refused where it is used too, whether or not anybody asked before.
#[tokio::test]
async fn what_cannot_be_held_is_refused() {
    let lab = lab();
    let hosts = Network::Hosts(vec!["example.com".parse().expect("a pattern")]);
    let mut at_home = lab.confinement(Isolation::Sandbox, Network::None);
    at_home.workspace = lab.home.clone();
    for (confinement, expected) in [
        (lab.confinement(Isolation::None, Network::None), "without an isolation the network cannot be held"),
        (lab.confinement(LANDLOCK, hosts), "landlock cannot hold a list of hosts"),
        (at_home, "has the home directory in it"),
    ] {
        let processes = Processes::new(confinement, guard_program());
        let error = processes.start(lab.shell("true")).await.map(|_| ()).expect_err("it is refused");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn landlock_is_refused_to_root_unless_told_otherwise() {
    let probe = Probe::new(guard_program());
    let proven = probe.prove(Isolation::Landlock(AsRoot::Refused), &Network::None).await;
    match proven {
        Ok(_) => assert!(!rustix::process::geteuid().is_root()),
        Err(refused) if rustix::process::geteuid().is_root() => {
            assert_eq!(refused.reason, "landlock does not hold root");
        }
        Err(refused) => assert!(refused.reason.contains("Landlock"), "{refused}"),
    }
}

/// A command may kill its keeper; what it had started goes all the same.
#[tokio::test]
async fn a_command_that_kills_its_keeper_is_lost_and_leaves_nothing() {
    for isolation in [Isolation::None, Isolation::Sandbox] {
        if can_hold(isolation).await {
            let lab = lab();
            let processes = lab.processes(isolation, network(isolation));
            let alive = Alive::new(&lab.workspace);
            let text =
                "exec 9>alive; (setsid sleep 600 &); echo ready >&9; read go; kill -KILL $PPID; sleep 600";
            let mut command = lab.shell(text);
            command.input = Input::Piped;
            let mut running = processes.start(command).await.expect("it starts");
            alive.wait_for_ready();
            running.stdin.as_mut().expect("a pipe").write_all(b"go\n").await.expect("it is read");
            let ended = running.wait().await;
            assert_eq!(ended.how, How::Lost("its keeper was killed".to_owned()), "{isolation:?}");
            alive.wait_for_end();
        }
    }
}

#[tokio::test]
async fn a_process_that_is_not_dumpable_shows_nobody_its_variables() {
    // For good, and for the whole process: other tests must not be in it.
    if std::env::var_os("POSSE_TEST_ALONE").is_none() {
        as_nobody("guard::a_process_that_is_not_dumpable_shows_nobody_its_variables");
        return;
    }
    let lab = lab();
    let processes = lab.processes(Isolation::None, Network::Full);
    let mut command = lab.shell("cat /proc/$PARENT/environ 2>/dev/null | wc -c");
    command.variables = vec![("PARENT".into(), std::process::id().to_string().into())];
    let (_, before) = run(&processes, command.clone()).await;
    posse_runtime::child::make_undumpable().expect("Linux lets us");
    let (_, after) = run(&processes, command).await;
    assert_ne!(before, b"0\n");
    assert_eq!(after, b"0\n");
}

async fn can_hold(isolation: Isolation) -> bool {
    isolation == Isolation::None || can(isolation).await
}

fn network(isolation: Isolation) -> Network {
    if isolation == Isolation::None { Network::Full } else { Network::None }
}

#[test]
fn the_guard_without_a_part_ends() {
    let mut guard =
        Process::new(guard_program()).arg("__guard").stdout(Stdio::piped()).spawn().expect("it starts");
    let mut said = String::new();
    guard.stdout.take().expect("a pipe").read_to_string(&mut said).expect("text");
    assert_eq!((guard.wait().expect("it ends").code(), said.as_str()), (Some(1), ""));
}
