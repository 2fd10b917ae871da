//! Prints the rows of an SQL query: as a table, as CSV (<https://www.rfc-editor.org/rfc/rfc4180>), or as JSON lines.

use std::borrow::Cow;
use std::io::{self, Write};

use anyhow::{Result, bail};
use serde_json::Value;
use store::{SqlColumn, SqlKind};

use crate::cli::SqlFormat;
use crate::terminal::escape_controls;

/// Number of rows that determine the widths of a table's columns; later rows are printed as they come.
const MEASURED: usize = 1000;

/// The gap between two columns of a table.
const GAP: &str = "  ";

/// Prints rows.
pub(crate) trait Rows {
    /// Prints a row.
    fn row(&mut self, values: &[Option<&str>]) -> Result<()>;
    /// Prints the end of the output.
    fn end(&mut self) -> Result<()>;
}

/// Returns a printer of rows with these columns.
///
/// # Errors
/// Two columns have the same name, and the format identifies them by it.
pub(crate) fn rows<'w>(
    format: SqlFormat,
    columns: &'w [SqlColumn],
    out: Box<dyn Write + 'w>,
    terminal: bool,
) -> Result<Box<dyn Rows + 'w>> {
    Ok(match format {
        SqlFormat::Table => Box::new(Table { columns, out, widths: Vec::new(), rows: Vec::new() }),
        SqlFormat::Csv => {
            let mut csv = Csv { out, terminal };
            let names: Vec<Option<&str>> = columns.iter().map(|c| Some(c.name.as_str())).collect();
            // A statement without columns has no header.
            if !names.is_empty() {
                csv.row(&names)?;
            }
            Box::new(csv)
        }
        SqlFormat::Json => {
            for (at, column) in columns.iter().enumerate() {
                if columns[..at].iter().any(|other| other.name == column.name) {
                    bail!("two columns are named {:?}; rename one with AS", column.name);
                }
            }
            Box::new(Json { columns, out })
        }
    })
}

struct Table<'w> {
    columns: &'w [SqlColumn],
    out: Box<dyn Write + 'w>,
    /// The widths of the columns; empty until they are known.
    widths: Vec<usize>,
    rows: Vec<Vec<String>>,
}

impl Table<'_> {
    fn line(&mut self, cells: &[String]) -> io::Result<()> {
        let mut line = String::new();
        for (at, (cell, width)) in cells.iter().zip(&self.widths).enumerate() {
            if at > 0 {
                line.push_str(GAP);
            }
            let room = " ".repeat(width.saturating_sub(cell.chars().count()));
            let parts = match self.columns[at].kind {
                SqlKind::Number => [room.as_str(), cell.as_str()],
                _ => [cell.as_str(), room.as_str()],
            };
            line.extend(parts);
        }
        writeln!(self.out, "{}", line.trim_end())
    }

    /// Chooses the widths, and prints the header and the rows gathered so far.
    fn begin(&mut self) -> io::Result<()> {
        let names: Vec<String> =
            self.columns.iter().map(|column| escape_controls(&column.name).into_owned()).collect();
        let rows = std::mem::take(&mut self.rows);
        let width = |at: usize| {
            let cells = rows.iter().map(|row| &row[at]).chain([&names[at]]);
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        };
        self.widths = (0..names.len()).map(width).collect();
        self.line(&names)?;
        let under: Vec<String> = self.widths.iter().map(|width| "-".repeat(*width)).collect();
        self.line(&under)?;
        rows.iter().try_for_each(|row| self.line(row))
    }
}

impl Rows for Table<'_> {
    fn row(&mut self, values: &[Option<&str>]) -> Result<()> {
        // A cell must stay on one line, and must not send control characters to the terminal.
        let cells = values
            .iter()
            .map(|value| escape_controls(value.unwrap_or_default()).replace('\t', "␉"));
        let cells: Vec<String> = cells.collect();
        if !self.widths.is_empty() {
            return Ok(self.line(&cells)?);
        }
        self.rows.push(cells);
        if self.rows.len() == MEASURED { Ok(self.begin()?) } else { Ok(()) }
    }

    fn end(&mut self) -> Result<()> {
        if self.widths.is_empty() && !self.columns.is_empty() {
            self.begin()?;
        }
        Ok(self.out.flush()?)
    }
}

struct Csv<'w> {
    out: Box<dyn Write + 'w>,
    terminal: bool,
}

impl Rows for Csv<'_> {
    fn row(&mut self, values: &[Option<&str>]) -> Result<()> {
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                write!(self.out, ",")?;
            }
            // A null value is empty; an empty text is quoted.
            let Some(value) = value else { continue };
            let value = if self.terminal { escape_controls(value) } else { Cow::Borrowed(*value) };
            if value.is_empty() || value.contains([',', '"', '\n', '\r']) {
                write!(self.out, "\"{}\"", value.replace('"', "\"\""))?;
            } else {
                write!(self.out, "{value}")?;
            }
        }
        Ok(writeln!(self.out)?)
    }

    fn end(&mut self) -> Result<()> {
        Ok(self.out.flush()?)
    }
}

struct Json<'w> {
    columns: &'w [SqlColumn],
    out: Box<dyn Write + 'w>,
}

impl Rows for Json<'_> {
    fn row(&mut self, values: &[Option<&str>]) -> Result<()> {
        let mut line = String::from("{");
        for (at, (column, value)) in self.columns.iter().zip(values).enumerate() {
            if at > 0 {
                line.push(',');
            }
            line.push_str(&quoted(&column.name));
            line.push(':');
            line.push_str(&json_value(column.kind, *value));
        }
        line.push('}');
        Ok(writeln!(self.out, "{line}")?)
    }

    fn end(&mut self) -> Result<()> {
        Ok(self.out.flush()?)
    }
}

/// Formats a value as JSON.
fn json_value(kind: SqlKind, value: Option<&str>) -> String {
    let Some(value) = value else { return "null".to_owned() };
    match kind {
        SqlKind::Boolean => (value == "t").to_string(),
        // JSON has no NaN and Infinity.
        SqlKind::Number if value.contains(|c: char| c.is_ascii_alphabetic() && c != 'e') => {
            quoted(value)
        }
        SqlKind::Number => value.to_owned(),
        SqlKind::Json => match serde_json::from_str::<Value>(value) {
            Ok(json) => escaped(&json.to_string()),
            Err(_) => quoted(value),
        },
        SqlKind::Text => quoted(value),
    }
}

/// Formats a text as JSON.
fn quoted(text: &str) -> String {
    escaped(&Value::from(text).to_string())
}

/// Escapes control characters that JSON allows but some terminals obey.
fn escaped(json: &str) -> String {
    let is_control = |c: char| matches!(c, '\u{7f}'..='\u{9f}');
    if !json.contains(is_control) {
        return json.to_owned();
    }
    let escape = |c: char| {
        if is_control(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() }
    };
    json.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    #[derive(Clone, Default)]
    struct Shared(Rc<RefCell<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn printed(format: SqlFormat, terminal: bool, table: &[&[Option<&str>]]) -> String {
        let column = |name: &str, kind| SqlColumn { name: name.to_owned(), kind };
        let columns = [
            column("n", SqlKind::Number),
            column("a text", SqlKind::Text),
            column("ok", SqlKind::Boolean),
            column("j", SqlKind::Json),
        ];
        let out = Shared::default();
        {
            let mut rows = rows(format, &columns, Box::new(out.clone()), terminal).unwrap();
            for row in table {
                rows.row(row).unwrap();
            }
            rows.end().unwrap();
        }
        let bytes = out.0.borrow().clone();
        String::from_utf8(bytes).unwrap()
    }

    const TABLE: &[&[Option<&str>]] = &[
        &[Some("1"), Some("x,\"y\"\n\u{1b}[2J\u{9b}"), Some("t"), Some("{\"a\": [1,\n 2]}")],
        &[Some("-1.5e10"), Some(""), None, None],
        &[Some("NaN"), None, Some("f"), Some("\"\u{7f}\"")],
    ];

    #[test]
    fn a_table_has_a_line_for_each_row_and_says_nothing_to_the_terminal() {
        let expected = "\
            \x20     n  a text          ok  j\n\
            -------  --------------  --  -------------\n\
            \x20     1  x,\"y\"␊␛[2J\u{fffd}    t   {\"a\": [1,␊ 2]}\n";
        let table = printed(SqlFormat::Table, false, &TABLE[..1]);
        let words = |text: &str| -> Vec<String> {
            text.split_whitespace().map(str::to_owned).filter(|w| !w.starts_with('-')).collect()
        };
        assert_eq!(words(&table), words(expected), "{table}");
        assert_eq!(printed(SqlFormat::Table, true, TABLE).lines().count(), 2 + TABLE.len());
        assert!(!printed(SqlFormat::Table, true, TABLE).contains(['\u{1b}', '\u{9b}', '\u{7f}']));
        let many: Vec<&[Option<&str>]> = vec![TABLE[0]; MEASURED * 2 + 1];
        assert_eq!(printed(SqlFormat::Table, true, &many).lines().count(), 2 + many.len());
    }

    #[test]
    fn csv_keeps_every_character_but_on_a_terminal() {
        assert_eq!(
            printed(SqlFormat::Csv, false, TABLE),
            "n,a text,ok,j\n1,\"x,\"\"y\"\"\n\u{1b}[2J\u{9b}\",t,\"{\"\"a\"\": [1,\n 2]}\"\n-1.5e10,\"\",,\n\
             NaN,,f,\"\"\"\u{7f}\"\"\"\n"
        );
        assert!(!printed(SqlFormat::Csv, true, TABLE).contains(['\u{1b}', '\u{9b}', '\u{7f}']));
    }

    #[test]
    fn json_has_an_object_for_each_row() {
        assert_eq!(
            printed(SqlFormat::Json, true, TABLE),
            "{\"n\":1,\"a text\":\"x,\\\"y\\\"\\n\\u001b[2J\\u009b\",\"ok\":true,\"j\":{\"a\":[1,2]}}\n\
             {\"n\":-1.5e10,\"a text\":\"\",\"ok\":null,\"j\":null}\n\
             {\"n\":\"NaN\",\"a text\":null,\"ok\":false,\"j\":\"\\u007f\"}\n"
        );
        let twice = [0, 0].map(|_| SqlColumn { name: "x".to_owned(), kind: SqlKind::Text });
        let refused = rows(SqlFormat::Json, &twice, Box::new(io::sink()), false).err().unwrap();
        assert!(refused.to_string().contains("with AS"), "{refused}");
    }
}
