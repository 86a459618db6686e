//! Files that are not valid, each class seen in public collections, recovered as meant.

use super::{check, check_keys};
use expect_test::expect;

#[test]
fn an_unquoted_colon_is_text() {
    check(
        ".claude/agents/a.md",
        r#"---
name: a
description: Use this: when code changes. Also: tests
tools: Read
---
Do it.
"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "Use this: when code changes. Also: tests"
              tools: ["Read"]
            3:22 warning[broken-yaml] the description is not valid YAML: an unquoted value has `: ` in it; quote it: description: "Use this: when code changes. Also: tests"
        "#]],
    );
}

#[test]
fn a_literal_backslash_n_stays_as_it_is() {
    check(
        ".claude/agents/a.md",
        r#"---
name: a
description: Use it. Examples:\n- user: "hi"\n- bot: yes
---
Do it.
"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "Use it. Examples:\\n- user: \"hi\"\\n- bot: yes"
            3:39 warning[broken-yaml] the description is not valid YAML: an unquoted value has `: ` in it; quote it: description: "Use it. Examples:\\n- user: \"hi\"\\n- bot: yes"
        "#]],
    );
}

#[test]
fn unindented_examples_belong_to_the_description() {
    check(
        ".claude/agents/a.md",
        r#"---
name: a
description: Use this agent when asked. Examples:
<example>
Context: a user asks
user: "Please review"
assistant: "I will: use it"
<commentary>
why: because
</commentary>
</example>
model: opus
color: red
---
Do it.
"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "Use this agent when asked. Examples:\n<example>\nContext: a user asks\nuser: \"Please review\"\nassistant: \"I will: use it\"\n<commentary>\nwhy: because\n</commentary>\n</example>"
              model: "opus"
              color: "red"
            3:49 warning[broken-yaml] the description is not valid YAML: an unquoted value has `: ` in it; quote it: description: "Use this agent when asked. Examples:\n<example>\nContext: a user asks\nuser: \"Please review\"\nass…"
        "#]],
    );
}

#[test]
fn an_indented_continuation_may_have_a_colon() {
    check(
        ".claude/agents/a.md",
        r#"---
name: a
description: first line
  second: line
  third: line
tools: Read, Grep
---
Do it.
"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "first line\nsecond: line\nthird: line"
              tools: ["Read","Grep"]
            4:9 warning[broken-yaml] the description is not valid YAML: mapping values are not allowed in this context; quote it: description: "first line\nsecond: line\nthird: line"
        "#]],
    );
}

#[test]
fn prose_may_start_with_a_bracket() {
    check(
        ".claude/agents/a.md",
        r#"---
name: a
description: [BETA] Reviews code
tools: Read
---
Do it.
"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "[BETA] Reviews code"
              tools: ["Read"]
            3:21 warning[broken-yaml] the description is not valid YAML: while parsing a block mapping, did not find expected key; quote it: description: "[BETA] Reviews code"
        "#]],
    );
}

#[test]
fn prose_may_start_with_a_brace() {
    check(
        ".claude/agents/a.md",
        r#"---
name: a
description: {x} Reviews code
---
Do it.
"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "{x} Reviews code"
            3:18 warning[broken-yaml] the description is not valid YAML: while parsing a block mapping, did not find expected key; quote it: description: "{x} Reviews code"
        "#]],
    );
}

#[test]
fn broken_quotes_are_taken_off() {
    check(
        ".claude/agents/a.md",
        r#"---
name: a
description: "Say "hello" to: all"
---
Do it.
"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "Say \"hello\" to: all"
            3:20 warning[broken-yaml] the description is not valid YAML: an unquoted value has `: ` in it; quote it: description: 'Say "hello" to: all'
        "#]],
    );
}

#[test]
fn an_indicator_may_start_a_text() {
    check(
        ".claude/agents/a.md",
        r#"---
name: a
description: *bold* text
argument-hint: @file
model: %x
---
Do it.
"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "*bold* text"
              model: "%x"
              extra: {"argument-hint":"@file"}
            3:14 warning[broken-yaml] the description is not valid YAML: anchors, aliases and tags are not read; quote it: description: "*bold* text"
            4:1 info[unused-key] `argument-hint` is read by other tools and has no effect here
            4:16 warning[broken-yaml] the argument-hint is not valid YAML: unexpected character: `@'; quote it: argument-hint: "@file"
            5:8 warning[broken-yaml] the model is not valid YAML: unexpected character: `%'; quote it: model: "%x"
        "#]],
    );
}

#[test]
fn an_anchor_in_a_text_is_text() {
    check(
        ".claude/agents/a.md",
        r#"---
name: a
description: &mut references
---
Do it.
"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "&mut references"
            3:19 warning[broken-yaml] the description is not valid YAML: anchors, aliases and tags are not read; quote it: description: "&mut references"
        "#]],
    );
}

#[test]
fn a_broken_block_scalar_is_dedented() {
    check(
        ".claude/agents/a.md",
        r#"---
name: a
description: |
   first: line
 second: line
   third
---
Do it.
"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "first: line\nsecond: line\n  third"
            5:2 warning[broken-yaml] the description is not valid YAML: an unquoted value has `: ` in it; quote it: description: "first: line\nsecond: line\n  third"
        "#]],
    );
}

#[test]
fn a_comment_sign_does_not_cut_a_description() {
    check(
        ".claude/agents/a.md",
        r#"---
name: a
description: Knows C# and F # and more
color: #ff0000
model: sonnet # or opus
---
Do it.
"#,
        &expect![[r##"
            agent (claude)
              name: "a"
              description: "Knows C# and F # and more"
              model: "sonnet"
              color: "#ff0000"
            3:14 warning[comment-cut] ` #` cuts the description short in YAML; write description: "Knows C# and F # and more"
            4:8 warning[comment-cut] ` #` cuts the color short in YAML; write color: "#ff0000"
        "##]],
    );
}

#[test]
fn a_duplicate_text_key_takes_the_last() {
    check(
        ".claude/agents/a.md",
        r#"---
name: a
description: one
description: two
---
Do it.
"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "two"
            3:1 warning[duplicate-key] `description` stands twice; this one does not count; remove one of the two
        "#]],
    );
}

#[test]
fn duplicate_tools_that_differ_are_refused() {
    check_keys(
        r#"tools: Read
tools: Read, Bash"#,
        &expect![[r#"
            rejected a (claude)
            5:1 error[conflicting-key] `tools` stands twice with different values; correct it; guessing could give the agent more than its author wrote
        "#]],
    );
}

#[test]
fn duplicate_tools_that_agree_are_taken() {
    check_keys(
        r#"tools: [Read]
tools: [Read]"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              tools: ["Read"]
            4:1 warning[duplicate-key] `tools` stands twice; this one does not count; remove one of the two
        "#]],
    );
}

#[test]
fn unreadable_tools_are_refused() {
    check_keys(
        "tools: {{{",
        &expect![[r#"
        rejected a (claude)
        4:1 error[unreadable-capability] `tools` cannot be read: unclosed bracket '{'; correct the YAML of `tools`; without it the agent could do more than its author wrote
    "#]],
    );
}

#[test]
fn unreadable_permissions_are_refused() {
    check_keys(
        r#"permissions:
  allow: [a
  deny: b"#,
        &expect![[r#"
            rejected a (claude)
            4:1 error[unreadable-capability] `permissions` cannot be read: illegal placement of ':' indicator; correct the YAML of `permissions`; without it the agent could do more than its author wrote
        "#]],
    );
}

#[test]
fn tools_on_one_line_are_told_apart_without_yaml() {
    check_keys(
        "tools: Read, *, Bash(git log: *)",
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              tools: ["Read","*","Bash"]
              permissions: {"allow":["Bash(git log: *)"],"ask":[],"deny":[]}
            4:8 warning[broken-yaml] tools is not valid YAML; write it as a list: tools: [Read, "*", "Bash(git log: *)"]
        "#]],
    );
}

#[test]
fn an_unreadable_key_that_grants_nothing_is_left_out() {
    check_keys(
        "metadata: {a: b",
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "d"
        4:1 warning[unreadable-key] `metadata` cannot be read and was left out: unclosed bracket '{'; correct its YAML, or quote the value
    "#]],
    );
}

#[test]
fn aliases_in_a_capability_are_refused() {
    check_keys(
        r#"x: &t [Read]
tools: *t"#,
        &expect![[r#"
            rejected a (claude)
            4:1 error[unreadable-capability] `x` cannot be read: anchors, aliases and tags are not read; correct the YAML of `x`; without it the agent could do more than its author wrote
            5:1 error[unreadable-capability] `tools` cannot be read: anchors, aliases and tags are not read; correct the YAML of `tools`; without it the agent could do more than its author wrote
        "#]],
    );
}

#[test]
fn a_yaml_bomb_is_dropped_and_never_expanded() {
    check_keys(
        r#"a: &a [x,x,x,x,x,x,x,x,x]
b: &b [*a,*a,*a,*a,*a,*a,*a]
c: &c [*b,*b,*b,*b,*b,*b]"#,
        &expect![[r#"
            rejected a (claude)
            4:1 error[unreadable-capability] `a` cannot be read: anchors, aliases and tags are not read; correct the YAML of `a`; without it the agent could do more than its author wrote
            5:1 error[unreadable-capability] `b` cannot be read: anchors, aliases and tags are not read; correct the YAML of `b`; without it the agent could do more than its author wrote
            6:1 error[unreadable-capability] `c` cannot be read: anchors, aliases and tags are not read; correct the YAML of `c`; without it the agent could do more than its author wrote
        "#]],
    );
}

#[test]
fn line_ends_of_windows_are_read() {
    check(
        ".claude/agents/a.md",
        "---\r\nname: a\r\ndescription: d\r\ntools: Grpe\r\n---\r\nDo it.\r\n",
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              tools: ["Grpe"]
            4:8 error[unknown-tool] tool `Grpe` is not known; did you mean `Grep`?
        "#]],
    );
}

#[test]
fn doubled_carriage_returns_are_read() {
    check(
        ".claude/agents/a.md",
        "---\r\r\nname: a\r\r\ndescription: d\r\r\n---\r\r\nDo it.\r\r\n",
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
            - info[line-endings] the file has CR CR LF or lone CR line ends
        "#]],
    );
}

#[test]
fn lone_carriage_returns_are_read() {
    check(
        ".claude/agents/a.md",
        "---\rname: a\rdescription: d\r---\rDo it.\r",
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "d"
        - info[line-endings] the file has CR CR LF or lone CR line ends
    "#]],
    );
}

#[test]
fn a_byte_order_mark_is_skipped() {
    check(
        ".claude/agents/a.md",
        "\u{feff}---\nname: a\ndescription: d\n---\nDo it.\n",
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "d"
    "#]],
    );
}

#[test]
fn blank_lines_and_comments_may_come_first() {
    check(
        ".claude/agents/a.md",
        r#"

<!-- licence -->

---
name: a
description: d
---
Do it.
"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
        "#]],
    );
}

#[test]
fn a_closer_may_be_longer() {
    check(
        ".claude/agents/a.md",
        r#"---
name: a
description: d
------
Do it.
"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
        "#]],
    );
}

#[test]
fn a_missing_closer_is_assumed() {
    check(
        ".claude/agents/a.md",
        r#"---
name: a
description: d

Do it.
"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
            1:1 warning[missing-closer] the frontmatter has no closing `---`; put a line of three dashes below the last key
        "#]],
    );
}

#[test]
fn a_missing_opener_is_assumed() {
    check(
        ".claude/agents/a.md",
        r#"name: a
description: d
---
Do it.
"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
            1:1 warning[missing-opener] the frontmatter has no opening `---`; put a line of three dashes above the first key
        "#]],
    );
}

#[test]
fn a_fenced_file_is_unwrapped() {
    check(
        ".claude/agents/a.md",
        r#"```markdown
---
name: a
description: d
---
Do it.
```
"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
            1:1 warning[fenced-file] the whole file is inside a code fence; remove the first and the last line
        "#]],
    );
}

#[test]
fn a_comment_line_is_no_part_of_a_text() {
    check(
        ".claude/agents/a.md",
        r#"---
name: a
description: Use: this
# restrict it
tools: Read
---
Do it.
"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "Use: this"
              tools: ["Read"]
            3:17 warning[broken-yaml] the description is not valid YAML: an unquoted value has `: ` in it; quote it: description: "Use: this"
        "#]],
    );
}

#[test]
fn a_comment_sign_on_the_last_line_does_not_cut() {
    check(
        ".claude/agents/a.md",
        r#"---
name: a
description: Fix first
  then # second line
tools: Read
---
Do it.
"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "Fix first then # second line"
              tools: ["Read"]
            3:14 warning[comment-cut] ` #` cuts the description short in YAML; write description: "Fix first then # second line"
        "#]],
    );
}

#[test]
fn an_indented_block_is_read() {
    check(
        ".claude/agents/a.md",
        r#"---
  name: a
  description: x: y
  tools: Read
---
Do it.
"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "x: y"
              tools: ["Read"]
            3:17 warning[broken-yaml] the description is not valid YAML: an unquoted value has `: ` in it; quote it: description: "x: y"
        "#]],
    );
}

#[test]
fn names_quoted_over_two_lines_are_pointed_at() {
    check(
        ".claude/agents/a.md",
        r#"---
name: a
description: d
tools: "Read,
  Grpe"
---
Do it.
"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              tools: ["Read","Grpe"]
            5:3 error[unknown-tool] tool `Grpe` is not known; did you mean `Grep`?
        "#]],
    );
}

#[test]
fn an_inner_fence_is_not_the_outer_one() {
    check(
        ".claude/agents/a.md",
        r#"```md
---
name: a
description: d
---
Do it:
```
ls
```
"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              prompt: "Do it:\n```\nls\n```"
            1:1 warning[fenced-file] the whole file is inside a code fence; remove the first and the last line
        "#]],
    );
}

#[test]
fn a_quote_that_is_never_closed_is_taken_off() {
    check(
        ".claude/agents/a.md",
        r#"---
name: a
description: "Reviews code
tools: Read
---
Do it.
"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "Reviews code"
              tools: ["Read"]
            3:14 warning[broken-yaml] the description is not valid YAML: unclosed quote; quote it: description: Reviews code
        "#]],
    );
}
