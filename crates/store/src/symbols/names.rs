//! Finds groups by the names in them.

use std::fmt::Write as _;

use ngram::{FilterKind, NgramQuery};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};

use crate::error::Result;
use crate::lease::{BoundStatement, Lease};
use crate::{BlobId, ShardId};

/// Number of bits to test in the filters of names: always the same, so that there are few different statements, each of
/// which every connection must prepare. Two fifths of the bits of a filter are set, so more would rule out little more.
const BITS: usize = 16;

/// The names that a group of neighbouring blobs defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolNames {
    /// The names, one to a line.
    pub names: String,
    /// For each blob, the number of names up to its end.
    ends: Vec<(usize, BlobId)>,
}

impl SymbolNames {
    /// Returns the blob that defines the name with an index, from 0.
    pub fn blob(&self, name: usize) -> Option<BlobId> {
        self.ends.get(self.ends.partition_point(|(end, _)| *end <= name)).map(|(_, blob)| *blob)
    }
}

impl FromRow<'_, PgRow> for SymbolNames {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let (blobs, counts): (Vec<i32>, Vec<i16>) = (row.try_get("blobs")?, row.try_get("counts")?);
        let mut end = 0;
        let ends = blobs.into_iter().zip(counts).map(|(blob, count)| {
            end += usize::from(count.unsigned_abs());
            (end, BlobId(blob))
        });
        Ok(Self { ends: ends.collect(), names: row.try_get("names")? })
    }
}

impl Lease {
    /// Returns the groups of a shard that may have names with some n-grams, in order.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn symbol_names(
        &mut self,
        shard: ShardId,
        ngrams: &NgramQuery,
    ) -> Result<Vec<SymbolNames>> {
        let mut bits = Vec::new();
        let mut sql = format!(
            "select blobs, counts, names from {} where shard = {} and ",
            shard.symbols(),
            shard.0
        );
        condition(ngrams, &mut sql, &mut bits);
        sql.push_str(" order by first");
        self.fetch(bits.into_iter().fold(BoundStatement::new(sql), BoundStatement::bind)).await
    }
}

/// Adds the condition on a filter. Its parameters are the bits.
fn condition(ngrams: &NgramQuery, sql: &mut String, bits: &mut Vec<i64>) {
    match ngrams {
        NgramQuery::Anything => sql.push_str("true"),
        NgramQuery::Hashes(_) => {
            let asked = ngrams.sample(BITS).bits(FilterKind::Chunk);
            for at in 0..BITS {
                // A short literal has fewer than `BITS`, so they repeat. With none, the condition is true.
                let Some(bit) = asked.get(at % asked.len().max(1)) else {
                    sql.push_str("true");
                    return;
                };
                bits.push(*bit as i64);
                let and = if at == 0 { "" } else { " and " };
                let _ = write!(sql, "{and}get_bit(filter, ${}) = 1", bits.len());
            }
        }
        NgramQuery::All(parts) | NgramQuery::Any(parts) => {
            let (word, none) = match ngrams {
                NgramQuery::All(_) => (" and ", "true"),
                _ => (" or ", "false"),
            };
            sql.push('(');
            for part in parts {
                condition(part, sql, bits);
                sql.push_str(word);
            }
            let _ = write!(sql, "{none})");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_becomes_a_condition_on_bits() {
        let word = |text: &str| NgramQuery::folded(text);
        let ngrams =
            NgramQuery::all(vec![NgramQuery::any(vec![word("name"), word("abc")]), word("other")]);
        let (mut sql, mut bits) = (String::new(), Vec::new());
        condition(&ngrams, &mut sql, &mut bits);
        let all = |from: usize| {
            let each = (from..from + BITS).map(|n| format!("get_bit(filter, ${n}) = 1"));
            each.collect::<Vec<_>>().join(" and ")
        };
        let expected = format!(
            "(({} or {} or false) and {} and true)",
            all(1),
            all(BITS + 1),
            all(2 * BITS + 1)
        );
        assert_eq!(sql, expected);
        bits.sort_unstable();
        bits.dedup();
        let asked: Vec<i64> =
            ngrams.bits(FilterKind::Chunk).into_iter().map(|bit| bit as i64).collect();
        assert_eq!(bits, asked);
        let (mut sql, mut bits) = (String::new(), Vec::new());
        condition(&word("x"), &mut sql, &mut bits);
        assert_eq!((&*sql, bits.len()), ("true", 0));
    }

    #[test]
    fn a_name_is_of_a_blob() {
        let ends = [(2, 5), (2, 7), (3, 8)].map(|(end, blob)| (end, BlobId(blob))).to_vec();
        let group = SymbolNames { names: "one\ntwo\nthree".to_owned(), ends };
        let blobs: Vec<_> = (0..4).map(|name| group.blob(name).map(|blob| blob.0)).collect();
        assert_eq!(blobs, [Some(5), Some(5), Some(8), None]);
    }
}
