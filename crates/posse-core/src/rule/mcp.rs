//! Names of the tools of MCP servers: `mcp__server`, `mcp__server__tool`, with `*` for any characters.

use super::pattern::glob;

/// True when a rule about `rule` is about the tool `name`.
pub(super) fn matches(rule: &str, name: &str) -> bool {
    if glob(rule, name) {
        return true;
    }
    // A server alone stands for all of its tools.
    let rest = rule.strip_prefix("mcp__").unwrap_or(rule);
    !rest.contains("__") && glob(&format!("{rule}__*"), name)
}
