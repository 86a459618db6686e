//! From a definition, a request and settings to a plan. Each test is a row or a few.

mod tools;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{
    ContextFile, DefinitionSource, Plan, Refusal, RefusalKind, Request, Setting, Settings, Surroundings,
    resolve,
};
use crate::definition::family::clues;
use crate::definition::read::{File, read};
use crate::definition::{Definition, PermissionMode, Scope};
use crate::message::Api;
use crate::model::{ModelWorld, ProviderEntry};

const TOOLS: &[&str] = &["Read", "Write", "Bash", "Grep", "WebFetch"];
const POSSE: &str = ".posse/agents/a.md";

/// What a plan is made from, besides what all of them share.
#[derive(Default)]
struct Given {
    request: Request,
    settings: Settings,
    context_files: Vec<ContextFile>,
    workspace_shown: Option<String>,
}

impl Given {
    fn request(request: Request) -> Given {
        Given { request, ..Given::default() }
    }

    fn setting(key: &str, value: impl Into<Value>) -> Given {
        let setting = Setting { value: value.into(), from: "c.toml:1".to_owned() };
        Given { settings: Settings([(key.to_owned(), setting)].into()), ..Given::default() }
    }
}

/// An agent `a` of a file at that path, with further lines between the dashes; `;` ends a line.
fn definition(path: &str, keys: &str) -> Definition {
    let text = format!("---\nname: a\ndescription: d\n{}\n---\nDo it.\n", keys.replace(';', "\n"));
    let mut readings = read(File { path: path.into(), bytes: text.into_bytes(), clues: clues(path) });
    readings.remove(0).definition().expect("it is an agent").clone()
}

fn provider(name: &str, key: Option<&str>) -> ProviderEntry {
    ProviderEntry {
        name: name.to_owned(),
        api: Api::Anthropic,
        base_url: format!("https://{name}.example"),
        api_key_env: key.map(str::to_owned),
        has_key: key.is_some(),
        headers: Vec::new(),
        is_local_server: false,
    }
}

fn planned_from(definition: &Definition, given: &Given) -> Result<Plan, Refusal> {
    let providers = vec![provider("anthropic", Some("ANTHROPIC_API_KEY")), provider("ollama", None)];
    let surroundings = Surroundings {
        source: DefinitionSource {
            path: Some(POSSE.to_owned()),
            scope: "project".to_owned(),
            dialect: definition.dialect.as_str().to_owned(),
        },
        scope: Scope::Project,
        settings: &given.settings,
        models: &ModelWorld { providers, ..ModelWorld::default() },
        tools: TOOLS,
        workspace: "/work/here".to_owned(),
        workspace_shown: given.workspace_shown.clone(),
        date: "2026-11-15".to_owned(),
        platform: "linux".to_owned(),
        context_files: given.context_files.clone(),
    };
    resolve(definition, &given.request, &surroundings)
}

fn planned(keys: &str, given: &Given) -> Result<Plan, Refusal> {
    planned_from(&definition(POSSE, keys), given)
}

fn plan(keys: &str) -> Plan {
    planned(keys, &Given::default()).expect("it can be planned")
}

#[track_caller]
fn check_refused(keys: &str, given: &Given, expected: &str) {
    let refusal = planned(keys, given).expect_err("it cannot be planned");
    assert_eq!(shown_refusal(&refusal), expected, "{keys}");
}

fn shown_refusal(refusal: &Refusal) -> String {
    let kind = match refusal.kind {
        RefusalKind::Unplannable => "unplannable",
        RefusalKind::LookForServers => "look for servers",
        RefusalKind::Unavailable => "unavailable",
    };
    format!("{kind}: {} | {}", refusal.message, refusal.help.as_deref().unwrap_or_default())
}

/// One line for each limit.
fn check_limits(path: &str, keys: &str, given: &Given, expected: &Expect) {
    let plan = planned_from(&definition(path, keys), given).expect("it can be planned");
    let json = serde_json::to_value(&plan.limits).expect("limits are plain");
    let line = |(key, choice): (&String, &Value)| match choice {
        Value::Null => format!("{key}: unlimited\n"),
        choice => format!("{key}: {} ({})\n", choice["value"], choice["from"].as_str().unwrap_or("?")),
    };
    expected.assert_eq(&json.as_object().into_iter().flatten().map(line).collect::<String>());
}

#[track_caller]
fn check_first_message(context: Option<&str>, task: &str, expected: &str) {
    let (task, context) = (task.to_owned(), context.map(str::to_owned));
    let plan = planned("", &Given::request(Request { task, context, ..Request::default() }));
    assert_eq!(plan.expect("it can be planned").first_message(), expected);
}

fn check_system(keys: &str, given: &Given, expected: &Expect) {
    let plan = planned(keys, given).expect("it can be planned");
    let block = |block: &super::Block| format!("[{}]\n{}\n", block.name, block.text);
    expected.assert_eq(&plan.system.iter().map(block).collect::<String>());
}

// What the model reads first.

#[test]
fn without_context_the_first_message_is_the_task() {
    check_first_message(None, " the task \n", " the task \n");
    check_first_message(Some(""), "the task", "the task");
    check_first_message(Some(" \n\t "), "the task", "the task");
}

#[test]
fn with_context_the_first_message_has_both() {
    check_first_message(Some("a fact"), "the task", "Context:\na fact\n\nTask:\nthe task");
    check_first_message(Some(" a\nfact \n"), "the\ntask", "Context:\n a\nfact \n\n\nTask:\nthe\ntask");
}

#[test]
fn the_prompt_is_first_and_as_it_was_written() {
    let prompt = "  Be   brief.\r\n\n{schema} <b>\u{e9}</b>\n\n";
    let definition = Definition { prompt: prompt.to_owned(), ..definition(POSSE, "") };
    let plan = planned_from(&definition, &Given::default()).expect("it can be planned");
    assert_eq!((plan.system[0].name.as_str(), plan.system[0].text.as_str()), ("prompt", prompt));
}

#[test]
fn the_environment_follows_the_prompt() {
    check_system(
        "",
        &Given::default(),
        &expect![[r#"
        [prompt]
        Do it.
        [environment]
        <environment>
        date: 2026-11-15
        working directory: /work/here
        platform: linux
        </environment>
    "#]],
    );
}

#[test]
fn the_environment_can_be_left_out() {
    check_system(
        "environment: false",
        &Given::default(),
        &expect![[r#"
        [prompt]
        Do it.
    "#]],
    );
}

#[test]
fn context_files_and_the_output_are_blocks_of_their_own() {
    let file = |path: &str, text: &str| ContextFile { path: path.to_owned(), text: text.to_owned() };
    let context_files = vec![file("AGENTS.md", "Use tabs.\n\n"), file("docs/b.md", "No.")];
    check_system(
        "output: {schema: {type: object, required: [n]}}",
        &Given { context_files, ..Given::default() },
        &expect![[r#"
            [prompt]
            Do it.
            [context-file]
            <context-file path="AGENTS.md">
            Use tabs.
            </context-file>
            [context-file]
            <context-file path="docs/b.md">
            No.
            </context-file>
            [environment]
            <environment>
            date: 2026-11-15
            working directory: /work/here
            platform: linux
            </environment>
            [output]
            <output>
            Your last message must be one JSON value that fits this JSON Schema, and nothing else: no prose, no code fence.
            {"type":"object","required":["n"]}
            </output>
        "#]],
    );
}

#[test]
fn an_agent_without_a_prompt_has_no_block_for_it() {
    let definition = Definition { prompt: " \n".to_owned(), ..definition(POSSE, "environment: false") };
    assert_eq!(planned_from(&definition, &Given::default()).map(|plan| plan.system), Ok(Vec::new()));
}

#[test]
fn the_callers_context_is_in_no_block() {
    let request = Request { task: "t".to_owned(), context: Some("SECRET".to_owned()), ..Request::default() };
    let plan = planned("", &Given::request(request)).expect("it can be planned");
    assert!(plan.system.iter().all(|block| !block.text.contains("SECRET")));
}

#[test]
fn the_directory_is_told_as_it_is_shown() {
    let given = Given { workspace_shown: Some("/project".to_owned()), ..Given::default() };
    let plan = planned("", &given).expect("it can be planned");
    assert_eq!(plan.workspace.value, "/work/here");
    assert_eq!(plan.workspace_shown.as_deref(), Some("/project"));
    assert!(plan.system[1].text.contains("\nworking directory: /project\n"));
}

// Limits.

#[test]
fn every_limit_has_a_default() {
    check_limits(
        POSSE,
        "",
        &Given::default(),
        &expect![[r#"
        timeout_ms: 600000 (default)
        stall_ms: 120000 (default)
        turns: 50 (default)
        tokens: 2000000 (default)
        budget_usd: 5.0 (default)
        retries: 6 (default)
        retry_wait_ms: 120000 (default)
        input_bytes: 1048576 (default)
        tool_output_bytes: 30000 (default)
        result_bytes: 32768 (default)
    "#]],
    );
}

#[test]
fn the_definition_goes_before_the_defaults() {
    check_limits(
        POSSE,
        "timeout: 90s;maxTurns: 7;budget: {usd: 0.5, tokens: 1000}",
        &Given::default(),
        &expect![[r#"
            timeout_ms: 90000 (definition)
            stall_ms: 120000 (default)
            turns: 7 (definition)
            tokens: 1000 (definition)
            budget_usd: 0.5 (definition)
            retries: 6 (default)
            retry_wait_ms: 120000 (default)
            input_bytes: 1048576 (default)
            tool_output_bytes: 30000 (default)
            result_bytes: 32768 (default)
        "#]],
    );
}

#[test]
fn a_flag_goes_before_the_definition() {
    let request =
        Request { timeout_ms: Some(1), turns: Some(2), budget_usd: Some(3.5), ..Request::default() };
    check_limits(
        POSSE,
        "timeout: 90s;maxTurns: 7;budget: {usd: 0.5, tokens: 1000}",
        &Given::request(request),
        &expect![[r#"
            timeout_ms: 1 (--timeout)
            stall_ms: 120000 (default)
            turns: 2 (--max-turns)
            tokens: 1000 (definition)
            budget_usd: 3.5 (--budget-usd)
            retries: 6 (default)
            retry_wait_ms: 120000 (default)
            input_bytes: 1048576 (default)
            tool_output_bytes: 30000 (default)
            result_bytes: 32768 (default)
        "#]],
    );
}

#[test]
fn what_is_configured_goes_before_the_defaults() {
    let keys = [
        "timeout",
        "stall",
        "turns",
        "tokens",
        "budget_usd",
        "retries",
        "retry_wait",
        "input_bytes",
        "tool_output_bytes",
        "result_bytes",
    ];
    let setting = |(key, value): (&&str, u64)| {
        let from = format!("c.toml:{value}");
        (format!("limits.{key}"), Setting { value: value.into(), from })
    };
    let settings = Settings(keys.iter().zip(1..).map(setting).collect());
    check_limits(
        POSSE,
        "",
        &Given { settings, ..Given::default() },
        &expect![[r#"
        timeout_ms: 1 (c.toml:1)
        stall_ms: 2 (c.toml:2)
        turns: 3 (c.toml:3)
        tokens: 4 (c.toml:4)
        budget_usd: 5.0 (c.toml:5)
        retries: 6 (c.toml:6)
        retry_wait_ms: 7 (c.toml:7)
        input_bytes: 8 (c.toml:8)
        tool_output_bytes: 9 (c.toml:9)
        result_bytes: 10 (c.toml:10)
    "#]],
    );
}

/// The timeout and the turns, and where they came from.
#[track_caller]
fn check_origin(path: &str, keys: &str, given: &Given, expected: &str) {
    let limits = planned_from(&definition(path, keys), given).expect("it can be planned").limits;
    let (timeout, turns) = (limits.timeout_ms, limits.turns);
    assert_eq!(format!("{} {}, {} {}", timeout.value, timeout.from, turns.value, turns.from), expected);
}

#[test]
fn a_dialects_own_default_goes_before_what_is_configured() {
    let gemini = ".gemini/agents/a.md";
    let turns = |turns: u64| Given::setting("limits.turns", turns);
    check_origin(gemini, "", &turns(9), "600000 default of gemini, 30 default of gemini");
    check_origin(gemini, "max_turns: 3", &turns(9), "600000 default of gemini, 3 definition");
    check_origin(".netclaw/agents/a.md", "", &turns(9), "60000 default of netclaw, 9 c.toml:1");
    check_origin(POSSE, "", &turns(9), "600000 default, 9 c.toml:1");
}

// Money.

#[test]
fn a_default_budget_is_dropped_where_the_price_is_not_known() {
    assert_eq!(plan("model: ollama/qwen3").limits.budget_usd, None);
}

#[test]
fn a_budget_that_somebody_set_needs_a_price() {
    let request = Request { budget_usd: Some(2.0), ..Request::default() };
    check_refused(
        "model: ollama/qwen3;budget: {usd: 1}",
        &Given::default(),
        "unplannable: a budget of 1 USD (from definition) cannot be held: the price of `ollama/qwen3` is not known | add [prices.\"ollama/qwen3\"] with `input` and `output` in USD per million tokens to your configuration, or drop the budget",
    );
    check_refused(
        "model: ollama/qwen3",
        &Given::request(request),
        "unplannable: a budget of 2 USD (from --budget-usd) cannot be held: the price of `ollama/qwen3` is not known | add [prices.\"ollama/qwen3\"] with `input` and `output` in USD per million tokens to your configuration, or drop the budget",
    );
    check_refused(
        "model: ollama/qwen3",
        &Given::setting("limits.budget_usd", 1.5),
        "unplannable: a budget of 1.5 USD (from c.toml:1) cannot be held: the price of `ollama/qwen3` is not known | add [prices.\"ollama/qwen3\"] with `input` and `output` in USD per million tokens to your configuration, or drop the budget",
    );
}

#[test]
fn a_budget_needs_the_price_of_the_model_that_shortens_too() {
    check_refused(
        "budget: {usd: 1}",
        &Given::setting("roles.compaction", "ollama/qwen3"),
        "unplannable: a budget of 1 USD (from definition) cannot be held: the price of `ollama/qwen3` is not known | add [prices.\"ollama/qwen3\"] with `input` and `output` in USD per million tokens to your configuration, or drop the budget",
    );
    let plan = planned("", &Given::setting("roles.compaction", "ollama/qwen3"));
    assert_eq!(plan.map(|plan| plan.limits.budget_usd), Ok(None));
}

#[test]
fn a_configured_price_lets_a_budget_be_held() {
    let prices = json!({"ollama/qwen3": {"input": 0.0, "output": 0.0}});
    let plan = planned("model: ollama/qwen3;budget: {usd: 1}", &Given::setting("prices", prices));
    assert_eq!(plan.map(|plan| plan.limits.budget_usd.map(|usd| usd.value)), Ok(Some(1.0)));
}

// What is refused.

#[test]
fn what_would_be_weaker_if_left_out_is_refused() {
    let given = Given::default();
    check_refused(
        "isolation: sandbox",
        &given,
        "unavailable: isolation `sandbox` is not available here | remove `isolation`, or write `isolation: none`",
    );
    check_refused(
        "isolation: landlock",
        &given,
        "unavailable: isolation `landlock` is not available here | remove `isolation`, or write `isolation: none`",
    );
    check_refused(
        "workspace: worktree",
        &given,
        "unavailable: workspace `worktree` is not available here | remove `workspace`, or write `workspace: shared`",
    );
    check_refused(
        "isolation: worktree",
        &given,
        "unavailable: workspace `worktree` is not available here | remove `workspace`, or write `workspace: shared`",
    );
    check_refused(
        "network: none",
        &given,
        "unavailable: network \"none\" cannot be held without an isolation | remove `network`, or write `network: full`",
    );
    check_refused(
        "network: [example.com]",
        &given,
        "unavailable: network [\"example.com\"] cannot be held without an isolation | remove `network`, or write `network: full`",
    );
    check_refused(
        "hooks: {PreToolUse: [{hooks: [{type: command, command: x}]}]}",
        &given,
        "unavailable: the definition has hooks, which cannot be run here | remove `hooks` to run the agent without them",
    );
}

#[test]
fn what_is_there_anyway_is_not_refused() {
    let plan = plan("isolation: none;workspace: shared;network: full;hooks: {};engine: native");
    assert_eq!((plan.isolation.value.as_str(), plan.workspace.value.as_str()), ("none", "/work/here"));
    assert_eq!((plan.engine.value.as_str(), plan.engine.from.as_str()), ("native", ".posse/agents/a.md:8"));
}

#[test]
fn another_engine_is_refused() {
    let request = Request { engine: Some("codex".to_owned()), ..Request::default() };
    check_refused(
        "engine: claude",
        &Given::default(),
        "unplannable: engine `claude` (from .posse/agents/a.md:4) is not available here | use `native`, the only engine there is",
    );
    check_refused(
        "engine: claude",
        &Given::request(request),
        "unplannable: engine `codex` (from --engine) is not available here | use `native`, the only engine there is",
    );
    let native = Request { engine: Some("native".to_owned()), ..Request::default() };
    let plan = planned("engine: claude", &Given::request(native)).expect("the flag counts");
    assert_eq!(plan.engine, super::Choice::new("native".to_owned(), "--engine"));
}

#[test]
fn input_past_its_limit_is_refused_and_never_cut() {
    let given = |task: &str, context: &str| Given {
        request: Request { task: task.to_owned(), context: Some(context.to_owned()), ..Request::default() },
        ..Given::setting("limits.input_bytes", 4)
    };
    assert!(planned("", &given("ab", "cd")).is_ok());
    check_refused(
        "",
        &given("ab", "cde"),
        "unplannable: task and context are 5 bytes; the limit is 4 (from c.toml:1) | put the material into a file and name it in the task",
    );
    check_refused(
        "",
        &given("\u{e9}\u{e9}", "x"),
        "unplannable: task and context are 5 bytes; the limit is 4 (from c.toml:1) | put the material into a file and name it in the task",
    );
}

#[test]
fn a_model_that_cannot_be_asked_is_refused() {
    check_refused(
        "model: openai/gpt-5",
        &Given::default(),
        "unplannable: the provider of `openai/gpt-5` (from definition) is not configured | add [providers.openai] with `api`, `base_url` and `api_key_env` to your configuration, or use one of anthropic, ollama",
    );
}

#[test]
fn parts_that_are_left_out_are_said() {
    let plan = plan("mcpServers: {x: {command: y}};skills: [s];memory: user");
    expect![[r#"
        `mcpServers` are not connected: the agent runs without their tools
        `skills` are not loaded: the agent runs without them
        `memory` is not kept: the agent runs without it
    "#]]
    .assert_eq(&(plan.warnings.join("\n") + "\n"));
}

// The rest.

#[test]
fn a_mode_is_the_flags_the_definitions_or_the_default() {
    let flag = Request { permission_mode: Some(PermissionMode::Plan), ..Request::default() };
    let mode = |keys: &str, request: &Request| {
        let mode =
            planned(keys, &Given::request(request.clone())).expect("it can be planned").permission_mode;
        format!("{} {}", mode.value, mode.from)
    };
    assert_eq!(mode("", &Request::default()), "default default");
    assert_eq!(mode("permissionMode: acceptEdits", &Request::default()), "acceptEdits .posse/agents/a.md:4");
    assert_eq!(mode("permissionMode: acceptEdits", &flag), "plan --permission-mode");
}

#[test]
fn the_runs_own_model_shortens_where_no_other_is_configured() {
    let own = plan("");
    assert_eq!(own.compaction_model.value, own.model.value);
    assert_eq!(own.compaction_model.from, "the run's own model");
    let other = planned("", &Given::setting("roles.compaction", "haiku")).expect("it can be planned");
    assert_eq!(other.compaction_model.value.model, "claude-haiku-5-5");
    assert_eq!(other.model, own.model);
}

#[test]
fn an_output_is_asked_for_again_twice_unless_it_says_otherwise() {
    let retries = |keys: &str| plan(keys).output.map(|output| output.retries);
    assert_eq!(retries("output: {schema: {type: object}}"), Some(2));
    assert_eq!(retries("output: {schema: {type: object}, retries: 0}"), Some(0));
    assert_eq!(retries(""), None);
}

#[test]
fn a_plan_reads_as_it_was_written() {
    let plan = plan("effort: high;output: {schema: {type: object}};maxTurns: 3");
    let text = serde_json::to_string(&plan).expect("a plan is plain");
    assert_eq!(serde_json::from_str::<Plan>(&text).expect("it reads"), plan);
}
