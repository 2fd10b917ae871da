//! Lookups in the trigram indexes of a shard: one statement answers several. For texts, the indexed
//! rows are documents: runs of neighbouring chunks with their lexemes.

use std::fmt::Write as _;
use std::ops::Range;

use ngram::NgramQuery;
use query::{LiteralQuery, Lookup, Plan, Scope, has_trigram, rarest_parts, word_parts};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::catalog::Shard;
use crate::error::Result;
use crate::filters::{ChunkRows, SelectiveRows};
use crate::lease::{BoundStatement, Lease};
use crate::{BlobId, Epoch, ShardId};

/// Most characters of a literal that are looked up if the server rechecks. Each trigram costs an
/// index lookup, and those of so many characters leave few false candidates.
const MAX_LOOKUP_CHARS: usize = 64;

/// Most lexemes of a literal that are looked up.
const MAX_WORDS: usize = 4;

/// The pattern that matches every text.
const ANY: &str = "%";

/// Candidates of a lookup in a shard. There may be false ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexAnswer {
    /// Documents as ranges of chunk numbers, ascending and disjoint.
    Documents(Vec<Range<i32>>),
    /// Blobs of files, ascending, without duplicates.
    Blobs(Vec<BlobId>),
}

impl Lease {
    /// Answers some lookups of texts or paths in one shard with one statement: those of paths with
    /// blobs, all others with documents. A document holds all that its lookup asks for.
    ///
    /// The same statement reads the rows of the chunk filters that `filtered` ask for, if any, unless the answers
    /// rule `plan` out; it gives `None` then, or if the filters do not cover all chunks of the given state.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn lookups(
        &mut self,
        (shard, epoch): (&Shard, Epoch),
        lookups: &[&Lookup],
        plan: &Plan,
        filtered: &[&NgramQuery],
    ) -> Result<(Vec<IndexAnswer>, Option<ChunkRows>)> {
        let selective = match filtered {
            [] => None,
            some => Some(self.selective_rows(shard, some).await?),
        };
        let mut statement = Statement::of(shard.id, lookups, self.no_recheck());
        if selective.is_some() {
            statement.add_rows(shard.id, plan, lookups);
        }
        let mut bound = BoundStatement::new(statement.finish()).bind(epoch.0);
        for pattern in statement.patterns {
            bound = match pattern {
                Pattern::NoRecheck(pattern) => bound.bind(pattern.into_bytes()),
                Pattern::Ilike(pattern) => bound.bind(pattern),
            };
        }
        if let Some(selective) = &selective {
            bound = bound.bind(selective.numbers.clone());
        }
        let rows = self.rows(bound).await?;
        let (row, mut column) = (&rows[0], 0);
        let found: Result<_> =
            lookups.iter().map(|lookup| found(lookup, row, &mut column)).collect();
        let Some(selective) = selective else { return Ok((found?, None)) };
        let rows = selective.unpack(row, column, shard.filtered)?;
        Ok((found?, rows))
    }
}

fn found(lookup: &Lookup, row: &PgRow, column: &mut usize) -> Result<IndexAnswer> {
    let mut next = || {
        *column += 1;
        row.try_get::<Vec<i32>, _>(*column - 1)
    };
    if lookup.scope == Scope::Path {
        let mut blobs: Vec<BlobId> = next()?.into_iter().map(BlobId).collect();
        blobs.sort_unstable();
        blobs.dedup();
        return Ok(IndexAnswer::Blobs(blobs));
    }
    let (first, upto) = (next()?, next()?);
    let mut documents: Vec<_> =
        first.into_iter().zip(upto).map(|(first, upto)| first..upto).collect();
    documents.sort_unstable_by_key(|document| document.start);
    Ok(IndexAnswer::Documents(documents))
}

/// A statement under construction. Its first parameter is the epoch; the others are patterns for
/// lexemes or paths.
///
/// It names the partitions: with the shard as a parameter, planning would go through all of them
/// and take four times as long (0.43 ms against 0.09 for a rare literal).
struct Statement {
    no_recheck: bool,
    columns: Vec<String>,
    /// What follows `from`.
    sql: String,
    patterns: Vec<Pattern>,
}

/// A pattern for `LIKE`, by the operator that takes it.
#[derive(Debug, PartialEq, Eq)]
enum Pattern {
    /// For the operator without a recheck, as bytes.
    NoRecheck(String),
    Ilike(String),
}

impl Statement {
    fn of(shard: ShardId, lookups: &[&Lookup], no_recheck: bool) -> Self {
        let (columns, sql, patterns) = Default::default();
        let mut statement = Self { no_recheck, columns, sql, patterns };
        for (i, lookup) in lookups.iter().enumerate() {
            statement.sql.push_str(if i == 0 { "" } else { ", " });
            if lookup.scope == Scope::Path {
                statement.columns.push(format!("coalesce(t{i}.b, '{{}}')"));
                let _ = write!(
                    statement.sql,
                    "(select array_agg(blob) b from {} where valid_from <= $1 and valid_to > $1 and ",
                    shard.files()
                );
                statement.condition("path", &lookup.literals);
            } else {
                statement
                    .columns
                    .push(format!("coalesce(t{i}.n, '{{}}'), coalesce(t{i}.b, '{{}}')"));
                let _ = write!(
                    statement.sql,
                    "(select array_agg(first) n, array_agg(upto) b from {} where ",
                    shard.documents()
                );
                // Without a trigram, the index would name all documents.
                statement.condition("lexemes", &lookup.literals.with_trigrams());
            }
            let _ = write!(statement.sql, ") t{i}");
        }
        statement
    }

    /// Adds the rows of the chunk filters whose numbers are in the parameter after the patterns. They are not read if
    /// the lookups rule the plan out.
    fn add_rows(&mut self, shard: ShardId, plan: &Plan, lookups: &[&Lookup]) {
        let any = format!("any(${})", self.patterns.len() + 2);
        let _ = write!(
            self.sql,
            ", lateral (select {} from {} and ({})) f",
            SelectiveRows::COLUMNS,
            SelectiveRows::condition(shard, &any),
            may_hold(plan, lookups)
        );
        self.columns.push("f.n, f.l, f.b".to_owned());
    }

    fn finish(&self) -> String {
        format!("select {} from {}", self.columns.join(", "), self.sql)
    }

    /// Adds the condition on one row.
    fn condition(&mut self, column: &str, literals: &LiteralQuery) {
        match literals {
            LiteralQuery::Literal(text) if column == "path" => self.path_condition(text),
            LiteralQuery::Literal(text) => {
                let no_recheck = self.no_recheck;
                let operator = if no_recheck { "@~~" } else { "ilike" };
                let patterns =
                    if no_recheck { vec![trigram_pattern(text)] } else { word_patterns(text) };
                let kind = if no_recheck { Pattern::NoRecheck } else { Pattern::Ilike };
                for (i, pattern) in patterns.into_iter().map(kind).enumerate() {
                    self.sql.push_str(if i == 0 { "" } else { " and " });
                    self.patterns.push(pattern);
                    let _ = write!(self.sql, "{column} {operator} ${}", self.patterns.len() + 1);
                }
            }
            LiteralQuery::Anything => self.sql.push_str("true"),
            LiteralQuery::All(parts) => self.join(column, parts, " and "),
            LiteralQuery::Any(parts) => self.join(column, parts, " or "),
        }
    }

    /// Adds the condition on a path. Paths are stored as they are, and how the server folds letters outside ASCII depends
    /// on its locale: so these may be any, and paths with one that folds to ASCII may hold every s and k.
    fn path_condition(&mut self, text: &str) {
        let parts: Vec<&str> = text.split(|c: char| !c.is_ascii()).collect();
        // Nothing is told of a literal without a trigram unless the server rechecks it. That reads all paths.
        let no_recheck = self.no_recheck && parts.iter().any(|part| has_trigram(part));
        let pattern = match &*parts {
            [_] if no_recheck => trigram_pattern(text),
            [_] => like_pattern(text),
            parts => pattern_of(parts),
        };
        let (operator, pattern) = if no_recheck {
            ("@~~", Pattern::NoRecheck(pattern))
        } else {
            ("ilike", Pattern::Ilike(pattern))
        };
        self.patterns.push(pattern);
        let at = self.patterns.len() + 1;
        let _ = if text.contains(['s', 'k']) {
            write!(self.sql, "(path {operator} ${at} or non_ascii_fold)")
        } else {
            write!(self.sql, "path {operator} ${at}")
        };
    }

    fn join(&mut self, column: &str, parts: &[LiteralQuery], word: &str) {
        self.sql.push('(');
        for (i, part) in parts.iter().enumerate() {
            self.sql.push_str(if i == 0 { "" } else { word });
            self.condition(column, part);
        }
        self.sql.push(')');
    }
}

/// Returns the condition that the answers to some lookups do not rule a plan out.
fn may_hold(plan: &Plan, lookups: &[&Lookup]) -> String {
    let join = |parts: &[Plan], word: &str| {
        let parts: Vec<String> = parts.iter().map(|part| may_hold(part, lookups)).collect();
        format!("({})", parts.join(word))
    };
    match plan {
        Plan::Scan => "true".to_owned(),
        Plan::Lookup(of) => match lookups.iter().position(|lookup| *lookup == of) {
            Some(i) => format!("t{i}.b is not null"),
            None => "true".to_owned(),
        },
        Plan::All(parts) => join(parts, " and "),
        Plan::Any(parts) => join(parts, " or "),
    }
}

/// Returns the pattern of the rarest trigrams of a text, for the operator without a recheck:
/// `%fmt.%ntln%`.
fn trigram_pattern(text: &str) -> String {
    let parts = rarest_parts(text);
    if parts.is_empty() { like_pattern(text) } else { pattern_of(&parts) }
}

/// Returns `%text%`, or the pattern of the beginning of a long text.
fn like_pattern(text: &str) -> String {
    pattern_of(&[head(text)])
}

/// Returns the pattern of texts with these parts in this order.
fn pattern_of(parts: &[&str]) -> String {
    let mut pattern = String::from("%");
    for part in parts.iter().filter(|part| !part.is_empty()) {
        escape(part, &mut pattern);
        pattern.push('%');
    }
    pattern
}

/// Returns a pattern for each word of a text: `%fmt %` and `% Print%`. They are separate, because
/// lexemes are not in the order of the text. Their number is a power of two, so that there are few
/// different prepared statements; the longest words come first.
fn word_patterns(text: &str) -> Vec<String> {
    let mut parts = word_parts(head(text));
    parts.retain(|part| has_trigram(part));
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    let asked = parts.len().next_power_of_two().min(MAX_WORDS);
    let mut patterns: Vec<String> = parts.iter().map(|part| format!("%{part}%")).collect();
    patterns.resize(asked, patterns.first().map_or(ANY, |longest| longest).to_owned());
    patterns
}

/// Returns the beginning of a long text: as much as is worth looking up.
fn head(text: &str) -> &str {
    let head = text.char_indices().nth(MAX_LOOKUP_CHARS).map_or(text, |(end, _)| &text[..end]);
    if has_trigram(head) { head } else { text }
}

/// Appends a text with its wildcards escaped.
fn escape(text: &str, pattern: &mut String) {
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(scope: Scope, literals: LiteralQuery, no_recheck: bool, sql: &str, patterns: &[&str]) {
        let lookup = Lookup { scope, terms: vec![0], literals };
        let statement = Statement::of(ShardId(7), &[&lookup], no_recheck);
        assert_eq!(statement.finish(), sql);
        let kind = if no_recheck { Pattern::NoRecheck } else { Pattern::Ilike };
        let patterns: Vec<_> = patterns.iter().map(|text| kind((*text).to_owned())).collect();
        assert_eq!(statement.patterns, patterns);
    }

    fn literal(text: &str) -> LiteralQuery {
        LiteralQuery::Literal(text.to_owned())
    }

    #[test]
    fn literals_without_a_trigram_are_told_in_paths_only() {
        let lookup = |scope| Lookup { scope, terms: vec![0], literals: literal("===") };
        let statement = |scope| Statement::of(ShardId(7), &[&lookup(scope)], true);
        assert!(statement(Scope::Chunk).finish().ends_with("from documents_007 where true) t0"));
        let paths = statement(Scope::Path);
        assert!(paths.finish().ends_with("and path ilike $2) t0"), "{}", paths.sql);
        assert_eq!(paths.patterns, [Pattern::Ilike("%===%".to_owned())]);
    }

    #[test]
    fn filters_are_read_unless_the_index_rules_the_plan_out() {
        let lookup = |term: usize, text: &str| Lookup {
            scope: Scope::Chunk,
            terms: vec![term],
            literals: literal(text),
        };
        let (foo, bar, other) = (lookup(0, "foo"), lookup(1, "bar"), lookup(2, "other"));
        let plan = Plan::All(vec![
            Plan::Any(vec![Plan::Lookup(foo.clone()), Plan::Lookup(bar.clone())]),
            Plan::Lookup(other),
        ]);
        let asked = [&foo, &bar];
        let mut statement = Statement::of(ShardId(7), &asked, true);
        statement.add_rows(ShardId(7), &plan, &asked);
        let sql = statement.finish();
        assert!(sql.starts_with("select coalesce(t0.n, '{}'), coalesce(t0.b, '{}'), "), "{sql}");
        let end = ", lateral (select array_agg(number) n, array_agg(octet_length(bits)) l, \
                   string_agg(bits, '') b from filters_007 where shard = 7 and kind = 4 \
                   and number = any($4) and (((t0.b is not null or t1.b is not null) and true))) f";
        assert!(sql.contains(", f.n, f.l, f.b from ") && sql.ends_with(end), "{sql}");
    }

    #[test]
    fn a_need_becomes_a_condition() {
        check(
            Scope::Chunk,
            LiteralQuery::Any(vec![
                LiteralQuery::All(vec![literal("foo"), literal("b_r")]),
                literal("größe"),
            ]),
            true,
            "select coalesce(t0.n, '{}'), coalesce(t0.b, '{}') from (select array_agg(first) n, array_agg(upto) b \
             from documents_007 where ((lexemes @~~ $2 and lexemes @~~ $3) or lexemes @~~ $4)) t0",
            &["%foo%", "%\\_r%", "%größe%"],
        );
        check(
            Scope::Path,
            literal("fmt.println"),
            true,
            "select coalesce(t0.b, '{}') from (select array_agg(blob) b from files_007 \
             where valid_from <= $1 and valid_to > $1 and path @~~ $2) t0",
            &["%fmt.%ntln%"],
        );
        check(
            Scope::Path,
            literal("kernel/größe"),
            true,
            "select coalesce(t0.b, '{}') from (select array_agg(blob) b from files_007 \
             where valid_from <= $1 and valid_to > $1 and (path @~~ $2 or non_ascii_fold)) t0",
            &["%kernel/gr%e%"],
        );
        check(
            Scope::Chunk,
            literal("foo.b_r"),
            false,
            "select coalesce(t0.n, '{}'), coalesce(t0.b, '{}') from (select array_agg(first) n, array_agg(upto) b \
             from documents_007 where lexemes ilike $2 and lexemes ilike $3 and lexemes ilike $4 \
             and lexemes ilike $5) t0",
            &["%foo %", "% b %", "% r%", "%foo %"],
        );
    }
}
