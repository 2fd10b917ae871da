//! What clients of Zoekt ask: arguments in JSON, and how much of an answer they want.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::http::error::Failure;
use crate::request::{MAX_CONTEXT, Options as Beside};

/// Matches in a repository, unless the options say otherwise; Zoekt's default for a shard.
pub(super) const MAX_REPO_MATCHES: usize = 100_000;

/// Up to so many files, a search that shows only some of them looks at practically all matches.
pub(super) const SMALL_CORPUS: usize = 10_000;

/// What `/api/search` is asked. Names are in small letters here, see [`read`].
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SearchArgs {
    pub(super) q: String,
    #[serde(rename = "repoids")]
    pub(super) repo_ids: Option<Value>,
    pub(super) opts: Options,
}

/// Zoekt's options, as far as they mean something here. Zero is the same as nothing.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Options {
    #[serde(rename = "estimatedoccount")]
    pub(super) estimate_doc_count: bool,
    pub(super) whole: bool,
    #[serde(rename = "shardmaxmatchcount")]
    pub(super) shard_max_match_count: i64,
    #[serde(rename = "totalmaxmatchcount")]
    pub(super) total_max_match_count: i64,
    #[serde(rename = "shardrepomaxmatchcount")]
    pub(super) shard_repo_max_match_count: i64,
    /// Nanoseconds.
    #[serde(rename = "maxwalltime")]
    pub(super) max_wall_time: i64,
    #[serde(rename = "maxdocdisplaycount")]
    pub(super) max_doc_display_count: i64,
    #[serde(rename = "maxmatchdisplaycount")]
    pub(super) max_match_display_count: i64,
    #[serde(rename = "numcontextlines")]
    pub(super) num_context_lines: i64,
    #[serde(rename = "chunkmatches")]
    pub(super) chunk_matches: bool,
}

/// What `/api/list` is asked.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ListArgs {
    pub(super) q: String,
    pub(super) opts: ListOptions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ListOptions {
    pub(super) field: i64,
}

/// Reads arguments the way Go does: names in any case, and null is as good as nothing. Unlike there, nothing may follow.
pub(super) fn read<T: DeserializeOwned + Default>(
    body: Result<Bytes, BytesRejection>,
) -> Result<T, Failure> {
    let wrong = |why: String| Failure::bad_request(format!("the body cannot be read: {why}"));
    let body =
        body.map_err(|error| Failure { status: error.status(), ..wrong(error.body_text()) })?;
    if body.trim_ascii().is_empty() {
        return Err(wrong("it is empty; send a JSON object".to_owned()));
    }
    match plain(serde_json::from_slice(&body).map_err(|error| wrong(error.to_string()))?) {
        Value::Null => Ok(T::default()),
        value => serde_json::from_value(value).map_err(|error| wrong(error.to_string())),
    }
}

pub(super) fn plain(value: Value) -> Value {
    let Value::Object(fields) = value else { return value };
    let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(fields.map(|(name, value)| (name.to_lowercase(), plain(value))).collect())
}

/// How much of an answer is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatchLimits {
    /// Matches in one repository: what is left over of it is skipped.
    pub(super) repo: usize,
    /// Matches in all: the search ends.
    pub(super) total: usize,
    /// Files that are shown.
    pub(super) files: Option<usize>,
    /// Matches that are shown.
    pub(super) matches: Option<usize>,
}

pub(super) fn positive(number: i64) -> Option<usize> {
    usize::try_from(number).ok().filter(|number| *number > 0)
}

impl Options {
    /// The limits for a search of so many files. Those that are not given follow from those that are, as
    /// in Zoekt.
    pub(super) fn limits(&self, documents: usize) -> MatchLimits {
        let files = positive(self.max_doc_display_count);
        let mut shard = positive(self.shard_max_match_count);
        let mut total = positive(self.total_max_match_count);
        if let (Some(files), None) = (files, shard) {
            if documents > SMALL_CORPUS {
                let some = files.saturating_mul(5);
                shard = Some(some.saturating_add(some / (documents / 1000)));
            } else {
                shard = Some(files.saturating_mul(100).saturating_add(documents));
                total = shard;
            }
        }
        let shard = shard.unwrap_or(MAX_REPO_MATCHES);
        MatchLimits {
            repo: positive(self.shard_repo_max_match_count).map_or(shard, |repo| repo.min(shard)),
            total: total.unwrap_or(shard.saturating_mul(10)),
            files,
            matches: positive(self.max_match_display_count),
        }
    }

    /// What builds the request, beside the query.
    pub(super) fn beside(&self) -> Beside {
        let context = positive(self.num_context_lines).map_or(0, |lines| lines.min(MAX_CONTEXT));
        let timeout = (self.max_wall_time != 0)
            .then(|| Duration::from_nanos(u64::try_from(self.max_wall_time).unwrap_or(0)));
        Beside { timeout, context: (context, context), ..Beside::default() }
    }
}
