//! The variables of a command: a small fixed set of ours, and what is handed in. Keys and tokens of Posse are never
//! among them, since nothing else is copied. Nothing here reads the environment.

use std::ffi::{OsStr, OsString};

/// What a command needs to find programs, its user, its language and its clock.
const KEPT: &[&str] = &["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TZ", "TMPDIR"];
/// Every part of the language may be set by itself.
const KEPT_PREFIX: &str = "LC_";
/// Where programs are when nobody says so.
const PATH_DEFAULT: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A variable with its value.
pub type Variable = (OsString, OsString);

/// The variables of a command: those of ours that are kept, then what is handed in, each name once.
pub fn environment(ours: impl IntoIterator<Item = Variable>, handed_in: &[Variable]) -> Vec<Variable> {
    let kept = ours.into_iter().filter(|(name, _)| is_kept(name)).collect();
    let path = (OsString::from("PATH"), OsString::from(PATH_DEFAULT));
    merge(merge(vec![path], kept), handed_in.to_vec())
}

/// The later of two values of one name counts.
pub(super) fn merge(mut variables: Vec<Variable>, later: Vec<Variable>) -> Vec<Variable> {
    for (name, value) in later {
        match variables.iter_mut().find(|(known, _)| *known == name) {
            Some(variable) => variable.1 = value,
            None => variables.push((name, value)),
        }
    }
    variables
}

fn is_kept(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| KEPT.contains(&name) || name.starts_with(KEPT_PREFIX))
}

#[cfg(test)]
mod tests {
    use super::environment;

    fn check(ours: &[(&str, &str)], handed_in: &[(&str, &str)], expected: &str) {
        let owned = |(name, value): &(&str, &str)| ((*name).into(), (*value).into());
        let handed_in: Vec<_> = handed_in.iter().map(owned).collect();
        let variables = environment(ours.iter().map(owned), &handed_in);
        let shown: Vec<String> =
            variables.iter().map(|(name, value)| format!("{}={}", name.display(), value.display())).collect();
        assert_eq!(shown.join(" "), expected);
    }

    #[test]
    fn nothing_of_ours_is_handed_on_but_the_fixed_set() {
        check(
            &[
                ("ANTHROPIC_API_KEY", "sk-1"),
                ("PATH", "/bin"),
                ("LC_ALL", "C"),
                ("LCX", "1"),
                ("SSH_AUTH_SOCK", "/s"),
            ],
            &[],
            "PATH=/bin LC_ALL=C",
        );
    }

    #[test]
    fn what_is_handed_in_counts_more_than_ours() {
        check(
            &[("PATH", "/bin"), ("TERM", "xterm")],
            &[("TERM", "dumb"), ("X", "1")],
            "PATH=/bin TERM=dumb X=1",
        );
    }

    #[test]
    fn there_is_always_a_path() {
        check(&[], &[], "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    }
}
