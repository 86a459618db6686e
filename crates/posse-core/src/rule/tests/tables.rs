//! Rules about everything but commands, their order and their texts.

use expect_test::expect;

use super::{PLACE, judge_command, rules, sourced, word};
use crate::rule::{Act, Decision, Place, Rule, RuleSet, Sourced, judge};

/// The paths of a list that a rule is about.
fn about<'a>(rule: &str, paths: &[&'a str]) -> Vec<&'a str> {
    let rules = rules(&[], &[rule], &[]);
    let asked = |path: &&&str| {
        let look = judge(&rules, &Act::Look { tool: "Grep", path }, &PLACE).decision;
        let change = judge(&rules, &Act::Change { tool: "MultiEdit", path }, &PLACE).decision;
        look.or(change).is_some()
    };
    paths.iter().filter(asked).copied().collect()
}

#[test]
fn paths_are_matched_as_gitignore_does() {
    const PATHS: &[&str] = &[
        "/work/app",
        "/work/app/.env",
        "/work/app/src",
        "/work/app/src/.env",
        "/work/app/src/lib.rs",
        "/work/app/src/a/lib.rs",
        "/work/application/x",
        "/home/ada/.ssh/id",
        "/etc/shadow",
    ];
    let rows: &[(&str, &[&str])] = &[
        ("Read(.env)", &["/work/app/.env", "/work/app/src/.env"]),
        ("Read(/.env)", &["/work/app/.env"]),
        ("Read(./.env)", &["/work/app/.env"]),
        (
            "Read(src)",
            &["/work/app/src", "/work/app/src/.env", "/work/app/src/lib.rs", "/work/app/src/a/lib.rs"],
        ),
        ("Read(src/**)", &["/work/app/src/.env", "/work/app/src/lib.rs", "/work/app/src/a/lib.rs"]),
        ("Read(src/*.rs)", &["/work/app/src/lib.rs"]),
        ("Read(*.rs)", &["/work/app/src/lib.rs", "/work/app/src/a/lib.rs"]),
        ("Read(src/**/lib.rs)", &["/work/app/src/lib.rs", "/work/app/src/a/lib.rs"]),
        ("Read(src/?/l[a-i]b.rs)", &["/work/app/src/a/lib.rs"]),
        ("Read(src/[!a]/*)", &[]),
        ("Read(~/.ssh)", &["/home/ada/.ssh/id"]),
        ("Read(~/.ssh/**)", &["/home/ada/.ssh/id"]),
        ("Read(//etc/shadow)", &["/etc/shadow"]),
        ("Read(//etc)", &["/etc/shadow"]),
        ("Read(//**)", PATHS),
        ("Read(*)", PATHS),
        ("Read(**)", PATHS),
        ("Edit(**)", PATHS),
        ("Edit(src/lib.rs)", &["/work/app/src/lib.rs"]),
        ("Write(src/lib.rs)", &["/work/app/src/lib.rs"]),
        ("NotebookEdit(src/lib.rs)", &["/work/app/src/lib.rs"]),
        ("LS(src/lib.rs)", &["/work/app/src/lib.rs"]),
    ];
    for (rule, expected) in rows {
        assert_eq!(about(rule, PATHS), *expected, "{rule}");
    }
}

#[test]
fn a_path_that_allows_stays_where_it_begins() {
    let rules = rules(&[], &[], &["Edit(**)"]);
    let decide = |path| judge(&rules, &Act::Change { tool: "Write", path }, &PLACE).decision;
    assert_eq!(decide("/work/app/x"), Some(Decision::Allow));
    assert_eq!(decide("/etc/x"), None);
}

#[test]
fn a_slash_begins_at_the_directory_of_the_file() {
    let mut rules = rules(&["Read(/keys)"], &[], &[]);
    rules.deny[0].base = Some("/home/ada/.config".to_owned());
    let decide = |path| judge(&rules, &Act::Look { tool: "Read", path }, &PLACE).decision;
    assert_eq!(decide("/home/ada/.config/keys/a"), Some(Decision::Deny));
    assert_eq!(decide("/work/app/keys"), None);
}

#[test]
fn a_tool_as_a_whole_is_that_tool() {
    let rules = rules(&["Read"], &[], &["*"]);
    let decide = |tool| judge(&rules, &Act::Look { tool, path: "/work/app/x" }, &PLACE).decision;
    assert_eq!((decide("Read"), decide("Grep")), (Some(Decision::Deny), Some(Decision::Allow)));
    assert_eq!(word(judge_command(&rules, "cat x").decision), "deny");
}

#[test]
fn names_and_hosts_are_matched_whole() {
    let rows: &[(&str, Act<'_>, bool)] = &[
        ("WebFetch(domain:x.com)", Act::Fetch { host: "x.com" }, true),
        ("WebFetch(domain:x.com)", Act::Fetch { host: "X.COM." }, true),
        ("WebFetch(domain:x.com)", Act::Fetch { host: "a.x.com" }, false),
        ("WebFetch(domain:x.com)", Act::Fetch { host: "ax.com" }, false),
        ("WebFetch(domain:*.x.com)", Act::Fetch { host: "a.x.com" }, true),
        ("WebFetch(domain:*.x.com)", Act::Fetch { host: "a.b.x.com" }, true),
        ("WebFetch(domain:*.x.com)", Act::Fetch { host: "x.com" }, false),
        ("WebFetch(domain:*.x.com)", Act::Fetch { host: "ax.com" }, false),
        ("WebFetch(domain:*)", Act::Fetch { host: "a.org" }, true),
        ("WebFetch", Act::Fetch { host: "a.org" }, true),
        ("WebSearch", Act::Tool { name: "WebSearch" }, true),
        ("WebSearch", Act::Tool { name: "WebFetch" }, false),
        ("Agent(review)", Act::Agent { name: "review" }, true),
        ("Agent(review)", Act::Agent { name: "reviewer" }, false),
        ("Agent(review*)", Act::Agent { name: "reviewer" }, true),
        ("Task(review)", Act::Agent { name: "review" }, true),
        ("Agent", Act::Agent { name: "review" }, true),
        ("Skill(pdf)", Act::Skill { name: "pdf" }, true),
        ("Skill(pdf)", Act::Skill { name: "pdfs" }, false),
        ("mcp__git", Act::Mcp { name: "mcp__git__push" }, true),
        ("mcp__git", Act::Mcp { name: "mcp__github__push" }, false),
        ("mcp__git__*", Act::Mcp { name: "mcp__git__push" }, true),
        ("mcp__git__push", Act::Mcp { name: "mcp__git__push" }, true),
        ("mcp__git__push", Act::Mcp { name: "mcp__git__push_all" }, false),
        ("mcp__*__push", Act::Mcp { name: "mcp__git__push" }, true),
        ("mcp__*__push", Act::Mcp { name: "mcp__git__pull" }, false),
        ("*", Act::Mcp { name: "mcp__git__pull" }, true),
        ("Bash", Act::Mcp { name: "mcp__git__pull" }, false),
    ];
    for (rule, act, expected) in rows {
        let found = judge(&rules(&[rule], &[], &[]), act, &PLACE).decision;
        assert_eq!(found.is_some(), *expected, "{rule} {act:?}");
    }
}

#[test]
fn deny_comes_before_ask_and_ask_before_allow() {
    let all = rules(&["Bash(a *)"], &["Bash(a *)", "Bash(b *)"], &["Bash(a x)", "Bash(b x)", "Bash(c *)"]);
    let found: Vec<&str> =
        ["a x", "b x", "c x", "d x"].map(|text| word(judge_command(&all, text).decision)).to_vec();
    assert_eq!(found, ["deny", "ask", "allow", "none"]);
}

#[test]
fn what_holds_otherwise_comes_last() {
    let mut rules = rules(&[], &[], &["Bash(git *)"]);
    rules.otherwise.insert("Bash".to_owned(), Decision::Deny);
    rules.otherwise.insert("*".to_owned(), Decision::Ask);
    let found = ["git x", "ls", "foo", "git x; foo"].map(|text| word(judge_command(&rules, text).decision));
    assert_eq!(found, ["allow", "deny", "deny", "deny"]);
    assert_eq!(judge(&rules, &Act::Tool { name: "TodoWrite" }, &PLACE).decision, Some(Decision::Ask));
}

#[test]
fn a_judgement_says_who_decided_and_what_is_missing() {
    let rules = rules(&["Bash(curl *)"], &[], &["Bash(npm test)"]);
    let mut out = String::new();
    for text in ["curl x", "npm test", "ls", "foo x | git push", "npm test > log", "$x", "timeout 5 foo"] {
        let found = judge_command(&rules, text);
        out += &format!("{text}: {} — {} {:?}\n", word(found.decision), found.reason, found.would_allow);
    }
    expect![[r#"
        curl x: deny — denied by `Bash(curl *)` (deny:1) []
        npm test: allow — allowed by `Bash(npm test)` (allow:1) []
        ls: allow — it only reads []
        foo x | git push: none — no rule allows `foo x` ["Bash(foo *)", "Bash(git push *)"]
        npm test > log: none — no rule allows changing `/work/app/log` ["Edit(//work/app/log)"]
        $x: ask — asked about because `Bash(curl *)` (deny:1) may forbid it: a word of the command is not known beforehand []
        timeout 5 foo: none — no rule allows `timeout 5 foo` ["Bash(foo *)"]
    "#]].assert_eq(&out);
}

#[test]
fn the_parts_of_a_command_are_shown() {
    let rules = rules(&[], &[], &["Bash(npm test)"]);
    let found = judge_command(&rules, "A=1 foo \"$x\" | npm test > log 2>&1");
    let parts: Vec<String> =
        found.parts.iter().map(|part| format!("{:?} {}", part.does, word(part.decision))).collect();
    expect![[r#"
        Run("foo …") none
        Run("npm test") allow
        Change("/work/app/log") none"#]]
    .assert_eq(&parts.join("\n"));
}

#[test]
fn what_makes_no_sense_is_no_rule() {
    let mut out = String::new();
    for text in [
        "",
        "()",
        "(x)",
        "Bash(",
        "Bash)",
        "Bash(ls) x",
        "Bash()",
        "Bash( )",
        "Bash(:*)",
        "Grpe",
        "bash",
        "Bsh(ls)",
        "WebFetch(x.com)",
        "WebFetch(https://x.com/a)",
        "WebFetch(domain:)",
        "WebFetch(domain:a/b)",
        "WebFetch(domain:*x.com)",
        "TodoWrite(x)",
        "WebSearch(x)",
        "mcp__",
        "mcp____x",
        "mcp__a(b)",
        "*(x)",
        "***",
        "Read(!x)",
        "Read(../x)",
        "Read(~bob/x)",
        "a b",
        "Bash(a\nb)",
    ] {
        out += &match Rule::parse(text) {
            Ok(rule) => format!("{text:?} is a rule: {rule:?}\n"),
            Err(error) => format!("{text:?}: {error}\n"),
        };
    }
    expect![[r#"
        "": `` is no rule; write `Tool` or `Tool(specifier)`, such as `Bash(git diff *)`
        "()": `()` is no rule; write `Tool` or `Tool(specifier)`, such as `Bash(git diff *)`
        "(x)": `(x)` is no rule; write `Tool` or `Tool(specifier)`, such as `Bash(git diff *)`
        "Bash(": the parentheses of the rule `Bash(` do not match; write `Tool` or `Tool(specifier)`, with nothing after the last parenthesis
        "Bash)": the parentheses of the rule `Bash)` do not match; write `Tool` or `Tool(specifier)`, with nothing after the last parenthesis
        "Bash(ls) x": the parentheses of the rule `Bash(ls) x` do not match; write `Tool` or `Tool(specifier)`, with nothing after the last parenthesis
        "Bash()": the rule `Bash()` has nothing between its parentheses; write `Bash` for every use of it, or say what it is about
        "Bash( )": the rule `Bash( )` has nothing between its parentheses; write `Bash` for every use of it, or say what it is about
        "Bash(:*)": the rule `Bash(:*)` names no command; write `Bash` for every command
        "Grpe": the tool of the rule `Grpe` is not known; did you mean `Grep`?
        "bash": the tool of the rule `bash` is not known; did you mean `Bash`?
        "Bsh(ls)": the tool of the rule `Bsh(ls)` is not known; did you mean `Bash`?
        "WebFetch(x.com)": the rule `WebFetch(x.com)` does not say `domain:`; write `WebFetch(domain:x.com)`
        "WebFetch(https://x.com/a)": the rule `WebFetch(https://x.com/a)` does not say `domain:`; write `WebFetch(domain:x.com)`
        "WebFetch(domain:)": the domain of the rule `WebFetch(domain:)` is no host; write a host such as `docs.rs`, or `*.docs.rs` for everything below it
        "WebFetch(domain:a/b)": the domain of the rule `WebFetch(domain:a/b)` is no host; write a host such as `docs.rs`, or `*.docs.rs` for everything below it
        "WebFetch(domain:*x.com)": the domain of the rule `WebFetch(domain:*x.com)` is no host; write a host such as `docs.rs`, or `*.docs.rs` for everything below it
        "TodoWrite(x)": rules about `TodoWrite` take nothing in parentheses; write `TodoWrite`
        "WebSearch(x)": rules about `WebSearch` take nothing in parentheses; write `WebSearch`
        "mcp__": the rule `mcp__` names no server; write `mcp__server` or `mcp__server__tool`
        "mcp____x": the rule `mcp____x` names no server; write `mcp__server` or `mcp__server__tool`
        "mcp__a(b)": the rule `mcp__a(b)` looks into a call of an MCP server; write `mcp__a`: only whole tools can be named
        "*(x)": the rule `*(x)` is about every tool and none; name the tool
        "***": `***` is no rule; write `Tool` or `Tool(specifier)`, such as `Bash(git diff *)`
        "Read(!x)": the path of the rule `Read(!x)` makes no sense: a path with `!` in front says what it is not about; write `//absolute`, `~/in/home`, `/beside/this/file` or `in/workspace`
        "Read(../x)": the path of the rule `Read(../x)` makes no sense: `..` leads out of where the path begins; write `//absolute`, `~/in/home`, `/beside/this/file` or `in/workspace`
        "Read(~bob/x)": the path of the rule `Read(~bob/x)` makes no sense: the home directory of somebody else is not known; write `//absolute`, `~/in/home`, `/beside/this/file` or `in/workspace`
        "a b": `a b` is no rule; write `Tool` or `Tool(specifier)`, such as `Bash(git diff *)`
        "Bash(a\nb)": the rule `Bash(a\nb)` has characters that are not shown; write it on one line
    "#]].assert_eq(&out);
}

#[test]
fn rules_are_stored_as_their_texts() {
    let mut set = rules(&["Bash(curl *)"], &["Read(/x)"], &["mcp__a"]);
    set.ask[0].base = Some("/etc/posse".to_owned());
    set.otherwise.insert("Bash".to_owned(), Decision::Ask);
    let json = serde_json::to_string(&set).expect("rules are JSON");
    expect![[r#"{"deny":[{"rule":"Bash(curl *)","from":"deny:1"}],"ask":[{"rule":"Read(/x)","from":"ask:1","base":"/etc/posse"}],"allow":[{"rule":"mcp__a","from":"allow:1"}],"otherwise":{"Bash":"ask"}}"#]].assert_eq(&json);
    assert_eq!(serde_json::from_str::<RuleSet>(&json).expect("the same rules"), set);
    assert!(serde_json::from_str::<Sourced>(r#"{"rule": "Bash(", "from": "a:1"}"#).is_err());
}

#[test]
fn rules_about_a_tool_are_listed_with_what_they_decide() {
    let set = rules(&["Bash(curl *)", "Read(.env)"], &["WebFetch"], &["Edit(src)", "mcp__a", "*"]);
    let listed = |tool| {
        set.about(tool)
            .map(|(decision, rule)| format!("{} {}", word(Some(decision)), rule.rule))
            .collect::<Vec<_>>()
    };
    assert_eq!(listed("Bash"), ["deny Bash(curl *)", "deny Read(.env)", "allow Edit(src)", "allow *"]);
    assert_eq!(listed("Grep"), ["deny Read(.env)", "allow *"]);
    assert_eq!(listed("mcp__a__b"), ["allow mcp__a", "allow *"]);
}

#[test]
fn the_workspace_may_be_the_root() {
    let rules = RuleSet { allow: sourced("allow", &["Edit(tmp/*)"]), ..RuleSet::default() };
    let place = Place { workspace: "/", home: "/root" };
    assert_eq!(
        judge(&rules, &Act::Change { tool: "Edit", path: "/tmp/x" }, &place).decision,
        Some(Decision::Allow)
    );
}
