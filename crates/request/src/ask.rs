//! Builds a question in words: its files are named by options alone, since all of the question is words.

use std::sync::Arc;
use std::time::Duration;

use query::{Case, Count, Query, written};
use search::ask::{AskRequest, MAX_FILES, USUAL_FILES, USUAL_LINES};

use super::build::{build, parse};
use super::client::Client;
use super::options::Options;
use super::refused::{Refused, option};

/// Maximum number of lines of a file.
pub const MAX_LINES: usize = 50;

/// The options of a question.
#[derive(Clone, Debug, Default)]
pub struct AskOptions {
    /// Patterns for names of repositories, of which one must match.
    pub repos: Vec<String>,
    /// Patterns for paths, of which one must match.
    pub files: Vec<String>,
    /// Languages, of which one must be the file's.
    pub languages: Vec<String>,
    /// A branch, a tag or a commit; its trees are asked instead of the main ones.
    pub rev: Option<String>,
    /// A worktree.
    pub worktree: Option<String>,
    /// Maximum number of files: from 1 to [`MAX_FILES`].
    pub limit: Option<usize>,
    /// Maximum number of lines of a file: up to [`MAX_LINES`].
    pub lines: Option<usize>,
    /// Timeout.
    pub timeout: Option<Duration>,
    /// Whether to read every stored text instead of the index of words.
    pub brute: bool,
}

/// Builds a question.
///
/// # Errors
/// [`Refused::Option`] for an invalid pattern, an unknown language, or a number that is too large.
pub fn ask(question: &str, options: &AskOptions, client: &Client) -> Result<AskRequest, Refused> {
    let limit = options.limit.unwrap_or(USUAL_FILES);
    if !(1..=MAX_FILES).contains(&limit) {
        return Err(option("limit", &format!("give a number of files from 1 to {MAX_FILES}")));
    }
    let lines = options.lines.unwrap_or(USUAL_LINES);
    if lines > MAX_LINES {
        return Err(option("lines", &format!("give a number of lines up to {MAX_LINES}")));
    }
    let of_files = Options {
        limit: Some(Count::Most(MAX_FILES)),
        timeout: options.timeout,
        repos: options.repos.clone(),
        files: options.files.clone(),
        languages: options.languages.clone(),
        brute: options.brute,
        case: Case::Smart,
        ..Options::default()
    };
    let mut query = Query::every_file();
    for (name, value) in [("rev", &options.rev), ("worktree", &options.worktree)] {
        if let Some(value) = value {
            let of_tree = parse(&written(name, value), &of_files, client)
                .map_err(|why| option(name, &why))?;
            query = query.and(of_tree.tree);
        }
    }
    let mut among = build(query, &of_files, client)?;
    // Files that were left out cannot be ranked.
    among.skipped = false;
    Ok(AskRequest {
        question: question.trim().to_owned(),
        among: Arc::new(among),
        limit,
        lines,
        current: None,
        checks_disk: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(options: &AskOptions) -> String {
        match ask("why not a:b?", options, &Client::PROGRAM) {
            Ok(asked) => {
                let query = asked.among.query().tree.to_string();
                format!("{} [{query}] {}", asked.question, asked.limit)
            }
            Err(refused) => refused.to_string(),
        }
    }

    #[test]
    fn all_of_a_question_is_words_and_options_name_files() {
        let none = AskOptions::default();
        let all = Query::every_file().tree.to_string();
        assert_eq!(told(&none), format!("why not a:b? [{all}] 10"));
        let some = AskOptions {
            repos: vec!["x".to_owned()],
            languages: vec!["go".to_owned()],
            rev: Some("v1".to_owned()),
            limit: Some(3),
            ..AskOptions::default()
        };
        let told_some = told(&some);
        assert!(told_some.contains("rev:v1") && told_some.contains("lang:go"), "{told_some}");
        let wrong = AskOptions { limit: Some(101), ..AskOptions::default() };
        assert_eq!(told(&wrong), "limit: give a number of files from 1 to 100");
        let wrong = AskOptions { lines: Some(51), ..AskOptions::default() };
        assert_eq!(told(&wrong), "lines: give a number of lines up to 50");
        let wrong = AskOptions { languages: vec!["klingon".to_owned()], ..AskOptions::default() };
        assert!(told(&wrong).starts_with("lang: "), "{}", told(&wrong));
        let wrong = AskOptions { files: vec!["(".to_owned()], ..AskOptions::default() };
        assert!(told(&wrong).starts_with("file: "), "{}", told(&wrong));
    }
}
