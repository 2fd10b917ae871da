//! A table as a picture (SVG): each number has a bar, scaled to the largest number of its column.

use std::fmt::Write as _;

use super::table::Table;

/// Pixels of a row, of a letter, and of the longest bar.
const ROW: usize = 22;
const LETTER: usize = 8;
const BAR: usize = 90;

/// Draws the picture; `None` for a table without numbers.
pub(crate) fn bars(table: &Table) -> Option<String> {
    let columns: Vec<Column> = (0..table.columns.len()).map(|at| Column::of(table, at)).collect();
    if columns.iter().all(|column| column.largest <= 0.0) {
        return None;
    }
    let width = columns.iter().map(Column::width).sum::<usize>() + 2 * LETTER;
    let width = width.max((table.title.chars().count() + 2) * LETTER);
    let height = (table.rows.len() + 2) * ROW + ROW / 2;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let mut text = |x: usize, row: usize, weight: &str, text: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{}\" font-weight=\"{weight}\">{}</text>",
            (row + 1) * ROW - 6,
            escaped(text)
        );
    };
    text(LETTER, 0, "bold", &table.title);
    let mut x = LETTER;
    let mut rects = String::new();
    for (column, at) in columns.iter().zip(0..) {
        text(x, 1, "bold", &table.columns[at]);
        for (row, cells) in table.rows.iter().enumerate() {
            text(x, row + 2, "normal", &cells[at]);
            if let Some(number) = number(&cells[at]).filter(|_| at > 0 && column.largest > 0.0) {
                let _ = writeln!(
                    rects,
                    "<rect x=\"{}\" y=\"{}\" width=\"{:.1}\" height=\"{}\" fill=\"#1f77b4\"/>",
                    x + column.letters * LETTER,
                    (row + 2) * ROW + 5,
                    number / column.largest * BAR as f64,
                    ROW - 10
                );
            }
        }
        x += column.width();
    }
    svg.push_str(&rects);
    svg.push_str("</svg>\n");
    Some(svg)
}

struct Column {
    letters: usize,
    /// The largest number in it; 0 in the column of names.
    largest: f64,
}

impl Column {
    fn of(table: &Table, at: usize) -> Self {
        let cells = table.rows.iter().filter_map(|row| row.get(at));
        let letters = cells.clone().chain(table.columns.get(at)).map(|cell| cell.chars().count());
        let largest = cells.filter_map(|cell| number(cell)).fold(0.0, f64::max);
        Self { letters: letters.max().unwrap_or(0), largest: if at == 0 { 0.0 } else { largest } }
    }

    fn width(&self) -> usize {
        let bar = if self.largest > 0.0 { BAR + LETTER } else { 0 };
        (self.letters + 1) * LETTER + bar
    }
}

/// Returns the number that a cell consists of or begins with: `68.0 %`.
fn number(cell: &str) -> Option<f64> {
    cell.split(' ').next()?.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
