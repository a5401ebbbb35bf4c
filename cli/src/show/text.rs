//! Tables and paragraphs that fit the width.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use model::MicroUsd;

use crate::output::{Out, Paint, WIDTH};

/// Hours in an average month, as AWS bills are estimated.
pub const HOURS_A_MONTH: u64 = 730;

/// Which way a column leans.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Writes a table without borders, its last columns wrapped where they must be.
pub fn table(out: &mut Out, columns: &[(&str, Align)], rows: Vec<Vec<String>>) -> miette::Result<()> {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .force_no_tty()
        .set_width(WIDTH as u16)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(columns.iter().map(|(name, _)| *name));
    table.add_rows(rows);
    for (column, (_, align)) in table.column_iter_mut().zip(columns) {
        column.set_padding((0, 2));
        column.set_cell_alignment(match align {
            Align::Left => CellAlignment::Left,
            Align::Right => CellAlignment::Right,
        });
    }
    for (index, line) in table.lines().enumerate() {
        let line = line.trim_end();
        let line = if index == 0 { out.paint(Paint::Dim, line) } else { line.to_owned() };
        out.line(line)?;
    }
    Ok(())
}

/// Writes a paragraph, each line `indent` columns in.
pub fn paragraph(out: &mut Out, indent: usize, text: &str) -> miette::Result<()> {
    for line in wrap(text, WIDTH - indent) {
        out.line(format!("{:indent$}{line}", ""))?;
    }
    Ok(())
}

/// Writes an entry of a list: what follows its first line is `indent` columns in.
pub fn item(out: &mut Out, indent: usize, text: &str) -> miette::Result<()> {
    for (index, line) in wrap(text, WIDTH - indent).into_iter().enumerate() {
        let indent = if index == 0 { 0 } else { indent };
        out.line(format!("{:indent$}{line}", ""))?;
    }
    Ok(())
}

/// `text` in lines of at most `width` characters, broken at spaces where there are any.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let mut rest: Vec<char> = word.chars().collect();
        if length > 0 && length + 1 + rest.len() > width {
            lines.push(std::mem::take(&mut line));
            length = 0;
        }
        while rest.len() > width {
            let tail = rest.split_off(width);
            lines.push(rest.into_iter().collect());
            rest = tail;
        }
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        length += rest.len();
        line.extend(rest);
    }
    if length > 0 {
        lines.push(line);
    }
    lines
}

/// A price as people read it: `$1.2345`; exact where so few decimals would make it nothing.
pub fn usd(price: MicroUsd) -> String {
    if price < MicroUsd(100) { format!("${price}") } else { format!("${:.4}", price.usd()) }
}

/// `1 node`, `2 nodes`.
pub fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_long_words_break_anywhere() {
        for (text, width, lines) in [
            ("", 5, vec![]),
            ("one two", 7, vec!["one two"]),
            ("one two", 6, vec!["one", "two"]),
            ("a abcdefgh b", 4, vec!["a", "abcd", "efgh", "b"]),
            ("a abcdefghi b", 4, vec!["a", "abcd", "efgh", "i b"]),
        ] {
            assert_eq!(wrap(text, width), lines, "{text:?} in {width}");
        }
    }
}
