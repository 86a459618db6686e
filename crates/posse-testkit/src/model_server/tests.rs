//! The server seen from a client that knows nothing of it: bytes over a socket.

#![expect(clippy::too_many_lines, reason = "a table of rules is as long as there are rules")]
#![expect(clippy::needless_pass_by_value, reason = "a row reads best when its parts are values")]

mod client;
mod faults;
mod rules_anthropic;
mod rules_gemini;
mod rules_openai_chat;
mod rules_openai_responses;
mod rules_schema;
mod serving;
mod streams;
