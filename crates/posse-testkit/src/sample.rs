//! A plan to run in a test: complete and legal, with nothing in it that a test would have to undo.

use posse_core::message::Api;
use posse_core::model::{ModelChoice, ThinkingForm};
use posse_core::plan::{Block, Choice, DefinitionSource, Limits, Plan};
use posse_core::rule::RuleSet;

/// A plan for an agent without tools that asks the model at `base_url`.
pub fn plan(api: Api, base_url: &str) -> Plan {
    let model = model(api, base_url);
    Plan {
        agent: "tester".to_owned(),
        definition: DefinitionSource { path: None, scope: "cli".to_owned(), dialect: "claude".to_owned() },
        caller: "cli".to_owned(),
        depth: 0,
        parent_run_id: None,
        session_id: None,
        task: "Do it.".to_owned(),
        context: None,
        prior: Vec::new(),
        engine: chosen("native".to_owned()),
        compaction_model: chosen(model.clone()),
        model: chosen(model),
        effort: None,
        tools: Vec::new(),
        withheld: Vec::new(),
        rules: RuleSet::default(),
        permission_mode: chosen("default".to_owned()),
        isolation: chosen("none".to_owned()),
        workspace: chosen("/".to_owned()),
        workspace_shown: None,
        system: vec![Block { name: "prompt".to_owned(), text: "You test.".to_owned() }],
        output: None,
        limits: limits(),
        warnings: Vec::new(),
    }
}

/// A value that the test decided.
pub fn chosen<T>(value: T) -> Choice<T> {
    Choice::new(value, "test")
}

/// A model of the vendor that speaks this protocol; its key is in the vendor's usual variable.
fn model(api: Api, base_url: &str) -> ModelChoice {
    let (provider, key, path) = match api {
        Api::Anthropic => ("anthropic", "ANTHROPIC_API_KEY", ""),
        Api::OpenaiChat | Api::OpenaiResponses => ("openai", "OPENAI_API_KEY", "/v1"),
        Api::Gemini => ("gemini", "GEMINI_API_KEY", ""),
        Api::Local => panic!("no server speaks for weights in this process"),
    };
    ModelChoice {
        provider: provider.to_owned(),
        api,
        model: "scripted-large".to_owned(),
        base_url: format!("{base_url}{path}"),
        api_key_env: Some(key.to_owned()),
        headers: Vec::new(),
        context_tokens: Some(200_000),
        output_tokens: Some(8_000),
        price: None,
        thinking: ThinkingForm::None,
        takes_media: false,
    }
}

fn limits() -> Limits {
    Limits {
        timeout_ms: chosen(60_000),
        stall_ms: chosen(10_000),
        turns: chosen(50),
        tokens: chosen(1_000_000),
        budget_usd: None,
        retries: chosen(3),
        retry_wait_ms: chosen(10_000),
        input_bytes: chosen(1_000_000),
        tool_output_bytes: chosen(30_000),
        result_bytes: chosen(30_000),
    }
}
