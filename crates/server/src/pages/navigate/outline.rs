//! `/outline`: the symbols of a file.

use askama::Template;
use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use navigate::{Outline, Place};

use super::json::outline_json;
use super::{answered, refused};
use crate::endpoint::{Admits, Answer, Class, Content, Doc, Endpoint};
use crate::error::Failure;
use crate::pages::link;
use crate::pages::render::render;
use crate::params::names::{FORMAT, REPO};
use crate::params::{CheckedParams, DeclaredParams, Param, StrictParams, wants_page};
use crate::server::Server;
use request::notes::outline_note;

const PATH: Param = Param::text("path", "A path in the repository.").required();
const IN_REPO: Param =
    REPO.saying("The name of a repository, or of one of its trees as NAME@TREE.").required();
const REV: Param = Param::text(
    "rev",
    "A branch, a tag or a commit, or the name of an indexed worktree, that has the file. Texts that only the clone has \
     have no symbols.",
)
.at_most(1000);

/// `/outline`: the symbols of a file.
pub(crate) const OUTLINE: Endpoint = Endpoint {
    path: "/outline",
    route: || get(outline),
    class: Class::Read,
    admits: Admits::Clients,
    params: DeclaredParams { documented: &[IN_REPO, PATH, REV, FORMAT], undocumented: &[] },
    doc: Some(Doc {
        summary: "Definitions in a file",
        description: "",
        answers: &[
            Answer::ok("Symbols in order.", Content::Json(&["Outline"])),
            Answer::BAD,
            Answer::NOT_FOUND,
        ],
    }),
};

#[derive(Template)]
#[template(path = "outline.html")]
struct OutlinePage<'a> {
    query: &'a str,
    repo: &'a str,
    path: &'a str,
    href: String,
    note: String,
    rows: Vec<RowView>,
}

struct RowView {
    level: usize,
    name: String,
    kind: &'static str,
    line: u64,
    href: String,
}

/// The parameters: a file.
#[derive(Clone, Debug)]
struct OutlineParams {
    place: Place,
    rev: Option<String>,
    format: Option<String>,
}

impl From<CheckedParams> for OutlineParams {
    fn from(given: CheckedParams) -> Self {
        let place = Place::file(given.text(&IN_REPO), given.text(&PATH));
        let some = |param| given.get(param).map(str::to_owned);
        let rev = some(&REV).filter(|rev| !rev.is_empty());
        Self { place, rev, format: some(&FORMAT) }
    }
}

async fn outline(
    server: Server,
    headers: HeaderMap,
    StrictParams(wanted): StrictParams<OutlineParams>,
) -> Response {
    let page = wants_page(&headers, wanted.format.as_deref());
    let work = async {
        let Place { repo, path, .. } = &wanted.place;
        if repo.is_empty() || path.is_empty() {
            return Err(Failure::bad_request("the file is missing; give repo= and path="));
        }
        let named = server.view().named_tree(repo).await?;
        let view = named.in_view(server.view());
        let place = Place::file(named.text, path.as_str());
        let outline = match &wanted.rev {
            Some(rev) => navigate::outline_at(&view, &place, rev).await,
            None => navigate::outline(&view, &place).await,
        };
        let outline = outline.map_err(refused)?;
        audit::told().file(&place.repo);
        audit::told().count(outline.symbols.len());
        Ok(if page {
            draw(&wanted, outline)
        } else {
            Json(outline_json(&place.repo, path, &outline)).into_response()
        })
    };
    answered(page, "", work.await)
}

fn draw(wanted: &OutlineParams, outline: Outline) -> Response {
    let Place { repo, path, .. } = &wanted.place;
    let note = outline_note(&outline);
    let href = link::file_at(repo, path, wanted.rev.as_deref());
    let rows = outline.symbols.into_iter().map(|one| RowView {
        level: one.depth.min(5) + 1,
        href: format!("{href}#L{}", one.symbol.line),
        name: one.symbol.name,
        kind: one.symbol.kind,
        line: one.symbol.line,
    });
    let rows = rows.collect();
    render(StatusCode::OK, &OutlinePage { query: "", repo, path, href, note, rows })
}
