//! Paths that a rule keeps from a run, for tools that come upon more than their input names: what a link leads to,
//! what is below a directory.
//!
//! What the input itself names was judged before the call.

use std::path::Path;

use posse_core::rule::{Act, Decision, Place, RuleSet, judge};

/// The rules of a run, as far as they are about paths.
#[derive(Debug, Clone, Default)]
pub struct Held {
    rules: RuleSet,
    workspace: String,
    home: String,
}

impl Held {
    /// The rules of a run that works in a directory.
    pub fn new(rules: &RuleSet, workspace: &str, home: &str) -> Held {
        let about = |decision: Decision| {
            let files = rules.about("Read").chain(rules.about("Edit"));
            files.filter(|(found, _)| *found == decision).map(|(_, sourced)| sourced.clone()).collect()
        };
        // What is allowed has no say: these are paths that nobody asked about.
        let rules = RuleSet { deny: about(Decision::Deny), ask: about(Decision::Ask), ..RuleSet::default() };
        Held { rules, workspace: workspace.to_owned(), home: home.to_owned() }
    }

    /// True when a path is not to be shown.
    pub(super) fn hides(&self, path: &Path) -> bool {
        self.rule(path, |path| Act::Look { tool: "Read", path }).is_some()
    }

    /// Refuses to look through a link at what a rule keeps.
    pub(super) fn check_look(&self, named: &Path, real: &Path) -> Result<(), String> {
        self.check(named, real, |path| Act::Look { tool: "Read", path })
    }

    /// Refuses to change through a link what a rule keeps.
    pub(super) fn check_change(&self, named: &Path, real: &Path) -> Result<(), String> {
        self.check(named, real, |path| Act::Change { tool: "Edit", path })
    }

    fn check(&self, named: &Path, real: &Path, act: fn(&str) -> Act<'_>) -> Result<(), String> {
        match self.rule(real, act).filter(|_| named != real) {
            None => Ok(()),
            Some(rule) => Err(format!("not allowed: it leads to a file that the rule {rule} is about")),
        }
    }

    /// The rule that keeps a path.
    fn rule(&self, path: &Path, act: fn(&str) -> Act<'_>) -> Option<String> {
        if self.rules.deny.is_empty() && self.rules.ask.is_empty() {
            return None;
        }
        let place = Place { workspace: &self.workspace, home: &self.home };
        let judged = judge(&self.rules, &act(&path.to_string_lossy()), &place);
        judged.decision.filter(|decision| *decision != Decision::Allow)?;
        Some(judged.by.map_or_else(|| "of this run".to_owned(), |by| format!("{} ({})", by.rule, by.from)))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use posse_core::rule::{Rule, RuleSet, Sourced};

    use super::Held;

    fn held(deny: &[&str]) -> Held {
        let sourced = |text: &&str| Sourced {
            rule: Rule::parse(text).expect("a rule"),
            from: "a.md:3".to_owned(),
            base: None,
        };
        let rules = RuleSet { deny: deny.iter().map(sourced).collect(), ..RuleSet::default() };
        Held::new(&rules, "/w", "/home/me")
    }

    #[test]
    fn what_a_rule_is_about_is_hidden_and_nothing_else() {
        let held = held(&["Read(secrets/**)", "Read(.env)", "Bash(curl *)"]);
        for (path, hidden) in
            [("/w/secrets/key", true), ("/w/a/.env", true), ("/w/src/a.rs", false), ("/w/secrets.md", false)]
        {
            assert_eq!(held.hides(Path::new(path)), hidden, "{path}");
        }
    }

    #[test]
    fn a_link_to_what_is_kept_is_refused_and_the_thing_itself_was_judged_before() {
        let held = held(&["Read(secrets/**)", "Edit(config/**)"]);
        let (link, key) = (Path::new("/w/link"), Path::new("/w/secrets/key"));
        let refused = "not allowed: it leads to a file that the rule Read(secrets/**) (a.md:3) is about";
        assert_eq!(held.check_look(link, key), Err(refused.to_owned()));
        assert_eq!(held.check_look(key, key), Ok(()));
        assert_eq!(held.check_look(link, Path::new("/w/config/a")), Ok(()));
        assert!(held.check_change(link, Path::new("/w/config/a")).is_err());
    }
}
