//! Whole files in, whole definitions out. Each test is a row; `UPDATE_EXPECT=1` rewrites them.

mod broken;
mod dialects;
mod properties;
mod refused;
mod shapes;
mod strictness;
mod widening;

use expect_test::Expect;
use serde_json::Value;

use super::family::clues;
use super::read::{File, Reading, Verdict, read};

/// Reads a file at a path and prints what it became, leaving out what is null.
fn check(path: &str, text: &str, expected: &Expect) {
    check_bytes(path, text.as_bytes(), expected);
}

fn check_bytes(path: &str, bytes: &[u8], expected: &Expect) {
    let readings = read(File { path: path.into(), bytes: bytes.to_vec(), clues: clues(path) });
    let shown: Vec<String> = readings.iter().map(shown).collect();
    expected.assert_eq(&crate::text::visible(&shown.join("")));
}

/// The keys of a Claude agent `a`, with further lines between the dashes.
fn check_keys(keys: &str, expected: &Expect) {
    check(".claude/agents/a.md", &format!("---\nname: a\ndescription: d\n{keys}\n---\nDo it.\n"), expected);
}

fn shown(reading: &Reading) -> String {
    let mut out = match &reading.verdict {
        Verdict::NotAnAgent(reason) => format!("not an agent: {reason}\n"),
        Verdict::Rejected => {
            format!("rejected {} ({})\n", reading.name.as_deref().unwrap_or("-"), reading.dialect.as_str())
        }
        Verdict::Agent(definition) => {
            let Value::Object(json) = definition.to_json() else { unreachable!("an object") };
            let mut out = format!("agent ({})\n", definition.dialect.as_str());
            for (key, value) in json {
                let noise = value.is_null()
                    || key == "model_kind"
                    || (key == "prompt" && value == "Do it.")
                    || (key == "display_name" && value == definition.slug())
                    || (key == "extra" && value == serde_json::json!({}));
                if !noise {
                    out += &format!("  {key}: {value}\n");
                }
            }
            out
        }
    };
    for diagnostic in &reading.diagnostics {
        let place =
            diagnostic.place.map_or("-".to_owned(), |place| format!("{}:{}", place.line, place.column));
        let help = diagnostic.help.as_deref().map_or(String::new(), |help| format!("; {help}"));
        out += &format!(
            "{place} {}[{}] {}{help}\n",
            diagnostic.severity.as_str(),
            diagnostic.code.as_str(),
            diagnostic.message
        );
    }
    out
}
