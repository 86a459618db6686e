//! From names to models. Each line is a row: what is there, what is configured, what is named, what that means.

use serde_json::Value;

use super::{FoundServer, ModelChoice, ModelWorld, Price, ProviderEntry, VENDORS, Wanted, choose_model};
use crate::definition::{Definition, Dialect, Model};
use crate::message::Usage;
use crate::plan::{Choice, Refusal, RefusalKind, Request, Setting, Settings};

/// What a name leads to. `there` has the providers with a key, `found:` a running server or nothing, and
/// `caller:` a model; `settings` are `key=value`, or a switch that is on.
#[track_caller]
fn check(there: &str, settings: &str, name: &str, expected: &str) {
    let wanted = Wanted::Named { name: name.to_owned(), from: "--model".to_owned() };
    assert_eq!(shown(there, settings, &wanted), expected, "{name}");
}

/// What is taken when nothing is named.
#[track_caller]
fn check_default(there: &str, settings: &str, expected: &str) {
    assert_eq!(shown(there, settings, &Wanted::Default), expected);
}

fn shown(there: &str, settings: &str, wanted: &Wanted) -> String {
    let mut warnings = Vec::new();
    let found = match choose_model(wanted, &world(there), &configured(settings), &mut warnings) {
        Ok(Choice { value: ModelChoice { provider, model, .. }, from }) => {
            format!("{provider}/{model} from {from}")
        }
        Err(Refusal { kind: RefusalKind::LookForServers, .. }) => "look for servers".to_owned(),
        Err(Refusal { message, help, .. }) => {
            format!("refused: {message} | help: {}", help.unwrap_or_default())
        }
    };
    warnings.into_iter().fold(found, |shown, warning| format!("{shown} | warning: {warning}"))
}

fn world(there: &str) -> ModelWorld {
    let words: Vec<&str> = there.split_whitespace().collect();
    let entry = |vendor: &super::Vendor| ProviderEntry {
        name: vendor.name.to_owned(),
        api: vendor.api,
        base_url: vendor.base_url.to_owned(),
        api_key_env: vendor.key_envs.first().map(|name| (*name).to_owned()),
        has_key: words.contains(&vendor.name),
        headers: Vec::new(),
        is_local_server: vendor.models_path.is_some(),
    };
    let found = |found: &str| {
        let (provider, model) = found.split_once('/')?;
        Some(FoundServer { provider: provider.to_owned(), model: model.to_owned() })
    };
    let after = |prefix: &str| words.iter().find_map(|word| word.strip_prefix(prefix));
    ModelWorld {
        providers: VENDORS.iter().map(entry).collect(),
        servers: after("found:").map(|server| found(server).into_iter().collect()),
        callers: after("caller:").map(str::to_owned),
        recorded: None,
    }
}

fn configured(settings: &str) -> Settings {
    let setting = |word: &str| {
        let (key, value) = word.split_once('=').map_or((word, Value::Bool(true)), |(k, v)| (k, v.into()));
        (key.to_owned(), Setting { value, from: "c.toml:1".to_owned() })
    };
    Settings(settings.split_whitespace().map(setting).collect())
}

// What is asked for first.

#[test]
fn a_flag_goes_before_the_definition_and_that_before_its_dialect() {
    let named = |name: &str, from: &str| Wanted::Named { name: name.to_owned(), from: from.to_owned() };
    let mut definition = Definition::new("a", "p", Dialect::Netclaw);
    let mut request = Request::default();
    assert_eq!(Wanted::new(&definition, &request), named("compaction", "default of netclaw"));
    definition.model = Model::parse(" Opus ");
    assert_eq!(Wanted::new(&definition, &request), named("Opus", "definition"));
    request.model = Some("haiku".to_owned());
    assert_eq!(Wanted::new(&definition, &request), named("haiku", "--model"));
    assert_eq!(Wanted::new(&Definition::new("a", "p", Dialect::Posse), &Request::default()), Wanted::Default);
}

#[test]
fn a_recorded_choice_goes_before_all() {
    let mut world = world("openai");
    let wanted = Wanted::Named { name: "gpt-5".to_owned(), from: "--model".to_owned() };
    let settings = Settings::default();
    let chosen = choose_model(&wanted, &world, &settings, &mut Vec::new()).expect("it has a key");
    world.recorded = Some(chosen.value.clone());
    let again = choose_model(&Wanted::Default, &world, &settings, &mut Vec::new()).expect("it is recorded");
    assert_eq!(again, Choice::new(chosen.value, "the recording"));
}

// Nothing is named.

#[test]
fn the_default_is_the_configured_one() {
    check_default(
        "anthropic openai",
        "default_model=openai/gpt-5-mini",
        "openai/gpt-5-mini from default_model (c.toml:1)",
    );
}

#[test]
fn the_default_is_the_first_provider_with_a_key() {
    check_default("gemini openai anthropic", "", "anthropic/claude-sonnet-5-5 from ANTHROPIC_API_KEY is set");
    check_default("gemini openai", "", "openai/gpt-6.1-sol from OPENAI_API_KEY is set");
    check_default("openrouter gemini", "", "gemini/gemini-4-hydrogen from GEMINI_API_KEY is set");
}

#[test]
fn a_provider_with_a_key_and_no_default_is_passed_over() {
    let mut world = world("openrouter openai");
    world.providers.sort_by_key(|entry| entry.name != "openrouter");
    let chosen = choose_model(&Wanted::Default, &world, &Settings::default(), &mut Vec::new());
    assert_eq!(chosen.map(|chosen| chosen.value.provider), Ok("openai".to_owned()));
}

#[test]
fn servers_are_looked_for_when_there_is_no_key() {
    check_default("", "", "look for servers");
    check_default("openrouter", "", "look for servers");
}

#[test]
fn a_server_that_was_found_is_taken_and_said_aloud() {
    check_default(
        "found:ollama/qwen3",
        "",
        "ollama/qwen3 from a server of ollama was found | warning: no model is configured: `ollama/qwen3`, found at http://127.0.0.1:11434/v1, is asked",
    );
    check_default("gemini found:ollama/qwen3", "", "gemini/gemini-4-hydrogen from GEMINI_API_KEY is set");
}

#[test]
fn nothing_there_is_a_refusal() {
    check_default(
        "found:",
        "",
        "refused: there is no model to ask: no key is set and no model server runs on this machine | help: set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, start Ollama, LM Studio or llama.cpp, or name a model with --model provider/model",
    );
    check_default(
        "found:unheard/of",
        "",
        "refused: there is no model to ask: no key is set and no model server runs on this machine | help: set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, start Ollama, LM Studio or llama.cpp, or name a model with --model provider/model",
    );
}

#[test]
fn a_default_may_be_an_alias_or_a_tier() {
    check_default(
        "anthropic",
        "default_model=mine models.mine=haiku",
        "anthropic/claude-haiku-5-5 from default_model (c.toml:1): alias `mine` (c.toml:1): `haiku`",
    );
    check_default(
        "anthropic openai",
        "default_model=opus",
        "anthropic/claude-opus-5-5 from default_model (c.toml:1): `opus`",
    );
    check_default(
        "openai",
        "default_model=main roles.main=openai/gpt-5",
        "openai/gpt-5 from default: role `main` (c.toml:1)",
    );
}

#[test]
fn a_default_that_needs_a_default_is_refused() {
    for name in ["inherit", "default", "small", "main", "sonnet"] {
        let wanted = shown("openai", &format!("default_model={name}"), &Wanted::Default);
        assert_eq!(
            wanted,
            format!(
                "refused: `default_model` is `{name}` (c.toml:1), which itself needs a default \
                 | help: write it as `provider/model`"
            )
        );
    }
}

#[test]
fn an_alias_that_leads_to_the_default_does_not_go_round() {
    check_default(
        "openai",
        "default_model=mine models.mine=sonnet",
        "refused: `default_model` is `mine` (c.toml:1), which itself needs a default | help: write it as `provider/model`",
    );
    check_default(
        "openai",
        "default_model=sonnet models.sonnet=haiku",
        "refused: `default_model` is `sonnet` (c.toml:1), which itself needs a default | help: write it as `provider/model`",
    );
    check_default(
        "openai",
        "default_model=main roles.main=inherit",
        "refused: `default_model` is `main` (c.toml:1), which itself needs a default | help: write it as `provider/model`",
    );
}

// Tiers.

#[test]
fn anthropics_names_are_anthropics_where_it_has_a_key() {
    check("anthropic openai", "", "haiku", "anthropic/claude-haiku-5-5 from --model: `haiku`");
    check("anthropic openai", "", "Sonnet", "anthropic/claude-sonnet-5-5 from --model: `sonnet`");
    check("anthropic openai", "", "opus", "anthropic/claude-opus-5-5 from --model: `opus`");
    check("anthropic openai", "", "fable", "anthropic/claude-fable-5-2 from --model: `fable`");
    check(
        "anthropic openai",
        "default_model=openai/gpt-5",
        "haiku",
        "anthropic/claude-haiku-5-5 from --model: `haiku`",
    );
}

#[test]
fn anthropics_names_are_tiers_of_another_which_is_said_aloud() {
    check(
        "openai gemini",
        "",
        "haiku",
        "openai/gpt-6-luna from --model: `haiku`, the tier small of openai | warning: `haiku` (from --model) is Anthropic's, and there is no key for it: `openai/gpt-6-luna` is asked instead",
    );
    check(
        "gemini",
        "",
        "sonnet",
        "gemini/gemini-4-hydrogen from --model: `sonnet`, the tier medium of gemini | warning: `sonnet` (from --model) is Anthropic's, and there is no key for it: `gemini/gemini-4-hydrogen` is asked instead",
    );
    check(
        "openai",
        "",
        "opus",
        "openai/gpt-6-astra from --model: `opus`, the tier large of openai | warning: `opus` (from --model) is Anthropic's, and there is no key for it: `openai/gpt-6-astra` is asked instead",
    );
    check(
        "openai",
        "",
        "fable",
        "openai/gpt-6-astra from --model: `fable`, the tier large of openai | warning: `fable` (from --model) is Anthropic's, and there is no key for it: `openai/gpt-6-astra` is asked instead",
    );
    check(
        "openai gemini",
        "default_model=gemini/gemini-2.5-pro",
        "haiku",
        "gemini/gemini-3.5-flash-lite from --model: `haiku`, the tier small of gemini | warning: `haiku` (from --model) is Anthropic's, and there is no key for it: `gemini/gemini-3.5-flash-lite` is asked instead",
    );
}

#[test]
fn a_provider_without_tiers_gives_its_model_in_use() {
    check(
        "found:ollama/qwen3",
        "",
        "haiku",
        "ollama/qwen3 from --model: `haiku`, a server of ollama was found | warning: no model is configured: `ollama/qwen3`, found at http://127.0.0.1:11434/v1, is asked | warning: `haiku` (from --model) is Anthropic's, and there is no key for it: `ollama/qwen3` is asked instead",
    );
    check(
        "openrouter",
        "default_model=openrouter/meta/llama-4",
        "small",
        "openrouter/meta/llama-4 from --model: `small`, default_model (c.toml:1)",
    );
}

#[test]
fn a_tier_looks_for_servers_too() {
    check("", "", "sonnet", "look for servers");
}

#[test]
fn strict_models_refuse_what_would_be_replaced() {
    check(
        "openai",
        "strict_models",
        "sonnet",
        "refused: `sonnet` (from --model) is Anthropic's, and there is no key for it | help: set ANTHROPIC_API_KEY, or strict_models = false",
    );
    check("anthropic", "strict_models", "sonnet", "anthropic/claude-sonnet-5-5 from --model: `sonnet`");
    check(
        "openai",
        "strict_models",
        "small",
        "openai/gpt-6-luna from --model: `small`, the tier small of openai",
    );
}

#[test]
fn a_tiers_own_word_is_of_the_provider_in_use() {
    check(
        "anthropic openai",
        "",
        "small",
        "anthropic/claude-haiku-5-5 from --model: `small`, the tier small of anthropic",
    );
    check("openai", "", "fast", "openai/gpt-6-luna from --model: `fast`, the tier small of openai");
    check("openai", "", "medium", "openai/gpt-6.1-sol from --model: `medium`, the tier medium of openai");
    check("gemini", "", "large", "gemini/gemini-4-carbon from --model: `large`, the tier large of gemini");
    check("gemini", "", "best", "gemini/gemini-4-carbon from --model: `best`, the tier large of gemini");
    check("gemini", "", "default", "gemini/gemini-4-hydrogen from GEMINI_API_KEY is set");
}

#[test]
fn a_role_decides_a_tiers_own_word_and_not_anthropics() {
    check(
        "anthropic openai",
        "roles.small=openai/gpt-5-nano",
        "small",
        "openai/gpt-5-nano from --model: role `small` (c.toml:1)",
    );
    check(
        "anthropic openai",
        "roles.small=openai/gpt-5-nano",
        "haiku",
        "anthropic/claude-haiku-5-5 from --model: `haiku`",
    );
}

// Names that are never replaced.

#[test]
fn a_full_identifier_is_taken_as_it_is() {
    check("openai", "", "gpt-5-2025-08-07", "openai/gpt-5-2025-08-07 from --model");
    check(
        "anthropic openai",
        "default_model=openai/gpt-5",
        "claude-of-tomorrow",
        "anthropic/claude-of-tomorrow from --model",
    );
    check("openai", "", " gpt-5 ", "openai/gpt-5 from --model");
}

#[test]
fn a_model_of_a_provider_is_taken_as_it_is() {
    check("openrouter", "", "openrouter/meta/llama-4", "openrouter/meta/llama-4 from --model");
    check("", "", "ollama/qwen3:8b", "ollama/qwen3:8b from --model");
    check("openai", "", "OpenAI/My-Fine-Tune", "openai/My-Fine-Tune from --model");
}

#[test]
fn a_missing_key_is_named() {
    check(
        "openai",
        "",
        "claude-sonnet-4-5",
        "refused: `claude-sonnet-4-5` (from --model) needs a key: ANTHROPIC_API_KEY is not set | help: set ANTHROPIC_API_KEY, or choose another model with --model",
    );
    check(
        "anthropic",
        "",
        "gemini/gemini-2.5-pro",
        "refused: `gemini/gemini-2.5-pro` (from --model) needs a key: GEMINI_API_KEY is not set | help: set GEMINI_API_KEY, or choose another model with --model",
    );
    check(
        "anthropic",
        "",
        "openrouter/x/y",
        "refused: `openrouter/x/y` (from --model) needs a key: OPENROUTER_API_KEY is not set | help: set OPENROUTER_API_KEY, or choose another model with --model",
    );
}

#[test]
fn an_unknown_name_is_refused() {
    check(
        "openai",
        "",
        "qwen3",
        "refused: the model `qwen3` (from --model) is not known | help: write it as `provider/model`, or give it a meaning in [models] of your configuration",
    );
    check("openai", "", "", "refused: an empty model name (from --model) | help: name a model");
    check(
        "openai",
        "",
        "antropic/claude-x",
        "refused: the provider of `antropic/claude-x` (from --model) is not configured | help: did you mean `anthropic/claude-x`?",
    );
    check(
        "openai",
        "",
        "acme/x",
        "refused: the provider of `acme/x` (from --model) is not configured | help: add [providers.acme] with `api`, `base_url` and `api_key_env` to your configuration, or use one of anthropic, openai, gemini, openrouter, ollama, lmstudio, llamacpp",
    );
}

#[test]
fn a_name_for_people_is_understood() {
    check("anthropic", "", "Claude Sonnet 4.5 (copilot)", "anthropic/claude-sonnet-4-5 from --model");
    check("openai", "", "GPT-4.1", "openai/gpt-4.1 from --model");
    check(
        "openai",
        "",
        "Claude Sonnet 4.5",
        "refused: `claude-sonnet-4-5` (from --model) needs a key: ANTHROPIC_API_KEY is not set | help: set ANTHROPIC_API_KEY, or choose another model with --model",
    );
    check(
        "openai",
        "",
        "Auto (copilot)",
        "refused: the model `Auto (copilot)` (from --model) is not known | help: write it as `provider/model`, or give it a meaning in [models] of your configuration",
    );
}

// Aliases, roles, and the caller's model.

#[test]
fn an_alias_leads_to_its_model() {
    check("openai", "models.mine=openai/gpt-5", "mine", "openai/gpt-5 from --model: alias `mine` (c.toml:1)");
    check(
        "openai",
        "models.a=b models.b=gpt-5",
        "a",
        "openai/gpt-5 from --model: alias `a` (c.toml:1): alias `b` (c.toml:1)",
    );
}

#[test]
fn an_alias_goes_before_a_tier_and_an_identifier() {
    check(
        "anthropic openai",
        "models.sonnet=openai/gpt-5",
        "sonnet",
        "openai/gpt-5 from --model: alias `sonnet` (c.toml:1)",
    );
    check(
        "anthropic openai",
        "models.gpt-5=claude-opus-5",
        "gpt-5",
        "anthropic/claude-opus-5 from --model: alias `gpt-5` (c.toml:1)",
    );
}

#[test]
fn aliases_that_lead_back_are_refused() {
    check(
        "openai",
        "models.a=a",
        "a",
        "refused: the alias `a` leads back to itself (c.toml:1) | help: let it name a `provider/model`",
    );
    check(
        "openai",
        "models.a=b models.b=a",
        "a",
        "refused: the alias `a` leads back to itself (c.toml:1) | help: let it name a `provider/model`",
    );
    check(
        "openai",
        "roles.main=compaction roles.compaction=main",
        "main",
        "refused: the role `main` leads back to itself (c.toml:1) | help: let it name a `provider/model`",
    );
    check(
        "openai",
        "roles.small=small",
        "small",
        "refused: the role `small` leads back to itself (c.toml:1) | help: let it name a `provider/model`",
    );
}

#[test]
fn a_role_is_what_is_configured_or_the_default() {
    check(
        "openai",
        "roles.compaction=gpt-5-nano",
        "Compaction",
        "openai/gpt-5-nano from --model: role `compaction` (c.toml:1)",
    );
    check("openai", "", "compaction", "openai/gpt-6.1-sol from OPENAI_API_KEY is set");
    check("openai", "default_model=openai/gpt-5", "main", "openai/gpt-5 from default_model (c.toml:1)");
}

#[test]
fn inherit_is_the_callers_model_or_the_default() {
    check(
        "anthropic openai caller:openai/gpt-5",
        "",
        "inherit",
        "openai/gpt-5 from --model: the caller's model",
    );
    check(
        "anthropic caller:openai/gpt-5",
        "",
        "inherit",
        "refused: `openai/gpt-5` (from --model: the caller's model) needs a key: OPENAI_API_KEY is not set | help: set OPENAI_API_KEY, or choose another model with --model",
    );
    check("anthropic openai", "", "inherit", "anthropic/claude-sonnet-5-5 from ANTHROPIC_API_KEY is set");
    check("", "", "inherit", "look for servers");
}

#[test]
fn the_callers_model_is_not_taken_where_nothing_says_inherit() {
    check_default(
        "anthropic openai caller:openai/gpt-5",
        "",
        "anthropic/claude-sonnet-5-5 from ANTHROPIC_API_KEY is set",
    );
}

#[test]
fn every_kind_of_token_has_its_price() {
    let usage = Usage {
        input_tokens: 1_000_000,
        output_tokens: 500_000,
        cache_read_tokens: 2_000_000,
        cache_write_tokens: 100_000,
    };
    let price = Price { input: 3.0, output: 16.0, cache_read: Some(0.25), cache_write: Some(5.0) };
    assert_eq!(price.of(&usage).to_string(), "12");
    let price = Price { input: 3.0, output: 16.0, cache_read: None, cache_write: None };
    assert_eq!(price.of(&usage).to_string(), "17.3");
    assert_eq!(price.of(&Usage::default()).to_string(), "0");
}
