//! `TodoWrite`: the list of things to do of a run.
//!
//! The list is the input of the last call, which the transcript has: nothing is kept here, and so nothing is lost when
//! a run is resumed. A call changes nothing outside the transcript, which is why it counts as one that only looks.

use serde::Deserialize;
use serde_json::Value;

use super::blocking::{FileTool, Stop};
use super::bound::counted;
use super::input::{read_input, spec};
use super::{ToolContext, ToolOutput};

/// The tool.
pub(super) static TOOL: FileTool = FileTool::read_only(
    || spec("TodoWrite", include_str!("todo_write.md"), include_str!("todo_write.json")),
    |_, _| Vec::new(),
    |input, context, _: &Stop| take(input, context),
)
.with_at_once(|input, context| Some(take(input, context)));

/// The most things to do.
const TODOS_MAX: usize = 200;

#[derive(Deserialize)]
struct Input {
    todos: Vec<Todo>,
}

#[derive(Deserialize)]
struct Todo {
    content: String,
    status: Status,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
}

fn take(input: &Value, _context: &ToolContext) -> Result<ToolOutput, String> {
    let Input { todos } = read_input(input)?;
    if todos.len() > TODOS_MAX {
        return Err(format!("{} are more than {TODOS_MAX}", counted(todos.len() as u64, "item")));
    }
    if let Some(at) = todos.iter().position(|todo| todo.content.trim().is_empty()) {
        return Err(format!("item {} has no content", at + 1));
    }
    let number = |status: Status| todos.iter().filter(|todo| todo.status == status).count();
    Ok(ToolOutput::ok(format!(
        "the list has {}: {} completed, {} in progress, {} pending",
        counted(todos.len() as u64, "item"),
        number(Status::Completed),
        number(Status::InProgress),
        number(Status::Pending),
    )))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::super::tests::Room;

    #[test]
    fn a_list_is_counted_or_refused() {
        let room = Room::with(&[]);
        let todo = |content: &str, status: &str| json!({ "content": content, "status": status });
        for (todos, expected) in [
            (json!([todo(" ", "pending")]), expect!["error: item 1 has no content"]),
            (
                json!([todo("a", "done")]),
                expect![
                    "error: the input does not fit the schema: unknown variant `done`, expected one of `pending`, `in_progress`, `completed`"
                ],
            ),
            (json!(vec![todo("a", "pending"); 201]), expect!["error: 201 items are more than 200"]),
            (json!([]), expect!["the list has 0 items: 0 completed, 0 in progress, 0 pending"]),
            (
                json!([todo("a", "completed"), todo("b", "in_progress"), todo("c", "pending")]),
                expect!["the list has 3 items: 1 completed, 1 in progress, 1 pending"],
            ),
        ] {
            room.check("TodoWrite", json!({ "todos": todos }), expected);
        }
    }
}
