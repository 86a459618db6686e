//! The scripted model server as a process of its own, for benchmarks: `scripted-model --script FILE.json`.
//!
//! Its first line is the base URL. It ends when its standard input closes or on `POST /__quit`, with status
//! 1 if a request broke a rule. `--script -` reads the script, one JSON value, from standard input.

use std::io::{self, Read};
use std::process::ExitCode;
use std::sync::Arc;
use std::{env, fs, thread};

use posse_testkit::{ModelServer, Script};
use serde_json::Value;

fn main() -> ExitCode {
    let script = match read_script() {
        Ok(script) => script,
        Err(message) => return fail(&message),
    };
    let server = Arc::new(ModelServer::start(script));
    announce(&server.url());
    let at_input_end = Arc::clone(&server);
    thread::spawn(move || {
        wait_for_input_end();
        at_input_end.quit();
    });
    server.wait_for_quit();
    let problems = server.take_problems();
    if problems.is_empty() { ExitCode::SUCCESS } else { fail(&problems.join("\n")) }
}

fn read_script() -> Result<Script, String> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let value = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        // Only one value is read: that standard input then closes is the sign to end.
        ["--script", "-"] => serde_json::Deserializer::from_reader(io::stdin()).into_iter::<Value>().next(),
        ["--script", file] => {
            let text = fs::read_to_string(file).map_err(|cause| format!("{file}: {cause}"))?;
            Some(serde_json::from_str(&text))
        }
        _ => return Err("usage: scripted-model --script FILE.json | --script -".into()),
    };
    let value = value.ok_or("there is no script on standard input")?;
    Script::from_json(&value.map_err(|cause| format!("the script is not JSON: {cause}"))?)
}

fn wait_for_input_end() {
    let mut ignored = [0; 4096];
    while matches!(io::stdin().read(&mut ignored), Ok(1..)) {}
}

#[expect(clippy::print_stdout, reason = "whoever started this process reads the address there")]
fn announce(url: &str) {
    println!("{url}");
}

#[expect(clippy::print_stderr, reason = "this is a program")]
fn fail(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::FAILURE
}
