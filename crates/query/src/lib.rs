//! The language of codesearch and its meaning.
//!
//! A text becomes a [`Query`] (a tree of terms: [`Query::parse`]), the query a [`Program`] (conditions
//! and compiled patterns). Of a program, [`Plan`] is what the trigram indexes can answer: which files
//! are worth looking at; each pattern's part of it is a [`Need`], the literals that every match
//! contains. What really matches is decided by [`Matcher`]s and [`Expr::eval`].
//!
//! The rule between the two: *the plan may over-match, but it never under-match*. Whatever the
//! index names is looked at again, so there is one regular-expression dialect and one truth.
//!
//! This crate does no I/O and knows neither tokio nor SQL.

mod error;
mod expr;
mod field;
mod fold;
mod grams;
mod language;
mod lex;
mod matcher;
mod need;
mod parse;
mod pattern;
mod plan;
mod tree;
mod trigram;
mod words;
mod write;

pub use error::QueryError;
pub use expr::{Atom, CompiledTerm, Expr, Program};
pub use grams::{GramSet, Grams, Kind, Parts, Probe};
pub use language::{check_language, languages};
pub use matcher::{LineMatch, Matcher, Scratch};
pub use need::Need;
pub use parse::{Defaults, MAX_QUERY_BYTES, MAX_TERMS, duration};
pub use pattern::{Case, Pattern};
pub use plan::{Index, Lookup, Plan};
pub use tree::{Count, Place, Query, Select, Term, Tree};
pub use trigram::{Trigram, has_trigram, rarest, trigrams};
pub use words::{Words, word_parts};
pub use write::{below, escape, exactly, written};
