//! The JSON arguments of Zoekt's clients, and the limits of an answer.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::Failure;
use request::{MAX_CONTEXT, Options as QueryContext};

/// Default limit of matches in a repository; Zoekt's default for a shard.
pub(super) const MAX_REPO_MATCHES: usize = 100_000;

/// Number of files up to which a search that shows only some of them still counts practically all matches.
pub(super) const SMALL_CORPUS: usize = 10_000;

/// The arguments of `/api/search`. Field names are in lower case: see [`read`].
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SearchArgs {
    pub(super) q: String,
    #[serde(rename = "repoids")]
    pub(super) repo_ids: Option<Value>,
    pub(super) opts: Options,
}

/// Zoekt's options, as far as they are supported. Zero means missing.
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
    /// In nanoseconds.
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

/// The arguments of `/api/list`.
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

/// Parses arguments as Go does: names in any case, and null means missing. Unlike Go, rejects text after them.
pub(super) fn read<T: DeserializeOwned + Default>(
    body: Result<Bytes, BytesRejection>,
) -> Result<T, Failure> {
    let wrong = |why: String| Failure::bad_request(format!("cannot read the body: {why}"));
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

/// The limits of an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatchLimits {
    /// Most matches in one repository; further files of it are skipped.
    pub(super) repo: usize,
    /// Most matches in all; the search ends there.
    pub(super) total: usize,
    /// Most files shown.
    pub(super) files: Option<usize>,
    /// Most matches shown.
    pub(super) matches: Option<usize>,
}

pub(super) fn positive(number: i64) -> Option<usize> {
    usize::try_from(number).ok().filter(|number| *number > 0)
}

impl Options {
    /// Returns the limits for a search over so many files. Missing limits are derived from the given ones, as in Zoekt.
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

    /// Returns the options of the request besides the query.
    pub(super) fn beside(&self) -> QueryContext {
        let context = positive(self.num_context_lines).map_or(0, |lines| lines.min(MAX_CONTEXT));
        let timeout = (self.max_wall_time != 0)
            .then(|| Duration::from_nanos(u64::try_from(self.max_wall_time).unwrap_or(0)));
        QueryContext { timeout, context: (context, context), ..QueryContext::default() }
    }
}
