//! The cost of a path: that of the cheapest alignment of the query with it.
//!
//! Letters are typed in the order of the path. Between two of them some of the path may be skipped: a gap, which is
//! cheap if it ends at the next word and dear if it ends within a word. An error (a substituted letter, one too many,
//! two that are swapped) costs more than a gap. A path that begins and ends with the query is nearer than one with more
//! around it, and a file's name is nearer than a folder. A cost of 0 is a file whose name equals the query.
//!
//! [`Scorer`] fills one row of costs for each letter of the query (dynamic programming, as for an edit distance), for
//! several paths at once, each in its lane of a SIMD register; for one path alone it also says which bytes matched.

mod costs;
mod lanes;
mod mark;
mod paths;
mod scorer;

pub(crate) use scorer::Scorer;

#[cfg(test)]
mod tests;
