//! Measures how well an answer ranks the right files.

use crate::queries::{Found, Query, Set};

/// The grade of the wanted file, where grades differ.
const RIGHT: u8 = 3;

/// An engine's outcome for a query.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// The rank of the first right file, from 1; `None` if it is not among the requested files.
    pub(crate) place: Option<usize>,
    pub(crate) ndcg: f64,
    pub(crate) ms: f64,
    /// The first files.
    pub(crate) files: Vec<Found>,
    /// Whether anything was found.
    pub(crate) found: bool,
}

/// The means over some queries.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Means {
    pub(crate) recall_at_1: f64,
    pub(crate) recall_at_5: f64,
    pub(crate) mrr: f64,
    pub(crate) ndcg: f64,
    /// The share of queries that find nothing.
    pub(crate) nothing: f64,
}

impl Outcome {
    /// Measures the first files of an answer. Each target counts once, at the first file that it names.
    pub(crate) fn of(query: &Query, files: Vec<Found>, ms: f64) -> Self {
        let found = !files.is_empty();
        let mut grades = vec![0; files.len()];
        for answer in &query.answers {
            if let Some(at) = files.iter().position(|file| answer.is(file)) {
                grades[at] = answer.grade.max(grades[at]);
            }
        }
        let mut best: Vec<u8> = query.answers.iter().map(|answer| answer.grade).collect();
        best.sort_unstable_by(|a, b| b.cmp(a));
        best.truncate(crate::FILES);
        let right = if query.set == Set::Given { 1 } else { RIGHT };
        Self {
            place: grades.iter().position(|grade| *grade >= right).map(|at| at + 1),
            ndcg: gain(&grades) / gain(&best),
            ms,
            files,
            found,
        }
    }
}

/// Returns the discounted gain of files with these grades.
fn gain(grades: &[u8]) -> f64 {
    let of = |(at, grade): (usize, &u8)| f64::from((1_u32 << grade) - 1) / (at as f64 + 2.0).log2();
    grades.iter().enumerate().map(of).sum()
}

impl Means {
    pub(crate) fn of<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Self {
        let outcomes: Vec<&Outcome> = outcomes.collect();
        let count = outcomes.len().max(1) as f64;
        let sum = |of: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(|one| of(one)).sum::<f64>();
        let mean = |of: &dyn Fn(&Outcome) -> f64| sum(of) / count;
        let within = |most: usize| mean(&|one| f64::from(one.place.is_some_and(|at| at <= most)));
        Self {
            recall_at_1: within(1),
            recall_at_5: within(5),
            mrr: mean(&|one| one.place.map_or(0.0, |at| 1.0 / at as f64)),
            ndcg: mean(&|one| one.ndcg),
            nothing: mean(&|one| f64::from(!one.found)),
        }
    }
}
