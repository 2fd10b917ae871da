//! The language of codesearch and its meaning.
//!
//! A text becomes a [`Query`] (a tree of terms: [`Query::parse`]), the query a [`CompiledQuery`] (conditions
//! and compiled patterns). Of a program, [`Plan`] is what the trigram indexes can answer: which files
//! are worth looking at; each pattern's part of it is a [`LiteralQuery`], the literals that every match
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
mod language;
mod lex;
mod lexemes;
mod literals;
mod matcher;
mod ngrams;
mod parse;
mod pattern;
mod plan;
mod settings;
mod tree;
mod trigram;
mod write;

pub use error::QueryError;
pub use expr::{CompiledQuery, CompiledTerm, Expr, Predicate};
pub use field::SUGGESTIONS;
pub use language::{check_language, languages};
pub use lexemes::{Lexemes, word_parts};
pub use literals::LiteralQuery;
pub use matcher::{LineMatch, Matcher, Scratch};
pub use ngrams::{ngram_query, ngrams_of_literals};
pub use parse::{Defaults, MAX_QUERY_BYTES, MAX_TERMS};
pub use pattern::{Case, Pattern};
pub use plan::{Lookup, Plan, Scope};
pub use settings::{Count, Select, Settings, duration};
pub use tree::{Field, Query, Term, Tree};
pub use trigram::{Trigram, has_trigram, rarest, trigrams};
pub use write::{below, escape, exactly, written};
