//! Thousands of public agent files, where a collection of them lies beside the repository.

use std::collections::BTreeMap;

use expect_test::expect;
use flate2::read::GzDecoder;
use serde_json::Value;

use crate::{project, repository};

/// The collection is not part of the project; a variable may name it elsewhere.
fn collection() -> Option<std::path::PathBuf> {
    let named = std::env::var_os("POSSE_CORPUS").map(Into::into);
    let path = named.unwrap_or_else(|| repository().join("../shared/corpus/dev.tar.gz"));
    path.exists().then_some(path)
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn the_collection_is_read_as_its_authors_meant() {
    let Some(path) = collection() else {
        eprintln!(
            "skipped: no collection of agent files at ../shared/corpus/dev.tar.gz; POSSE_CORPUS names one"
        );
        return;
    };
    let project = project();
    let file = std::fs::File::open(path).expect("the collection can be read");
    tar::Archive::new(GzDecoder::new(file)).unpack(project.work()).expect("the collection unpacks");
    let finished = project.run(&["check", "--json", "dev"]);
    let checked: Value = serde_json::from_str(&finished.stdout).expect("one JSON value");
    let out = report(&checked);
    expect![[r#"
        files 2287
        agents 1583
        not_agents 704
        rejected 0
        errors 22
        warnings 1744
        dev/claude-agent/VoltAgent__awesome-claude-code-subagents/_hist/3d0f57e027/categories/07-specialized-domains/embedded-systems.md unknown-tool: tool `gcc-arm` is not known
        dev/claude-agent/VoltAgent__awesome-claude-code-subagents/_hist/3d0f57e027/categories/07-specialized-domains/embedded-systems.md unknown-tool: tool `platformio` is not known
        dev/claude-agent/VoltAgent__awesome-claude-code-subagents/_hist/3d0f57e027/categories/07-specialized-domains/embedded-systems.md unknown-tool: tool `arduino` is not known
        dev/claude-agent/VoltAgent__awesome-claude-code-subagents/_hist/3d0f57e027/categories/07-specialized-domains/embedded-systems.md unknown-tool: tool `esp-idf` is not known
        dev/claude-agent/VoltAgent__awesome-claude-code-subagents/_hist/3d0f57e027/categories/07-specialized-domains/embedded-systems.md unknown-tool: tool `stm32cube` is not known
        dev/claude-agent/VoltAgent__awesome-claude-code-subagents/categories/04-quality-security/ui-ux-tester.md unknown-tool: tool `chrome-mcp` is not known
        dev/claude-agent/VoltAgent__awesome-claude-code-subagents/categories/04-quality-security/ui-ux-tester.md unknown-tool: tool `computer-use` is not known
        dev/claude-agent/VoltAgent__awesome-claude-code-subagents/categories/09-meta-orchestration/codebase-orchestrator.md unknown-tool: tool `airis-mcp-gateway` is not known
        dev/claude-agent/VoltAgent__awesome-claude-code-subagents/categories/09-meta-orchestration/codebase-orchestrator.md unknown-tool: tool `context-manager` is not known
        dev/claude-agent/VoltAgent__awesome-claude-code-subagents/categories/09-meta-orchestration/codebase-orchestrator.md unknown-tool: tool `error-coordinator` is not known
        dev/claude-agent/VoltAgent__awesome-claude-code-subagents/categories/09-meta-orchestration/codebase-orchestrator.md unknown-tool: tool `pied-piper` is not known
        dev/claude-agent/VoltAgent__awesome-claude-code-subagents/categories/09-meta-orchestration/codebase-orchestrator.md unknown-tool: tool `subagent-catalog:search` is not known
        dev/claude-agent/VoltAgent__awesome-claude-code-subagents/categories/09-meta-orchestration/codebase-orchestrator.md unknown-tool: tool `subagent-catalog:fetch` is not known
        dev/copilot-agent/github__awesome-copilot/agents/atlassian-requirements-to-jira.agent.md no-usable-tool: none of the listed tools exists here
        dev/copilot-agent/github__awesome-copilot/agents/microsoft-study-mode.agent.md no-usable-tool: none of the listed tools exists here
        dev/copilot-agent/github__awesome-copilot/agents/refine-issue.agent.md unknown-tool: tool `create_issue_comment` is not known
        dev/copilot-agent/github__awesome-copilot/agents/refine-issue.agent.md unknown-tool: tool `delete_issue` is not known
        dev/generic-agent/davila7__claude-code-templates/cli-tool/components/agents/devops-infrastructure/microsoft-study-mode.md no-usable-tool: none of the listed tools exists here
        dev/generic-agent/davila7__claude-code-templates/cli-tool/components/agents/expert-advisors/atlassian-requirements-to-jira.md no-usable-tool: none of the listed tools exists here
        dev/generic-agent/davila7__claude-code-templates/cli-tool/components/agents/expert-advisors/refine-issue.md unknown-tool: tool `create_issue_comment` is not known
        dev/generic-agent/davila7__claude-code-templates/cli-tool/components/agents/expert-advisors/refine-issue.md unknown-tool: tool `delete_issue` is not known
        dev/opencode-agent/anomalyco__opencode/.opencode/agent/triage.md unknown-tool: tool `github-triage` is not known
        files with a warning or an error 305
        4 error no-usable-tool
        18 error unknown-tool
        2 info model-list
        206 info unknown-key
        85 info unused-key
        1 warning bad-bytes
        5 warning bad-value
        90 warning broken-yaml
        1643 warning foreign-tool
        1 warning hidden-character
        1 warning missing-closer
        2 warning missing-description
        1 warning unreadable-key
    "#]].assert_eq(&out);
}

/// The counts, each error, and how often each code stands.
fn report(checked: &Value) -> String {
    let mut out = String::new();
    for key in ["files", "agents", "not_agents", "rejected", "errors", "warnings"] {
        out += &format!("{key} {}\n", checked[key]);
    }
    let mut codes: BTreeMap<String, usize> = BTreeMap::new();
    let mut warned: BTreeMap<&str, &str> = BTreeMap::new();
    for diagnostic in checked["diagnostics"].as_array().expect("an array") {
        let text = |key: &str| diagnostic[key].as_str().unwrap_or_default();
        *codes.entry(format!("{} {}", text("severity"), text("code"))).or_default() += 1;
        if text("severity") != "info" {
            warned.insert(diagnostic["path"].as_str().unwrap_or_default(), "");
        }
        if text("severity") == "error" {
            out += &format!("{} {}: {}\n", text("path"), text("code"), text("message"));
        }
    }
    out += &format!("files with a warning or an error {}\n", warned.len());
    for (code, count) in codes {
        out += &format!("{count} {code}\n");
    }
    out
}
