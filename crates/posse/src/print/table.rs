//! Columns that line up, the last one cut to the width of the terminal.

use anstyle::Style;
use posse_core::text::{one_line, visible_line};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{DIM, styled};

/// Rows of cells, each with its style.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<(String, Style)>>,
}

/// The narrowest the last column is cut to.
const LAST_COLUMN_MIN: usize = 10;
/// How much room the last column should have before other columns are left out for it.
const LAST_COLUMN_WANTED: usize = 30;
/// The widest any other cell is shown.
const CELL_MAX: usize = 40;

impl Table {
    /// A table with a heading line.
    pub fn new(heading: &[&str]) -> Table {
        Table { rows: vec![heading.iter().map(|cell| ((*cell).to_owned(), DIM)).collect()] }
    }

    /// Adds a row; every cell becomes one line without anything invisible.
    pub fn row(&mut self, cells: Vec<(String, Style)>) {
        let clean = |(text, style): (String, Style)| (visible_line(&one_line(&text, usize::MAX)), style);
        self.rows.push(cells.into_iter().map(clean).collect());
    }

    /// The lines; on a terminal of `width`, columns are left out and the last one is cut until it fits.
    pub fn render(&self, width: Option<usize>) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|(text, _)| text.width().min(CELL_MAX)).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(widest).collect();
        let shown = self.shown_columns(&widths, width);
        let before_last: usize = shown.iter().rev().skip(1).map(|column| widths[*column] + 2).sum();
        let last_max =
            width.map_or(usize::MAX, |width| width.saturating_sub(before_last).max(LAST_COLUMN_MIN));
        let mut out = String::new();
        for row in &self.rows {
            for column in &shown {
                let Some((text, style)) = row.get(*column) else { continue };
                let last = Some(column) == shown.last();
                let text = cut(text, if last { last_max } else { CELL_MAX });
                out.push_str(&styled(*style, &text));
                if !last {
                    out.extend(std::iter::repeat_n(' ', widths[*column].saturating_sub(text.width()) + 2));
                }
            }
            out.push('\n');
        }
        out
    }

    /// The columns that leave the last one room; the first and the last always stay.
    fn shown_columns(&self, widths: &[usize], width: Option<usize>) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..widths.len()).collect();
        let Some(width) = width else { return shown };
        while shown.len() > 2 {
            let taken: usize = shown.iter().rev().skip(1).map(|column| widths[*column] + 2).sum();
            if taken + LAST_COLUMN_WANTED <= width {
                break;
            }
            shown.remove(shown.len() - 2);
        }
        shown
    }
}

/// A text that takes at most `width_max` columns of a terminal, with a mark where it was cut.
fn cut(text: &str, width_max: usize) -> String {
    if text.width() <= width_max {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut taken = 0;
    for character in text.chars() {
        taken += character.width().unwrap_or(0);
        if taken + 1 > width_max {
            break;
        }
        out.push(character);
    }
    out.truncate(out.trim_end().len());
    out.push('…');
    out
}
