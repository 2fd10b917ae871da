//! Lookups in the trigram indexes of shards: one statement answers several. For texts, the indexed rows are documents:
//! runs of neighbouring chunks with their lexemes.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

use ngram::NgramQuery;
use query::{LiteralQuery, Lookup, Plan, Scope, has_trigram, rarest_parts, word_parts};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::catalog::Shard;
use crate::cost::{MAX_LOOKUP_CHARS, MAX_WORDS};
use crate::error::Result;
use crate::filters::{AskedBits, ChunkRows, named_shards};
use crate::lease::{BoundStatement, Lease};
use crate::tables::Groups;
use crate::{BlobId, Epoch, ShardId};

/// The pattern that matches every text.
const ANY: &str = "%";

/// Candidates of a lookup in a shard; some may be false.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexAnswer {
    /// Documents as ranges of chunk numbers, ascending and disjoint.
    Documents(Vec<Range<i32>>),
    /// Blobs of files, ascending, without duplicates.
    Blobs(Vec<BlobId>),
}

impl Lease {
    /// Answers some lookups of texts or paths in some shards: path lookups with blobs, all others with documents, in
    /// the order of the lookups. A document holds all that its lookup asks for.
    ///
    /// One statement covers several shards: see [`named_shards`].
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn lookups(
        &mut self,
        shards: &[ShardId],
        epoch: Epoch,
        lookups: &[&Lookup],
    ) -> Result<HashMap<ShardId, Vec<IndexAnswer>>> {
        let statement = Statement::of(lookups, self.no_recheck());
        let mut asked: Vec<i16> = shards.iter().map(|shard| shard.0).collect();
        asked.sort_unstable();
        let count = self.shard_count().await?;
        let mut answers = HashMap::with_capacity(shards.len());
        for named in named_shards(&asked, count, self.groups()) {
            let sql = statement.sql(lookups, &named);
            let bound = statement.bind(BoundStatement::new(sql), epoch, &asked);
            for row in self.rows(bound).await? {
                let mut column = 1;
                let of_shard: Result<Vec<IndexAnswer>> =
                    lookups.iter().map(|lookup| found(lookup, &row, &mut column)).collect();
                answers.insert(ShardId(row.try_get(0)?), of_shard?);
            }
        }
        Ok(answers)
    }
}

impl Lease {
    /// Answers some lookups in one shard like [`lookups`](Self::lookups), and asks its chunk filters for some n-grams
    /// like [`chunk_rows`](Self::chunk_rows). Uses one statement, which skips the filters if the answers rule out
    /// `plan`.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn lookups_and_filters(
        &mut self,
        (shard, epoch): (&Shard, Epoch),
        (lookups, plan): (&[&Lookup], &Plan),
        ngrams: &[&NgramQuery],
    ) -> Result<(Vec<IndexAnswer>, Option<ChunkRows>)> {
        let asked = self.asked_bits(shard.id, ngrams).await?;
        let statement = Statement::of(lookups, self.no_recheck());
        let (literals, bits) = asked.parameters();
        let sql = statement.sql_with_filters(lookups, (shard.id, self.groups()), plan);
        let bound = statement.bind(BoundStatement::new(sql), epoch, &[shard.id.0]);
        let rows = self.rows(bound.bind(literals).bind(bits)).await?;
        let mut column = 1;
        let answers: Result<Vec<IndexAnswer>> =
            lookups.iter().map(|lookup| found(lookup, &rows[0], &mut column)).collect();
        Ok((answers?, asked.answer(shard.filtered, &rows, column)?))
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

/// A statement under construction. Its first parameters are the epoch and the shards to ask; the others are patterns
/// for lexemes or paths.
///
/// It names the partitions: with the shard as a parameter, planning would go through all of them and take four times as
/// long (0.43 ms against 0.09 for a rare literal).
struct Statement {
    no_recheck: bool,
    /// The condition of each lookup.
    conditions: Vec<String>,
    patterns: Vec<Pattern>,
}

/// Number of parameters before the patterns.
const BEFORE_PATTERNS: usize = 2;

/// A pattern for `LIKE`, by the operator that takes it.
#[derive(Debug, PartialEq, Eq)]
enum Pattern {
    /// For the operator without a recheck, as bytes.
    NoRecheck(String),
    Ilike(String),
}

impl Statement {
    fn of(lookups: &[&Lookup], no_recheck: bool) -> Self {
        let mut statement = Self { no_recheck, conditions: Vec::new(), patterns: Vec::new() };
        for lookup in lookups {
            let mut sql = String::new();
            if lookup.scope == Scope::Path {
                statement.condition(&mut sql, "path", &lookup.literals);
            } else {
                // Without a trigram, the index would name all documents.
                statement.condition(&mut sql, "lexemes", &lookup.literals.with_trigrams());
            }
            statement.conditions.push(sql);
        }
        statement
    }

    /// Returns the statement for some shards; it looks only into the shards in its parameter.
    fn sql(&self, lookups: &[&Lookup], shards: &[i16]) -> String {
        let branches: Vec<String> =
            shards.iter().map(|shard| self.branch(lookups, ShardId(*shard))).collect();
        branches.join(" union all ")
    }

    /// Binds its parameters.
    fn bind(&self, bound: BoundStatement, epoch: Epoch, shards: &[i16]) -> BoundStatement {
        self.bind_patterns(bound.bind(epoch.0).bind(shards))
    }

    fn bind_patterns(&self, mut bound: BoundStatement) -> BoundStatement {
        for pattern in &self.patterns {
            bound = match pattern {
                Pattern::NoRecheck(pattern) => bound.bind(pattern.as_bytes()),
                Pattern::Ilike(pattern) => bound.bind(pattern),
            };
        }
        bound
    }

    /// Returns the statement for one shard that also reads its chunk filters, unless the lookups rule out the plan. The
    /// two parameters after the patterns hold the literals and bits to read. Each row has the answers to all lookups.
    fn sql_with_filters(
        &self,
        lookups: &[&Lookup],
        (shard, groups): (ShardId, Groups),
        plan: &Plan,
    ) -> String {
        let (columns, tables) = self.columns_and_tables(lookups, shard);
        let first = BEFORE_PATTERNS + self.patterns.len() + 1;
        let of = format!("p.shard = {}", shard.0);
        format!(
            "select {columns}, f.* from {tables} left join lateral (
                 {} where {} group by 1, 2) f on true",
            AskedBits::select("asked.literal", (shard, groups), first, &of),
            may_hold(plan, lookups)
        )
    }

    fn branch(&self, lookups: &[&Lookup], shard: ShardId) -> String {
        let (columns, tables) = self.columns_and_tables(lookups, shard);
        format!("select {columns} from {tables} where {} = any($2::smallint[])", shard.0)
    }

    /// Returns the columns to select, and their tables.
    fn columns_and_tables(&self, lookups: &[&Lookup], shard: ShardId) -> (String, String) {
        let (mut columns, mut tables) = (vec![format!("{}::smallint", shard.0)], Vec::new());
        for (i, (lookup, condition)) in lookups.iter().zip(&self.conditions).enumerate() {
            if lookup.scope == Scope::Path {
                columns.push(format!("coalesce(t{i}.b, '{{}}')"));
                tables.push(format!(
                    "(select array_agg(blob) b from {} where valid_from <= $1 and valid_to > $1 and {condition}) t{i}",
                    shard.files()
                ));
            } else {
                columns.push(format!("coalesce(t{i}.n, '{{}}'), coalesce(t{i}.b, '{{}}')"));
                tables.push(format!(
                    "(select array_agg(first) n, array_agg(upto) b from {} where {condition}) t{i}",
                    shard.documents()
                ));
            }
        }
        (columns.join(", "), tables.join(" cross join "))
    }

    /// Adds the condition on one row.
    fn condition(&mut self, sql: &mut String, column: &str, literals: &LiteralQuery) {
        match literals {
            LiteralQuery::Literal(text) if column == "path" => self.path_condition(sql, text),
            LiteralQuery::Literal(text) => {
                let no_recheck = self.no_recheck;
                let operator = if no_recheck { "@~~" } else { "ilike" };
                let patterns =
                    if no_recheck { vec![trigram_pattern(text)] } else { word_patterns(text) };
                let kind = if no_recheck { Pattern::NoRecheck } else { Pattern::Ilike };
                for (i, pattern) in patterns.into_iter().map(kind).enumerate() {
                    sql.push_str(if i == 0 { "" } else { " and " });
                    let at = self.add(pattern);
                    let _ = write!(sql, "{column} {operator} ${at}");
                }
            }
            LiteralQuery::Anything => sql.push_str("true"),
            LiteralQuery::All(parts) => self.join(sql, column, parts, " and "),
            LiteralQuery::Any(parts) => self.join(sql, column, parts, " or "),
        }
    }

    /// Adds a pattern, and returns the number of its parameter.
    fn add(&mut self, pattern: Pattern) -> usize {
        self.patterns.push(pattern);
        BEFORE_PATTERNS + self.patterns.len()
    }

    /// Adds the condition on a path. Paths are stored unchanged, and the server's locale determines how it folds
    /// letters outside ASCII. So those letters may be any, and paths with one that folds to ASCII may hold every s and
    /// k.
    fn path_condition(&mut self, sql: &mut String, text: &str) {
        let parts: Vec<&str> = text.split(|c: char| !c.is_ascii()).collect();
        // Without a recheck, a literal without a trigram tells nothing. A recheck reads all paths.
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
        let at = self.add(pattern);
        let _ = if text.contains(['s', 'k']) {
            write!(sql, "(path {operator} ${at} or non_ascii_fold)")
        } else {
            write!(sql, "path {operator} ${at}")
        };
    }

    fn join(&mut self, sql: &mut String, column: &str, parts: &[LiteralQuery], word: &str) {
        sql.push('(');
        for (i, part) in parts.iter().enumerate() {
            sql.push_str(if i == 0 { "" } else { word });
            self.condition(sql, column, part);
        }
        sql.push(')');
    }
}

/// The condition that a column `lexemes` may hold some literals.
pub(crate) struct LexemesCondition(Statement);

impl LexemesCondition {
    pub(crate) fn of(literals: &LiteralQuery, no_recheck: bool) -> Self {
        let lookup = Lookup { scope: Scope::Chunk, terms: Vec::new(), literals: literals.clone() };
        Self(Statement::of(&[&lookup], no_recheck))
    }

    /// Returns it as SQL. Its first parameter is `$3`.
    pub(crate) fn sql(&self) -> &str {
        &self.0.conditions[0]
    }

    /// Binds its parameters after two others.
    pub(crate) fn bind(&self, bound: BoundStatement) -> BoundStatement {
        self.0.bind_patterns(bound)
    }
}

/// Returns the condition that the answers to some lookups leave a plan possible.
fn may_hold(plan: &Plan, lookups: &[&Lookup]) -> String {
    let mut is_found = |of: &Lookup| {
        let asked = lookups.iter().position(|lookup| *lookup == of)?;
        Some(format!("t{asked}.b is not null"))
    };
    let both = |word: &'static str| move |one, other| format!("({one} {word} {other})");
    plan.fold(&mut is_found, &both("and"), &both("or")).unwrap_or_else(|| "true".to_owned())
}

/// Returns the pattern of the rarest trigrams of a text, for the operator without a recheck: `%fmt.%ntln%`.
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

/// Returns a pattern for each word of a text: `%fmt %` and `% Print%`. They are separate, because lexemes are not in
/// the order of the text. Their number is a power of two, so that there are few different prepared statements; the
/// longest words come first.
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

/// Appends a text with the wildcards of `like` escaped.
pub(crate) fn escape(text: &str, pattern: &mut String) {
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
        let statement = Statement::of(&[&lookup], no_recheck);
        let sql = format!("select 7::smallint, {sql} where 7 = any($2::smallint[])");
        assert_eq!(statement.sql(&[&lookup], &[7]), sql);
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
        let statement = |scope| Statement::of(&[&lookup(scope)], true);
        assert_eq!(statement(Scope::Chunk).conditions, ["true"]);
        let paths = statement(Scope::Path);
        assert_eq!(paths.conditions, ["path ilike $3"]);
        assert_eq!(paths.patterns, [Pattern::Ilike("%===%".to_owned())]);
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
            "coalesce(t0.n, '{}'), coalesce(t0.b, '{}') from (select array_agg(first) n, array_agg(upto) b \
             from documents_007 where ((lexemes @~~ $3 and lexemes @~~ $4) or lexemes @~~ $5)) t0",
            &["%foo%", "%\\_r%", "%größe%"],
        );
        check(
            Scope::Path,
            literal("fmt.println"),
            true,
            "coalesce(t0.b, '{}') from (select array_agg(blob) b from files_007 \
             where valid_from <= $1 and valid_to > $1 and path @~~ $3) t0",
            &["%fmt.%ntln%"],
        );
        check(
            Scope::Path,
            literal("kernel/größe"),
            true,
            "coalesce(t0.b, '{}') from (select array_agg(blob) b from files_007 \
             where valid_from <= $1 and valid_to > $1 and (path @~~ $3 or non_ascii_fold)) t0",
            &["%kernel/gr%e%"],
        );
        check(
            Scope::Chunk,
            literal("foo.b_r"),
            false,
            "coalesce(t0.n, '{}'), coalesce(t0.b, '{}') from (select array_agg(first) n, array_agg(upto) b \
             from documents_007 where lexemes ilike $3 and lexemes ilike $4 and lexemes ilike $5 \
             and lexemes ilike $6) t0",
            &["%foo %", "% b %", "% r%", "%foo %"],
        );
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
        assert_eq!(may_hold(&plan, &asked), "(t0.b is not null or t1.b is not null)");
        let statement = Statement::of(&asked, true);
        let sql = statement.sql_with_filters(&asked, (ShardId(7), Groups::OF_NEW), &plan);
        assert!(sql.starts_with("select 7::smallint, coalesce(t0.n, '{}'), "), "{sql}");
        assert!(sql.contains(" f.* from (select array_agg(first) n, "), "{sql}");
        assert!(sql.contains("unnest($5::smallint[], $6::smallint[])"), "{sql}");
    }

    #[test]
    fn one_statement_looks_into_several_shards() {
        let lookup = Lookup { scope: Scope::Chunk, terms: vec![0], literals: literal("foo") };
        let statement = Statement::of(&[&lookup], true);
        let branch = |n: i16| {
            format!(
                "select {n}::smallint, coalesce(t0.n, '{{}}'), coalesce(t0.b, '{{}}') from (select array_agg(first) n, \
                 array_agg(upto) b from documents_{n:03} where lexemes @~~ $3) t0 where {n} = any($2::smallint[])"
            )
        };
        let both = format!("{} union all {}", branch(2), branch(3));
        assert_eq!(statement.sql(&[&lookup], &[2, 3]), both);
    }
}
