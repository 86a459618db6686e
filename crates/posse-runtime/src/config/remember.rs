//! A person's own rules, added to their configuration; everything else in the file stays as it is.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use toml_edit::{Array, DocumentMut, Item, Table, value};

use crate::file::write_atomically;

/// Allows an agent something from now on. Two processes that do it at once lose nothing of each other's.
pub fn allow_always(path: &Path, agent: &str, rules: &[String]) -> io::Result<()> {
    let wrong = |message: String| io::Error::other(format!("{}: {message}", path.display()));
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let lock = File::create(path.with_extension("lock"))?;
    lock.lock()?;
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(wrong(error.to_string())),
    };
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| wrong(error.to_string()))?;
    let not_a_table = || wrong(format!("`rules.{agent}` is no table"));
    let all = document.entry("rules").or_insert_with(implicit).as_table_like_mut().ok_or_else(not_a_table)?;
    let own =
        all.entry(agent).or_insert_with(table_of_its_own).as_table_like_mut().ok_or_else(not_a_table)?;
    let allow = own.entry("allow").or_insert_with(|| value(Array::new()));
    let allow = allow.as_array_mut().ok_or_else(|| wrong(format!("`rules.{agent}.allow` is no list")))?;
    for rule in rules {
        if !allow.iter().any(|known| known.as_str() == Some(rule)) {
            allow.push(rule.as_str());
        }
    }
    write_atomically(path, document.to_string().as_bytes())
}

/// `[rules]` needs no line of its own.
fn implicit() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

fn table_of_its_own() -> Item {
    Item::Table(Table::new())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::allow_always;

    fn check(before: Option<&str>, rules: &[&str], expected: &Expect) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("posse/config.toml");
        if let Some(before) = before {
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("created");
            std::fs::write(&path, before).expect("written");
        }
        let rules: Vec<String> = rules.iter().map(|rule| (*rule).to_owned()).collect();
        let done = allow_always(&path, "builder", &rules);
        let after = std::fs::read_to_string(&path).unwrap_or_default();
        let error =
            done.err().map(|error| error.to_string().replace(&directory.path().display().to_string(), ""));
        expected.assert_eq(&format!("{after}{}", error.unwrap_or_default()));
    }

    #[test]
    fn a_file_that_is_not_there_is_made() {
        check(
            None,
            &["Bash(make *)"],
            &expect![[r#"
            [rules.builder]
            allow = ["Bash(make *)"]
        "#]],
        );
    }

    #[test]
    fn comments_and_order_stay() {
        let before = "# mine\ndefault_model = \"sonnet\" # good\n\n[rules.builder]\n# the usual\nallow = [\n  \"Read\", # all\n]\n\n[limits]\nturns = 3\n";
        check(
            Some(before),
            &["Bash(make *)", "Read"],
            &expect![[r##"
            # mine
            default_model = "sonnet" # good

            [rules.builder]
            # the usual
            allow = [
              "Read", "Bash(make *)", # all
            ]

            [limits]
            turns = 3
        "##]],
        );
    }

    #[test]
    fn another_agents_rules_stay() {
        check(
            Some("[rules.other]\nallow = [\"Bash\"]\n"),
            &["Edit(src/**)"],
            &expect![[r#"
            [rules.other]
            allow = ["Bash"]

            [rules.builder]
            allow = ["Edit(src/**)"]
        "#]],
        );
    }

    #[test]
    fn a_broken_file_is_not_touched() {
        check(
            Some("rules = 3\n"),
            &["Read"],
            &expect![[r#"
            rules = 3
            /posse/config.toml: `rules.builder` is no table"#]],
        );
        check(
            Some("= 3\n"),
            &["Read"],
            &expect![[r#"
            = 3
            /posse/config.toml: TOML parse error at line 1, column 1
              |
            1 | = 3
              | ^
            unquoted keys cannot be empty, expected letters, numbers, `-`, `_`
        "#]],
        );
    }
}
