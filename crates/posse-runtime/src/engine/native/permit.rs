//! Whether a call may run: the rules of the plan and what a person allowed, and whoever can be asked.

use std::time::Instant;

use posse_core::definition::PermissionMode;
use posse_core::event::{Decider, Fact, Permission, StopAsked};
use posse_core::grant::{Verdict, Why, decide};
use posse_core::message::ToolCall;
use posse_core::rule::{Act, Place, Rule, RuleSet, Sourced};
use posse_core::text::one_line;

use super::{NativeRun, milliseconds};
use crate::approver::{Answer, Question};
use crate::store::{Durability, StoreError};
use crate::tool::{Effect, Tool, ToolOutput, Touch};

/// The most characters of a call that a question shows.
const SHOWN_CHARACTERS_MAX: usize = 4_000;

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Permit {
    /// It runs.
    Run,
    /// It was answered without running.
    Answered,
    /// The run is to stop, which is recorded.
    Stop,
}

impl NativeRun<'_> {
    /// Decides about a call; one that may not run is answered with why, and with what would allow it.
    pub(super) async fn permit(&mut self, call: &ToolCall, tool: &dyn Tool) -> Result<Permit, StoreError> {
        let touches = tool.touches(&call.input, &self.context);
        match self.verdict(call, &touches) {
            Verdict::Allowed => Ok(Permit::Run),
            // A tool of a program's own that only looks is asked about only where a rule says so.
            Verdict::Asked(Why { by: Decider::Mode, .. })
                if touches.is_empty() && tool.effect() == Effect::ReadOnly =>
            {
                Ok(Permit::Run)
            }
            Verdict::Denied(why) => {
                self.deny(call, &why, why.by, None);
                Ok(Permit::Answered)
            }
            Verdict::Asked(why) => self.ask_somebody(call, &touches, why).await,
        }
    }

    fn verdict(&self, call: &ToolCall, touches: &[Touch]) -> Verdict {
        let paths: Vec<String> = touches.iter().map(shown).collect();
        let acts: Vec<Act<'_>> = match touches {
            [] => vec![Act::Tool { name: &call.name }],
            _ => touches.iter().zip(&paths).map(|(touch, shown)| act(&call.name, touch, shown)).collect(),
        };
        let plan = &self.plan;
        let place = Place { workspace: &plan.workspace.value, home: &self.engine.home };
        let mode = mode(&plan.permission_mode.value);
        let verdict = decide(&plan.rules, mode, &acts, &place);
        if matches!(verdict, Verdict::Asked(_)) && !self.transcript.granted.is_empty() {
            let granted = granted(&plan.rules, &self.transcript.granted);
            if decide(&granted, PermissionMode::DontAsk, &acts, &place) == Verdict::Allowed {
                return Verdict::Allowed;
            }
        }
        verdict
    }

    async fn ask_somebody(
        &mut self,
        call: &ToolCall,
        touches: &[Touch],
        why: Why,
    ) -> Result<Permit, StoreError> {
        let question = Question {
            run_id: self.run_id,
            agent: self.plan.agent.clone(),
            tool: call.name.clone(),
            what: self.engine.without_secrets(what(call, touches)),
            diff: None,
            why: why.reason.clone(),
            rules: why.would_allow.clone(),
        };
        // What happened so far is seen before the question.
        self.recorder.flush(Durability::Process).await?;
        let (begun, approver) = (Instant::now(), self.approver.clone());
        let answer = tokio::select! {
            biased;
            reason = self.stop.asked() => {
                self.note(Fact::StopAsked(StopAsked { reason }));
                return Ok(Permit::Stop);
            }
            answer = approver.ask(&question) => answer,
        };
        let granted = match &answer {
            None => {
                self.deny(call, &why, Decider::Nobody, None);
                return Ok(Permit::Answered);
            }
            Some(Answer::No(said)) => {
                self.deny(call, &why, Decider::Person, said.as_deref());
                return Ok(Permit::Answered);
            }
            Some(Answer::Once) => Vec::new(),
            Some(Answer::Run | Answer::Always) => why.would_allow.clone(),
        };
        let mut permission = self.permission(call, true, Decider::Person, why.rule);
        (permission.granted, permission.waited_ms) = (granted, milliseconds(begun));
        self.note(Fact::Permission(permission));
        Ok(Permit::Run)
    }

    /// Answers a call with why it may not run.
    fn deny(&mut self, call: &ToolCall, why: &Why, by: Decider, said: Option<&str>) {
        let mut text = format!("Not allowed: {}.", why.reason.trim_end_matches('.'));
        match (by, said) {
            (Decider::Person, Some(said)) => text = format!("Not allowed. The person says: {said}"),
            (Decider::Person, None) => text = "Not allowed: the person said no.".to_owned(),
            (Decider::Nobody, _) => text.push_str(" Nobody is there to be asked."),
            (Decider::Rule | Decider::Mode, _) => {}
        }
        if !why.would_allow.is_empty() && matches!(by, Decider::Nobody | Decider::Mode) {
            text.push_str(&format!(" It would be allowed by the rule {}.", why.would_allow.join(" and ")));
        }
        text.push_str(" Go on without it, or say what you would need.");
        let rule = why.rule.clone().or_else(|| why.would_allow.first().cloned());
        let permission = self.permission(call, false, by, rule);
        self.note(Fact::Permission(permission));
        self.finished(call, ToolOutput::error(text), 0);
    }

    fn permission(&self, call: &ToolCall, allowed: bool, by: Decider, rule: Option<String>) -> Permission {
        Permission {
            call_id: call.id.clone(),
            tool: call.name.clone(),
            input: call.input.clone(),
            allowed,
            by,
            rule,
            granted: Vec::new(),
            waited_ms: 0,
        }
    }
}

fn shown(touch: &Touch) -> String {
    match touch {
        Touch::Look(path) | Touch::Change(path) => path.display().to_string(),
        Touch::Fetch(host) => host.clone(),
    }
}

fn act<'a>(tool: &'a str, touch: &Touch, shown: &'a str) -> Act<'a> {
    match touch {
        Touch::Look(_) => Act::Look { tool, path: shown },
        Touch::Change(_) => Act::Change { tool, path: shown },
        Touch::Fetch(_) => Act::Fetch { host: shown },
    }
}

fn what(call: &ToolCall, touches: &[Touch]) -> String {
    match touches {
        [] => one_line(&call.input.to_string(), SHOWN_CHARACTERS_MAX),
        _ => touches.iter().map(shown).collect::<Vec<_>>().join("\n"),
    }
}

/// A mode as the plan has it; what is not known asks.
fn mode(word: &str) -> PermissionMode {
    match word {
        "acceptEdits" => PermissionMode::AcceptEdits,
        "dontAsk" => PermissionMode::DontAsk,
        "bypassPermissions" => PermissionMode::BypassPermissions,
        "plan" => PermissionMode::Plan,
        _ => PermissionMode::Default,
    }
}

/// What a person allowed for the rest of the run, under what is denied.
fn granted(rules: &RuleSet, granted: &[String]) -> RuleSet {
    let sourced = |rule| Sourced { rule, from: "a person, for this run".to_owned(), base: None };
    let allow = granted.iter().filter_map(|text| Rule::parse(text).ok()).map(sourced).collect();
    RuleSet { deny: rules.deny.clone(), allow, ..RuleSet::default() }
}
