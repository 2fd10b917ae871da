//! Where an answer ended, as text for the client to go on from.

use engine::search::{Request, Resume, Stats};
use store::Epoch;

use super::order::Order;

/// Where an answer ended. As text it says nothing to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// Where the search goes on.
    pub(crate) resume: Resume,
    /// Of what it then finds, in order, how many were shown.
    pub(crate) shown: usize,
    /// In which order; none for that in which results are found.
    pub(crate) order: Option<Order>,
}

impl Cursor {
    /// Where to go on after an answer that showed `shown` of the `files` that were found for it; none if there is
    /// nothing more.
    pub(crate) fn after(
        request: &Request,
        stats: &Stats,
        order: Option<Order>,
        (shown, files): (usize, usize),
    ) -> Option<Self> {
        let before = request.resume.map_or(0, |resume| resume.results);
        let at = |results| Resume { epoch: stats.epoch, order: stats.order, results };
        if shown < files {
            Some(Self { resume: at(before), shown, order })
        } else {
            stats.ended_at_limit().then(|| Self { resume: at(before + files), shown: 0, order })
        }
    }

    /// Where to go on after an answer that showed all files in the order in which they were found.
    pub(crate) fn after_all(request: &Request, stats: &Stats) -> Option<Self> {
        Self::after(request, stats, None, (stats.files, stats.files))
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let mut number = |radix| u64::from_str_radix(parts.next()?, radix).ok();
        let (epoch, found) = (number(10)?, number(16)?);
        let (results, shown) = (number(10)?, number(10)?);
        let epoch = Epoch(i32::try_from(epoch).ok()?);
        let resume = Resume { epoch, order: found, results: usize::try_from(results).ok()? };
        let order = match parts.next() {
            None => None,
            Some(name) => Some(Order::named(name)?),
        };
        let shown = usize::try_from(shown).ok()?;
        parts.next().is_none().then_some(Self { resume, shown, order })
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Resume { epoch, order, results } = self.resume;
        write!(f, "{}-{order:x}-{results}-{}", epoch.0, self.shown)?;
        self.order.map_or(Ok(()), |order| write!(f, "-{}", order.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_as_it_was() {
        let resume = Resume { epoch: Epoch(7), order: u64::MAX, results: 1000 };
        for order in [None, Some(Order::Relevance), Some(Order::Path), Some(Order::Repo)] {
            let cursor = Cursor { resume, shown: 50, order };
            assert_eq!(Cursor::parse(&cursor.to_string()), Some(cursor));
        }
        for wrong in [
            "",
            "1",
            "1-2-3",
            "1-2-3-4-5",
            "1-2-3-4-path-6",
            "x-2-3-4",
            "1-2--4",
            "99999999999-2-3-4",
        ] {
            assert_eq!(Cursor::parse(wrong), None, "{wrong}");
        }
    }
}
