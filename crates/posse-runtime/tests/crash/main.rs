//! A process that runs an agent is killed at every place where something is stored, and others; another one
//! goes on. Nothing that was done is done again, and the run ends as if nothing had happened.
//!
//! The parent serves the model and looks at what is left; the child, this program again, runs the agent.

mod case;
mod child;

use posse_core::message::Api;

use case::{Case, EVENTS, check_all};
use child::{Kill, Writes};

/// Every answer of the script has more bytes than these, in every protocol.
const ANSWER_BYTES_MIN: usize = 300;

const APIS: [Api; 4] = [Api::Anthropic, Api::OpenaiChat, Api::OpenaiResponses, Api::Gemini];

/// Not a test: what a child does. Without an order it does nothing.
#[test]
fn child() {
    child::obey();
}

/// Every protocol has its turn.
fn api(number: u64) -> Api {
    let index = usize::try_from(number).expect("a small number") % APIS.len();
    APIS[index]
}

/// A case for every event of the run.
fn at_every_event(writes: Writes, kill: impl Fn(u64) -> Kill) -> Vec<Case> {
    (1..=EVENTS).map(|seq| Case { api: api(seq), writes, kills: vec![kill(seq)] }).collect()
}

#[test]
fn a_run_that_nobody_kills_is_as_long_as_the_others_suppose() {
    let whole = |api| Case { api, writes: Writes::Together, kills: Vec::new() };
    check_all(APIS.map(whole).into());
}

#[test]
fn killed_after_any_event_was_stored_it_goes_on() {
    check_all(at_every_event(Writes::Together, Kill::AfterStored));
}

#[test]
fn killed_before_any_event_is_stored_it_goes_on() {
    check_all(at_every_event(Writes::Together, Kill::BeforeStored));
}

#[test]
fn killed_while_any_event_is_being_stored_it_goes_on() {
    check_all(at_every_event(Writes::Together, Kill::WhileStored));
}

/// Stricter than a store: what is stored together there comes apart here, so that every prefix is met.
#[test]
fn every_prefix_of_a_run_can_be_gone_on_with() {
    check_all(at_every_event(Writes::Singly, Kill::AfterStored));
}

#[test]
fn killed_around_an_effect_it_does_not_have_it_twice() {
    let kills = case::LABELS.iter().flat_map(|label| {
        let label = (*label).to_owned();
        [Kill::BeforeEffect(label.clone()), Kill::AfterEffect(label)]
    });
    let case = |(number, kill)| Case { api: api(number), writes: Writes::Together, kills: vec![kill] };
    check_all((0..).zip(kills).map(case).collect());
}

#[test]
fn killed_again_while_it_goes_on_it_goes_on_again() {
    let again = |seq| vec![Kill::AfterStored(seq), Kill::AfterStored(seq + 1), Kill::AfterStored(seq + 3)];
    let case = |seq| Case { api: api(seq), writes: Writes::Singly, kills: again(seq) };
    check_all((1..EVENTS - 3).step_by(2).map(case).collect());
}

#[test]
fn killed_in_the_middle_of_an_answer_it_asks_again() {
    let mut random = fastrand::Rng::with_seed(7);
    let case = |number: u64| {
        let (turn, bytes) = (1 + number / 4, random.usize(0..ANSWER_BYTES_MIN));
        Case { api: api(number), writes: Writes::Together, kills: vec![Kill::InAnswer { turn, bytes }] }
    };
    check_all((0..4 * case::TURNS).map(case).collect());
}
