//! The input of a call as values of Rust.
//!
//! The schema has been checked before; what is still wrong here is said to the model, not asserted.

use posse_core::message::ToolSpec;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::{Number, Value};

/// Reads the input of a call; keys that are not known are left alone.
pub(super) fn read_input<T: DeserializeOwned>(input: &Value) -> Result<T, String> {
    T::deserialize(input).map_err(|error| format!("the input does not fit the schema: {error}"))
}

/// Reads a count. JSON Schema counts `10.0` among the integers, and some models write it so.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let Some(number) = Option::<Number>::deserialize(deserializer)? else { return Ok(None) };
    let whole = number.as_f64().filter(|float| float.fract() == 0.0 && *float >= 0.0);
    match number.as_u64().or(whole.map(|float| float as u64)) {
        Some(count) => Ok(Some(count)),
        None => Err(D::Error::custom(format!("{number} is not a count"))),
    }
}

/// Makes a spec of the texts beside a tool's code.
pub(super) fn spec(name: &'static str, description: &'static str, schema: &str) -> ToolSpec {
    let schema: Value =
        serde_json::from_str(schema).expect("a schema in this directory is JSON, which a test reads");
    ToolSpec { name, description: description.trim_ascii_end(), schema: schema.into() }
}
