//! A standing query: compiled once, matched with many texts.

use query::{CompiledQuery, Expr, Predicate, Select};
use request::{Client, Options, Refused};
use store::CatalogRepo;

/// A standing query.
#[derive(Debug)]
pub struct Standing {
    query: CompiledQuery,
    /// Whether the text of a file decides.
    of_text: bool,
}

/// Why a query cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum Invalid {
    /// It is no query.
    #[error(transparent)]
    Query(#[from] Refused),
    /// It asks for what an epoch's changes do not tell; a sentence.
    #[error("{0}")]
    Unsupported(&'static str),
}

impl Standing {
    /// Compiles a query, with the defaults of a search.
    ///
    /// # Errors
    /// It is invalid, or asks for what an epoch's changes do not tell.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        if text.trim().is_empty() {
            return Err(Invalid::Unsupported(
                "the query is empty; name a text or pattern to watch",
            ));
        }
        let (options, client) = (Options::default(), Client::COMMAND_LINE);
        let query = request::parse(text, &options, &client)?;
        let request = request::build(query, &options, &client)?;
        let query = request.compiled_query().clone();
        if query.changes.is_some() {
            return Err(Invalid::Unsupported(
                "diff: and history: are not supported in a monitor, which tells changes by itself; leave them out",
            ));
        }
        if query.select == Select::Repos {
            return Err(Invalid::Unsupported(
                "type:repo is not supported in a monitor; leave it out, or use type:file",
            ));
        }
        let (mut of_text, mut unsupported) = (false, None);
        query.expr.predicates(&mut |of| match of {
            Predicate::Content(_) => of_text = true,
            Predicate::Symbol(_) => {
                unsupported = Some(
                    "sym: is not supported in a monitor, since symbols are extracted after an ingest; use a pattern",
                );
            }
            Predicate::InTree(_) => {
                unsupported = Some(
                    "rev:, branch: and worktree: are not supported in a monitor, which watches main trees; leave them out",
                );
            }
            Predicate::Path(_)
            | Predicate::Repo(_)
            | Predicate::Property(_)
            | Predicate::Language(_)
            | Predicate::Added(_)
            | Predicate::Removed(_) => {}
        });
        match unsupported {
            Some(why) => Err(Invalid::Unsupported(why)),
            None => Ok(Self { query, of_text }),
        }
    }

    /// Returns the compiled query.
    pub(crate) fn query(&self) -> &CompiledQuery {
        &self.query
    }

    /// Returns whether the text of a file decides.
    pub(crate) fn reads_text(&self) -> bool {
        self.of_text
    }

    /// Returns whether a file in a repository can match, whatever its path.
    pub fn may_match_in(&self, repo: &CatalogRepo) -> bool {
        let known = |of: Predicate| self.in_repo(repo, of);
        self.expr().eval(&known) != Some(false)
    }

    /// Returns the value of a predicate that the repository decides.
    pub(crate) fn in_repo(&self, repo: &CatalogRepo, of: Predicate) -> Option<bool> {
        self.query.of_repo(of, &repo.name, &repo.properties, &|| true)
    }

    pub(crate) fn expr(&self) -> &Expr {
        &self.query.expr
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_do_not_tell_is_refused() {
        for text in ["foo", "file:x", "-foo", "foo repo:a lang:go", "type:file foo", "a\\nb"] {
            assert!(Standing::new(text).is_ok(), "{text}");
        }
        for (text, why) in [
            ("", "the query is empty"),
            ("  ", "the query is empty"),
            ("a(b", "unclosed"),
            ("sym:foo", "sym: is not supported"),
            ("type:symbol foo", "sym: is not supported"),
            ("foo branch:x", "rev:, branch: and worktree: are not supported"),
            ("diff:A..B foo", "diff: and history: are not supported"),
            ("history:foo", "diff: and history: are not supported"),
            ("type:repo foo", "type:repo is not supported"),
        ] {
            let error = Standing::new(text).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        let standing = Standing::new("foo repo:acme").unwrap();
        let repo = |name: &str| CatalogRepo { name: name.to_owned(), ..CatalogRepo::default() };
        assert!(
            standing.may_match_in(&repo("acme/shop")) && !standing.may_match_in(&repo("other"))
        );
    }
}
