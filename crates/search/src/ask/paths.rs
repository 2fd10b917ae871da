//! The files whose paths have all words of a question. They are candidates whatever their texts have: nothing in
//! `auth/middleware.go` need say so.

use std::collections::HashMap;
use std::sync::Arc;

use answer::FileMatch;
use query::{Case, Field, Pattern, Tree};
use store::{BlobId, ShardId, Switch};
use tokio::sync::mpsc;
use words::{QuestionWord, Role, Word};

use crate::missing::Missing;
use crate::order;
use crate::stats::Stopped;
use crate::types::{Error, Request, Resume};
use crate::view::View;

/// Maximum number of files: those that come first in the order of a search.
const MOST: usize = 200;

/// Maximum number of words: no path has more.
const MOST_WORDS: usize = 8;

/// Minimum number of letters of a word that are looked up, of one of the words at least.
const INDEXED: usize = 3;

/// Batches of files that wait to be counted.
const WAITING: usize = 16;

/// The files whose paths have all words.
#[derive(Default)]
pub(super) struct Named {
    /// Their texts, with the number of these files, by shard.
    pub(super) texts: HashMap<ShardId, HashMap<BlobId, usize>>,
    /// Why there may be more that could not be looked up.
    pub(super) stopped: Option<Stopped>,
    /// What could not be looked up.
    pub(super) missing: Missing,
}

/// Returns the files, of those that `among` chooses, whose paths have all words.
///
/// # Errors
/// The database query fails.
pub(super) async fn named(
    view: &View,
    among: &Request,
    words: &[QuestionWord],
    switch: Switch,
) -> Result<Named, Error> {
    let mut named = Named::default();
    let wanted = wanted(words);
    let Some(paths) = beginning(&wanted)? else { return Ok(named) };
    let query = among.query().clone().and(paths);
    let mut request = Request::new(&query)?.alone(MOST, view.time_for(among.timeout));
    request.brute = among.brute;
    request.resume = Some(Resume::start(switch, order::hash(request.compiled_query())));
    let (request, (send, mut found)) =
        (Arc::new(request), mpsc::channel::<Vec<FileMatch>>(WAITING));
    let counting = async {
        while let Some(files) = found.recv().await {
            for file in files.iter().filter(|file| has_all(&file.path, &wanted)) {
                let (shard, blob) = file.blob_key;
                *named.texts.entry(shard).or_default().entry(blob).or_default() += 1;
            }
        }
    };
    let (stats, ()) = tokio::join!(view.search_plain(&request, send), counting);
    let stats = stats?;
    named.stopped = stats.stopped.filter(|why| !matches!(why, Stopped::Limit));
    named.missing = stats.missing;
    Ok(named)
}

/// Returns the words that a path must have: the parts of identifiers, and no stop words; none if they are too many.
fn wanted(words: &[QuestionWord]) -> Vec<&QuestionWord> {
    let counts =
        |word: &&QuestionWord| word.weight >= 1.0 && matches!(word.role, Role::Plain | Role::Part);
    let wanted: Vec<&QuestionWord> = words.iter().filter(counts).collect();
    if wanted.len() > MOST_WORDS { Vec::new() } else { wanted }
}

/// Returns the condition that a path has the beginnings of words, which their forms have in common; `None` if no index helps
/// to find such paths.
fn beginning(words: &[&QuestionWord]) -> Result<Option<Tree>, Error> {
    let mut all = Vec::with_capacity(words.len());
    let mut longest = 0;
    for word in words {
        let same = word.text.chars().zip(word.stem.chars()).take_while(|(a, b)| a == b);
        let begins: String = same.map(|(letter, _)| letter).collect();
        longest = longest.max(begins.chars().count());
        if !begins.is_empty() {
            let pattern = Pattern::literal(&begins, Case::Insensitive)?;
            all.push(Tree::term(Field::Path, pattern));
        }
    }
    Ok((longest >= INDEXED).then(|| Tree::all(all)))
}

fn has_all(path: &str, words: &[&QuestionWord]) -> bool {
    let mut here: Vec<Word> = Vec::new();
    words::tokens(path, &mut |_, word| here.push(word));
    words.iter().all(|word| here.contains(&word.word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_all_words_in_any_form() {
        for (question, path, expected) in [
            ("validators of policies", "src/policy/validating.py", true),
            ("validators of policies", "src/policy/check.py", false),
            ("readFile", "fs/read_file.rs", true),
            ("how is it used", "used.rs", true),
            ("read the file of the one", "READ-file.md", true),
            ("配置重试", "文档/配置重试.md", true),
            ("配置重试", "文档/配置.md", false),
        ] {
            let words = words::question(question);
            assert_eq!(has_all(path, &wanted(&words)), expected, "{question} {path}");
        }
    }

    #[test]
    fn few_and_long_words_are_looked_up_in_paths() {
        let looks = |question: &str| {
            let words = words::question(question);
            beginning(&wanted(&words)).unwrap().is_some()
        };
        assert!(looks("rate limit") && looks("auth") && looks("the ui of auth"));
        // `dying` is a form of `die`, and no index knows two letters.
        assert!(!looks("dying ui") && !looks("ui") && !looks("a b c d"));
        assert!(!looks("one1 two2 three3 four4 five5 six6 seven7 eight8 nine9 ten10"));
    }
}
