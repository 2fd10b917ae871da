//! Fuzzy file finding: the paths nearest to a typed query, from an index in memory.
//!
//! A [`PathIndex`] stores each folder and each file name once, however many paths have it. Inverted lists tell which of
//! them contain a pair of letters, in a row or at the beginnings of two successive words. A [`PathQuery`] is answered
//! in three steps:
//!
//! 1. `bounds`: finds for each folder and name the query's pairs that it holds, from the lists. One pass over
//!    all folders and names computes how many of the query's letters each holds in order, with gaps: exactly
//!    for folders, as an upper bound for names. Both fit into two bytes for each folder and name.
//! 2. `scan`: one pass over all paths adds the two bytes of folder and name, which rule most paths out. It
//!    counts the matches among the others and keeps the candidates with the highest coarse score, by the number of
//!    pairs that they hold. Names that equal the query, or whose words begin with its letters, come before
//!    all others; names with about the same letters come early.
//! 3. `score`: aligns the candidates with the query letter by letter, several in one SIMD register.
//!
//! Guarantees:
//!
//! 1. A path that holds all letters of the query in order (each part by itself) is a match, and all matches
//!    are counted.
//! 2. A path that aligns with the query with few errors (`QueryPart::near`) is a match, too, if it is a
//!    candidate. If there are no more candidates than are kept, all such paths are matches.
//! 3. Candidates are sorted by cost, then by length, then by path. A file whose name equals the query comes
//!    before all others. After the candidates come the other paths that hold all letters, in groups as large
//!    as the candidates: the group with the highest coarse score first, each sorted in the same way.
//! 4. A limit changes neither order nor count: a short answer is a prefix of a longer one.
//! 5. With a filter, the answer is that of an index of only the files that pass it.
//! 6. If the query begins with the end of a repository's name, that name counts as a folder around its paths,
//!    which the query may match or not ([`Variant`]).

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

pub use letters::fold;
pub use lookup::{CANDIDATES, Lookup, Variant};
pub use query::QueryPart;
pub use score::Scorer;

#[cfg(test)]
mod random;
#[cfg(test)]
mod tests;
