//! Files that are refused or no agents at all, and what is said about them.

use super::{check, check_bytes};
use expect_test::expect;

#[test]
fn a_fenced_block_of_yaml_is_refused() {
    check(
        ".claude/agents/a.md",
        r#"```yaml
name: a
description: d
```
"#,
        &expect![[r#"
            rejected a (claude)
            1:1 error[yaml-fence] the file is a fenced block of YAML; write the keys between two lines of three dashes and the prompt below them
        "#]],
    );
}

#[test]
fn mangled_frontmatter_is_refused() {
    check(
        ".claude/agents/a.md",
        r#"---

## name: a
## description: d

Do it.
"#,
        &expect![[r#"
            rejected a (claude)
            1:1 error[mangled-frontmatter] the frontmatter is opened and never closed; put a line of three dashes between the keys and the prompt
        "#]],
    );
}

#[test]
fn frontmatter_quoted_in_prose_is_not_an_agent() {
    check(
        ".claude/agents/a.md",
        r#"# How to write an agent

```
---
name: a
---
```
"#,
        &expect![[r#"
            not an agent: it has no frontmatter
        "#]],
    );
}

#[test]
fn an_empty_file_is_not_an_agent() {
    check(
        ".claude/agents/a.md",
        "",
        &expect![[r#"
        not an agent: it has no frontmatter
    "#]],
    );
}

#[test]
fn only_dashes_are_refused() {
    check(
        ".claude/agents/a.md",
        r#"---
"#,
        &expect![[r#"
            rejected a (claude)
            1:1 error[mangled-frontmatter] the frontmatter is opened and never closed; put a line of three dashes between the keys and the prompt
        "#]],
    );
}

#[test]
fn empty_frontmatter_is_not_an_agent() {
    check(
        ".claude/agents/a.md",
        r#"---
---
Do it.
"#,
        &expect![[r#"
            not an agent: its frontmatter has neither name nor description
        "#]],
    );
}

#[test]
fn a_nul_byte_is_refused() {
    check_bytes(
        ".claude/agents/a.md",
        b"---\nname: a\0\n---\nx",
        &expect![[r#"
        rejected a (claude)
        - error[not-text] the file has a NUL byte; save it as UTF-8 text
    "#]],
    );
}

#[test]
fn a_bad_byte_in_the_keys_is_refused() {
    check_bytes(
        ".claude/agents/a.md",
        b"---\nname: a\ndescription: \xff\n---\nDo it.",
        &expect![[r#"
            rejected a (claude)
            1:1 error[not-text] the keys are not valid UTF-8; save the file as UTF-8
        "#]],
    );
}

#[test]
fn a_bad_byte_in_the_prompt_is_replaced() {
    check_bytes(
        ".claude/agents/a.md",
        b"---\nname: a\ndescription: d\n---\nDo \xff it.",
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              prompt: "Do � it."
            5:4 warning[bad-bytes] the prompt is not valid UTF-8; save the file as UTF-8
        "#]],
    );
}

#[test]
fn utf_16_is_converted() {
    let text = "\u{feff}---\nname: a\ndescription: dé\n---\nDo it.";
    let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    check_bytes(
        ".claude/agents/a.md",
        &bytes,
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "dé"
        - warning[utf-16] the file is UTF-16; save it as UTF-8
    "#]],
    );
}

#[test]
fn huge_frontmatter_is_refused() {
    let text = format!("---\nname: a\ndescription: {}\n---\nDo it.", "x".repeat(70_000));
    check(
        ".claude/agents/a.md",
        &text,
        &expect![[r#"
        rejected a (claude)
        1:1 error[file-too-large] the frontmatter has more than 65536 bytes
    "#]],
    );
}

#[test]
fn a_huge_file_is_refused() {
    let text = format!("---\nname: a\ndescription: d\n---\n{}", "x".repeat(1 << 21));
    check(
        ".claude/agents/a.md",
        &text,
        &expect![[r#"
        rejected a (claude)
        - error[file-too-large] the file has 2097183 bytes, more than 1048576
    "#]],
    );
}

#[test]
fn a_hidden_character_is_reported() {
    check(
        ".claude/agents/a.md",
        "---\nname: a\ndescription: good\u{202e} bad\n---\nDo it.\n",
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "good\u{202e} bad"
            3:14 warning[hidden-character] `description` has the hidden character U+202E; remove it
        "#]],
    );
}

#[test]
fn an_empty_prompt_is_refused() {
    check(
        ".claude/agents/a.md",
        r#"---
name: a
description: d
---

"#,
        &expect![[r#"
            rejected a (claude)
            1:1 error[empty-prompt] the agent has no prompt; write the system prompt below the frontmatter
        "#]],
    );
}

#[test]
fn an_empty_description_is_refused() {
    check(
        ".claude/agents/a.md",
        r#"---
name: a
description:
---
Do it.
"#,
        &expect![[r#"
            rejected a (claude)
            1:1 error[missing-description] the agent has no description; say in `description` when to delegate to this agent
        "#]],
    );
}

#[test]
fn a_null_name_is_refused() {
    check(
        ".claude/agents/a.md",
        r#"---
name: ~
description: d
---
Do it.
"#,
        &expect![[r#"
            rejected a (claude)
            1:1 error[missing-name] the agent has no name; add `name: a`
        "#]],
    );
}

#[test]
fn a_name_that_is_a_placeholder_list_is_refused() {
    check(
        ".claude/agents/a.md",
        r#"---
name: [agent-name]
description: d
---
Do it.
"#,
        &expect![[r#"
            rejected a (claude)
            1:1 error[missing-name] the agent has no name; add `name: a`
            2:7 warning[bad-value] `name` takes a text, not a list; write it as a text
        "#]],
    );
}

#[test]
fn a_reserved_name_is_refused() {
    check(
        ".claude/agents/a.md",
        r#"---
name: main
description: d
---
Do it.
"#,
        &expect![[r#"
            rejected main (claude)
            1:1 error[bad-name] the name `main` is reserved; choose another name
        "#]],
    );
}

#[test]
fn a_name_with_a_colon_is_refused() {
    check(
        ".claude/agents/a.md",
        r#"---
name: "x:y"
description: d
---
Do it.
"#,
        &expect![[r#"
            rejected x:y (claude)
            1:1 error[bad-name] the name `x:y` contains a colon; choose another name
        "#]],
    );
}

#[test]
fn a_skill_is_not_an_agent() {
    check(
        ".claude/agents/SKILL.md",
        r#"---
name: a
description: d
---
Do it.
"#,
        &expect![[r#"
            not an agent: its name or folder says that it is something else
        "#]],
    );
}

#[test]
fn a_page_with_other_keys_is_not_an_agent() {
    check(
        "docs/agents/index.md",
        r#"---
title: Agents
description: All of them
---
Do it.
"#,
        &expect![[r#"
            not an agent: its frontmatter has no name
        "#]],
    );
}
