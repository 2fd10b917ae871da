//! Where an answer ended, as text for the client to go on from.

use engine::search::{Request, Resume, Stats};

use crate::cursor;
use crate::order::Order;

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
        if shown < files {
            Some(Self { resume: stats.from_start(request), shown, order })
        } else {
            let resume = stats.from(request, stats.progress);
            stats.ended_at_limit().then_some(Self { resume, shown: 0, order })
        }
    }

    /// Where to go on after an answer that showed all files in the order in which they were found.
    pub(crate) fn after_all(request: &Request, stats: &Stats) -> Option<Self> {
        Self::after(request, stats, None, (stats.files, stats.files))
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let ([order, shown], resume) = cursor::decode(text).ok()?;
        let order = match usize::try_from(order).ok()? {
            0 => None,
            at => Some(*Order::ALL.get(at - 1)?),
        };
        Some(Self { resume, shown: usize::try_from(shown).ok()?, order })
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let order = Order::ALL.iter().position(|order| Some(*order) == self.order);
        let order = order.map_or(0, |at| at as u64 + 1);
        f.write_str(&cursor::encode([order, self.shown as u64], &self.resume))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_as_it_was() {
        let resume = Resume::from_numbers(&[7, u64::MAX, 1000]).unwrap();
        for order in [None, Some(Order::Relevance), Some(Order::Path), Some(Order::Repo)] {
            let cursor = Cursor { resume, shown: 50, order };
            assert_eq!(Cursor::parse(&cursor.to_string()), Some(cursor));
        }
        let resume = Resume::from_numbers(&[7, 1, 1]).unwrap();
        for wrong in
            ["", "1-2-3-4", &cursor::encode([4, 0], &resume), &cursor::encode([0], &resume)]
        {
            assert_eq!(Cursor::parse(wrong), None, "{wrong}");
        }
    }
}
