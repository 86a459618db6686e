//! A decision about a shell command as a ratio against parsing the command alone, with the most it may be.
//!
//! Not a test: a busy machine makes a ratio worse, and a person reads it.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use posse_core::rule::{Act, Place, Rule, RuleSet, Sourced, judge};
use tree_sitter::Parser;

const PLACE: Place<'static> = Place { workspace: "/work/app", home: "/home/ada" };
const RATIO_MAX: f64 = 2.0;
const ROUNDS: usize = 200;

const COMMANDS: &[(&str, &str)] = &[
    ("one word", "ls"),
    ("a plain command", "git diff --stat HEAD~1 -- src"),
    ("a pipeline", "git log --oneline -n 50 | grep fix | sort | uniq -c | head -20"),
    ("wrapped", "cd src && RUST_BACKTRACE=1 timeout 60 cargo test -p core 2>&1 | tail -20"),
    ("a shell in a shell", "bash -c 'cargo build --release && cargo test'"),
    ("a loop", "for f in a b c; do if [ -f \"$f\" ]; then wc -l \"$f\"; else echo \"no $f\"; fi; done"),
    ("a document", "cat <<EOF > out/x\nname: $(git rev-parse HEAD)\nhost: `hostname`\nEOF\n"),
];

fn main() {
    // `cargo test --benches` only asks whether it runs.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let rules = rules();
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).expect("a grammar of this version");
    let (mut all_ours, mut all_baseline) = (Duration::ZERO, Duration::ZERO);
    for (what, text) in COMMANDS {
        let baseline = fastest(|| {
            black_box(parser.parse(black_box(text), None));
            // A command in quotes is a command to parse.
            for inside in text.split('\'').skip(1).step_by(2) {
                black_box(parser.parse(black_box(inside), None));
            }
        });
        let ours = fastest(|| {
            black_box(judge(&rules, &Act::Command { text: black_box(text), directory: "/work/app" }, &PLACE));
        });
        all_ours += ours;
        all_baseline += baseline;
        report(what, ours, baseline);
    }
    report("all of them", all_ours, all_baseline);
}

fn report(what: &str, ours: Duration, baseline: Duration) {
    let ratio = ours.as_secs_f64() / baseline.as_secs_f64();
    let verdict = if ratio <= RATIO_MAX { "ok" } else { "TOO SLOW" };
    println!(
        "a decision about {what}, against parsing it alone\n  ours {ours:.1?}, baseline {baseline:.1?}, ratio {ratio:.2} (at most {RATIO_MAX}) {verdict}"
    );
}

/// The fastest of several rounds: what is left when nothing else was running.
fn fastest(mut work: impl FnMut()) -> Duration {
    let once = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    (0..ROUNDS).map(|_| once(&mut work)).min().unwrap_or_default()
}

/// As many rules as a careful person has.
fn rules() -> RuleSet {
    let sourced = |texts: &[&str]| {
        let rule = |text: &&str| Rule::parse(text).expect("a rule");
        texts
            .iter()
            .map(|text| Sourced { rule: rule(text), from: "rules:1".to_owned(), base: None })
            .collect()
    };
    RuleSet {
        deny: sourced(&[
            "Bash(curl *)",
            "Bash(wget *)",
            "Bash(rm -rf *)",
            "Read(.env)",
            "Read(~/.ssh/**)",
            "Edit(//etc/**)",
        ]),
        ask: sourced(&["Bash(git push *)", "Bash(npm publish *)"]),
        allow: sourced(&[
            "Bash(git diff *)",
            "Bash(git commit *)",
            "Bash(cargo *)",
            "Bash(npm run *)",
            "Edit(out/**)",
        ]),
        ..RuleSet::default()
    }
}
