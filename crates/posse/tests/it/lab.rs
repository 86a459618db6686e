//! A project with an agent, a scripted model behind every protocol, and the program set up to ask it.
//!
//! What a test needs to drive runs from outside; no test is here.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use posse_testkit::{Api, Finished, ModelServer, Project, Received, Reply, Script};
use serde_json::Value;

use crate::project;

/// A key that must not be seen anywhere.
pub const KEY: &str = "sk-fake-7d1c2b9e5f0a4c3d";
/// The agent's own words, which are its first system block.
pub const PROMPT: &str = "You look things up.\n\n  Keep  spaces, \"quotes\" and ümlauts.";
/// One model for each protocol.
pub const MODELS: [&str; 4] =
    ["anthropic/claude-sonnet-4-5", "openai/gpt-5.1", "gemini/gemini-2.5-pro", "lab/scripted-large"];
/// The model of tests that are not about protocols.
pub const CLAUDE: &str = MODELS[0];
/// The longest that anything is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// A project, its home, and a model server.
pub struct Lab {
    pub project: Project,
    pub server: ModelServer,
}

impl Lab {
    /// An agent `helper` of the user's own that asks [`CLAUDE`], and a model that answers these in order.
    pub fn new(replies: Vec<Reply>) -> Lab {
        Lab::with(CLAUDE, Script::in_order(replies))
    }

    /// The same with another model and any script.
    pub fn with(model: &str, script: Script) -> Lab {
        let lab = Lab { project: project(), server: ModelServer::start(script) };
        lab.configure("").agent(&format!("model: {model}\n"));
        lab.project.write("a.txt", "hello from a\n").write("b.txt", "hello from b\n");
        lab
    }

    /// Writes the user's configuration: what every test needs, and more.
    pub fn configure(&self, more: &str) -> &Lab {
        let url = self.server.url();
        let limits = if more.contains("[limits]") { "" } else { "[limits]\nretries = 2\n" };
        let provider = format!(
            "[providers.lab]\napi = \"openai-chat\"\nbase_url = \"{url}/v1\"\napi_key_env = \"LAB_KEY\"\n"
        );
        self.project.write("~/.config/posse/config.toml", format!("{provider}{limits}{more}"));
        self
    }

    /// Writes the agent `helper` with these keys besides its name and description.
    pub fn agent(&self, keys: &str) -> &Lab {
        let text = format!("---\nname: helper\ndescription: Looks things up\n{keys}---\n{PROMPT}\n");
        self.project.write("~/.config/posse/agents/helper.md", text);
        self
    }

    /// The program with every provider's variables.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let url = self.server.url();
        let mut command = self.project.command(arguments);
        command.stdin(Stdio::null());
        for key in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "LAB_KEY"] {
            command.env(key, KEY);
        }
        command.env("ANTHROPIC_BASE_URL", &url).env("GOOGLE_GEMINI_BASE_URL", &url);
        command.env("OPENAI_BASE_URL", format!("{url}/v1"));
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: &[&str]) -> Finished {
        finish(&self.project, self.command(arguments))
    }

    /// Runs the program with something on its standard input.
    pub fn run_with_input(&self, arguments: &[&str], input: &str) -> Finished {
        let mut command = self.command(arguments);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("runs");
        child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("the program reads");
        self.finished(child)
    }

    /// Starts the program and leaves it to itself.
    pub fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
    }

    /// Waits for the end of a program that was started.
    pub fn finished(&self, child: Child) -> Finished {
        sane(self.project.finished(&child.wait_with_output().expect("the program ends")))
    }

    /// Runs the program and reads the one JSON value that it prints.
    pub fn json(&self, arguments: &[&str]) -> Value {
        value(&self.run(arguments))
    }

    /// Every run, the newest first.
    pub fn runs(&self) -> Vec<Value> {
        let runs = self.json(&["runs", "--json"]);
        runs.as_array().expect("an array").clone()
    }

    /// The stored events of a run.
    pub fn events(&self, run: &str) -> Vec<Value> {
        lines(&self.run(&["log", run, "--json"]).stdout)
    }

    /// The stored events of the newest run.
    pub fn last_events(&self) -> Vec<Value> {
        let runs = self.runs();
        self.events(runs[0]["run_id"].as_str().expect("a run has an identity"))
    }

    /// The newest run's identity.
    pub fn last_run(&self) -> String {
        self.runs()[0]["run_id"].as_str().expect("a run has an identity").to_owned()
    }

    /// Every byte that is stored: the database with what has not been moved into it yet.
    pub fn stored(&self) -> Vec<u8> {
        let state = self.project.path("~/.local/state/posse");
        let read = |name: &str| std::fs::read(state.join(name)).unwrap_or_default();
        [read("runs.db"), read("runs.db-wal")].concat()
    }
}

/// Runs a command to its end, which must not be a panic.
pub fn finish(project: &Project, mut command: Command) -> Finished {
    let output = command.stdin(Stdio::null()).output().expect("the program runs");
    sane(project.finished(&output))
}

fn sane(finished: Finished) -> Finished {
    for word in ["panicked", "RUST_BACKTRACE", KEY] {
        let seen = finished.stderr.contains(word) || finished.stdout.contains(word);
        assert!(!seen, "`{word}` is in the output:\n{}", finished.shown());
    }
    finished
}

/// The one JSON value on stdout.
pub fn value(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {}", finished.shown()))
}

/// One JSON value a line.
pub fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// The types of events, in order.
pub fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().expect("an event has a type")).collect()
}

/// The events of one type.
pub fn of_type<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// Looks again and again until there is something; a limit keeps a failure from hanging.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}: not after {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sends a signal to a program that was started.
pub fn signal(name: &str, child: &Child) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(status.expect("`kill` runs").success());
}

/// The system blocks of a request, in order.
pub fn system(request: &Received) -> Vec<String> {
    let body = &request.body;
    let texts = |blocks: &Value| strings(blocks, |block| block["text"].as_str());
    match request.api {
        Api::Anthropic => texts(&body["system"]),
        Api::OpenAiChat => {
            let first = &body["messages"][0];
            assert_eq!(first["role"], "system");
            first["content"].as_str().map_or_else(|| texts(&first["content"]), |text| vec![text.to_owned()])
        }
        Api::OpenAiResponses => vec![body["instructions"].as_str().unwrap_or_default().to_owned()],
        Api::Gemini => texts(&body["systemInstruction"]["parts"]),
        Api::Other => Vec::new(),
    }
}

/// The texts of the caller's side in a request, in order.
pub fn said(request: &Received) -> Vec<String> {
    let body = &request.body;
    let list = match request.api {
        Api::Anthropic | Api::OpenAiChat => &body["messages"],
        Api::OpenAiResponses => &body["input"],
        Api::Gemini => &body["contents"],
        Api::Other => &Value::Null,
    };
    let messages = list.as_array().into_iter().flatten().filter(|message| message["role"] == "user");
    let content = |message: &Value| match (&message["content"], &message["parts"]) {
        (Value::String(text), _) => vec![text.clone()],
        (Value::Array(_), _) => strings(&message["content"], |part| part["text"].as_str()),
        (_, parts) => strings(parts, |part| part["text"].as_str()),
    };
    messages.flat_map(content).collect()
}

/// The results of tools in a request, in order.
pub fn results(request: &Received) -> Vec<String> {
    let body = &request.body;
    match request.api {
        Api::Anthropic => body["messages"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|message| message["content"].as_array())
            .flatten()
            .filter(|part| part["type"] == "tool_result")
            .map(|part| text_of(&part["content"]))
            .collect(),
        Api::OpenAiChat => strings(&body["messages"], |message| {
            (message["role"] == "tool").then(|| message["content"].as_str())?
        }),
        Api::OpenAiResponses => strings(&body["input"], |item| item["output"].as_str()),
        Api::Gemini => body["contents"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|message| message["parts"].as_array())
            .flatten()
            .filter_map(|part| part["functionResponse"]["response"].as_object())
            .filter_map(|response| response.values().next().and_then(Value::as_str))
            .map(str::to_owned)
            .collect(),
        Api::Other => Vec::new(),
    }
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        blocks => strings(blocks, |block| block["text"].as_str()).concat(),
    }
}

fn strings(list: &Value, text: impl Fn(&Value) -> Option<&str>) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(text).map(str::to_owned).collect()
}
