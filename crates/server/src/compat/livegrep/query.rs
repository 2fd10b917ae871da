//! A livegrep query, and the requests that answer it.

use axum::http::StatusCode;
use query::{
    Case, Count, Field, Matcher, Pattern, Query, QueryError, SymbolKind, SymbolKinds, Tree,
};
use search::Request;

use crate::error::{Body, Failure};
use crate::request::{build, compile, is_short};
use request::{Client, Options};

/// A parsed query. All patterns are regular expressions: literal texts are escaped.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LivegrepQuery {
    pub(super) line: String,
    pub(super) files: Vec<String>,
    pub(super) not_files: Vec<String>,
    pub(super) repo: String,
    pub(super) not_repo: String,
    /// Patterns for kinds of symbols; the line's pattern is then for names of symbols.
    pub(super) tags: Option<Vec<String>>,
    pub(super) not_tags: Option<Vec<String>>,
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

    /// Returns whether it searches for symbols.
    pub(super) fn asks_symbols(&self) -> bool {
        self.tags.is_some() || self.not_tags.is_some()
    }

    /// Returns the kinds of symbols that match its patterns, by their words or by the letters of ctags.
    fn kinds(&self) -> Result<SymbolKinds, QueryError> {
        let matching = |patterns: &Option<Vec<String>>| -> Result<Vec<SymbolKind>, QueryError> {
            let mut kinds = SymbolKind::ALL.to_vec();
            for text in patterns.iter().flatten().filter(|text| !text.is_empty()) {
                let matcher = Matcher::new(&Pattern::parse(text, Case::Insensitive, false)?)?;
                let names = |kind: &SymbolKind| {
                    let word = kind.word();
                    text.len() > 1 && matcher.is_match(word) || matcher.is_match(letter(*kind))
                };
                kinds.retain(names);
            }
            Ok(kinds)
        };
        let set = |kinds: Vec<SymbolKind>| {
            kinds.into_iter().map(SymbolKinds::one).reduce(SymbolKinds::or)
        };
        let named =
            |patterns: &Option<Vec<String>>| patterns.iter().flatten().any(|text| !text.is_empty());
        let mut kinds = SymbolKinds::DEFINITIONS;
        if named(&self.tags) {
            // Unknown kinds match nothing.
            kinds = set(matching(&self.tags)?).map_or(SymbolKinds::NONE, |some| some.and(kinds));
        }
        if named(&self.not_tags) {
            let not = set(matching(&self.not_tags)?).unwrap_or(SymbolKinds::NONE);
            kinds = kinds.and(not.others());
        }
        Ok(kinds)
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
        let mut query = match place {
            Field::Symbol => {
                let case = if self.fold_case { Case::Insensitive } else { Case::Sensitive };
                let kinds = self.kinds().map_err(wrong)?;
                Query::from_tree(Tree::symbol(&self.line, case, kinds).map_err(wrong)?)
            }
            place => Query::of(place, pattern.clone()),
        };
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
        compile(short, move |turn| Ok(build(query, &options, &Client::LIVEGREP, turn)?)).await
    }
}

/// Returns ctags' letter for a kind in most languages.
fn letter(kind: SymbolKind) -> &'static str {
    match kind {
        SymbolKind::Class => "c",
        SymbolKind::Struct => "s",
        SymbolKind::Enum => "g",
        SymbolKind::Interface | SymbolKind::Trait => "i",
        SymbolKind::Union => "u",
        SymbolKind::Type => "t",
        SymbolKind::Macro => "d",
        SymbolKind::Function => "f",
        SymbolKind::Method | SymbolKind::Constructor | SymbolKind::Field | SymbolKind::Property => {
            "m"
        }
        SymbolKind::Constant | SymbolKind::Variable => "v",
        SymbolKind::EnumMember => "e",
        SymbolKind::Module | SymbolKind::Namespace | SymbolKind::Implementation => "n",
        SymbolKind::Package => "p",
        SymbolKind::Heading => "h",
    }
}

/// Returns the failure for an invalid pattern, without its position in the query, which is unknown.
pub(super) fn wrong(error: QueryError) -> Failure {
    Failure { status: StatusCode::BAD_REQUEST, body: Body::new("query", error.message) }
}
