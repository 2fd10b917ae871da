//! Formats hints for a terminal, with the commands to run.

use super::Hint;
use crate::shell::quoted;

/// Returns a command with a query, which may begin with a minus.
pub fn with_query(command: &str, query: &str) -> String {
    let ends_options = if query.starts_with('-') { "-- " } else { "" };
    format!("{command} {ends_options}{}", quoted(query))
}

/// Returns a hint with its count and command.
pub fn line(hint: &Hint) -> String {
    let count = hint.count.map_or_else(String::new, |count| format!(" ({})", count.text()));
    let command = match (&hint.query, &hint.docs) {
        (Some(query), _) => format!(": {}", with_query("codesearch search", query)),
        (None, Some(words)) => format!(": {}", with_query("codesearch docs", words)),
        (None, None) => String::new(),
    };
    format!("{}{count}{command}", hint.message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hints::FileCount;

    #[test]
    fn a_command_can_be_pasted() {
        let search = |query: &str| with_query("codesearch search", query);
        assert_eq!(search("lit:it's( x"), r"codesearch search 'lit:it'\''s( x'");
        assert_eq!(search("-foo bar"), "codesearch search -- '-foo bar'");
        let hint = Hint {
            message: "in any case".to_owned(),
            query: Some("Foo case:no".to_owned()),
            docs: None,
            count: Some(FileCount { files: 2, complete: true }),
        };
        assert_eq!(line(&hint), "in any case (2 files): codesearch search 'Foo case:no'");
    }
}
