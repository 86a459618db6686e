//! The kinds of nodes of the grammar, by what has to be done about them; a kind that is not in the table is not understood.

use std::rc::Rc;

use tree_sitter::Language;

/// What has to be done about a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing; its children are looked at.
    Plain,
    /// Nothing, but commands in it stand deeper.
    Nesting,
    /// Nothing, and blanks in it are its own.
    Covering,
    /// Characters in which a substitution could hide.
    Text,
    /// The same, in double quotes.
    String,
    Substitution,
    CaseEnd,
    Command,
    Redirected,
    Redirect,
    Heredoc,
    Comment,
    Declaration,
    Assignment,
    Function,
    Expansion,
    Arithmetic,
    Compound,
    Test,
    Unknown,
}

impl Kind {
    /// True when commands in such a node stand deeper.
    pub(super) fn nests(self) -> bool {
        matches!(self, Kind::Nesting | Kind::Substitution | Kind::Function | Kind::Expansion | Kind::Compound)
    }

    /// True when the whole text of such a node is its own, blanks too.
    pub(super) fn covers(self) -> bool {
        matches!(self, Kind::Covering | Kind::String | Kind::Expansion)
    }
}

/// The kinds of a grammar by their numbers.
pub(super) fn table(language: &Language) -> Rc<[Kind]> {
    let count = u16::try_from(language.node_kind_count()).unwrap_or(u16::MAX);
    (0..count)
        .map(|id| match language.node_kind_for_id(id) {
            Some(name) if language.node_kind_is_named(id) => named(name),
            Some(";;" | ";&" | ";;&") => Kind::CaseEnd,
            _ => Kind::Plain,
        })
        .collect()
}

fn named(name: &str) -> Kind {
    match name {
        "program"
        | "list"
        | "pipeline"
        | "negated_command"
        | "elif_clause"
        | "else_clause"
        | "do_group"
        | "case_item"
        | "string_content"
        | "concatenation"
        | "simple_expansion"
        | "variable_assignments"
        | "array"
        | "number"
        | "ansi_c_string"
        | "translated_string"
        | "command_name"
        | "variable_name"
        | "special_variable_name"
        | "file_descriptor"
        | "herestring_redirect"
        | "heredoc_start"
        | "heredoc_end"
        | "heredoc_content"
        | "binary_expression"
        | "unary_expression"
        | "parenthesized_expression"
        | "test_operator"
        | "brace_expression" => Kind::Plain,
        "subshell" | "if_statement" | "while_statement" | "for_statement" | "case_statement" => Kind::Nesting,
        "heredoc_body" | "raw_string" => Kind::Covering,
        "word" | "regex" | "extglob_pattern" => Kind::Text,
        "string" => Kind::String,
        "command_substitution" | "process_substitution" => Kind::Substitution,
        "command" => Kind::Command,
        "redirected_statement" => Kind::Redirected,
        "file_redirect" => Kind::Redirect,
        "heredoc_redirect" => Kind::Heredoc,
        "comment" => Kind::Comment,
        "declaration_command" | "unset_command" => Kind::Declaration,
        "variable_assignment" => Kind::Assignment,
        "function_definition" => Kind::Function,
        "expansion" => Kind::Expansion,
        "arithmetic_expansion" | "c_style_for_statement" | "subscript" => Kind::Arithmetic,
        "compound_statement" => Kind::Compound,
        "test_command" => Kind::Test,
        _ => Kind::Unknown,
    }
}
