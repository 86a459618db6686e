//! JSON Schemas of what people write, for their editors.

use serde_json::{Map, Value, json};

use crate::definition::tool::CANONICAL;

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The schema of Posse's frontmatter.
pub fn frontmatter() -> Value {
    json!({
        "$schema": DRAFT,
        "title": "Posse agent frontmatter",
        "description": "The keys between the dashes of an agent's Markdown file. Keys of other tools are allowed and kept.",
        "type": "object",
        "required": ["name", "description"],
        "properties": properties(),
        "additionalProperties": true,
    })
}

/// The schema of `agents.json` and of `--agents`.
pub fn agents_json() -> Value {
    let mut keys = properties();
    keys.shift_remove("name");
    keys.insert("prompt".into(), described(json!({"type": "string", "minLength": 1}), "The system prompt."));
    json!({
        "$schema": DRAFT,
        "title": "Posse agents.json",
        "description": "An object from names to agents.",
        "type": "object",
        "propertyNames": {"pattern": "^[A-Za-z0-9_-]+$"},
        "additionalProperties": {
            "type": "object",
            "required": ["description", "prompt"],
            "properties": keys,
            "additionalProperties": true,
        },
    })
}

fn described(mut schema: Value, text: &str) -> Value {
    schema["description"] = text.into();
    schema
}

fn names() -> Value {
    json!({"oneOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]})
}

fn words(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

fn duration() -> Value {
    json!({"oneOf": [{"type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?(ms|s|m|h)?$"}, {"type": "number", "exclusiveMinimum": 0}]})
}

fn tools() -> Value {
    let one = json!({"type": "string", "anyOf": [{"enum": CANONICAL}, {"pattern": "^(mcp__.+|\\*|[A-Za-z]+\\(.+\\))$"}, {}]});
    json!({"oneOf": [{"type": "array", "items": one}, {"type": "string"}]})
}

/// Every key of Posse's own form; a test holds it to the dialect's table.
fn properties() -> Map<String, Value> {
    let text = || json!({"type": "string"});
    let flag = || json!({"type": "boolean"});
    let count = || json!({"type": "integer", "minimum": 1});
    let rules = || json!({"type": "array", "items": {"type": "string"}});
    let rows: Vec<(&str, Value, &str)> = vec![
        (
            "name",
            json!({"type": "string", "minLength": 1}),
            "The agent's name. It is run by its slug: lower case, with a dash for anything outside a-z, 0-9, _ and -.",
        ),
        ("display_name", text(), "A name for people, where it differs."),
        (
            "description",
            json!({"type": "string", "minLength": 1}),
            "When to delegate to this agent. Callers choose by it.",
        ),
        ("prompt", text(), "The system prompt, where it is not the body of the file."),
        ("tools", tools(), "The tools the agent has. Absent: all that its ceiling allows. []: none."),
        ("disallowedTools", tools(), "Tools taken away from what `tools` gives."),
        ("model", text(), "An alias (sonnet, small), a role (main), PROVIDER/MODEL, a full id, or inherit."),
        (
            "effort",
            json!({"enum": ["none", "minimal", "low", "medium", "high", "xhigh", "max"]}),
            "How hard the model should think.",
        ),
        (
            "permissionMode",
            words(&["default", "acceptEdits", "auto", "dontAsk", "bypassPermissions", "plan"]),
            "What happens to calls that no rule decides.",
        ),
        (
            "permissions",
            json!({"type": "object", "properties": {"allow": rules(), "ask": rules(), "deny": rules(), "otherwise": {"type": "object", "additionalProperties": words(&["allow", "ask", "deny"])}}, "additionalProperties": false}),
            "Rules such as `Bash(git diff *)`, `Read(src/**)`, `WebFetch(domain:…)`. Deny comes before ask before allow; `otherwise` decides for a tool where none matches.",
        ),
        ("skills", names(), "Skills whose text is put before the agent at the start."),
        (
            "hooks",
            json!({"type": "object", "additionalProperties": {"type": "array"}}),
            "Hooks by event, as Claude Code writes them.",
        ),
        (
            "mcpServers",
            json!({"oneOf": [{"type": "object"}, {"type": "array"}]}),
            "MCP servers of this agent alone: names, or settings by name.",
        ),
        ("color", text(), "A colour for user interfaces."),
        (
            "visibility",
            words(&["user-facing", "internal"]),
            "internal: only callers whose `delegates` name it see it.",
        ),
        ("enabled", flag(), "false: the agent is kept and cannot be run."),
        ("session", flag(), "true: calls share one conversation."),
        ("memory", words(&["user", "project", "local"]), "Where the agent keeps notes between runs."),
        ("callers", names(), "Who may call it. Absent or *: anyone. []: only a person."),
        ("delegates", names(), "Which agents it may call. *: all."),
        ("maxTurns", count(), "The most questions to the model."),
        ("timeout", duration(), "The most wall-clock time: 500ms, 30s, 5m, 1h."),
        (
            "budget",
            json!({"type": "object", "properties": {"usd": {"type": "number", "minimum": 0}, "tokens": count()}, "additionalProperties": false}),
            "The most a run may spend.",
        ),
        (
            "output",
            json!({"type": "object", "properties": {"schema": {"type": "object"}, "retries": {"type": "integer", "minimum": 0}}, "additionalProperties": false}),
            "A JSON Schema that the result must satisfy, and how often to ask again.",
        ),
        ("findings", flag(), "true: the result lists findings."),
        ("engine", text(), "What carries the agent out: native, claude, codex, acp or command."),
        (
            "isolation",
            words(&["none", "landlock", "sandbox", "container", "worktree"]),
            "What keeps its processes in. `worktree` is read as `workspace: worktree`.",
        ),
        ("workspace", words(&["shared", "worktree"]), "The directory it works in."),
        (
            "network",
            json!({"oneOf": [words(&["full", "none"]), {"type": "array", "items": {"type": "string"}}]}),
            "full, none, or the hosts it may reach.",
        ),
        (
            "env",
            json!({"oneOf": [{"type": "array", "items": {"type": "string"}}, {"type": "object"}]}),
            "Variables its processes get: names, or NAME: ${VAR:-default}.",
        ),
        (
            "context_files",
            json!({"oneOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "string"}}]}),
            "Files such as AGENTS.md that are put before the agent.",
        ),
        ("background", flag(), "true: it always runs in the background."),
        ("environment", flag(), "false: date, directory and platform are left out of the prompt."),
        ("initialPrompt", text(), "The first task when it is run as a main agent."),
    ];
    rows.into_iter().map(|(name, schema, text)| (name.to_owned(), described(schema, text))).collect()
}

#[cfg(test)]
mod tests {
    use crate::definition::Dialect;

    #[test]
    fn every_key_of_posse_is_in_the_schema_and_no_other() {
        let schema = super::properties();
        let mut described: Vec<&str> = schema.keys().map(String::as_str).collect();
        let mut known: Vec<&str> = Dialect::Posse.table().keys.iter().map(|(key, _)| *key).collect();
        described.sort_unstable();
        known.sort_unstable();
        assert_eq!(described, known);
    }
}
