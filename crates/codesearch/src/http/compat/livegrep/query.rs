//! A query of livegrep, and the requests that answer it.

use axum::http::StatusCode;
use engine::search::Request;
use query::{Case, Count, Field, Pattern, Query, QueryError, Tree};

use crate::http::error::{Body, Failure};
use crate::http::request::{compile, is_short};
use crate::request::{self, Client, Options};

/// A parsed query. All patterns are regular expressions: literal texts are escaped.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LivegrepQuery {
    pub(super) line: String,
    pub(super) files: Vec<String>,
    pub(super) not_files: Vec<String>,
    pub(super) repo: String,
    pub(super) not_repo: String,
    pub(super) fold_case: bool,
    pub(super) max_matches: i64,
    /// Whether there is no pattern for lines; `line` is then the first pattern for paths.
    pub(super) paths_only: bool,
}

impl LivegrepQuery {
    pub(super) fn pattern(&self) -> Result<Pattern, QueryError> {
        let case = if self.fold_case { Case::Insensitive } else { Case::Sensitive };
        Pattern::parse(&self.line, case, false)
    }

    /// Builds the request that searches for the pattern in one field, with all other conditions and lines of context.
    pub(super) async fn request(
        &self,
        place: Field,
        pattern: &Pattern,
        context: usize,
    ) -> Result<Request, Failure> {
        // A capital letter in one of several patterns of the same kind makes all of them case-sensitive.
        let term = |place, text: &String, all: &[String]| -> Result<Tree, QueryError> {
            let exact = all.iter().any(|text| text.contains(char::is_uppercase));
            let case = if exact { Case::Sensitive } else { Case::Insensitive };
            Ok(Tree::term(place, Pattern::parse(text, case, false)?))
        };
        let mut query = Query::of(place, pattern.clone());
        let kinds = [
            (Field::Path, &*self.files, false),
            (Field::Path, &*self.not_files, true),
            (Field::Repo, std::slice::from_ref(&self.repo), false),
            (Field::Repo, std::slice::from_ref(&self.not_repo), true),
        ];
        for (place, all, negated) in kinds {
            for text in all.iter().filter(|text| !text.is_empty()) {
                let tree = term(place, text, all).map_err(wrong)?;
                query = query.and(if negated { !tree } else { tree });
            }
        }
        let texts = [&self.line, &self.repo, &self.not_repo].into_iter();
        let short = is_short(texts.chain(&self.files).chain(&self.not_files));
        let limit = match self.max_matches {
            0 => None,
            most => Some(usize::try_from(most).map_or(Count::All, Count::Most)),
        };
        let options = Options { limit, context: (context, context), ..Options::default() };
        compile(short, move || Ok(request::build(query, &options, &Client::LIVEGREP)?)).await
    }
}

/// Makes the failure of an invalid pattern, without its position in the query, which is unknown.
pub(super) fn wrong(error: QueryError) -> Failure {
    Failure { status: StatusCode::BAD_REQUEST, body: Body::new("query", error.message) }
}
