//! The last step before a command under Landlock: fences this process in and becomes the command. Which fence is decided
//! by whoever started it.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::child::platform;
use crate::guard::wire::{Fence, Order};
use crate::guard::{Part, WORD};

/// The program and words that fence a command in and then start it.
pub fn words(fence: &Fence, order: &Order) -> Result<(OsString, Vec<OsString>), String> {
    let program = platform::own_program().map_err(|error| error.to_string())?;
    let fence = serde_json::to_string(fence).map_err(|error| error.to_string())?;
    let mut words = vec![WORD.into(), Part::Confine.as_str().into(), fence.into(), order.program.clone()];
    words.extend(order.arguments.iter().cloned());
    Ok((program.into(), words))
}

/// Returns only when the command could not be started.
pub fn confine(mut words: impl Iterator<Item = OsString>) -> io::Error {
    let (Some(fence), Some(program)) = (words.next(), words.next()) else {
        return io::Error::other("no fence or no program");
    };
    let fence = match serde_json::from_slice::<Fence>(fence.as_encoded_bytes()) {
        Ok(fence) => fence,
        Err(error) => return error.into(),
    };
    if let Err(error) = platform::fence_in(&fence) {
        return error;
    }
    let error = Command::new(&program).args(words).exec();
    io::Error::new(error.kind(), format!("cannot start `{}`: {error}", program.display()))
}
