//! The parameters of `/search` and its related endpoints.

use super::given::CheckedParams;
use super::names::{
    CASE, CONTEXT, COPIES, CURSOR, ENCLOSING, EXPLAIN, FACETS, FILE, FORMAT, FRESH, HINTS, LANG,
    LIMIT, NUM, Q, REPO, SORT, STALE, TIMEOUT, TYPED, WAIT,
};
use super::param::Param;
use crate::cursor::Cursor;
use crate::error::Failure;
use rank::Order;
use request::{self, MAX_CONTEXT, Options};

/// The parameters of a search.
#[derive(Clone, Debug)]
pub(crate) struct SearchParams {
    /// The query.
    pub(crate) q: String,
    pub(crate) given: CheckedParams,
}

impl From<CheckedParams> for SearchParams {
    fn from(given: CheckedParams) -> Self {
        Self { q: given.text(&Q), given }
    }
}

impl SearchParams {
    /// Returns the options of the search besides the query.
    ///
    /// # Errors
    /// The timeout or the lines of context cannot be parsed.
    pub(crate) fn options(&self) -> Result<Options, Failure> {
        let all = |param| self.given.get(param).map(str::to_owned).into_iter().collect();
        let timeout = self.given.get(&TIMEOUT).map(|text| {
            query::duration(text)
                .map_err(|why| Failure::bad_request(format!("timeout={text}: {why}")))
        });
        let context = self.given.get(&CONTEXT).map(|text| {
            request::context(text).ok_or_else(|| {
                Failure::bad_request(format!(
                    "context={text}: use a number of lines up to {MAX_CONTEXT}, or two separated by a comma"
                ))
            })
        });
        let limit = self.given.get(&LIMIT).or_else(|| self.given.get(&NUM));
        Ok(Options {
            case: self.given.get(&CASE).and_then(request::case).unwrap_or_default(),
            limit: limit.and_then(request::count),
            timeout: timeout.transpose()?,
            repos: all(&REPO),
            files: all(&FILE),
            languages: all(&LANG),
            context: context.transpose()?.unwrap_or_default(),
            enclosing: self.is_on(&ENCLOSING),
            oldest_first: self.is_oldest_first(),
            ..Options::default()
        })
    }

    /// Returns the parameters in the form of an address, without `other`.
    pub(crate) fn but(&self, other: &Param) -> Vec<(&'static str, String)> {
        let limit = self.given.get(&LIMIT).or_else(|| self.given.get(&NUM));
        let mut pairs =
            vec![("q", self.q.clone()), ("limit", limit.unwrap_or_default().to_owned())];
        let others =
            [CASE, REPO, FILE, LANG, TIMEOUT, EXPLAIN, SORT, CURSOR, WAIT, FACETS, COPIES, FRESH];
        pairs.extend(others.iter().map(|param| (param.name, self.given.text(param))));
        pairs.retain(|(name, _)| *name != other.name);
        pairs
    }

    /// Returns the cursor to continue from, if there is one. `order` is `None` for the order in which results are
    /// found.
    ///
    /// # Errors
    /// The cursor is invalid, or belongs to another order.
    pub(crate) fn cursor(&self, order: Option<Order>) -> Result<Option<Cursor>, Failure> {
        let Some(text) = self.given.get(&CURSOR) else { return Ok(None) };
        let wrong =
            || Failure::bad_request("invalid cursor; copy the one from the previous answer");
        let cursor = Cursor::parse(text).ok_or_else(wrong)?;
        if cursor.order != order {
            return Err(Failure::bad_request(
                "this cursor belongs to another order; use the original sort=, or leave out cursor=",
            ));
        }
        Ok(Some(cursor))
    }

    /// Checks that no parameter is given that only pages have.
    ///
    /// # Errors
    /// One is given.
    pub(crate) fn check_no_page_params(&self) -> Result<(), Failure> {
        match [WAIT, FACETS, TYPED].iter().find(|param| self.given.get(param).is_some()) {
            None => Ok(()),
            Some(Param { name, .. }) => Err(Failure::bad_request(format!(
                "{name}= is only for pages; leave it out, or use format=html"
            ))),
        }
    }

    /// Returns whether the page waits for the whole answer.
    pub(crate) fn waits(&self) -> bool {
        self.given.get(&WAIT).is_some()
    }

    /// Returns whether the query is still being typed.
    pub(crate) fn is_typed(&self) -> bool {
        self.is_on(&TYPED)
    }

    /// Returns whether the page lists all values that narrow its search.
    pub(crate) fn has_all_values(&self) -> bool {
        self.given.get(&FACETS).is_some()
    }

    /// Returns `json` or `html`, if given.
    pub(crate) fn format(&self) -> Option<&str> {
        self.given.get(&FORMAT)
    }

    /// Returns the requested order, or the default order of the page.
    pub(crate) fn order(&self) -> Order {
        self.given.get(&SORT).and_then(Order::named).unwrap_or(Order::Relevance)
    }

    /// Returns whether an order is requested for which results are collected.
    pub(crate) fn sorts(&self) -> bool {
        self.given.get(&SORT).is_some() && !self.is_oldest_first()
    }

    fn is_oldest_first(&self) -> bool {
        self.given.get(&SORT) == Some("oldest")
    }

    pub(crate) fn explains(&self) -> bool {
        self.is_on(&EXPLAIN)
    }

    /// Returns whether a program wants hints.
    pub(crate) fn wants_hints(&self) -> bool {
        self.is_on(&HINTS)
    }

    /// Returns whether all copies of results are listed.
    pub(crate) fn lists_copies(&self) -> bool {
        self.is_on(&COPIES)
    }

    /// Returns whether to wait for changes that are not indexed yet.
    pub(crate) fn is_fresh(&self) -> bool {
        self.is_on(&FRESH)
    }

    /// Returns whether the files of an answer in any order are checked on disk.
    pub(crate) fn tells_stale(&self) -> bool {
        self.is_on(&STALE)
    }

    fn is_on(&self, param: &Param) -> bool {
        self.given.get(param).is_some_and(|value| !matches!(value, "0" | "no" | "false"))
    }
}
