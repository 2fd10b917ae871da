//! Statements that only the experiments of `codesearch bench` make, in schemas of their own, which are dropped
//! after.

pub mod names;
