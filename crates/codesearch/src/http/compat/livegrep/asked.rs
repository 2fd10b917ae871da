//! What clients of livegrep ask, from parameters to searches.

use engine::search::Request;
use query::{Case, Count, Field, MAX_TERMS, Pattern, Query, QueryError, Tree};

use super::parse::{escape, has_capital, parse};
use super::wrong;
use crate::http::error::Failure;
use crate::http::request::{compile, is_short};
use crate::request::{self, Client, Options};

/// What a query asks for. Patterns are regular expressions, also those that were given as text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) line: String,
    pub(super) files: Vec<String>,
    pub(super) not_files: Vec<String>,
    pub(super) repo: String,
    pub(super) not_repo: String,
    pub(super) fold_case: bool,
    pub(super) max_matches: i64,
    /// There is no pattern for lines: it is that of the first file.
    pub(super) paths_only: bool,
}

impl Asked {
    pub(super) fn pattern(&self) -> Result<Pattern, QueryError> {
        let case = if self.fold_case { Case::Insensitive } else { Case::Sensitive };
        Pattern::parse(&self.line, case, false)
    }

    /// The search for the pattern in one place, beside everything else that is asked for, with so many
    /// lines around what matches.
    pub(super) async fn request(
        &self,
        place: Field,
        pattern: &Pattern,
        context: usize,
    ) -> Result<Request, Failure> {
        // Of patterns of the same kind, a capital in one makes all of them exact.
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

/// Reads the parameters of an address or a form.
pub(super) fn read(parameters: &[(String, String)]) -> Result<Asked, String> {
    let all = |name: &str| -> Vec<String> {
        let of_name = parameters.iter().filter(|(key, _)| key == name);
        of_name.map(|(_, value)| value.clone()).collect()
    };
    let get = |name: &str| all(name).into_iter().next();
    let regex = get("regex").as_deref() != Some("false");
    let pattern = |text: String| if regex { text } else { escape(&text) };
    let mut asked = match get("q") {
        Some(q) => parse(&q, regex)?,
        None => Asked::default(),
    };
    if let Some(line) = get("line") {
        asked.line = pattern(line);
        asked.paths_only = false;
    }
    let files = all("file");
    if !files.is_empty() {
        asked.files = files.into_iter().map(pattern).collect();
    }
    if let Some(repo) = get("repo") {
        asked.repo = pattern(repo);
    }
    if asked.repo.is_empty() {
        let names: Vec<String> =
            all("repo[]").iter().map(|name| format!("^{}$", escape(name))).collect();
        asked.repo = names.join("|");
    }
    match get("fold_case").as_deref() {
        None => {}
        Some("false") => asked.fold_case = false,
        Some("true") => asked.fold_case = true,
        Some(_) => asked.fold_case = !has_capital(&asked.line),
    }
    if asked.files.len() + asked.not_files.len() > MAX_TERMS {
        return Err(format!("give at most {MAX_TERMS} patterns for paths"));
    }
    if asked.line.is_empty() {
        let kind = if regex { "regular expression" } else { "string" };
        return Err(format!("nothing to search for: give a {kind} in q="));
    }
    Ok(asked)
}
