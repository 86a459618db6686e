//! Shell commands and the texts of rules: no panic, and what is denied alone is not allowed with something before it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use posse_core::rule::{Act, Decision, Place, Rule, RuleSet, Sourced, judge};

const PLACE: Place<'static> = Place { workspace: "/w", home: "/h" };

fn rules(deny: &[&str], allow: &[&str]) -> RuleSet {
    let sourced = |texts: &[&str]| {
        let rule = |text: &&str| Rule::parse(text).expect("a rule");
        texts.iter().map(|text| Sourced { rule: rule(text), from: "f:1".to_owned(), base: None }).collect()
    };
    RuleSet { deny: sourced(deny), allow: sourced(allow), ..RuleSet::default() }
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(rule) = Rule::parse(text) {
        assert_eq!(Rule::parse(rule.text()).expect("the same rule"), rule);
    }
    let rules = rules(&["Bash(curl *)"], &["Bash", "Bash(ls *)"]);
    let decide = |text: &str| judge(&rules, &Act::Command { text, directory: "/w" }, &PLACE).decision;
    decide(text);
    // On a line of its own it would run, whatever stands above it.
    assert_ne!(decide(&format!("curl x\n{text}")), Some(Decision::Allow), "{text:?}");
});
