//! The cost of a path: the cost of the cheapest alignment of the query with it.
//!
//! Letters match in the order of the path. Between two of them, part of the path may be skipped. Such a gap is cheap if
//! it ends at the next word and expensive if it ends inside a word. An error (a substituted or extra letter, two
//! swapped ones) costs more than a gap. A path that begins and ends with the query is nearer than one with more around
//! it, and a match in the file's name is nearer than one in a folder. A file whose name equals the query costs 0.
//!
//! [`Scorer`] fills one row of costs for each letter of the query (dynamic programming, as for an edit distance), for
//! several paths at once, each in a lane of a SIMD register. For a single path it also tells which bytes matched.

mod costs;
mod lanes;
mod mark;
mod paths;
mod scorer;

pub use scorer::Scorer;

#[cfg(test)]
mod tests;
