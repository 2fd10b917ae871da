//! Formats hints for a terminal, with the commands to run.

use super::{Hint, Suggested};
use crate::shell::quoted;

/// Returns the command that runs the suggested query.
pub(crate) fn command(suggested: &Suggested) -> String {
    match &suggested.text {
        Some(text) => with_query("codesearch search -F", text),
        None => with_query("codesearch search", &suggested.query),
    }
}

/// Returns a command with a query, which may begin with a minus.
fn with_query(command: &str, query: &str) -> String {
    let ends_options = if query.starts_with('-') { "-- " } else { "" };
    format!("{command} {ends_options}{}", quoted(query))
}

/// Returns a hint with its count and command.
pub(crate) fn line(hint: &Hint) -> String {
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
        let suggested = |query: &str, text: Option<&str>| {
            let text = text.map(str::to_owned);
            command(&Suggested { query: query.to_owned(), text, count: None })
        };
        assert_eq!(suggested("lit:f(", Some("f(")), "codesearch search -F 'f('");
        assert_eq!(suggested("lit:it's( x", None), r"codesearch search 'lit:it'\''s( x'");
        assert_eq!(suggested("-foo bar", None), "codesearch search -- '-foo bar'");
        assert_eq!(suggested("lit:-f(", Some("-f(")), "codesearch search -F -- '-f('");
        let hint = Hint {
            message: "in any case".to_owned(),
            query: Some("Foo case:no".to_owned()),
            docs: None,
            count: Some(FileCount { files: 2, complete: true }),
        };
        assert_eq!(line(&hint), "in any case (2 files): codesearch search 'Foo case:no'");
    }
}
