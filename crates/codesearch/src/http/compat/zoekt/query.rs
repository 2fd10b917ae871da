//! From the text of a query in Zoekt's meaning to a request.

use engine::search::Request;
use query::{Case, Field, Pattern, Query, Tree};

use crate::http::error::Failure;
use crate::http::request::compile;
use crate::request::{self, Client, Options as Beside};

/// A query as Zoekt would understand it: what can match a line feed does, and nothing is everything.
pub(super) fn parse(text: &str) -> Result<Query, Failure> {
    if text.trim().is_empty() {
        let mut query = Query::of(Field::Path, Pattern::literal("", Case::Smart)?);
        query.tree = Tree::All(Vec::new());
        return Ok(query);
    }
    Ok(request::parse(text, &Beside::default(), &Client::ZOEKT)?)
}

/// The request for a query and what stands beside it, compiled where that keeps nobody waiting.
pub(super) async fn compiled(query: Query, beside: Beside) -> Result<Request, Failure> {
    compile(false, move || Ok(request::build(query, &beside, &Client::ZOEKT)?)).await
}
