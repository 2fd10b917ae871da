//! Cursors: the end of an answer, as text from which the client continues.

use search::{Request, Resume, Stats};

use rank::Order;
use request::cursor;

/// The end of an answer. Its text is opaque to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The point in the search to resume from.
    pub(crate) resume: Resume,
    /// How many of the results after that point, in order, were already shown.
    pub(crate) shown: usize,
    /// The order of the results; `None` for the order in which they are found.
    pub(crate) order: Option<Order>,
}

impl Cursor {
    /// Returns the cursor after an answer that showed `shown` of the `files` found; `None` if there is nothing more.
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

    /// Returns the cursor after an answer that showed all files, in the order in which they were found.
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
        for order in [None, Some(Order::Relevance), Some(Order::Path)] {
            let cursor = Cursor { resume, shown: 50, order };
            assert_eq!(Cursor::parse(&cursor.to_string()), Some(cursor));
        }
        let resume = Resume::from_numbers(&[7, 1, 1]).unwrap();
        for wrong in
            ["", "1-2-3-4", &cursor::encode([3, 0], &resume), &cursor::encode([0], &resume)]
        {
            assert_eq!(Cursor::parse(wrong), None, "{wrong}");
        }
    }
}
