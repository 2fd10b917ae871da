//! `/definitions`, `/references` and `/outline`: pages for browsers, JSON for programs, at the same addresses.

mod json;
mod names;
mod outline;

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use navigate::{self, NameRequest};
use search::Stats;

pub(crate) use self::names::{DEFINITIONS, REFERENCES};
pub(crate) use self::outline::OUTLINE;
use super::search_page::failed;
use crate::error::Failure;
use crate::params::names::{FORMAT, LANG, REPO};
use crate::params::{CheckedParams, Kind, Param};
use crate::search_stream::stopped;
use crate::server::Server;

/// A name.
const NAME: Param = Param::text(
    "name",
    "The exact name: Foo; or with its containers: Foo.bar, Foo::bar. By default, the name at the line and column of \
     from.",
);

/// The place of the request.
const FROM: Param = Param::text(
    "from",
    "The place of the name: repository/path:line:column, with the column in bytes from 1. \
     repository@tree/path:line:column searches that indexed tree of the repository. The nearest results come first, and only languages of the same family are searched. If a SCIP index covers the place, the symbol that it \
     names there comes first.",
);

/// The limit of results.
const LIMIT: Param = Param {
    kind: Kind::Number { least: 1, most: 500, instead: "a number from 1 to 500" },
    ..Param::text(
        "limit",
        "Maximum number of definitions, or of files with references, up to 500; default 50.",
    )
};

/// Number of results without a limit.
const SHOWN: usize = 50;

/// Timeout of a search.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The parameters of a request for a name.
#[derive(Clone, Debug)]
pub(crate) struct NameParams {
    name: String,
    from: Option<String>,
    repo: Option<String>,
    lang: Option<String>,
    limit: usize,
    format: Option<String>,
}

impl From<CheckedParams> for NameParams {
    fn from(given: CheckedParams) -> Self {
        let some = |param| given.get(param).map(str::to_owned);
        Self {
            name: given.text(&NAME),
            from: some(&FROM),
            repo: some(&REPO),
            lang: some(&LANG),
            limit: given.number(&LIMIT).unwrap_or(SHOWN),
            format: some(&FORMAT),
        }
    }
}

impl NameParams {
    /// Returns the request for the name, with its place; and the server whose view has the trees that it names.
    async fn request(&self, server: &Server) -> Result<(Server, NameRequest), Failure> {
        let named = server.view().named_tree(self.repo.as_deref().unwrap_or_default()).await?;
        let mut view = named.in_view(server.view());
        let repo = match &named.named {
            Some((repo, _)) => Some(format!("^{}$", query::escape(repo))),
            None => self.repo.clone(),
        };
        let mut from = None;
        if let Some(text) = &self.from {
            let named = view.named_tree_of_path(text).await?;
            view = named.in_view(&view);
            from = Some(navigate::place(&view, &named.text).await.map_err(refused)?);
        }
        let request = NameRequest {
            name: self.name.clone(),
            from,
            here: None,
            repo,
            language: self.lang.clone(),
            limit: self.limit,
            timeout: TIMEOUT,
        };
        Ok((server.seeing(view), request))
    }
}

/// Returns the failure for a name without an answer.
pub fn refused(error: navigate::Error) -> Failure {
    match error {
        navigate::Error::Invalid(why) => Failure::bad_request(why),
        navigate::Error::NoFile(_)
        | navigate::Error::NoFileAt(..)
        | navigate::Error::LeftOut(..) => Failure::no_such(error.to_string()),
        navigate::Error::Search(error) => error.into(),
    }
}

/// Returns the reason why the results are incomplete.
fn why(stats: &Stats) -> Option<String> {
    let ended = stopped(stats).map(|(_, sentence)| sentence);
    let all: Vec<String> = ended.into_iter().chain(request::notes::unsearched(stats)).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Returns a page or JSON, for results or a failure.
fn answered(page: bool, q: &str, done: Result<Response, Failure>) -> Response {
    done.unwrap_or_else(|failure| if page { failed(q, failure) } else { failure.into_response() })
}
