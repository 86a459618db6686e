//! The scripted model server as a process: where it listens, what it tells, and how it ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

const SCRIPT: &[u8] = br#"{"by_turn": [{"text": "hello"}]}"#;

/// Starts the program with its script on standard input, which stays open.
fn start() -> (Child, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_scripted-model"))
        .args(["--script", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.as_mut().expect("it is piped").write_all(SCRIPT).expect("the program reads");
    let mut url = String::new();
    let stdout = child.stdout.take().expect("it is piped");
    BufReader::new(stdout).read_line(&mut url).expect("the program prints its address");
    let address = url.trim().strip_prefix("http://").expect("the address is a URL").to_owned();
    (child, address)
}

fn send(address: &str, request_line: &str) -> String {
    let mut socket = TcpStream::connect(address).expect("the program listens");
    let request = format!("{request_line} HTTP/1.1\r\nconnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).expect("the program reads");
    let mut response = String::new();
    socket.read_to_string(&mut response).expect("the program answers");
    response
}

#[test]
fn it_ends_when_its_input_does() {
    let (mut child, address) = start();
    let stats = send(&address, "GET /__stats");
    assert!(stats.ends_with(r#"{"requests":0,"problems":[],"connections":1}"#), "{stats}");
    drop(child.stdin.take());
    assert!(child.wait().expect("the program ends").success());
}

#[test]
fn it_ends_when_told_to_and_fails_if_a_rule_was_broken() {
    let (mut child, address) = start();
    assert!(send(&address, "POST /v1/messages").starts_with("HTTP/1.1 400"));
    assert!(send(&address, "POST /__quit").starts_with("HTTP/1.1 200"));
    let mut stderr = String::new();
    child.stderr.take().expect("it is piped").read_to_string(&mut stderr).expect("the program prints");
    assert_eq!(child.wait().expect("the program ends").code(), Some(1));
    assert!(stderr.contains("request 1 (POST /v1/messages): the body is not a JSON object"), "{stderr}");
}
