//! Fuzzy file finding: the paths nearest to what somebody typed, from an index in memory.
//!
//! A [`PathIndex`] keeps each folder and each file's name once, however many paths have it. Inverted lists say which
//! of them hold a pair of letters that follow each other, or that begin two words in a row. A [`PathQuery`] is answered
//! in three steps:
//!
//! 1. `bounds`: from the lists, which of the query's pairs each folder and name holds; and in one pass over all folders
//!    and names, how many of the query's letters each can hold in order, with gaps: exactly for folders, as an upper
//!    bound for names. Both go into two bytes for each folder and name.
//! 2. `scan`: one pass over all paths adds the two bytes of folder and name. They rule most paths out; of the others the
//!    pass counts the matches and keeps the candidates with the highest promise: by the pairs that they hold; before all
//!    others names that are the query or whose words begin with its letters, and high up names with about the same
//!    letters.
//! 3. `score`: the candidates are aligned with the query letter by letter, several in one SIMD register.
//!
//! Guarantees:
//!
//! 1. A path that holds all letters of the query in order (each part for itself) is a match, and all matches are
//!    counted.
//! 2. A path that aligns with the query with few errors (`QueryPart::near`) is a match, too, if it is a candidate. When
//!    there are no more candidates than are kept, these are all.
//! 3. Candidates are in the order of their costs, then the shortest first, then in the order of the paths. A file whose
//!    name equals the query comes before all others. Behind the candidates come the other paths that hold all letters:
//!    those with the highest promise, as many as there are candidates, in that order, and then the next.
//! 4. A limit changes neither order nor count: a short answer is the beginning of a longer one.
//! 5. With a filter, the answer is that of an index of only the files that pass it.
//! 6. Where the query begins with the end of a repository's name, that name is a folder around its paths, which the
//!    query may match or not ([`Variant`]).

mod bound;
mod bounds;
mod candidates;
mod index;
mod letters;
mod lookup;
mod nearest;
mod pair_index;
mod part;
mod pool;
mod query;
mod scan;
mod score;

pub use index::PathIndex;
pub use nearest::NearestPaths;
pub use query::{MAX_LETTERS, MAX_PARTS, PathQuery, QueryTooLong};

pub(crate) use letters::fold;
pub(crate) use lookup::{CANDIDATES, Lookup, Variant};
pub(crate) use query::QueryPart;
pub(crate) use score::Scorer;

#[cfg(test)]
mod random;
#[cfg(test)]
mod tests;
