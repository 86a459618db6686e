//! What holds for any text at all.

use proptest::prelude::*;

use super::{PLACE, judge_command, rules};
use crate::rule::{Act, Decision, Rule, RuleSet, judge};

/// Ways to write the name of a program.
const SPELLINGS: &[&str] = &[
    "curl",
    "\\curl",
    "\"curl\"",
    "'curl'",
    "c'u'rl",
    "cu\"\"rl",
    "c\\url",
    "$'curl'",
    "/usr/bin/curl",
    "./curl",
    "cu\\\nrl",
    "$'c\\x75rl'",
    "${x}curl",
    "$x curl",
    "curl$IFS",
    "c{u,u}rl",
    "cur?",
    "$(echo curl)",
    "`echo curl`",
];

/// Ways to put a command into another; those of the first list need words, not a group.
const PREFIXES: &[&str] = &[
    "command ",
    "builtin ",
    "exec ",
    "A=b ",
    "PATH=/x ",
    "CI=1 ",
    "env ",
    "env A=b ",
    "env -i ",
    "timeout 5 ",
    "timeout -k 1 5 ",
    "time ",
    "nice ",
    "nice -n 3 ",
    "nohup ",
    "stdbuf -oL ",
    "xargs ",
    "xargs -n 1 ",
    "sudo ",
    "doas -u x ",
    "strace -f ",
    "noglob ",
    "setsid ",
    "coproc ",
    "eval ",
    "/usr/bin/env ",
    ">/dev/null ",
    "2>&1 ",
];

const AROUND: &[(&str, &str)] = &[
    ("(", ")"),
    ("{ ", "; }"),
    ("ls; ", ""),
    ("ls && ", ""),
    ("ls || ", ""),
    ("ls | ", ""),
    ("ls |& ", ""),
    ("ls & ", " &"),
    ("ls\n", "\n"),
    ("ls # x\n", ""),
    ("echo $(", ")"),
    ("echo \"$(", ")\""),
    ("echo ${x:-$(", ")}"),
    ("x=$(", ")"),
    ("cat <(", ")"),
    ("cat <<< $(", ")"),
    ("if true; then ", "\nfi"),
    ("if ", "\nthen ls; fi"),
    ("while ", "\ndo ls; done"),
    ("for i in 1; do ", "\ndone"),
    ("case x in x) ", "\n;; esac"),
    ("! ", ""),
    ("f() { ", "\n}; f"),
    ("[ -n \"$(", ")\" ]"),
];

const AROUND_QUOTED: &[&str] = &[
    "bash -c ",
    "sh -c ",
    "bash -lc ",
    "/bin/bash -c ",
    "eval ",
    "ssh host ",
    "watch ",
    "trap ",
    "env -S ",
    "su -c ",
];

fn single_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A denied command, written and hidden by choices.
fn hidden(spelling: usize, prefixes: &[usize], around: &[usize]) -> String {
    let mut text = format!("{} http://x", SPELLINGS[spelling % SPELLINGS.len()]);
    for prefix in prefixes {
        text.insert_str(0, PREFIXES[prefix % PREFIXES.len()]);
    }
    for around in around {
        let around = around % (AROUND.len() + AROUND_QUOTED.len());
        text = match AROUND.get(around) {
            Some((before, after)) => format!("{before}{text}{after}"),
            None => format!("{}{}", AROUND_QUOTED[around - AROUND.len()], single_quoted(&text)),
        };
    }
    text
}

/// Rules that allow as much as rules can.
fn generous() -> [RuleSet; 2] {
    let patterns = [
        "Bash(ls *)",
        "Bash(echo *)",
        "Bash(* http://x)",
        "Bash(f)",
        "Bash(ssh *)",
        "Bash(sudo *)",
        "Edit(//**)",
    ];
    [rules(&["Bash(curl *)"], &[], &["Bash"]), rules(&["Bash(curl *)"], &[], &patterns)]
}

const PIECES: &[&str] = &[
    "ls",
    "curl",
    "git diff",
    "x",
    " ",
    " ",
    ";",
    "&",
    "|",
    "&&",
    "\n",
    "(",
    ")",
    "{",
    "}",
    "$(",
    "`",
    "\"",
    "'",
    "\\",
    "$x",
    "${x",
    "$((",
    "<<EOF\n",
    "EOF\n",
    "<",
    ">",
    "2>&1",
    "#",
    "if",
    "then",
    "fi",
    "for i in",
    "do",
    "done",
    "case",
    "in",
    "esac",
    "[[",
    "]]",
    "=",
    "A=b",
    "bash -c",
    "eval",
    "xargs",
    "-exec",
    "\\;",
    "é",
    "\u{a0}",
    "\u{1}",
    "\r",
    "~",
    "*",
    "{a,b}",
    "$'",
    "!",
    "function f",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_way_to_write_a_denied_command_is_allowed(
        spelling in 0usize..100,
        prefixes in proptest::collection::vec(0usize..100, 0..4),
        around in proptest::collection::vec(0usize..100, 0..4),
    ) {
        let text = hidden(spelling, &prefixes, &around);
        for rules in generous() {
            let found = judge_command(&rules, &text);
            prop_assert!(matches!(found.decision, Some(Decision::Deny | Decision::Ask)), "{text:?} {found:?}");
        }
    }

    #[test]
    fn any_text_is_judged(text in ".{0,200}", pieces in proptest::collection::vec(0usize..PIECES.len(), 0..40)) {
        let pieces: String = pieces.into_iter().map(|piece| PIECES[piece]).collect();
        for text in [text, pieces] {
            for rules in generous() {
                let first = judge_command(&rules, &text);
                prop_assert_eq!(&first, &judge_command(&rules, &text));
            }
            for act in [Act::Look { tool: "Read", path: &text }, Act::Fetch { host: &text }, Act::Mcp { name: &text }] {
                judge(&generous()[0], &act, &PLACE);
            }
        }
    }

    #[test]
    fn a_rule_reads_the_same_again(text in ".{0,60}", tool in "(Bash|Read|Edit|WebFetch|Agent|mcp__x)?") {
        for text in [text.clone(), format!("{tool}({text})"), tool] {
            if let Ok(rule) = Rule::parse(&text) {
                let json = serde_json::to_string(&rule).expect("a text");
                prop_assert_eq!(serde_json::from_str::<Rule>(&json).expect("the same rule"), rule);
            }
        }
    }
}

#[test]
fn what_is_too_long_or_too_deep_is_not_allowed() {
    let rules = rules(&[], &[], &["Bash(ls *)", "Bash(echo *)"]);
    let rows = [
        format!("ls {}", "a".repeat(70_000)),
        format!("{}ls{}", "(".repeat(60), ")".repeat(60)),
        format!("{}ls{}", "echo $(".repeat(60), ")".repeat(60)),
        vec!["ls"; 600].join("; "),
        "(".repeat(60_000),
        "$x".repeat(30_000),
        "sudo ".repeat(10_000),
        "timeout 5 ".repeat(5_000),
    ];
    for text in rows {
        assert_eq!(judge_command(&rules, &text).decision, None, "{}…", &text[..20]);
    }
    let many = vec!["ls"; 500].join("; ");
    assert_eq!(judge_command(&rules, &many).decision, Some(Decision::Allow));
}
