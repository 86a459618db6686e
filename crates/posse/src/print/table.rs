//! Columns that line up, the last one cut to the width of the terminal.

use anstyle::Style;
use posse_core::text::{one_line, visible};
use unicode_width::UnicodeWidthStr;

use super::{DIM, styled};

/// Rows of cells, each with its style.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<(String, Style)>>,
}

/// The narrowest the last column is cut to.
const LAST_COLUMN_MIN: usize = 20;

impl Table {
    /// A table with a heading line.
    pub fn new(heading: &[&str]) -> Table {
        Table { rows: vec![heading.iter().map(|cell| ((*cell).to_owned(), DIM)).collect()] }
    }

    /// Adds a row; every cell becomes one line without anything invisible.
    pub fn row(&mut self, cells: Vec<(String, Style)>) {
        let clean = |(text, style): (String, Style)| (visible(&one_line(&text, usize::MAX)), style);
        self.rows.push(cells.into_iter().map(clean).collect());
    }

    /// The lines; `width` of a terminal cuts the last column.
    pub fn render(&self, width: Option<usize>) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|(text, _)| text.width())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(widest).collect();
        let before_last: usize = widths.iter().take(columns.saturating_sub(1)).map(|width| width + 2).sum();
        let last_max =
            width.map_or(usize::MAX, |width| width.saturating_sub(before_last).max(LAST_COLUMN_MIN));
        let mut out = String::new();
        for row in &self.rows {
            for (column, (text, style)) in row.iter().enumerate() {
                let last = column + 1 == row.len();
                let text = if last { one_line(text, last_max) } else { text.clone() };
                out.push_str(&styled(*style, &text));
                if !last {
                    out.extend(std::iter::repeat_n(' ', widths[column].saturating_sub(text.width()) + 2));
                }
            }
            out.push('\n');
        }
        out
    }
}
