//! Pages that are made from the program say what the program says.

use crate::{project, repository};

/// The page of diagnostic codes, as the program explains them.
fn codes_page() -> String {
    let project = project();
    let mut page = String::from(
        "# Diagnostic codes\n\nWhat `posse check --explain CODE` says. This page is made from the program; `UPDATE_EXPECT=1 cargo test` rewrites it.\n",
    );
    for code in posse_core::diagnostic::Code::ALL {
        let explained = project.run(&["check", "--explain", code.as_str()]);
        assert_eq!(explained.code, 0, "{}", code.as_str());
        page +=
            &format!("\n## `{}` ({})\n\n{}\n", code.as_str(), code.severity().as_str(), code.explanation());
    }
    page
}

#[test]
fn the_page_of_codes_is_current() {
    let path = repository().join("docs/reference/diagnostics.md");
    expect_test::expect_file![path].assert_eq(&codes_page());
}
