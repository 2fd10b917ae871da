//! The engines, queried over HTTP.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use ureq::Agent;

use crate::Result;
use crate::shared::server::timed;

/// Number of matches that Zoekt may find before it ranks: ten times its own limits. Without limits, common words take
/// minutes.
const SHARD_MATCHES: u64 = 1_000_000;
const ALL_MATCHES: u64 = 10_000_000;
/// Zoekt's time limit, in nanoseconds.
const TIME: u64 = 30_000_000_000;

/// An engine and its address.
pub(crate) enum Engine {
    Ours(String),
    Zoekt { url: String, bm25: bool },
}

impl Engine {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Ours(_) => "codesearch",
            Self::Zoekt { bm25: false, .. } => "zoekt",
            Self::Zoekt { bm25: true, .. } => "zoekt BM25",
        }
    }

    /// Sends a query. Returns the milliseconds that it took, and the first files in the order of the engine's page,
    /// each as repository, slash, path. A query that an engine cannot parse finds nothing.
    pub(crate) fn ask(
        &self,
        agent: &Agent,
        query: &str,
        most: usize,
    ) -> Result<(f64, Vec<String>)> {
        let (found, repo, path) = match self {
            Self::Ours(url) => {
                let q = utf8_percent_encode(query, NON_ALPHANUMERIC);
                let url = url.trim_end_matches('/');
                let address = format!(
                    "{url}/search?sort=relevance&limit={most}&fields=repo,path&timeout=1m&q={q}"
                );
                (timed(|| agent.get(&address).call(), parse)?, "repo", "path")
            }
            Self::Zoekt { url, bm25 } => {
                let body = json!({ "Q": query, "Opts": {
                    "ShardMaxMatchCount": SHARD_MATCHES, "TotalMaxMatchCount": ALL_MATCHES, "MaxWallTime": TIME,
                    "MaxDocDisplayCount": most, "UseBM25Scoring": bm25,
                }});
                let address = format!("{}/api/search", url.trim_end_matches('/'));
                let ask = || agent.post(&address).send(body.to_string());
                (timed(ask, parse)?, "Repository", "FileName")
            }
        };
        let (ms, answer) = found;
        let answer = answer?;
        // Near definitions are a separate group above the matches.
        let lists = match self {
            Self::Ours(_) => vec![&answer["near_definitions"], &answer["files"]],
            Self::Zoekt { .. } => vec![&answer["Result"]["Files"]],
        };
        let file = |file: &Value| {
            let text = |field: &str| file[field].as_str().unwrap_or_default().to_owned();
            format!("{}/{}", text(repo), text(path))
        };
        let files = lists.into_iter().filter_map(Value::as_array).flatten().map(file);
        Ok((ms, files.take(most).collect()))
    }
}

fn parse(answer: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(answer)
}
