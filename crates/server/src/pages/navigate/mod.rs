//! `/definitions`, `/references` and `/outline`: pages for browsers, JSON for programs, at the same addresses.

mod json;
mod names;
mod outline;

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use navigate::{self, NameRequest, Place};
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

/// A place.
const FROM: Param = Param::text(
    "from",
    "The place of the name: repository/path:line:column, with the column in bytes from 1. The nearest results come \
     first, and only languages of the same family are searched. If a SCIP index covers the place, the symbol that it \
     names there comes first.",
);

/// Most results.
const LIMIT: Param = Param {
    kind: Kind::Number { least: 1, most: 500, instead: "a number from 1 to 500" },
    ..Param::text(
        "limit",
        "Maximum number of definitions, or of files with references, up to 500; default 50.",
    )
};

/// Results, unless it is said how many.
const SHOWN: usize = 50;

/// How long a search may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What is asked of a name.
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
    /// The request for it, with its place.
    async fn request(&self, server: &Server) -> Result<NameRequest, Failure> {
        let from = match &self.from {
            Some(from) => Some(place(server, from).await?),
            None => None,
        };
        Ok(NameRequest {
            name: self.name.clone(),
            from,
            repo: self.repo.clone(),
            language: self.lang.clone(),
            limit: self.limit,
            timeout: TIMEOUT,
        })
    }
}

/// The place that a text names.
async fn place(server: &Server, text: &str) -> Result<Place, Failure> {
    navigate::place(server.view(), text).await.map_err(refused)
}

/// Why a name has no answer.
pub fn refused(error: navigate::Error) -> Failure {
    match error {
        navigate::Error::Invalid(why) => Failure::bad_request(why),
        navigate::Error::NoFile(_) | navigate::Error::LeftOut(..) => {
            Failure::no_such(error.to_string())
        }
        navigate::Error::Search(error) => error.into(),
    }
}

/// Why not all was found.
fn why(stats: &Stats) -> Option<String> {
    let ended = stopped(stats).map(|(_, sentence)| sentence);
    let all: Vec<String> = ended.into_iter().chain(request::notes::symbols_left(stats)).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// A page or JSON, whatever came of it.
fn answered(page: bool, q: &str, done: Result<Response, Failure>) -> Response {
    done.unwrap_or_else(|failure| if page { failed(q, failure) } else { failure.into_response() })
}
