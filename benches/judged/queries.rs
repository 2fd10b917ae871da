//! Queries with the files that answer them.

use std::io::Error;

use crate::Result;
use crate::repo::Repo;

/// `corpus/judged-code.tsv`; its first lines describe it.
const JUDGED: &str = include_str!("../../corpus/judged-code.tsv");

/// The purpose of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    /// For tuning the ranking: its results may be examined.
    Tuned,
    /// For counting only.
    Aside,
    /// Made from the index.
    Made,
    /// Of a given set.
    Given,
}

/// A file that answers a query.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// From 1 to 3.
    pub(crate) grade: u8,
    /// Its path, or the end of it. Without `repo`, it begins with the name of the repository.
    pub(crate) path: String,
    /// Its repository, in a given set.
    pub(crate) repo: Option<Repo>,
}

/// A query and the files that answer it.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) class: String,
    pub(crate) set: Set,
    /// The query as typed.
    pub(crate) text: String,
    pub(crate) answers: Vec<Answer>,
    /// Of a given set: the repository that it is about.
    pub(crate) repo: Option<Repo>,
}

/// A file of an answer.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) repo: String,
    pub(crate) path: String,
}

impl Set {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tuned => "tuned",
            Self::Aside => "aside",
            Self::Made => "made",
            Self::Given => "given",
        }
    }
}

impl Answer {
    /// Returns whether a file is this answer.
    pub(crate) fn is(&self, file: &Found) -> bool {
        match &self.repo {
            Some(repo) => repo.is(&file.repo) && is_end(&file.path, &self.path),
            None => is_same(&self.path, &format!("{}/{}", file.repo, file.path)),
        }
    }
}

/// Returns whether two paths name the same file. Engines name repositories differently, with more or fewer of the
/// folders above them.
fn is_same(a: &str, b: &str) -> bool {
    is_end(a, b) || is_end(b, a)
}

/// Returns whether a path is another one, or ends with it.
fn is_end(long: &str, short: &str) -> bool {
    long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

/// Returns the judged queries.
pub(crate) fn judged() -> Result<Vec<Query>> {
    let lines = JUDGED.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| parse(line).ok_or_else(|| Error::other(format!("judged-code.tsv: {line}"))))
        .collect()
}

fn parse(line: &str) -> Option<Query> {
    let mut columns = line.split('\t');
    let (class, set, text) = (columns.next()?, columns.next()?, columns.next()?);
    let set = match set {
        "tuned" => Set::Tuned,
        "aside" => Set::Aside,
        _ => return None,
    };
    let answer = |column: &str| {
        let (grade, path) = column.split_once(' ')?;
        let grade = grade.parse().ok().filter(|grade| (1..=3).contains(grade))?;
        Some(Answer { grade, path: path.to_owned(), repo: None })
    };
    let answers = columns.map(answer).collect::<Option<Vec<_>>>()?;
    let is_judged = answers.iter().any(|answer| answer.grade == 3);
    is_judged.then(|| Query {
        class: class.to_owned(),
        set,
        text: text.to_owned(),
        answers,
        repo: None,
    })
}
