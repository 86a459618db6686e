//! The baseline: the same requests over the same client, and every event of the answers parsed.

use std::sync::{Arc, Mutex};

use posse_core::id::RunId;
use posse_runtime::approver::Nobody;
use posse_runtime::cassette::Tape;
use posse_runtime::engine::native::Native;
use posse_runtime::provider::transport::Transport;
use posse_runtime::store::MemoryStore;
use posse_runtime::supervisor::{Means, Supervisor};
use posse_runtime::toolbox::Toolbox;
use serde_json::Value;

use crate::measure::{Child, Measured, measured, runtime};
use crate::ours;

pub fn many(asked: &Child) -> Measured {
    let bodies = Arc::new(requests(asked));
    assert_eq!(bodies.len(), asked.turns, "one request a turn");
    runtime().block_on(async {
        let client = reqwest::Client::builder().build().expect("a client");
        let url = format!("{}/v1/messages", asked.url);
        run(&client, &url, &bodies).await;
        measured(
            asked.runs,
            || (),
            async |()| {
                let mut tasks = tokio::task::JoinSet::new();
                for _ in 0..asked.runs {
                    if tasks.len() == asked.at_once {
                        tasks.join_next().await.expect("one of them").expect("a run");
                    }
                    let (client, url, bodies) = (client.clone(), url.clone(), bodies.clone());
                    tasks.spawn(async move { run(&client, &url, &bodies).await });
                }
                while let Some(done) = tasks.join_next().await {
                    done.expect("a run");
                }
            },
        )
        .await
    })
}

/// What one of our runs sends, turn by turn.
fn requests(asked: &Child) -> Vec<Vec<u8>> {
    let directory = ours::workspace();
    let workspace = directory.path().canonicalize().expect("it is there");
    let tape = Arc::new(Mutex::new(Tape::default()));
    runtime().block_on(async {
        let (settings, providers) = ours::providers(&asked.url);
        let plan = ours::plan(&settings, &providers, &workspace);
        let providers = providers.with_transport(Transport::recording(tape.clone()).expect("a client"));
        let engine = Arc::new(Native::new(Arc::new(Toolbox::builtin()), providers));
        let store = Arc::new(MemoryStore::default());
        let means =
            Means { store, engine, approver: Arc::new(Nobody), owners: None, clock: posse_runtime::now };
        let supervisor = Supervisor::new(means).expect("a supervisor");
        let started = supervisor.start(plan, None).await.expect("it starts");
        let _: RunId = started.run_id;
        started.done.await.expect("it ends").expect("the store holds");
        supervisor.close().await;
    });
    let tape = tape.lock().expect("nobody else holds it");
    tape.requests().map(|request| serde_json::to_vec(request).expect("JSON")).collect()
}

async fn run(client: &reqwest::Client, url: &str, bodies: &[Vec<u8>]) {
    for body in bodies {
        let request = client
            .post(url)
            .header("x-api-key", "sk-ant-bench")
            .header("anthropic-version", "2023-06-01")
            .header("content-type", "application/json")
            .body(body.clone());
        let mut response = request.send().await.expect("an answer");
        let mut text = Vec::new();
        let mut read = 0;
        while let Some(chunk) = response.chunk().await.expect("it streams") {
            text.extend_from_slice(&chunk);
            while let Some(end) = text[read..].iter().position(|byte| *byte == b'\n') {
                let line = &text[read..read + end];
                read += end + 1;
                if let Some(data) = line.strip_prefix(b"data: ") {
                    let event: Value = serde_json::from_slice(data).expect("JSON");
                    std::hint::black_box(event);
                }
            }
        }
    }
}
