//! The table of diagnostic codes: name, usual severity and what `check --explain` says.
//!
//! A flat table; a code is a promise to scripts and never changes its meaning.

use super::Severity;

macro_rules! codes {
    ($( $variant:ident $name:literal $severity:ident $explanation:literal )*) => {
        /// Which complaint a diagnostic is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $(
            #[doc = $explanation]
            $variant,
        )* }

        impl Code {
            /// Every code, in the order of this table.
            pub const ALL: &[Code] = &[$(Code::$variant),*];

            /// The name in text, JSON and `--explain`.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $name),* }
            }

            /// The severity it has unless said otherwise.
            pub fn severity(self) -> Severity {
                match self { $(Code::$variant => Severity::$severity),* }
            }

            /// What `posse check --explain` prints.
            pub fn explanation(self) -> &'static str {
                match self { $(Code::$variant => $explanation),* }
            }
        }
    };
}

codes! {
    FileTooLarge "file-too-large" Error
        "A definition may be at most 1 MiB, and its frontmatter at most 64 KiB. A larger file is refused before it is parsed. Move long material into files that the prompt names."
    NotText "not-text" Error
        "The file has a NUL byte, or its frontmatter is not valid UTF-8, so it is not text that can be trusted. Save it as UTF-8."
    BadBytes "bad-bytes" Warning
        "The prompt has bytes that are not UTF-8. Each was replaced by U+FFFD. Save the file as UTF-8."
    Utf16 "utf-16" Warning
        "The file is UTF-16. It was converted; other tools may not read it. Save it as UTF-8."
    LineEndings "line-endings" Info
        "The file has CR CR LF or lone CR line ends, usually from a double conversion. They were read as line feeds; some tools lose the frontmatter."
    HiddenCharacter "hidden-character" Warning
        "The name, description or prompt has a character that is not shown or that changes the direction of text. It can hide instructions from a reviewer. Remove it, or keep it if the language needs it."
    MissingOpener "missing-opener" Warning
        "The file begins with frontmatter keys but not with a line of three dashes. It was read as if the dashes were there. `check --fix` adds them."
    MissingCloser "missing-closer" Warning
        "The frontmatter is not closed by a line of three dashes. What looks like keys at the top was taken as frontmatter, the rest as the prompt. `check --fix` adds the line."
    MangledFrontmatter "mangled-frontmatter" Error
        "The frontmatter was opened but never closed, and nothing in it can be told apart from the prompt (a formatter may have turned keys into headings). The file is refused: guessing could widen what the agent may do."
    FencedFile "fenced-file" Warning
        "The whole file is wrapped in a code fence. The fence was taken off. `check --fix` removes it."
    YamlFence "yaml-fence" Error
        "The file is a fenced block of YAML instead of frontmatter and a prompt: another tool's schema. Write the keys between two lines of three dashes and the prompt below."
    BrokenYaml "broken-yaml" Warning
        "The value is not valid YAML, most often because of an unquoted `: `. The text was recovered as its author meant it. `check --fix` writes it quoted."
    CommentCut "comment-cut" Warning
        "In YAML ` #` starts a comment, so a strict reader would lose the rest of this line. The whole line was taken. `check --fix` quotes it."
    UnreadableKey "unreadable-key" Warning
        "The value of this key cannot be read as YAML, and the key grants nothing, so it was left out."
    UnreadableCapability "unreadable-capability" Error
        "A key that says what the agent may do (tools, disallowedTools, permissions, permissionMode, mcpServers, hooks, isolation, sandbox) cannot be read. The file is refused: leaving the key out would give the agent more than its author wrote."
    DuplicateKey "duplicate-key" Warning
        "The key stands twice, or another spelling of it does. The dialect's own spelling counts, then the last one."
    ConflictingKey "conflicting-key" Error
        "A key that says what the agent may do stands twice with different values, or two keys that set the same thing contradict each other. The file is refused: nobody can say which was meant."
    UnknownKey "unknown-key" Info
        "No tool known to Posse reads this key. It is kept with the definition and has no effect. When it looks like a mistyped key that grants or restricts, and that key is absent, it is an error: the agent would have more than its author wrote."
    UnusedKey "unused-key" Info
        "Another tool reads this key; Posse keeps it with the definition and does not act on it."
    MissingName "missing-name" Error
        "This dialect takes the agent's name from the key `name`, which is absent or empty. Claude Code would skip the file in silence."
    BadName "bad-name" Error
        "The name cannot be used: it is reserved (`main`, `cli`), starts with a dash, contains a colon, or has no letter or digit."
    NameMismatch "name-mismatch" Warning
        "In this dialect the folder is the agent's identity; the key `name` says something else. The folder counts."
    MissingDescription "missing-description" Error
        "The description is absent or empty. A caller chooses an agent by its description. It is a warning in dialects whose own tool loads such a file."
    EmptyPrompt "empty-prompt" Error
        "The definition has no prompt: nothing below the frontmatter, or an empty prompt key. Such an agent would be the bare model under a name."
    BadValue "bad-value" Warning
        "The value is not one this key takes, so it was left out and the default counts."
    BadCapability "bad-capability" Error
        "The value of a key that says what the agent may do is not one this key takes. The file is refused: a default could be wider than what was meant."
    UnknownTool "unknown-tool" Error
        "No tool known to Posse has this name. It is kept in the list and the agent does not run until it is corrected, since a list with a mistake in it never becomes a wider one."
    ForeignTool "foreign-tool" Warning
        "The name is a real tool of another product that Posse does not have. The agent runs without it."
    NoUsableTool "no-usable-tool" Error
        "Tools are listed and none of them exists here. The agent does not run: without its tools it would only make things up. `tools: []` is an agent without tools on purpose."
    EmptyTools "empty-tools" Warning
        "`tools` is there without a value. It was read as no tools at all. Write `tools: []`, or remove the key to leave the tools unrestricted."
    OrderedRules "ordered-rules" Warning
        "In OpenCode the last matching rule wins; here deny comes before ask before allow. This map depends on its order, so the stricter reading was taken."
    RemoteAgent "remote-agent" Error
        "The definition names an agent that runs elsewhere (kind: remote). Posse cannot run it."
    ModelList "model-list" Info
        "Several models are listed as fallbacks. The first one counts."
    DialectGuessed "dialect-guessed" Info
        "The keys are those of another tool than the directory the file is in. It was read as what it is."
    BrokenJson "broken-json" Error
        "The file is not valid JSON."
    BrokenToml "broken-toml" Error
        "The file is not valid TOML."
    BadEntry "bad-entry" Error
        "An entry of agents.json is not an object with a description and a prompt. The other entries count."
    MissingPromptFile "missing-prompt-file" Error
        "A definition in JSON takes its prompt from a Markdown file beside it, which is not there."
    PromptOutside "prompt-outside" Error
        "The prompt file named by a definition lies outside the directory of the definition. It is not read."
    BadSchema "bad-schema" Error
        "The output schema is not a valid JSON Schema, leads out of itself, or names a file that cannot be read as one. The agent loads and does not run: its answers could not be judged."
    DuplicateName "duplicate-name" Error
        "Two definitions in one directory family have the same name, or names that become the same slug. The first in path order counts."
    Shadowed "shadowed" Info
        "A definition of the same name stands in a place that comes first, so this one is not used."
    ShadowRejected "shadow-rejected" Error
        "`duplicates = \"reject\"` is set and the name is defined in more than one place, so none of them runs."
    Unreadable "unreadable" Error
        "The file or directory cannot be read, or it is not a regular file. It was not opened."
    LinkLoop "link-loop" Warning
        "A symbolic link leads back to a directory that contains it, or nowhere. It was not followed."
    TooMany "too-many" Error
        "A directory has more entries, or is nested deeper, than Posse reads. The rest was not read."
    ConfigBroken "config-broken" Error
        "The configuration file cannot be read as TOML."
    ConfigUnknown "config-unknown" Warning
        "The configuration has a key that Posse does not know. It has no effect."
    ConfigValue "config-value" Error
        "The value is not one this configuration key takes."
    ConfigForbidden "config-forbidden" Error
        "This key may not be set by a project: it belongs to the person or the operator."
    ConfigUntrusted "config-untrusted" Warning
        "A project's configuration counts only after `posse trust`."
}

impl Code {
    /// The code of that name.
    pub fn parse(name: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.as_str() == name)
    }
}
