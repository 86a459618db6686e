//! What `NotebookEdit` changes, and what it leaves as it is.

use std::fs;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::super::tests::Room;

/// As Jupyter writes it, with numbers that another writer would spell otherwise.
const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "title",
   "metadata": {},
   "source": [
    "# Über"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "sum",
   "metadata": {"z": 1e-05, "a": 1.50},
   "outputs": [
    {
     "data": {"x": 1E3}
    }
   ],
   "source": [
    "1 + 1\n",
    "2"
   ]
  }
 ],
 "metadata": {"version": 1.10},
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

#[allow(clippy::needless_pass_by_value)]
fn check_in(before: &str, mut input: Value, expected: Expect) {
    let room = Room::with(&[("a.ipynb", before)]);
    room.call("Read", &json!({ "file_path": "a.ipynb" }));
    input["notebook_path"] = "a.ipynb".into();
    let output = room.call("NotebookEdit", &input);
    let after = fs::read_to_string(room.path("a.ipynb")).unwrap();
    let kind = if output.is_error { "error: " } else { "" };
    let diff = output.diff.unwrap_or_default();
    expected.assert_eq(&format!("{kind}{}\n{diff}", output.text));
    if output.is_error {
        assert_eq!(after, before);
    } else {
        serde_json::from_str::<Value>(&after).unwrap();
    }
}

fn check(input: Value, expected: Expect) {
    check_in(NOTEBOOK, input, expected);
}

#[test]
fn what_cannot_be_edited_is_said() {
    let room = Room::with(&[("a.ipynb", NOTEBOOK)]);
    let input = json!({ "notebook_path": "a.ipynb", "cell_id": "sum", "new_source": "x" });
    let expected =
        expect!["error: `a.ipynb` has not been read since this run began or was resumed; Read it first"];
    room.check("NotebookEdit", input, expected);
    let expected = expect!["error: `b.ipynb` does not exist; Write makes a new notebook"];
    room.check("NotebookEdit", json!({ "notebook_path": "b.ipynb", "new_source": "x" }), expected);
    check(
        json!({ "new_source": "x" }),
        expect![[r#"
            error: `a.ipynb`: cell_id is needed; its cells are title, sum
        "#]],
    );
    check(
        json!({ "cell_id": "nope", "new_source": "x" }),
        expect![[r#"
            error: `a.ipynb`: there is no cell `nope`; its cells are title, sum
        "#]],
    );
    check(
        json!({ "cell_id": "cell-2", "new_source": "x", "edit_mode": "delete" }),
        expect![[r#"
            error: `a.ipynb`: there is no cell `cell-2`; its cells are title, sum
        "#]],
    );
    check(
        json!({ "new_source": "x", "edit_mode": "insert" }),
        expect![[r#"
            error: `a.ipynb`: cell_type is needed to insert a cell: code or markdown
        "#]],
    );
    check_in(
        "{}",
        json!({ "new_source": "x" }),
        expect![[r#"
            error: `a.ipynb` is not a notebook: missing field `cells` at line 1 column 2
        "#]],
    );
    check_in(
        r#"{"cells": [1]}"#,
        json!({ "new_source": "x" }),
        expect![[r#"
            error: `a.ipynb` is not a notebook: a cell is not an object
        "#]],
    );
}

#[test]
fn only_the_cell_changes() {
    check(
        json!({ "cell_id": "sum", "new_source": "3\n4\n" }),
        expect![[r#"
            replaced cell `sum` of `a.ipynb`
            --- a/a.ipynb
            +++ b/a.ipynb
            @@ -10,17 +10,13 @@
               },
               {
                "cell_type": "code",
            -   "execution_count": 3,
            +   "execution_count": null,
                "id": "sum",
                "metadata": {"z": 1e-05, "a": 1.50},
            -   "outputs": [
            -    {
            -     "data": {"x": 1E3}
            -    }
            -   ],
            +   "outputs": [],
                "source": [
            -    "1 + 1\n",
            -    "2"
            +    "3\n",
            +    "4\n"
                ]
               }
              ],
        "#]],
    );
    check(
        json!({ "cell_id": "cell-0", "new_source": "x = 1", "cell_type": "code" }),
        expect![[r##"
        replaced cell `cell-0` of `a.ipynb`
        --- a/a.ipynb
        +++ b/a.ipynb
        @@ -1,12 +1,14 @@
         {
          "cells": [
           {
        -   "cell_type": "markdown",
        +   "cell_type": "code",
            "id": "title",
            "metadata": {},
            "source": [
        -    "# Über"
        -   ]
        +    "x = 1"
        +   ],
        +   "execution_count": null,
        +   "outputs": []
           },
           {
            "cell_type": "code",
    "##]],
    );
}

#[test]
fn a_cell_is_put_after_another_or_first() {
    check(
        json!({ "cell_id": "title", "new_source": "new", "cell_type": "code", "edit_mode": "insert" }),
        expect![[r#"
            inserted a cell after `title` of `a.ipynb`
            --- a/a.ipynb
            +++ b/a.ipynb
            @@ -10,6 +10,16 @@
               },
               {
                "cell_type": "code",
            +   "execution_count": null,
            +   "id": "8aff916b",
            +   "metadata": {},
            +   "outputs": [],
            +   "source": [
            +    "new"
            +   ]
            +  },
            +  {
            +   "cell_type": "code",
                "execution_count": 3,
                "id": "sum",
                "metadata": {"z": 1e-05, "a": 1.50},
        "#]],
    );
    check(
        json!({ "new_source": "new", "cell_type": "markdown", "edit_mode": "insert" }),
        expect![[r#"
        inserted the first cell of `a.ipynb`
        --- a/a.ipynb
        +++ b/a.ipynb
        @@ -2,6 +2,14 @@
          "cells": [
           {
            "cell_type": "markdown",
        +   "id": "8aff916b",
        +   "metadata": {},
        +   "source": [
        +    "new"
        +   ]
        +  },
        +  {
        +   "cell_type": "markdown",
            "id": "title",
            "metadata": {},
            "source": [
    "#]],
    );
    check_in(
        "{\"cells\": [], \"nbformat\": 4, \"nbformat_minor\": 4}\n",
        json!({ "new_source": "new", "cell_type": "markdown", "edit_mode": "insert" }),
        expect![[r#"
            inserted the first cell of `a.ipynb`
            --- a/a.ipynb
            +++ b/a.ipynb
            @@ -1 +1,9 @@
            -{"cells": [], "nbformat": 4, "nbformat_minor": 4}
            +{"cells": [
            +  {
            +   "cell_type": "markdown",
            +   "metadata": {},
            +   "source": [
            +    "new"
            +   ]
            +  }
            + ], "nbformat": 4, "nbformat_minor": 4}
        "#]],
    );
}

#[test]
fn a_cell_is_deleted_with_its_comma() {
    check(
        json!({ "cell_id": "title", "new_source": "", "edit_mode": "delete" }),
        expect![[r##"
        deleted cell `title` of `a.ipynb`
        --- a/a.ipynb
        +++ b/a.ipynb
        @@ -1,14 +1,6 @@
         {
          "cells": [
           {
        -   "cell_type": "markdown",
        -   "id": "title",
        -   "metadata": {},
        -   "source": [
        -    "# Über"
        -   ]
        -  },
        -  {
            "cell_type": "code",
            "execution_count": 3,
            "id": "sum",
    "##]],
    );
    check(
        json!({ "cell_id": "sum", "new_source": "", "edit_mode": "delete" }),
        expect![[r##"
        deleted cell `sum` of `a.ipynb`
        --- a/a.ipynb
        +++ b/a.ipynb
        @@ -7,21 +7,6 @@
            "source": [
             "# Über"
            ]
        -  },
        -  {
        -   "cell_type": "code",
        -   "execution_count": 3,
        -   "id": "sum",
        -   "metadata": {"z": 1e-05, "a": 1.50},
        -   "outputs": [
        -    {
        -     "data": {"x": 1E3}
        -    }
        -   ],
        -   "source": [
        -    "1 + 1\n",
        -    "2"
        -   ]
           }
          ],
          "metadata": {"version": 1.10},
    "##]],
    );
    check_in(
        r#"{"cells": [{"cell_type": "raw", "source": "x"}]}"#,
        json!({ "cell_id": "cell-0", "new_source": "", "edit_mode": "delete" }),
        expect![[r#"
            deleted cell `cell-0` of `a.ipynb`
            --- a/a.ipynb
            +++ b/a.ipynb
            @@ -1 +1 @@
            -{"cells": [{"cell_type": "raw", "source": "x"}]}
            \ No newline at end of file
            +{"cells": []}
            \ No newline at end of file
        "#]],
    );
}

#[test]
fn a_compact_notebook_stays_on_its_line() {
    check_in(
        r#"{"cells": [{"cell_type": "raw", "source": "x"}]}"#,
        json!({ "cell_id": "cell-0", "new_source": "y" }),
        expect![[r#"
            replaced cell `cell-0` of `a.ipynb`
            --- a/a.ipynb
            +++ b/a.ipynb
            @@ -1 +1 @@
            -{"cells": [{"cell_type": "raw", "source": "x"}]}
            \ No newline at end of file
            +{"cells": [{"cell_type": "raw", "source": "y"}]}
            \ No newline at end of file
        "#]],
    );
}
