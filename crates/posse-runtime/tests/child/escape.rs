//! Ways out, tried from inside: as whoever runs the suite and, when that is root, as a user without rights. A sandbox holds
//! all of them; a table shows which ones Landlock holds.

use std::fmt::Write as _;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use expect_test::{Expect, expect};
use posse_runtime::child::{Exit, How, Isolation, Network};

use crate::lab::{LANDLOCK, Lab, SECRET, as_nobody, can, lab, run};

/// How an attempt is seen to have worked.
enum Sign {
    /// Something outside changed, or a byte arrived.
    Effect,
    /// The secret was printed.
    Secret,
    /// The command ended with code 0.
    Success,
}

use Sign::{Effect, Secret, Success};

/// What is tried, with the shell's `$OUT`, `$HOME`, `$OTHER` (a process), `$TCP` and `$UDP` (ports).
const ATTEMPTS: &[(&str, Sign, &str)] = &[
    ("write a file", Effect, "echo x > $OUT/new"),
    ("append to a file", Effect, "echo x >> $OUT/file"),
    ("truncate a file", Effect, "truncate -s 0 $OUT/file"),
    ("rename a file", Effect, "mv $OUT/file $OUT/moved"),
    ("remove a file", Effect, "rm -f $OUT/file"),
    ("hard link and write", Effect, "ln $OUT/file linked && echo x >> linked"),
    ("symbolic link and write", Effect, "ln -s $OUT/file link && echo x >> link"),
    ("make a directory", Effect, "mkdir $OUT/made"),
    ("write through /proc", Effect, "echo x >> /proc/self/root$OUT/file"),
    ("change rights", Effect, "chmod 777 $OUT/file"),
    ("change times", Effect, "touch -d 2001-01-01 $OUT/file"),
    ("read a key in the home", Secret, "cat $HOME/.ssh/id"),
    ("read the variables of the parent", Success, "test -n \"$(tr -d '\\0' < /proc/$PARENT/environ)\""),
    ("read the variables of any process", Secret, "cat /proc/[0-9]*/environ"),
    ("signal a process", Success, "kill -0 $OTHER"),
    ("connect by TCP", Effect, "exec 3<>/dev/tcp/127.0.0.1/$TCP"),
    ("send by UDP", Effect, "echo x > /dev/udp/127.0.0.1/$UDP"),
    ("make a user namespace", Success, "unshare --user --map-root-user true"),
    ("remount writable", Success, "mount -o remount,bind,rw $OUT"),
    ("mount something", Success, "mount -t tmpfs none /mnt || mount -t tmpfs none $PWD"),
];

/// What can be seen from outside.
#[derive(PartialEq)]
struct Seen {
    entries: Vec<(std::ffi::OsString, Vec<u8>, u32, i64)>,
    connections: usize,
    datagrams: usize,
}

struct Outside {
    tcp: TcpListener,
    udp: UdpSocket,
    other: std::process::Child,
}

impl Outside {
    fn new() -> Outside {
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let udp = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        tcp.set_nonblocking(true).expect("a mode");
        udp.set_nonblocking(true).expect("a mode");
        let other = std::process::Command::new("sleep").arg("600").env("KEY", SECRET).spawn().expect("sleep");
        Outside { tcp, udp, other }
    }

    fn variables(&self, lab: &Lab) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
        let port =
            |address: std::io::Result<std::net::SocketAddr>| address.expect("an address").port().to_string();
        [
            ("OUT", lab.outside.display().to_string()),
            ("PARENT", std::process::id().to_string()),
            ("OTHER", self.other.id().to_string()),
            ("TCP", port(self.tcp.local_addr())),
            ("UDP", port(self.udp.local_addr())),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .into()
    }

    fn look(&self, directory: &Path) -> Seen {
        let mut entries: Vec<_> = std::fs::read_dir(directory)
            .expect("a directory")
            .map(|entry| {
                let path = entry.expect("an entry").path();
                let metadata = path.symlink_metadata().expect("metadata");
                let content = std::fs::read(&path).unwrap_or_default();
                (path.file_name().expect("a name").to_owned(), content, metadata.mode(), metadata.mtime())
            })
            .collect();
        entries.sort();
        let connections = std::iter::from_fn(|| self.tcp.accept().ok()).count();
        let datagrams = std::iter::from_fn(|| self.udp.recv(&mut [0; 16]).ok()).count();
        Seen { entries, connections, datagrams }
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        self.other.kill().expect("it lives");
        self.other.wait().expect("it ends");
    }
}

/// Each attempt has a place of its own, so that none leans on another.
async fn check(isolation: Isolation, expected: &Expect) {
    if can(isolation).await {
        expected.assert_eq(&tried(isolation, &Network::None, ATTEMPTS).await);
    }
}

async fn tried(isolation: Isolation, network: &Network, attempts: &[(&str, Sign, &str)]) -> String {
    let mut table = String::new();
    for (name, sign, text) in attempts {
        let (lab, outside) = (lab(), Outside::new());
        let processes = lab.processes(isolation, network.clone());
        let before = outside.look(&lab.outside);
        let mut command = lab.shell(text);
        command.variables = outside.variables(&lab);
        let (ended, output) = run(&processes, command).await;
        processes.close().await;
        let out = match sign {
            Effect => outside.look(&lab.outside) != before,
            Secret => String::from_utf8_lossy(&output).contains(SECRET),
            Success => ended.how == How::Exited(Exit::Code(0)),
        };
        writeln!(table, "{}: {name}", if out { "OPEN" } else { "held" }).expect("text");
    }
    table
}

#[tokio::test]
async fn a_sandbox_holds_every_way_out() {
    check(
        Isolation::Sandbox,
        &expect![[r#"
            held: write a file
            held: append to a file
            held: truncate a file
            held: rename a file
            held: remove a file
            held: hard link and write
            held: symbolic link and write
            held: make a directory
            held: write through /proc
            held: change rights
            held: change times
            held: read a key in the home
            held: read the variables of the parent
            held: read the variables of any process
            held: signal a process
            held: connect by TCP
            held: send by UDP
            held: make a user namespace
            held: remount writable
            held: mount something
        "#]],
    )
    .await;
}

#[test]
fn a_sandbox_holds_every_way_out_of_a_user_without_rights() {
    as_nobody("escape::a_sandbox_holds_every_way_out");
}

/// The two that are open are in docs/isolation.md.
#[tokio::test]
async fn landlock_holds_these_ways_out() {
    check(
        LANDLOCK,
        &expect![[r#"
        held: write a file
        held: append to a file
        held: truncate a file
        held: rename a file
        held: remove a file
        held: hard link and write
        held: symbolic link and write
        held: make a directory
        held: write through /proc
        OPEN: change rights
        OPEN: change times
        held: read a key in the home
        held: read the variables of the parent
        held: read the variables of any process
        held: signal a process
        held: connect by TCP
        held: send by UDP
        held: make a user namespace
        held: remount writable
        held: mount something
    "#]],
    )
    .await;
}

#[test]
fn landlock_holds_the_same_ways_out_of_a_user_without_rights() {
    as_nobody("escape::landlock_holds_these_ways_out");
}

/// Otherwise a suite in which nothing ever works would look like a good sandbox. Namespaces and mounts depend on who runs it.
#[tokio::test]
async fn without_isolation_the_ways_out_are_open() {
    let attempts = &ATTEMPTS[..ATTEMPTS.len() - 3];
    let table = tried(Isolation::None, &Network::Full, attempts).await;
    let open: Vec<String> = attempts.iter().map(|(name, ..)| format!("OPEN: {name}\n")).collect();
    assert_eq!(table, open.concat());
}

/// What a sandbox is for: work goes on inside it.
#[tokio::test]
async fn in_a_sandbox_the_workspace_is_written_and_the_rest_is_private() {
    if !can(Isolation::Sandbox).await {
        return;
    }
    let lab = lab();
    let processes = lab.processes(Isolation::Sandbox, Network::None);
    let text = "echo kept > file; echo a > $HOME/b; echo a > $TMPDIR/b; echo a > /dev/null; ls $HOME /tmp; \
                cat $OUT/file; touch /x 2>/dev/null; echo $?";
    let mut command = lab.shell(text);
    command.variables = vec![("OUT".into(), lab.outside.clone().into())];
    let (ended, output) = run(&processes, command).await;
    let shown = String::from_utf8_lossy(&output).replace(&lab.home.display().to_string(), "HOME");
    processes.close().await;
    assert_eq!(ended.how, How::Exited(Exit::Code(0)), "{shown}");
    expect![[r#"
        /tmp:
        b

        HOME:
        b
        as it was
        1
    "#]]
    .assert_eq(&shown);
    assert_eq!(std::fs::read_to_string(lab.workspace.join("file")).expect("a file"), "kept\n");
}
