//! The basis of an answer.

/// The basis of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Basis {
    /// A SCIP index of the repository says what the name means at the place.
    Precise,
    /// The name is the same; its meaning is unknown.
    Search,
}

impl Basis {
    /// Returns its name: `precise` or `search`.
    pub fn word(self) -> &'static str {
        match self {
            Basis::Precise => "precise",
            Basis::Search => "search",
        }
    }
}
