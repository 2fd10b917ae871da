//! Queries with the files that answer them.

use std::io::Error;

use crate::Result;

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
}

/// A query and the files that answer it.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) class: String,
    pub(crate) set: Set,
    /// The query as typed.
    pub(crate) text: String,
    /// Grades from 1 to 3, and paths, which begin with the name of the repository.
    pub(crate) answers: Vec<(u8, String)>,
}

impl Set {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tuned => "tuned",
            Self::Aside => "aside",
            Self::Made => "made",
        }
    }
}

impl Query {
    /// Returns the grade of a file; 0 if it is not an answer.
    pub(crate) fn grade(&self, path: &str) -> u8 {
        let of = self.answers.iter().find(|(_, answer)| is_same(answer, path));
        of.map_or(0, |(grade, _)| *grade)
    }
}

/// Returns whether two paths name the same file. Engines name repositories differently, with more or fewer of the
/// folders above them.
fn is_same(a: &str, b: &str) -> bool {
    let is_end = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    is_end(a, b) || is_end(b, a)
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
        Some((grade.parse().ok().filter(|grade| (1..=3).contains(grade))?, path.to_owned()))
    };
    let answers = columns.map(answer).collect::<Option<Vec<_>>>()?;
    let is_judged = answers.iter().any(|(grade, _)| *grade == 3);
    is_judged.then(|| Query { class: class.to_owned(), set, text: text.to_owned(), answers })
}
