//! On what an answer rests.

/// On what an answer rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Basis {
    /// A SCIP index of the repository says so: this is what the name means at the place.
    Precise,
    /// It has the same name. What it means is not known.
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
