//! What holds for every legal run, whatever is answered, said, or lost.

use std::collections::HashSet;
use std::sync::Arc;

use proptest::prelude::*;

use super::super::Step;
use super::super::script::{Run, begun, compacted, finished, plan, retried, stop};
use crate::event::{Fact, Said};
use crate::message::{Finish, Message, Part, Role, ToolCall};
use crate::outcome::StopReason;
use crate::plan::{Choice, OutputContract, Plan};
use crate::transcript::Transcript;

/// The most steps before a run must have ended.
const STEPS_MAX: usize = 400;

/// Chance, thrown beforehand: past its end everything goes well.
struct Dice<'a>(std::slice::Iter<'a, u8>);

impl Dice<'_> {
    /// One of `sides`, 0 when there is no chance left.
    fn throw(&mut self, sides: u8) -> u8 {
        self.0.next().map_or(0, |face| face % sides)
    }
}

/// A run that is driven by its steps and by chance, and held to what must be true after every event.
struct Driven<'a> {
    run: Run,
    dice: Dice<'a>,
    effects: HashSet<String>,
    calls: usize,
}

impl Driven<'_> {
    fn add(&mut self, fact: Fact) {
        self.run.append(fact);
        self.hold();
    }

    fn hold(&self) {
        let again = Transcript::fold(&self.run.events).expect("what was legal stays so");
        assert_eq!(again, self.run.transcript);
        if let Step::AskModel { .. } = self.run.step() {
            hold_conversation(&self.run.transcript.messages);
        }
        hold_conversation(&self.run.transcript.settled_messages());
    }

    /// Everything up to the end.
    fn drive(&mut self) {
        self.add(Fact::Started(self.run.plan.clone()));
        for _ in 0..STEPS_MAX {
            self.meanwhile();
            match self.run.step() {
                Step::AskModel { .. } => self.turn(),
                Step::CallTools(calls) => self.carry_out(&calls),
                Step::Compact => self.add(compacted(Some(0.1 / 3.0))),
                Step::End(outcome) => return self.add(Fact::Ended(outcome)),
            }
        }
        panic!("no end after {STEPS_MAX} steps: {:?}", self.run.events.last());
    }

    /// What may happen at any time.
    fn meanwhile(&mut self) {
        match self.dice.throw(40) {
            1..=3 => self.add(Fact::Said(Said { from: "cli".to_owned(), text: "more".to_owned() })),
            4..=6 => self.crash(),
            7 => self.add(stop(StopReason::Asked)),
            8 => self.add(stop(StopReason::Deadline)),
            9 => self.add(Fact::Unknown { kind: "x".to_owned(), data: 1.into() }),
            _ => {}
        }
    }

    fn crash(&mut self) {
        self.run.crash();
        self.hold();
    }

    fn turn(&mut self) {
        self.run.ask();
        self.hold();
        hold_conversation(&self.run.transcript.messages);
        assert_eq!(self.run.transcript.messages.last().map(|last| last.role), Some(Role::User));
        self.meanwhile();
        if self.run.transcript.asking.is_none() || matches!(self.run.step(), Step::End(_)) {
            return;
        }
        match self.dice.throw(12) {
            0 => self.run.answer(r#"{"n":1}"#, &[], Finish::Complete),
            1 => self.run.answer("words", &[], Finish::Complete),
            2 => self.run.answer("", &[], Finish::Complete),
            3 => self.run.answer("half", &[], Finish::MaxTokens),
            4 => self.run.answer("", &[], Finish::Refusal),
            5 => return self.add(retried(false)),
            6 => return self.add(retried(true)),
            sides => self.call(usize::from(sides) - 6),
        }
        self.hold();
    }

    fn call(&mut self, count: usize) {
        let first = self.calls;
        self.calls += count;
        let ids: Vec<String> = (first..self.calls).map(|index| format!("call{index}")).collect();
        self.run.answer("", &ids.iter().map(String::as_str).collect::<Vec<_>>(), Finish::Calls);
    }

    fn carry_out(&mut self, calls: &[ToolCall]) {
        assert!(calls.iter().all(|call| !self.effects.contains(&call.id)), "{calls:?} {:?}", self.effects);
        for call in calls {
            let effectful = self.dice.throw(2) == 1;
            if effectful {
                self.effects.insert(call.id.clone());
            }
            self.add(begun(&call.id, effectful));
        }
        let mut calls = calls.to_vec();
        while !calls.is_empty() {
            match self.dice.throw(16) {
                1 => return self.crash(),
                2 => return self.add(stop(StopReason::Interrupted)),
                3 => self.add(Fact::Said(Said { from: "cli".to_owned(), text: "hurry".to_owned() })),
                face => {
                    let call = calls.swap_remove(usize::from(face) % calls.len());
                    self.add(finished(&call.id));
                }
            }
        }
    }
}

/// Roles alternate from the caller's on, and every call has its one result in the message after it.
fn hold_conversation(messages: &[Arc<Message>]) {
    for (index, message) in messages.iter().enumerate() {
        let expected = if index % 2 == 0 { Role::User } else { Role::Assistant };
        assert_eq!(message.role, expected, "{messages:?}");
        assert!(!message.parts.is_empty(), "{messages:?}");
        let called =
            index.checked_sub(1).map(|before| messages[before].calls().map(|call| &call.id).collect());
        let answered: Vec<&String> = message.parts.iter().filter_map(result_of).collect();
        if message.role == Role::User {
            assert_eq!(answered, called.unwrap_or_else(Vec::new), "{messages:?}");
        }
    }
    let open = messages.last().into_iter().flat_map(|last| last.calls()).count();
    assert_eq!(open, 0, "{messages:?}");
}

fn result_of(part: &Part) -> Option<&String> {
    match part {
        Part::ToolResult(result) => Some(&result.call_id),
        Part::Text { .. } | Part::Thinking { .. } | Part::ToolCall(_) => None,
    }
}

/// Drives a run to its end, after which nothing is taken.
fn hold(plan: Plan, dice: &[u8]) -> Run {
    let run = Run::of(plan);
    let mut driven = Driven { run, dice: Dice(dice.iter()), effects: HashSet::new(), calls: 0 };
    driven.drive();
    let mut run = driven.run;
    assert_eq!(run.events.iter().filter(|event| matches!(event.fact, Fact::Ended(_))).count(), 1);
    let last = run.events.last().expect("it started").fact.clone();
    for fact in [last, stop(StopReason::Asked), finished("call0"), Fact::Started(run.plan.clone())] {
        let event = run.next_event(fact);
        assert_eq!(run.transcript.append(&event).unwrap_err().message, "the run has ended");
    }
    run.crash();
    run
}

fn any_plan() -> impl Strategy<Value = Plan> {
    let window = prop_oneof![Just(None), Just(Some(1)), Just(Some(100))];
    let usd = prop_oneof![Just(None), Just(Some(0.2)), Just(Some(0.0))];
    let retries = prop_oneof![Just(None), (0..4_u64).prop_map(Some)];
    (0..8_u64, 0..200_u64, window, usd, retries).prop_map(|(turns, tokens, window, usd, retries)| {
        let mut plan = plan();
        plan.limits.turns.value = turns;
        plan.limits.tokens.value = tokens;
        plan.limits.budget_usd = usd.map(|usd| Choice::new(usd, "definition"));
        plan.model.value.context_tokens = window;
        let schema = serde_json::json!({"type": "object"});
        plan.output = retries.map(|retries| OutputContract { schema, retries });
        plan
    })
}

fn dice() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..80)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_run_ends_once_and_is_sound_on_the_way(plan in any_plan(), dice in dice()) {
        hold(plan, &dice);
    }

    #[test]
    fn a_run_that_goes_on_with_another_is_sound(plan in any_plan(), first in dice(), second in dice()) {
        let earlier = hold(plan.clone(), &first);
        let prior = earlier.transcript.settled_messages();
        hold(Plan { prior, ..plan }, &second);
    }
}
