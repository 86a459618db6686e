//! Shell commands and what is decided about them: the rows of `commands.txt`.

use super::{judge_command, rules, word};
use crate::rule::RuleSet;

/// Rules that forbid, ask and allow, so that what is not understood is asked about.
fn guarded() -> RuleSet {
    rules(
        &[
            "Bash(curl *)",
            "Bash(rm -rf *)",
            "Bash(git push --force *)",
            "Bash(dd *)",
            "Read(//etc/shadow)",
            "Read(.env)",
            "Edit(//etc/**)",
        ],
        &["Bash(npm publish *)", "Bash(git reset *)"],
        &[
            "Bash(git diff *)",
            "Bash(git commit *)",
            "Bash(git push *)",
            "Bash(git reset *)",
            "Bash(npm run *)",
            "Bash(npm publish *)",
            "Bash(npm test)",
            "Bash(cargo:*)",
            "Bash(make test)",
            "Bash(rm *)",
            "Bash(mkdir *)",
            "Bash(sudo systemctl status *)",
            "Bash(ssh build *)",
            "Edit(out/**)",
            "Edit(//tmp/**)",
        ],
    )
}

/// Rules that only allow, so that nobody has said what to do about the rest.
fn allowing() -> RuleSet {
    rules(
        &[],
        &[],
        &[
            "Bash(git diff *)",
            "Bash(git *)",
            "Bash(npm test)",
            "Bash(make -j4 all)",
            "Bash(cargo test *)",
            "Bash(wc *)",
            "Bash(python3 -m pytest *)",
            "Bash(find *)",
            "Bash(xargs rm *)",
            "Bash(FOO=1 make)",
            "Bash(echo \"a b\")",
            "Bash(ls *.rs)",
            "Bash(* --version)",
            "Bash(bash scripts/build.sh)",
            "Edit(out/**)",
        ],
    )
}

/// Every command is allowed, but for some.
fn open() -> RuleSet {
    rules(&["Bash(curl *)", "Read(.env)", "Edit(//etc/**)"], &["Bash(sudo *)"], &["Bash"])
}

#[test]
fn every_row_is_decided_as_it_says() {
    let table = include_str!("commands.txt");
    let mut set = None;
    let mut wrong = Vec::new();
    let mut rows = 0;
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with("// ")) {
        match line {
            "[guarded]" => set = Some(guarded()),
            "[allowing]" => set = Some(allowing()),
            "[open]" => set = Some(open()),
            line => {
                let (expected, command) = line.split_once(' ').expect("a verdict and a command");
                let command = command.trim_start().replace('⏎', "\n");
                let found = judge_command(set.as_ref().expect("a set of rules"), &command);
                rows += 1;
                if word(found.decision) != expected {
                    wrong.push(format!("{line}\n    is {}: {}", word(found.decision), found.reason));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {rows}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(rows >= 300, "{rows} rows");
}
