//! MCP servers and hooks in the shapes they are written in.

use serde_json::{Map, Value};

use super::node::{Node, NodeValue, ScalarKind};
use super::value::text;

/// Servers by name. A server that is only named, and configured elsewhere, is null.
pub(super) fn servers(node: &Node) -> Option<Map<String, Value>> {
    let mut servers = Map::new();
    match &node.value {
        NodeValue::Map(entries) => {
            for entry in entries {
                let legal = entry.value.entries().is_some()
                    || entry.value.is_null()
                    || entry.value.elements().is_some();
                servers.insert(entry.key.clone(), legal.then(|| entry.value.to_json())?);
            }
        }
        NodeValue::List(elements) => {
            for element in elements {
                add_server(element, &mut servers)?;
            }
        }
        NodeValue::Scalar(scalar) if matches!(scalar.kind, ScalarKind::Bool(_) | ScalarKind::Number) => {
            return None;
        }
        NodeValue::Scalar(_) => {
            for name in super::value::names(node)? {
                insert(&mut servers, name, Value::Null)?;
            }
        }
    }
    Some(servers)
}

/// Adds a server; one that is there already is not understood, since nobody can say which was meant.
fn insert(servers: &mut Map<String, Value>, name: String, settings: Value) -> Option<()> {
    servers.insert(name, settings).is_none().then_some(())
}

/// An element of a list: a name, `{name: …, command: …}`, or `{the-name: {command: …}}`.
fn add_server(element: &Node, servers: &mut Map<String, Value>) -> Option<()> {
    let Some(entries) = element.entries() else {
        return insert(servers, text(element)?, Value::Null);
    };
    if let Some(name) = entries.iter().find(|entry| entry.key == "name") {
        let mut settings = element.to_json();
        settings.as_object_mut()?.shift_remove("name");
        return insert(servers, text(&name.value)?, settings);
    }
    for entry in entries {
        entry.value.entries()?;
        insert(servers, entry.key.clone(), entry.value.to_json())?;
    }
    Some(())
}

/// Hooks by event, each a list of groups `{matcher, hooks}`. A flat list of handlers is one group.
pub(super) fn hooks(node: &Node) -> Option<Value> {
    if node.is_null() {
        return Some(Value::Object(Map::new()));
    }
    let mut events = Map::new();
    for event in node.entries()? {
        let mut groups = Vec::new();
        let mut flat = Vec::new();
        for group in event.value.elements()? {
            let keys = group.entries()?;
            if keys.iter().any(|entry| entry.key == "hooks") {
                let handlers = keys.iter().find(|entry| entry.key == "hooks")?.value.elements()?;
                handlers.iter().map(Node::entries).collect::<Option<Vec<_>>>()?;
                groups.push(group.to_json());
            } else if keys
                .iter()
                .any(|entry| matches!(entry.key.as_str(), "command" | "type" | "url" | "prompt"))
            {
                let mut handler = group.to_json();
                match handler.as_object_mut()?.shift_remove("matcher") {
                    Some(matcher) => {
                        groups.push(serde_json::json!({ "matcher": matcher, "hooks": [handler] }));
                    }
                    None => flat.push(handler),
                }
            } else {
                return None;
            }
        }
        if !flat.is_empty() {
            groups.push(serde_json::json!({ "hooks": flat }));
        }
        events.insert(event.key.clone(), Value::Array(groups));
    }
    Some(Value::Object(events))
}
