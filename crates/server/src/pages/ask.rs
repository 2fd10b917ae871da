//! `/ask`: the files that answer a question in words best, as JSON for programs and a page for browsers.

use askama::Template;
use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use search::Holds;
use search::ask::{AskError, AskRequest, Asked, AskedFile, MAX_QUESTION};

use super::asked::{AskedPage, Form, Truth};
use super::link;
use super::narrow::TreeFields;
use super::render::render;
use super::view::{self, FileView, ListedCopies};
use crate::endpoint::{Admits, Answer, Class, Content, Doc, Endpoint};
use crate::error::Failure;
use crate::params::names::{COPIES, EXPLAIN, FILE, FORMAT, FRESH, LANG, Q, REPO, TIMEOUT};
use crate::params::{
    CheckedParams, DeclaredParams, Kind as ParamKind, Param, StrictParams, is_browser, wants_page,
};
use crate::server::Server;
use request::ask_answer::{self as printed, score, summary};
use request::hints::missing_repository;
use request::{self, AskOptions, Client};
use statistics::{self, Outcome};

const LIMIT: Param = Param {
    kind: ParamKind::Number { least: 1, most: 100, instead: "a number from 1 to 100" },
    ..Param::text("limit", "Maximum number of files; default 10.")
};
const LINES: Param = Param {
    kind: ParamKind::Number { least: 0, most: 50, instead: "a number from 0 to 50" },
    ..Param::text("lines", "Maximum number of lines of a file; default 5.")
};
const REV: Param = Param::text(
    "rev",
    "A branch, a tag or a commit, whose indexed trees are asked instead of the main ones.",
)
.at_most(256);
const WORKTREE: Param =
    Param::text("worktree", "A worktree that is asked instead of the main tree.").at_most(256);

/// `/ask`.
pub(crate) const ASK: Endpoint = Endpoint {
    path: "/ask",
    route: || get(ask),
    class: Class::Search,
    admits: Admits::Clients,
    params: DeclaredParams {
        documented: &[
            Q.at_most(MAX_QUESTION).saying(
                "A question. All of it is words; other parameters name files. A word also finds its other forms, and \
                 identifiers of which it is a part.",
            ),
            LIMIT,
            LINES,
            REPO,
            FILE,
            LANG,
            REV,
            WORKTREE,
            TIMEOUT.saying("Timeout: 500ms, 5s, 2m; default 10s."),
            FRESH,
            EXPLAIN.saying("1 for the score of each file, and its parts."),
            FORMAT,
        ],
        undocumented: &[COPIES],
    },
    doc: Some(Doc {
        summary: "Ask in words",
        description: "Returns the files that answer a question best, the best first, each with its best lines. A file \
                      need not have all words. Files with the same contents are one result.",
        answers: &[
            Answer::ok("The best files.", Content::Json(&["Asked"])),
            Answer::BAD,
            Answer::UNAVAILABLE,
        ],
    }),
};

const PAGE: AskedPage = AskedPage {
    path: "/ask",
    about: "A question",
    input: "Question",
    example: "how are validators plugged in",
    most: MAX_QUESTION,
    button: "Ask",
    languages: "rust, go",
};

/// The parameters of a request.
#[derive(Clone, Debug)]
struct AskParams {
    q: String,
    given: CheckedParams,
}

impl From<CheckedParams> for AskParams {
    fn from(given: CheckedParams) -> Self {
        Self { q: given.text(&Q), given }
    }
}

#[derive(Template)]
#[template(path = "ask.html")]
struct AskPage<'a> {
    form: Form<'a>,
    error: Option<String>,
    found: Option<Found>,
}

/// What a page shows of an answer.
struct Found {
    truth: Truth,
    notes: Vec<String>,
    stale: Option<String>,
    files: Vec<FileView>,
}

async fn ask(
    server: Server,
    headers: HeaderMap,
    StrictParams(params): StrictParams<AskParams>,
) -> Response {
    let page = wants_page(&headers, params.given.get(&FORMAT));
    // A program that requests a page gets an error if the question is missing.
    if page && params.q.trim().is_empty() && is_browser(&headers) {
        return render(StatusCode::OK, &params.page(None, None));
    }
    let answered = answer(&server, &params, page).await;
    match answered {
        Ok(asked) if page => match found(&server, &params, asked).await {
            Ok(found) => render(StatusCode::OK, &params.page(None, Some(found))),
            Err(failure) => render(failure.status, &params.page(Some(failure.body.message), None)),
        },
        Ok(asked) => {
            Json(printed::Answer::of(&params.q, &asked, params.is_on(&EXPLAIN))).into_response()
        }
        Err(failure) if page => {
            render(failure.status, &params.page(Some(failure.body.message), None))
        }
        Err(failure) => failure.into_response(),
    }
}

impl AskParams {
    fn page(&self, error: Option<String>, found: Option<Found>) -> AskPage<'_> {
        let text = |param| self.given.get(param).unwrap_or_default();
        let form = Form {
            of: &PAGE,
            words: &self.q,
            code: self.q.clone(),
            repo: text(&REPO).to_owned(),
            lang: text(&LANG),
        };
        AskPage { form, error, found }
    }

    fn is_on(&self, param: &Param) -> bool {
        self.given.get(param).is_some_and(|value| !matches!(value, "0" | "no" | "false"))
    }

    fn request(&self, page: bool) -> Result<AskRequest, Failure> {
        let all = |param| self.given.get(param).map(str::to_owned).into_iter().collect();
        let timeout = self.given.get(&TIMEOUT).map(|text| {
            query::duration(text)
                .map_err(|why| Failure::bad_request(format!("timeout={text}: {why}")))
        });
        let options = AskOptions {
            repos: all(&REPO),
            files: all(&FILE),
            languages: all(&LANG),
            rev: self.given.get(&REV).map(str::to_owned),
            worktree: self.given.get(&WORKTREE).map(str::to_owned),
            limit: self.given.number(&LIMIT),
            lines: self.given.number(&LINES),
            timeout: timeout.transpose()?,
            brute: false,
        };
        let client = if page { Client::PAGE } else { Client::PROGRAM };
        let mut request = request::ask(&self.q, &options, &client)?;
        request.checks_disk = true;
        Ok(request)
    }

    /// Returns the address of the same page with all copies.
    fn with_copies(&self) -> String {
        let names = [&REPO, &FILE, &LANG, &REV, &WORKTREE, &LIMIT, &LINES];
        let others = names.iter().filter_map(|param| Some((param.name, self.given.get(param)?)));
        let all: Vec<(&str, &str)> = [("q", self.q.as_str())]
            .into_iter()
            .chain(others)
            .chain([(COPIES.name, "1")])
            .collect();
        link::to("/ask", &all)
    }
}

/// Asks a question.
async fn answer(server: &Server, params: &AskParams, page: bool) -> Result<Asked, Failure> {
    let mut request = params.request(page)?;
    if params.is_on(&FRESH) {
        let mut among = request.among.as_ref().clone();
        let note = server.view().await_fresh(&among, Holds::Nothing).await?;
        among.notes.extend(note);
        request.among = among.into();
    }
    let _turn = server.turn().await?;
    asked(server, &request).await
}

/// Asks a question, and counts it. The caller has a turn.
///
/// # Errors
/// Those of [`search::ask::ask`].
pub(crate) async fn asked(server: &Server, request: &AskRequest) -> Result<Asked, Failure> {
    let question = request.question.clone();
    let told = move |_: Option<&search::Stats>| (question.clone(), String::new());
    let counted = server.metrics.begin(statistics::Kind::Ask, told);
    let asked = search::ask::ask(server.view(), request).await;
    counted.ended(match &asked {
        Err(_) => Outcome::Failed,
        Ok(asked) => match printed::stopped(asked).map(|(word, _)| word) {
            None | Some("unindexed") => Outcome::Complete,
            Some("limit") => Outcome::Limit,
            Some("timeout") => Outcome::Timeout,
            Some(_) => Outcome::ShardError,
        },
    });
    let asked = asked?;
    audit::told().files(asked.files.iter().map(|found| &found.file));
    Ok(asked)
}

/// Prepares an answer for a page.
async fn found(server: &Server, params: &AskParams, asked: Asked) -> Result<Found, Failure> {
    let mut notes = printed::notes(&asked);
    if asked.files.is_empty() {
        let repos: Vec<String> = params.given.get(&REPO).map(str::to_owned).into_iter().collect();
        notes.extend(missing_repository(server.view(), &repos).await);
    }
    let copies = ListedCopies { all: params.is_on(&COPIES), href: params.with_copies() };
    Ok(Found {
        truth: Truth::of(
            &summary(&asked),
            asked.stats.duration,
            printed::stopped(&asked),
            &asked.stats.covered,
        ),
        notes,
        stale: request::stale::sentence(&asked.stale),
        files: views(server, &asked, Some(&copies), params.is_on(&EXPLAIN)).await?,
    })
}

/// Returns the files of an answer as a page shows them.
///
/// # Errors
/// The database query fails.
pub(super) async fn views(
    server: &Server,
    asked: &Asked,
    copies: Option<&ListedCopies>,
    explains: bool,
) -> Result<Vec<FileView>, Failure> {
    let has_trees = asked.files.iter().any(|one| !one.file.trees.is_empty());
    let trees =
        if has_trees { TreeFields::of(server.view()).await? } else { TreeFields::default() };
    let draw = |one: &AskedFile| {
        let file = &one.file;
        let drawn = view::file(file, file.matches(), "", copies, &trees);
        FileView {
            // The number of shown lines is not that of all.
            count: String::new(),
            score: explains.then(|| score(one)),
            // Their addresses are those of searches.
            trees: drawn.trees.into_iter().map(|(name, _)| (name, None)).collect(),
            ..drawn
        }
    };
    Ok(asked.files.iter().map(draw).collect())
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Search(error) => error.into(),
            other => Self::bad_request(other.to_string()),
        }
    }
}
