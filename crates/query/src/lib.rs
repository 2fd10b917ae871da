//! The query language of codesearch.
//!
//! [`Query::parse`] turns a text into a [`Query`], a tree of terms. [`CompiledQuery`] holds its compiled patterns and a
//! condition over them. A [`Plan`] is the part of that condition that the trigram indexes can answer: it names the
//! files that may match. For each pattern it has a [`LiteralQuery`], the literals that every match contains.
//! [`Matcher`]s and [`Expr::eval`] then decide which files and lines match.
//!
//! *The plan may over-match, but never under-matches*. Every file that the index names is rechecked. So there is only
//! one dialect of regular expressions, and only the matcher decides.
//!
//! This crate does no I/O and uses neither tokio nor SQL.

mod build;
mod changes;
mod classes;
mod compiled;
mod error;
mod expr;
mod extract;
mod field;
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
mod property;
mod revision;
mod settings;
mod smart_case;
mod stepped;
mod suggest;
mod symbol;
mod tree;
mod trigram;
mod typed;
mod write;

pub use build::Defaults;
pub use compiled::{CompiledQuery, CompiledSymbol, CompiledTerm, Shown};
pub use error::{QueryError, Suggestion, shortened};
pub use expr::{Expr, Predicate};
pub use extract::fold;
pub use field::{is_field, suggestions};
pub use glob::glob;
pub use group::MAX_TERMS;
pub use kind::SymbolKind;
pub use language::{check_language, language_named, language_of, languages};
pub use lex::MAX_QUERY_BYTES;
pub use lexemes::{Lexemes, word_parts};
pub use literals::LiteralQuery;
pub use matcher::{LineMatch, Matcher, Scratch};
pub use near::{distance, nearest, nearest_in_use};
pub use ngrams::{ngram_query, ngrams_of_literals};
pub use parts::{PartKind, QueryPart, QueryParts};
pub use pattern::{Case, MAX_PATTERN_BYTES, Pattern};
pub use plan::{Lookup, Plan, Scope};
pub use property::{CompiledProperty, Properties, PropertyTerm, Switch};
pub use revision::{Changes, Comparison, TreeField, TreeKind, TreeName, TreeTerm};
pub use settings::{Count, Select, Settings, duration};
pub use symbol::{SymbolKinds, SymbolPattern};
pub use tree::{Field, Query, Term, Tree};
pub use trigram::{Trigram, has_trigram, rarest_parts, trigrams};
pub use typed::{
    OperatorInText, TypedField, is_only_words, operator_in_text, typed_fields, without,
};
pub use write::{below, escape, exactly, literal, plain, quoted, written};
