//! The parameters of `/search`, as they stand in its address.

use serde::Deserialize;

use crate::http::cursor::Cursor;
use crate::http::error::Failure;
use crate::http::order::Order;

/// What can be asked, as it stands in the address.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct SearchParams {
    /// The query.
    #[serde(default)]
    pub(crate) q: String,
    /// Most results; 0 for all.
    pub(crate) limit: Option<String>,
    /// The same, as other search engines call it.
    pub(crate) num: Option<String>,
    /// `yes`, `no` or `auto`.
    pub(crate) case: Option<String>,
    /// A pattern for names of repositories.
    pub(crate) repo: Option<String>,
    /// A pattern for paths.
    pub(crate) file: Option<String>,
    /// A language.
    pub(crate) lang: Option<String>,
    /// How long it may take: `500ms`, `5s`, `2m`.
    pub(crate) timeout: Option<String>,
    /// `1` to be told how the query was understood, planned and run.
    pub(crate) explain: Option<String>,
    /// `json` or `html`, whatever the client accepts.
    pub(crate) format: Option<String>,
    /// Lines to show around each match: `2`, or `1,3` for before and after.
    pub(crate) context: Option<String>,
    /// Where to go on: what an answer gave as `next`.
    pub(crate) cursor: Option<String>,
    /// Which fields of a file to send, with commas between them.
    pub(crate) fields: Option<String>,
    /// The order of results: `relevance`, `path` or `repo`.
    pub(crate) sort: Option<String>,
    /// `1` for a page that is sent when all of it is there.
    pub(crate) wait: Option<String>,
}

impl SearchParams {
    /// Where to go on, if not at the beginning, in an order (none for that in which results are found).
    pub(crate) fn cursor(&self, order: Option<Order>) -> Result<Option<Cursor>, Failure> {
        let Some(text) = self.cursor.as_deref().filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let wrong = || Failure::bad_request("cursor: give what an answer gave as next, unchanged");
        let cursor = Cursor::parse(text).ok_or_else(wrong)?;
        if cursor.order != order {
            return Err(Failure::bad_request(
                "cursor: it goes on in another order; give the sort= with which it came, or leave out cursor=",
            ));
        }
        Ok(Some(cursor))
    }

    /// Nothing is asked for that only a page has.
    pub(crate) fn of_a_program(&self) -> Result<(), Failure> {
        if self.wait.is_some() {
            return Err(Failure::bad_request(
                "wait= is for pages only: leave it out, or ask for one with format=html",
            ));
        }
        Ok(())
    }

    /// The order that is asked for.
    pub(crate) fn order(&self) -> Result<Order, Failure> {
        match self.sort.as_deref() {
            None | Some("") => Ok(Order::Relevance),
            Some(name) => Order::named(name).ok_or_else(|| {
                Failure::bad_request(format!("sort={name}: use relevance, path or repo"))
            }),
        }
    }

    /// An order is asked for, other than that of programs.
    pub(crate) fn sorts(&self) -> bool {
        self.sort.as_deref().is_some_and(|order| !order.is_empty())
    }

    pub(crate) fn explains(&self) -> bool {
        self.explain.as_deref().is_some_and(|value| !matches!(value, "" | "0" | "no" | "false"))
    }
}
