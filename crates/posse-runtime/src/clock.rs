//! What time it is.

use std::time::{SystemTime, UNIX_EPOCH};

use posse_core::time::Time;

/// The time of the machine.
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
