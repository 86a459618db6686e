//! The name of a model as written, and which of the forms it has.

/// A model as a definition names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// The string as written.
    pub written: String,
    /// What kind of name it is.
    pub form: ModelForm,
}

/// The kinds of name a model has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelForm {
    /// The caller's model.
    Inherit,
    /// A short name for a tier, in lower case: `sonnet`, `small`.
    Alias(String),
    /// A role that the configuration maps to a model, in lower case: `main`, `compaction`.
    Role(String),
    /// A model of a named provider.
    Provider {
        /// Before the first slash.
        provider: String,
        /// After it.
        model: String,
    },
    /// A name for people: `Claude Sonnet 4.5 (copilot)`.
    Display,
    /// A vendor's own identifier.
    Id,
}

const ALIASES: &[&str] =
    &["sonnet", "opus", "haiku", "fable", "small", "medium", "large", "fast", "default", "best"];
const ROLES: &[&str] = &["main", "compaction"];

impl Model {
    /// Reads a name; `None` when it is empty.
    pub fn parse(written: &str) -> Option<Model> {
        let written = written.trim();
        let lower = written.to_lowercase();
        let form = if written.is_empty() {
            return None;
        } else if lower == "inherit" {
            ModelForm::Inherit
        } else if ALIASES.contains(&lower.as_str()) {
            ModelForm::Alias(lower)
        } else if ROLES.contains(&lower.as_str()) {
            ModelForm::Role(lower)
        } else if written.contains(char::is_whitespace) {
            ModelForm::Display
        } else if let Some((provider, model)) = written.split_once('/') {
            ModelForm::Provider { provider: provider.to_lowercase(), model: model.to_owned() }
        } else if written.starts_with(|c: char| c.is_ascii_uppercase()) {
            ModelForm::Display
        } else {
            ModelForm::Id
        };
        Some(Model { written: written.to_owned(), form })
    }

    /// The word for its form.
    pub fn kind(&self) -> &'static str {
        match self.form {
            ModelForm::Inherit => "inherit",
            ModelForm::Alias(_) => "alias",
            ModelForm::Role(_) => "role",
            ModelForm::Provider { .. } => "provider",
            ModelForm::Display => "display_name",
            ModelForm::Id => "id",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Model;

    #[test]
    fn every_form_is_told_apart() {
        for (written, kind) in [
            ("inherit", "inherit"),
            ("Sonnet", "alias"),
            ("Compaction", "role"),
            ("anthropic/claude-sonnet-4-5", "provider"),
            ("openrouter/meta/llama-3", "provider"),
            ("Claude Sonnet 4.5 (copilot)", "display_name"),
            ("GPT-4.1", "display_name"),
            ("claude-sonnet-4-5-20250929", "id"),
        ] {
            assert_eq!(Model::parse(written).map(|model| model.kind()), Some(kind), "{written}");
        }
        assert_eq!(Model::parse("  "), None);
    }
}
