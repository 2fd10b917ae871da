//! The engines, queried over HTTP.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use ureq::Agent;

use crate::queries::{Found, Query};
use crate::repo::Repo;
use crate::shared::server::timed;
use crate::{FILES, Result};

/// Number of matches that Zoekt may find before it ranks: ten times its own limits. Without limits, common words take
/// minutes.
const SHARD_MATCHES: u64 = 1_000_000;
const ALL_MATCHES: u64 = 10_000_000;
/// Zoekt's time limit, in nanoseconds.
const TIME: u64 = 30_000_000_000;

/// Number of files requested if only some of them count.
const MORE_FILES: usize = 100;

/// An engine and its address.
pub(crate) enum Engine {
    /// `/search` in the order of relevance.
    Search(String),
    /// `/ask`.
    Ask(String),
    Zoekt {
        url: String,
        bm25: bool,
    },
}

/// The files that an engine is asked about.
#[derive(Clone, Copy)]
pub(crate) enum Scope<'r> {
    /// All that it has.
    Index,
    /// Those of the query's repository that count.
    Repository,
    /// Those of these repositories that count.
    Repositories(&'r [Repo]),
}

impl Scope<'_> {
    /// Returns the patterns of the repositories and paths of these files, as the engines read them; empty for all.
    fn patterns(self, query: &Query) -> (String, String) {
        match (self, &query.repo) {
            (Self::Repository, Some(repo)) => {
                let root = &repo.root;
                let root = if root.is_empty() { root } else { &format!("^{}", escape(root)) };
                (repositories(std::slice::from_ref(repo)), root.clone())
            }
            (Self::Repositories(repos), _) => (repositories(repos), String::new()),
            _ => (String::new(), String::new()),
        }
    }

    /// Returns whether a file counts.
    fn counts(self, file: &Found) -> bool {
        let Self::Repositories(repos) = self else { return true };
        repos.iter().any(|repo| repo.is(&file.repo) && file.path.starts_with(&repo.root))
    }
}

impl Engine {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Search(_) => "relevance",
            Self::Ask(_) => "ask",
            Self::Zoekt { bm25: false, .. } => "zoekt",
            Self::Zoekt { bm25: true, .. } => "zoekt BM25",
        }
    }

    /// Sends a query as it was typed. Returns the milliseconds that it took, and the first files that count, in the order of
    /// the engine's page. A query that an engine cannot parse finds nothing.
    pub(crate) fn ask(
        &self,
        agent: &Agent,
        query: &Query,
        scope: Scope<'_>,
    ) -> Result<(f64, Vec<Found>)> {
        let (repo, file) = scope.patterns(query);
        let most = if let Scope::Repositories(_) = scope { MORE_FILES } else { FILES };
        let text = &query.text;
        let fields = [("repo", &repo), ("file", &file)].into_iter();
        let fields = fields.filter(|(_, pattern)| !pattern.is_empty());
        let fields = fields.map(|(field, pattern)| format!("{field}:{pattern} "));
        let both = format!("{}{text}", fields.collect::<String>());
        let ours = |url: &str, rest: &str| {
            let address = format!("{}/{rest}", url.trim_end_matches('/'));
            timed(|| agent.get(&address).call(), parse)
        };
        let ((ms, answer), repo, path) = match self {
            Self::Search(url) => {
                let q = encoded(&both);
                let rest =
                    format!("search?sort=relevance&limit={most}&fields=repo,path&timeout=1m&q={q}");
                (ours(url, &rest)?, "repo", "path")
            }
            Self::Ask(url) => {
                let fields = [("q", text), ("repo", &repo), ("file", &file)].into_iter();
                let fields = fields.filter(|(_, value)| !value.is_empty());
                let fields = fields.map(|(field, value)| format!("&{field}={}", encoded(value)));
                let rest = format!("ask?limit={most}&lines=0{}", fields.collect::<String>());
                (ours(url, &rest)?, "repo", "path")
            }
            Self::Zoekt { url, bm25 } => {
                let body = json!({ "Q": both, "Opts": {
                    "ShardMaxMatchCount": SHARD_MATCHES, "TotalMaxMatchCount": ALL_MATCHES, "MaxWallTime": TIME,
                    "MaxDocDisplayCount": most, "UseBM25Scoring": bm25,
                }});
                let address = format!("{}/api/search", url.trim_end_matches('/'));
                let ask = || agent.post(&address).send(body.to_string());
                (timed(ask, parse)?, "Repository", "FileName")
            }
        };
        let answer = answer?;
        // Near definitions are a separate group above the matches.
        let lists = match self {
            Self::Search(_) | Self::Ask(_) => vec![&answer["near_definitions"], &answer["files"]],
            Self::Zoekt { .. } => vec![&answer["Result"]["Files"]],
        };
        let file = |file: &Value| {
            let text = |field: &str| file[field].as_str().unwrap_or_default().to_owned();
            Found { repo: text(repo), path: text(path) }
        };
        let files = lists.into_iter().filter_map(Value::as_array).flatten().map(file);
        Ok((ms, files.filter(|file| scope.counts(file)).take(FILES).collect()))
    }

    /// Returns whether a server of ours answers questions: older ones do not.
    pub(crate) fn answers_questions(agent: &Agent, url: &str) -> bool {
        let address = format!("{}/ask?q=words", url.trim_end_matches('/'));
        agent.get(&address).call().is_ok_and(|answer| answer.status().is_success())
    }
}

/// Returns a pattern for the names of some repositories, in either case.
fn repositories(repos: &[Repo]) -> String {
    let mut names: Vec<String> =
        repos.iter().flat_map(|repo| [escape(&repo.name), escape(&repo.called)]).collect();
    names.sort();
    names.dedup();
    format!("(?i)(^|/)({})$", names.join("|"))
}

/// Returns a pattern for exactly these characters.
fn escape(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '/' | '-');
    text.chars().flat_map(|c| (!is_plain(c)).then_some('\\').into_iter().chain([c])).collect()
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

fn parse(answer: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(answer)
}
