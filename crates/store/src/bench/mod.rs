//! Statements that only the experiments of `codesearch bench` make, in schemas or databases of their own,
//! which are dropped after.

pub mod loading;
pub mod names;
pub mod prose;
