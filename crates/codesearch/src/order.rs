//! The orders of results.

/// The order in which results are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The best first.
    Relevance,
    /// By repository, then by path.
    Path,
}

impl Order {
    pub(crate) const ALL: [Order; 2] = [Order::Relevance, Order::Path];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Order::Relevance => "relevance",
            Order::Path => "path",
        }
    }
}
