//! The language of codesearch and its meaning.
//!
//! A text becomes a [`Query`] (a tree of terms: [`Query::parse`]), the query a [`CompiledQuery`] (a condition
//! and compiled patterns). A [`Plan`] is the part of that condition that the trigram indexes can answer: which files are
//! worth looking at. For each pattern it has a [`LiteralQuery`], the literals that every match contains. [`Matcher`]s and
//! [`Expr::eval`] decide which files and lines match.
//!
//! The rule between the two: *the plan may over-match, but it never under-match*. Whatever the
//! index names is looked at again, so there is one regular-expression dialect and one truth.
//!
//! This crate does no I/O and knows neither tokio nor SQL.

mod build;
mod compiled;
mod error;
mod expr;
mod extract;
mod field;
mod fold;
mod foreign;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod glob;
mod group;
mod kind;
mod language;
mod lex;
mod lexemes;
mod literals;
mod matcher;
mod near;
mod ngrams;
mod parse;
mod parts;
mod pattern;
mod plan;
mod settings;
mod stepped;
mod suggest;
mod tree;
mod trigram;
mod typed;
mod write;

pub use build::Defaults;
pub use compiled::{CompiledQuery, CompiledTerm};
pub use error::{QueryError, Suggestion};
pub use expr::{Expr, Predicate};
pub use field::SUGGESTIONS;
pub use glob::glob;
pub use group::MAX_TERMS;
pub use kind::SymbolKind;
pub use language::{check_language, languages};
pub use lexemes::{Lexemes, word_parts};
pub use literals::LiteralQuery;
pub use matcher::{LineMatch, Matcher, Scratch};
pub use near::{distance, nearest};
pub use ngrams::{ngram_query, ngrams_of_literals};
pub use parse::MAX_QUERY_BYTES;
pub use parts::{PartKind, QueryPart, QueryParts};
pub use pattern::{Case, Pattern};
pub use plan::{Lookup, Plan, Scope};
pub use settings::{Count, Select, Settings, duration};
pub use tree::{Field, Query, Term, Tree};
pub use trigram::{Trigram, has_trigram, rarest, trigrams};
pub use typed::{TypedField, typed_fields, without};
pub use write::{below, escape, exactly, literal, plain, written};
