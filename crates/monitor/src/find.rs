//! Compares the matches of standing queries before and after an epoch.
//!
//! Each changed text is read once for all queries, and most queries are ruled out by the n-grams of the text.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use search::{EpochChanges, FileChange, TextsByPlace, View};
use store::{BlobId, CatalogRepo, FileVersion, Hit, RepoId, ShardId};

use crate::evaluate::{Late, Matches, Side, Text, Work};
use crate::standing::Standing;

/// Changed files, and bytes of their texts, that are read together.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 32 << 20;

/// Longest time for one query's patterns in the changes of one epoch.
const MOST_TIME: Duration = Duration::from_secs(5);

/// Most bytes of a line that are kept. Lines are compared as a whole.
const MAX_LINE: usize = 1000;

/// How many matches are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Most {
    /// The first ones for each query; the others are counted.
    First(usize),
    /// All; the caller takes them after each batch.
    All,
}

/// What a query found in an epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Number of matches that appeared.
    pub appeared: usize,
    /// Number of matches that disappeared.
    pub disappeared: usize,
    /// The matches, by repository and path.
    pub hits: Vec<Hit>,
    /// Number of changed files that could not be looked at, since the query took too long.
    pub late: usize,
}

/// A standing query with the repositories that may be seen.
pub(crate) struct Asked<'q> {
    pub(crate) standing: &'q Standing,
    pub(crate) sees: Box<dyn Fn(&CatalogRepo) -> bool + Send + Sync + 'q>,
}

/// Finds what an epoch changed in the matches of a query, and passes on those of each batch.
///
/// # Errors
/// The database query fails.
pub async fn find(
    view: &View,
    changes: &EpochChanges,
    standing: &Standing,
    mut each: impl FnMut(Found) -> bool + Send,
) -> Result<(), store::Error> {
    let asked = [Asked { standing, sees: Box::new(|_| true) }];
    find_all(view, changes, &asked, Most::All, &mut |mut found| {
        each(found.pop().unwrap_or_default())
    })
    .await
    .map(drop)
}

/// Finds what an epoch changed in the matches of all queries. With [`Most::All`], passes on what each batch found, in the
/// order of the queries, until `each` returns false; else returns it.
pub(crate) async fn find_all(
    view: &View,
    changes: &EpochChanges,
    asked: &[Asked<'_>],
    most: Most,
    each: &mut (dyn FnMut(Vec<Found>) -> bool + Send),
) -> Result<Vec<Found>, store::Error> {
    let none = || asked.iter().map(|_| Found::default()).collect::<Vec<_>>();
    let mut found = none();
    let mut work: Vec<Work> = asked.iter().map(|of| Work::new(of.standing, MOST_TIME)).collect();
    let mut names = Names::new(changes, asked);
    let (mut reading, mut comparing) = (Duration::ZERO, Duration::ZERO);
    let mut files = &changes.files[..];
    while !files.is_empty() {
        let begun = Instant::now();
        let (some, rest) = files.split_at(batch(files));
        files = rest;
        let wanted: Vec<(&FileChange, Vec<usize>)> = some
            .iter()
            .map(|change| (change, names.wanted(change)))
            .filter(|(_, queries)| !queries.is_empty())
            .collect();
        let versions: Vec<&FileVersion> = wanted
            .iter()
            .filter(|(_, queries)| queries.iter().any(|of| asked[*of].standing.reads_text()))
            .flat_map(|(change, _)| change.sides())
            .collect();
        comparing += begun.elapsed();
        let begun = Instant::now();
        let texts = view.texts_of_versions(&versions).await?;
        reading += begun.elapsed();
        let begun = Instant::now();
        // Other tasks of this thread go on elsewhere.
        tokio::task::block_in_place(|| {
            let texts = Texts::new(texts);
            for (change, queries) in wanted {
                let Some(repo) = changes.repos.get(&change.repo()) else { continue };
                for at in queries {
                    let compared = compare(asked[at].standing, change, repo, &texts, &mut work[at]);
                    found[at].add(change, &repo.name, compared, most);
                }
            }
        });
        comparing += begun.elapsed();
        if most == Most::All && !each(std::mem::replace(&mut found, none())) {
            break;
        }
    }
    let files = changes.files.len();
    tracing::debug!("changed files: {files}, texts read in {reading:?}, compared in {comparing:?}");
    Ok(found)
}

/// Returns the number of files of the next batch.
fn batch(files: &[FileChange]) -> usize {
    let mut bytes = 0;
    let fits = |change: &&FileChange| {
        bytes += change.sides().map(|file| file.bytes.unsigned_abs() as usize).sum::<usize>();
        bytes <= BATCH_BYTES
    };
    files.iter().take(BATCH).take_while(fits).count().max(1)
}

/// The names of repositories, and the queries that each concerns.
struct Names<'c> {
    changes: &'c EpochChanges,
    asked: &'c [Asked<'c>],
    of_repos: HashMap<RepoId, Vec<usize>>,
}

impl<'c> Names<'c> {
    fn new(changes: &'c EpochChanges, asked: &'c [Asked<'c>]) -> Self {
        Self { changes, asked, of_repos: HashMap::new() }
    }

    /// Returns the queries that a changed file may match, before or after, as its names tell.
    fn wanted(&mut self, change: &FileChange) -> Vec<usize> {
        let Some(repo) = self.changes.repos.get(&change.repo()) else { return Vec::new() };
        let asked = self.asked;
        let concerned = self.of_repos.entry(change.repo()).or_insert_with(|| {
            let concerns =
                |at: &usize| (asked[*at].sees)(repo) && asked[*at].standing.may_match_in(repo);
            (0..asked.len()).filter(concerns).collect()
        });
        // Most have the same names before and after.
        let is_same = |one: &FileVersion, other: &FileVersion| {
            (&one.path, &one.language) == (&other.path, &other.language)
        };
        let sides = match (&change.old, &change.new) {
            (Some(old), Some(new)) if is_same(old, new) => 1,
            _ => 2,
        };
        let may = |at: &usize| {
            let mut sides = change.sides().take(sides);
            sides.any(|of| asked[*at].standing.may_match(repo, &of.path, of.language.as_deref()))
        };
        concerned.iter().copied().filter(may).collect()
    }
}

/// The texts of a batch.
struct Texts {
    texts: HashMap<(ShardId, BlobId), Text>,
    none: Text,
}

impl Texts {
    fn new(texts: TextsByPlace) -> Self {
        let texts = texts.into_iter().map(|(place, text)| (place, Text::new(text))).collect();
        Self { texts, none: Text::new(String::new()) }
    }

    /// Returns the text of a version; an empty one if no query asks for it.
    fn of(&self, version: &FileVersion) -> &Text {
        self.texts.get(&(version.shard, version.blob)).unwrap_or(&self.none)
    }
}

/// What a query matches in a changed file before and after.
struct Compared {
    old: Option<Matches>,
    new: Option<Matches>,
}

fn compare(
    standing: &Standing,
    change: &FileChange,
    repo: &CatalogRepo,
    texts: &Texts,
    work: &mut Work,
) -> Result<Compared, Late> {
    let mut matches = |version: &Option<FileVersion>| match version {
        None => Ok(None),
        Some(version) => {
            let (path, language) = (version.path.as_str(), version.language.as_deref());
            standing.matches(&Side { repo, path, language, text: texts.of(version) }, work)
        }
    };
    Ok(Compared { old: matches(&change.old)?, new: matches(&change.new)? })
}

impl Found {
    /// Adds what is different between the matches before and after.
    fn add(
        &mut self,
        change: &FileChange,
        repo: &str,
        compared: Result<Compared, Late>,
        most: Most,
    ) {
        let Ok(Compared { old, new }) = compared else {
            self.late += 1;
            return;
        };
        if old.is_none() && new.is_none() {
            return;
        }
        let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
        let (gone, come) = (only_in(&old.lines, &new.lines), only_in(&new.lines, &old.lines));
        let sides = [
            (false, &change.old, gone, old.file && !new.file),
            (true, &change.new, come, new.file && !old.file),
        ];
        for (appeared, version, lines, file) in sides {
            let Some(version) = version else { continue };
            let lines = lines.into_iter().map(|(number, text)| (Some(*number), Some(text)));
            let mut items: Vec<(Option<u32>, Option<&String>)> = lines.collect();
            // Lines say more than that the file matches.
            if items.is_empty() && file {
                items.push((None, None));
            }
            *(if appeared { &mut self.appeared } else { &mut self.disappeared }) += items.len();
            let room = match most {
                Most::All => usize::MAX,
                Most::First(most) => most.saturating_sub(self.hits.len()),
            };
            self.hits.extend(items.into_iter().take(room).map(|(line, text)| Hit {
                appeared,
                repo: version.repo,
                name: repo.to_owned(),
                path: version.path.clone(),
                line,
                text: text.map(|text| query::shortened(text, MAX_LINE).into_owned()),
            }));
        }
    }
}

/// Returns the lines that `other` lacks; of equal lines, the last ones that are too many.
fn only_in<'l>(lines: &'l [(u32, String)], other: &[(u32, String)]) -> Vec<&'l (u32, String)> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for (_, text) in other {
        *counts.entry(text).or_default() += 1;
    }
    let is_only = |(_, text): &&(u32, String)| match counts.get_mut(text.as_str()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    lines.iter().filter(is_only).collect()
}

#[cfg(test)]
mod tests {
    use store::Trees;

    use super::*;

    fn version(path: &str, blob: i32) -> FileVersion {
        FileVersion {
            repo: RepoId(1),
            path: path.to_owned(),
            shard: ShardId(0),
            blob: BlobId(blob),
            bytes: 1,
            language: None,
            trees: Trees(0),
        }
    }

    /// Returns what a query finds in a change of a file, as `-a:1:text`.
    fn told(query: &str, old: Option<(&str, &str)>, new: Option<(&str, &str)>) -> Vec<String> {
        let standing = Standing::new(query).unwrap();
        let texts = [old, new]
            .into_iter()
            .zip([1, 2])
            .filter_map(|(of, blob)| Some(((ShardId(0), BlobId(blob)), of?.1.to_owned())));
        let texts = Texts::new(texts.collect());
        let side = |of: Option<(&str, &str)>, blob| of.map(|(path, _)| version(path, blob));
        let change = FileChange { old: side(old, 1), new: side(new, 2) };
        let mut work = Work::new(&standing, MOST_TIME);
        let compared = compare(&standing, &change, &CatalogRepo::default(), &texts, &mut work);
        let mut found = Found::default();
        found.add(&change, "r", compared, Most::All);
        assert_eq!(found.hits.len(), found.appeared + found.disappeared);
        let told = found.hits.iter().map(|hit| {
            let sign = if hit.appeared { '+' } else { '-' };
            match (&hit.line, &hit.text) {
                (Some(line), Some(text)) => format!("{sign}{}:{line}:{text}", hit.path),
                _ => format!("{sign}{}", hit.path),
            }
        });
        told.collect()
    }

    #[test]
    fn only_lines_that_came_or_went_are_news() {
        let check = |query: &str, old: &str, new: &str, expected: &[&str]| {
            assert_eq!(told(query, Some(("a", old)), Some(("a", new))), expected, "{query}");
        };
        check("x", "x1\ny\n", "y\nx1\n", &[]);
        check("x", "x1\n", "x1\nx2\n", &["+a:2:x2"]);
        check("x", "x1\nx2\n", "0\nx2\n", &["-a:1:x1"]);
        check("x", "x1\n", "x2\n", &["-a:1:x1", "+a:1:x2"]);
        // Equal lines are counted.
        check("x", "x\nx\n", "x\n", &["-a:2:x"]);
        check("x", "x\n", "x\n0\nx\n", &["+a:3:x"]);
        // The condition is about the whole file.
        check("x -y", "x\n", "x\ny\n", &["-a:1:x"]);
        check("x -y", "x\ny\n", "x\n", &["+a:1:x"]);
        check("-y", "y\n", "z\n", &["+a"]);
        check("file:a", "1\n", "2\n", &[]);
        check("x file:a", "1\n", "x\n", &["+a:1:x"]);
        check("a", "1\n", "a2\n", &["+a:1:a2"]);
        check("type:file x", "x1\n", "x2\n", &[]);
        check("type:file x", "y\n", "x\n", &["+a"]);
    }

    #[test]
    fn new_gone_and_renamed_files() {
        assert_eq!(told("x", None, Some(("a", "x\n"))), ["+a:1:x"]);
        assert_eq!(told("x", Some(("a", "x\n")), None), ["-a:1:x"]);
        assert_eq!(told("x file:a", None, Some(("a", "x\n"))), ["+a:1:x"]);
        assert_eq!(told("file:a", None, Some(("a", ""))), ["+a"]);
        assert!(told("x", Some(("a", "x\n")), Some(("b", "x\n"))).is_empty());
        assert_eq!(told("x file:a", Some(("a", "x\n")), Some(("b", "x\n"))), ["-a:1:x"]);
        assert_eq!(told("x file:b", Some(("a", "x\n")), Some(("b", "x\n"))), ["+b:1:x"]);
    }

    #[test]
    fn the_first_matches_are_kept_and_all_are_counted() {
        let standing = Standing::new("x").unwrap();
        let change = FileChange { old: None, new: Some(version("a", 2)) };
        let text = "x\n".repeat(50) + &"x".repeat(3000);
        let texts = Texts::new([((ShardId(0), BlobId(2)), text)].into());
        let mut found = Found::default();
        for _ in 0..2 {
            let mut work = Work::new(&standing, MOST_TIME);
            let compared = compare(&standing, &change, &CatalogRepo::default(), &texts, &mut work);
            found.add(&change, "r", compared, Most::First(60));
        }
        assert_eq!((found.appeared, found.hits.len()), (102, 60));
        let longest = found.hits.iter().filter_map(|hit| hit.text.as_ref()).map(String::len).max();
        assert!(longest.is_some_and(|longest| (900..=1010).contains(&longest)), "{longest:?}");
    }

    #[test]
    fn a_batch_is_bounded() {
        let change =
            |bytes| FileChange { old: None, new: Some(FileVersion { bytes, ..version("a", 1) }) };
        assert_eq!(batch(&vec![change(1); 999]), BATCH);
        assert_eq!(batch(&vec![change(i32::MAX); 3]), 1);
        assert_eq!(batch(&vec![change(10 << 20); 9]), 3);
    }
}
