//! Text for a shell.

/// Quotes a text as one argument.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
