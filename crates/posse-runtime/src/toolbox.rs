//! The tools of a process: the built-in ones and those a program adds, each with its schema ready to check by.

use std::sync::{Arc, LazyLock};

use jsonschema::Validator;
use posse_core::message::{ToolCall, ToolSpec};
use posse_core::text::one_line;
use serde_json::Value;

use crate::tool::{self, Calling, Effect, Tool, ToolContext, Touch};

/// The most errors of one call that the model is told.
const ERRORS_MAX: usize = 5;
/// How much of each; it repeats what the model wrote.
const ERROR_CHARACTERS_MAX: usize = 300;

/// A tool and its checker, which is made when it is first needed.
type Entry = (
    Arc<dyn Tool>,
    LazyLock<Result<Validator, String>, Box<dyn FnOnce() -> Result<Validator, String> + Send>>,
);

/// Every tool that can be offered.
#[derive(Default)]
pub struct Toolbox {
    entries: Vec<Entry>,
}

impl Toolbox {
    /// The built-in tools that every run may be offered.
    pub fn builtin() -> Toolbox {
        Toolbox::of(tool::AVAILABLE)
    }

    /// The built-in tools of these names.
    pub fn of(names: &[&str]) -> Toolbox {
        let tools = names.iter().filter_map(|name| tool::builtin(name));
        tools.fold(Toolbox::default(), |toolbox, tool| toolbox.with(Arc::new(Builtin(tool))))
    }

    /// The same with one more.
    #[must_use]
    pub fn with(mut self, tool: Arc<dyn Tool>) -> Toolbox {
        let schema = tool.spec().schema.clone();
        let check: Box<dyn FnOnce() -> Result<Validator, String> + Send> =
            Box::new(move || jsonschema::validator_for(schema.value()).map_err(|error| error.to_string()));
        self.entries.push((tool, LazyLock::new(check)));
        self
    }

    /// The names of all of them.
    pub fn names(&self) -> Vec<&'static str> {
        self.entries.iter().map(|(tool, _)| tool.spec().name).collect()
    }

    /// How a model is told about some of them.
    pub fn specs(&self, names: &[String]) -> Vec<ToolSpec> {
        let wanted = names.iter().filter_map(|name| self.find(name));
        wanted.map(|(tool, _)| tool.spec().clone()).collect()
    }

    /// The tool that a call is for, or what the model should know instead.
    pub fn check(&self, call: &ToolCall, offered: &[String]) -> Result<&dyn Tool, String> {
        let entry = self.find(&call.name).filter(|_| offered.contains(&call.name));
        let Some((tool, validator)) = entry else {
            return Err(match offered {
                [] => format!("There is no tool `{}`. You have no tools.", call.name),
                names => format!("There is no tool `{}`. The tools are: {}.", call.name, names.join(", ")),
            });
        };
        if let Some(raw) = &call.malformed {
            let shown = one_line(raw, ERROR_CHARACTERS_MAX);
            return Err(format!("The input of `{}` is not a JSON object: {shown}", call.name));
        }
        let validator =
            validator.as_ref().map_err(|error| format!("The schema of the tool is wrong: {error}"))?;
        let errors: Vec<String> = validator
            .iter_errors(&call.input)
            .take(ERRORS_MAX)
            .map(|error| match error.instance_path().to_string() {
                place if place.is_empty() => one_line(&error.to_string(), ERROR_CHARACTERS_MAX),
                place => one_line(&format!("{place}: {error}"), ERROR_CHARACTERS_MAX),
            })
            .collect();
        if errors.is_empty() {
            return Ok(tool.as_ref());
        }
        Err(format!("The input of `{}` is wrong: {}", call.name, errors.join("; ")))
    }

    fn find(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|(tool, _)| tool.spec().name == name)
    }
}

/// A tool that is there as long as the program.
struct Builtin(&'static dyn Tool);

impl Tool for Builtin {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn effect(&self) -> Effect {
        self.0.effect()
    }

    fn touches(&self, input: &Value, context: &ToolContext) -> Vec<Touch> {
        self.0.touches(input, context)
    }

    fn call<'a>(&'a self, input: &'a Value, context: &'a ToolContext) -> Calling<'a> {
        self.0.call(input, context)
    }
}
