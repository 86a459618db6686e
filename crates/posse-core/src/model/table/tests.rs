//! What is known about models, and that the table holds together.

use serde_json::json;

use super::{DATA_DATE, ModelFacts, TABLE, facts, find, tier_model};
use crate::model::{Price, VENDORS};
use crate::plan::{Setting, Settings};

/// The row that a name finds.
#[track_caller]
fn check_row(vendor: &str, model: &str, expected: Option<&str>) {
    assert_eq!(find(vendor, model).map(|row| row.id.as_str()), expected, "{vendor}/{model}");
}

#[test]
fn a_dated_name_finds_its_row() {
    check_row("anthropic", "claude-sonnet-4-5", Some("claude-sonnet-4-5"));
    check_row("anthropic", "claude-sonnet-4-5-20250929", Some("claude-sonnet-4-5"));
    check_row("anthropic", "claude-sonnet-4-5@20250929", Some("claude-sonnet-4-5"));
    check_row("anthropic", "claude-sonnet-4-5-latest", Some("claude-sonnet-4-5"));
    check_row("openai", "gpt-5-2025-08-07", Some("gpt-5"));
    check_row("openai", "gpt-4o-2024-05-13", Some("gpt-4o-2024-05-13"));
    check_row("openai", "gpt-4o-2024-08-06", Some("gpt-4o"));
    check_row("gemini", "gemini-2.5-flash-preview-09-2025", Some("gemini-2.5-flash"));
}

#[test]
fn another_model_finds_no_row() {
    check_row("anthropic", "claude-sonnet-4-55", None);
    check_row("anthropic", "claude-sonnet-9", None);
    check_row("openai", "gpt-5-9", None);
    check_row("openai", "gpt-5.99", None);
    check_row("openai", "gpt-5-huge", None);
    check_row("openai", "gpt-", None);
    check_row("openrouter", "gpt-5", None);
    check_row("openai", "claude-sonnet-4-5", None);
}

#[test]
fn nothing_is_known_about_an_unknown_model() {
    assert_eq!(facts("ollama", "qwen3", &Settings::default()), ModelFacts::default());
}

#[test]
fn configured_prices_go_over_the_table() {
    let prices = json!({
        "openai/gpt-4.1": {"input": 1, "output": 2.5, "cache_read": 0.5, "context": 1000},
        "ollama/qwen3": {"input": 0, "output": 0, "max_output": 500},
        "gemini/gemini-2.5-pro": {"input": 1},
    });
    let setting = Setting { value: prices, from: "c.toml:1".to_owned() };
    let settings = Settings([("prices".to_owned(), setting)].into());
    let price = |input, output, cache_read| Some(Price { input, output, cache_read, cache_write: None });
    let known = facts("openai", "gpt-4.1", &settings);
    assert_eq!((known.price, known.context_tokens), (price(1.0, 2.5, Some(0.5)), Some(1000)));
    assert_eq!(known.output_tokens, facts("openai", "gpt-4.1", &Settings::default()).output_tokens);
    let free = facts("ollama", "qwen3", &settings);
    assert_eq!((free.price, free.output_tokens), (price(0.0, 0.0, None), Some(500)));
    let half = facts("gemini", "gemini-2.5-pro", &settings);
    assert_eq!(half, facts("gemini", "gemini-2.5-pro", &Settings::default()));
}

// The table itself.

#[test]
fn the_table_is_dated_and_whole() {
    assert!(
        DATA_DATE.len() == 10 && crate::time::Time::parse(&format!("{}T00:00:00Z", *DATA_DATE)).is_some()
    );
    for row in &TABLE.models {
        assert!(VENDORS.iter().any(|vendor| vendor.name == row.vendor), "{}", row.vendor);
        let found = find(&row.vendor, &row.id).map(|found| found.id.as_str());
        assert_eq!(found, Some(row.id.as_str()), "a row is found by its own name");
        let price = row.usd.unwrap_or(Price { input: 1.0, output: 1.0, cache_read: None, cache_write: None });
        let all = [Some(price.input), Some(price.output), price.cache_read, price.cache_write];
        assert!(all.iter().flatten().all(|usd| *usd > 0.0), "{}", row.id);
        assert!(
            row.context.is_none_or(|context| row.output.is_none_or(|output| output <= context)),
            "{}",
            row.id
        );
    }
}

#[test]
fn no_model_is_in_the_table_twice() {
    let mut ids: Vec<&str> = TABLE.models.iter().map(|row| row.id.as_str()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

#[test]
fn every_tier_of_a_vendor_is_a_model_whose_price_is_known() {
    let vendors = &TABLE.vendors;
    for (vendor, tiers) in vendors {
        assert!(VENDORS.iter().any(|known| known.name == vendor), "{vendor}");
        for tier in ["small", "medium", "large"] {
            let model = tier_model(vendor, tier).unwrap_or_else(|| panic!("{vendor} has no {tier}"));
            let row = find(vendor, model).unwrap_or_else(|| panic!("{vendor}/{model} is not in the table"));
            assert!(row.id == model && row.usd.is_some() && row.context.is_some(), "{model}");
        }
        for model in tiers.as_object().into_iter().flatten().filter_map(|(_, model)| model.as_str()) {
            assert!(find(vendor, model).is_some(), "{model}");
        }
    }
}

#[test]
fn a_vendors_own_names_begin_as_it_says() {
    for row in &TABLE.models {
        let vendor = VENDORS.iter().find(|vendor| vendor.name == row.vendor).expect("its vendor is known");
        assert!(vendor.prefixes.iter().any(|prefix| row.id.starts_with(prefix)), "{}", row.id);
    }
}

#[test]
fn who_takes_pictures_is_the_vendors_and_the_rows_and_the_persons_word() {
    let own = Setting { value: json!({ "ollama/llava": { "media": true } }), from: "config".to_owned() };
    let settings = Settings([("prices".to_owned(), own)].into());
    for (provider, model, takes_media) in [
        ("anthropic", "claude-sonnet-4-5", true),
        ("anthropic", "claude-of-tomorrow", true),
        ("openai", "gpt-4o", true),
        ("openai", "o3-mini", false),
        ("gemini", "gemini-2.5-pro", true),
        ("openrouter", "some/model", false),
        ("ollama", "qwen3", false),
        ("ollama", "llava", true),
    ] {
        assert_eq!(facts(provider, model, &settings).takes_media, takes_media, "{provider}/{model}");
    }
}
