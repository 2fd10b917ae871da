//! The rule by which a search is followed by an answer in words: only if its query has nothing but words, and finds few
//! files or none.

use search::ask::Asked;
use search::{Request, Stats};

use crate::human::count;
use crate::notes::missing;
use crate::{AskOptions, Client, Options, Refused, ask};
use search::ask::AskRequest;

/// A search that finds so many files is not followed by others.
pub const FEW: usize = 3;

/// Returns the question that follows a search; `None` if none does. `query` is the query as typed, without its options.
///
/// # Errors
/// Those of [`ask`].
pub fn after(
    query: &str,
    options: &Options,
    (request, stats): (&Request, &Stats),
    client: &Client,
) -> Result<Option<AskRequest>, Refused> {
    let is_first = request.resume.is_none();
    let follows =
        is_first && stats.stopped.is_none() && stats.files < FEW && query::is_only_words(query);
    if !follows {
        return Ok(None);
    }
    let options = AskOptions {
        repos: options.repos.clone(),
        files: options.files.clone(),
        languages: options.languages.clone(),
        timeout: request.timeout,
        ..AskOptions::default()
    };
    // A query of signs has no word.
    ask(query, &options, client).map(Some)
}

/// Removes the files that a search has found from the answer that follows it.
pub fn without<'a>(asked: &mut Asked, found: impl Iterator<Item = (&'a str, &'a str)>) {
    let found: Vec<(&str, &str)> = found.collect();
    asked.files.retain(|one| !found.contains(&(&*one.file.repo, &*one.file.path)));
}

/// Returns why files are ranked by words, and what was not asked, without a full stop, after a search that found `files`. Files
/// with all words that the search did not find have them in another case or form, or where the query does not look.
pub fn why(files: usize, asked: &Asked) -> String {
    let all = asked.matched_all > files;
    let has = if files == 1 { "has" } else { "have" };
    let why = match (files, all) {
        (0, false) => "no file has all of these words; ranked by words".to_owned(),
        (0, true) => "no file has these words exactly as typed; ranked by words".to_owned(),
        (_, false) => {
            let only = count(files, "file");
            format!("only {only} {has} all of these words; others, ranked by words")
        }
        (_, true) => {
            let only = count(files, "file");
            format!("only {only} {has} these words exactly as typed; others, ranked by words")
        }
    };
    match missing(&asked.stats.shown_missing()) {
        Some(missing) => format!("{why}; {missing}"),
        None => why,
    }
}
