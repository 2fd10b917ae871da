//! Which chunks of a shard can match: the plan as a statement that the trigram index answers.

use query::{Need, has_trigram};
use sqlx::AssertSqlSafe;
use std::fmt::Write as _;

use crate::connect::Store;
use crate::error::Result;
use crate::{BlobId, ShardId};

/// Most characters of a literal given to the index. Their trigrams say all there is to say, and each
/// costs a lookup.
const MAX_LOOKUP_CHARS: usize = 64;

/// The chunks of one shard that can match, in order of their numbers.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    /// Chunk numbers, ascending, each with its blob.
    pub chunks: Vec<(i32, BlobId)>,
}

impl Store {
    /// Names every chunk of a shard that can match, and perhaps others.
    pub async fn candidates(&self, shard: ShardId, need: &Need) -> Result<Candidates> {
        let mut condition =
            Condition { loose: self.loose, sql: String::new(), patterns: Vec::new() };
        condition.add(need);
        let sql = format!(
            "select coalesce(array_agg(n), '{{}}'), coalesce(array_agg(blob), '{{}}')
             from chunks where shard = $1 and {}",
            condition.sql
        );
        let mut statement = sqlx::query_as(AssertSqlSafe(sql)).bind(shard.0);
        for pattern in condition.patterns {
            // The loose operator takes the pattern as bytes, ILIKE as text.
            statement = if self.loose {
                statement.bind(pattern.into_bytes())
            } else {
                statement.bind(pattern)
            };
        }
        let (numbers, blobs): (Vec<i32>, Vec<i32>) = statement.fetch_one(&self.pool).await?;
        let mut chunks: Vec<_> = numbers.into_iter().zip(blobs.into_iter().map(BlobId)).collect();
        // Nearly always sorted already: a bitmap scan goes through the table in its order.
        chunks.sort_unstable();
        Ok(Candidates { chunks })
    }
}

/// A `where` condition under construction; the first parameter is the shard.
struct Condition {
    loose: bool,
    sql: String,
    patterns: Vec<String>,
}

impl Condition {
    fn add(&mut self, need: &Need) {
        match need {
            Need::Literal(text) => {
                self.patterns.push(like_pattern(text));
                let parameter = self.patterns.len() + 1;
                let operator = if self.loose { "@~~" } else { "ilike" };
                let _ = write!(self.sql, "contents {operator} ${parameter}");
            }
            Need::Anything => self.sql.push_str("true"),
            Need::All(parts) => self.join(parts, " and "),
            Need::Any(parts) => self.join(parts, " or "),
        }
    }

    fn join(&mut self, parts: &[Need], word: &str) {
        self.sql.push('(');
        for (i, part) in parts.iter().enumerate() {
            if i > 0 {
                self.sql.push_str(word);
            }
            self.add(part);
        }
        self.sql.push(')');
    }
}

/// `%text%` with the wildcards in the text escaped; of a long text its beginning.
fn like_pattern(text: &str) -> String {
    let head = text.char_indices().nth(MAX_LOOKUP_CHARS).map_or(text, |(end, _)| &text[..end]);
    let text = if has_trigram(head) { head } else { text };
    let mut pattern = String::from("%");
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}
