//! How long to wait before a question is asked again: longer each time, never in step with others.

use std::time::Duration;

use crate::provider::{Fault, ProviderError};

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);

/// How often and how long a question may be asked again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    pub retries_max: u64,
    pub wait_max: Duration,
}

/// What a failed question leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Ask again after this long.
    Again(Duration),
    /// Shorten the conversation first.
    Shorten,
    /// Give up; why, where that is not the fault itself.
    GiveUp(Option<String>),
}

/// Decides after a failure. `failures` counts this one, `waited` is the time already spent waiting, `jitter`
/// is between 0 and 1.
pub(super) fn verdict(
    error: &ProviderError,
    failures: u32,
    waited: Duration,
    patience: Patience,
    jitter: f64,
) -> Verdict {
    match error.fault {
        Fault::Lasting => Verdict::GiveUp(None),
        Fault::ContextTooLong => Verdict::Shorten,
        Fault::Passing if u64::from(failures) > patience.retries_max => {
            Verdict::GiveUp(Some(format!("asked {failures} times")))
        }
        Fault::Passing => {
            let step = FIRST.saturating_mul(1 << (failures - 1).min(16)).min(LONGEST);
            let own = step.mul_f64(0.5 + jitter / 2.0);
            let wait = error.retry_after.map_or(own, |asked| asked.max(own));
            if waited.saturating_add(wait) > patience.wait_max {
                let seconds = wait.as_secs_f64();
                let limit = patience.wait_max.as_secs_f64();
                return Verdict::GiveUp(Some(format!(
                    "the next try would be in {seconds:.0} s, and no more than {limit:.0} s are spent waiting"
                )));
            }
            Verdict::Again(wait)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Patience, Verdict, verdict};
    use crate::provider::{Fault, ProviderError};
    use std::time::Duration;

    const PATIENCE: Patience = Patience { retries_max: 3, wait_max: Duration::from_secs(60) };

    fn passing(retry_after: Option<u64>) -> ProviderError {
        let retry_after = retry_after.map(Duration::from_secs);
        ProviderError { fault: Fault::Passing, status: Some(429), message: "slow".into(), retry_after }
    }

    fn check(error: &ProviderError, failures: u32, waited: u64, jitter: f64) -> Verdict {
        verdict(error, failures, Duration::from_secs(waited), PATIENCE, jitter)
    }

    #[test]
    fn the_wait_doubles_and_is_spread() {
        let waits: Vec<Verdict> = (1..=3).map(|failures| check(&passing(None), failures, 0, 1.0)).collect();
        let ms = |ms| Verdict::Again(Duration::from_millis(ms));
        assert_eq!(waits, [ms(500), ms(1000), ms(2000)]);
        assert_eq!(check(&passing(None), 1, 0, 0.0), ms(250));
    }

    #[test]
    fn what_the_provider_asks_for_is_honoured() {
        assert_eq!(check(&passing(Some(7)), 1, 0, 0.5), Verdict::Again(Duration::from_secs(7)));
    }

    #[test]
    fn tries_and_time_are_bounded() {
        assert!(matches!(check(&passing(None), 4, 0, 0.5), Verdict::GiveUp(Some(_))));
        assert!(matches!(check(&passing(Some(61)), 1, 0, 0.5), Verdict::GiveUp(Some(_))));
        assert!(matches!(check(&passing(Some(7)), 1, 58, 0.5), Verdict::GiveUp(Some(_))));
    }

    #[test]
    fn what_lasts_is_not_asked_again() {
        assert_eq!(check(&ProviderError::lasting("no"), 1, 0, 0.5), Verdict::GiveUp(None));
    }
}
