//! The parameters that stand in an address, taken apart once and checked against what is declared. A browser whose
//! address cannot be read gets a page, a program JSON.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Query, Request};
use axum::http::Extensions;
use axum::http::request::Parts;
use percent_encoding::percent_decode_str;

use super::param::{Known, Param};
use super::wants_page;
use crate::http::error::Failure;

/// What stands in an address, as it stands there, and what may stand there.
#[derive(Clone, Debug)]
pub(crate) struct Pairs {
    known: Known,
    values: Arc<[(String, String)]>,
    /// All of it is UTF-8; what is not was replaced.
    is_text: bool,
}

/// The parameters of an address, each given once and as it is declared.
#[derive(Clone, Debug)]
pub(crate) struct Given(Arc<[(String, String)]>);

/// Parameters that were checked, as what a handler wants of them.
#[derive(Clone, Debug)]
pub(crate) struct StrictParams<T>(pub(crate) T);

/// Why they are not what they should be.
#[derive(Debug)]
pub(crate) struct RejectedParams {
    pub(crate) failure: Failure,
    /// The client wants a page, with this query in its box.
    pub(crate) page: Option<String>,
}

/// Takes the address of a request apart, for all who look at its parameters afterwards.
pub(crate) fn read_address(known: Known, mut request: Request) -> Request {
    let values = Query::<Vec<(String, String)>>::try_from_uri(request.uri());
    let values = values.map(|Query(values)| values).unwrap_or_default().into();
    let is_text =
        percent_decode_str(request.uri().query().unwrap_or_default()).decode_utf8().is_ok();
    request.extensions_mut().insert(Pairs { known, values, is_text });
    request
}

impl Pairs {
    /// Those of a request; none at an address without parameters.
    pub(crate) fn of(extensions: &Extensions) -> Self {
        let none = || Self { known: Known::NONE, values: Arc::from([]), is_text: true };
        extensions.get().cloned().unwrap_or_else(none)
    }

    /// The first value of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        find(&self.values, name)
    }

    fn check(&self, page: bool) -> Result<Given, Failure> {
        if !self.is_text {
            return Err(Failure::bad_request(
                "the address holds bytes that are no UTF-8: encode its text as UTF-8",
            ));
        }
        for (at, (name, value)) in self.values.iter().enumerate() {
            let Some(param) = self.known.find(name) else {
                // Whoever links to a page may add something to its address. A program that is misunderstood is
                // to hear of it.
                if page {
                    continue;
                }
                return Err(Failure::bad_request(unknown(name, &self.known)));
            };
            if self.values[..at].iter().any(|(before, _)| before == name) {
                return Err(Failure::bad_request(format!("{name}= is given twice; give it once")));
            }
            // The form of a page sends what was left empty, too.
            if !page || !value.is_empty() {
                param.check(value).map_err(Failure::bad_request)?;
            }
        }
        Ok(Given(Arc::clone(&self.values)))
    }
}

impl Given {
    /// A value, if one was given that is not empty.
    pub(crate) fn get(&self, param: &Param) -> Option<&str> {
        find(&self.0, param.name).filter(|value| !value.is_empty())
    }

    /// The same; empty if there is none.
    pub(crate) fn text(&self, param: &Param) -> String {
        self.get(param).unwrap_or_default().to_owned()
    }

    /// The value of a parameter that is declared as a number.
    pub(crate) fn number(&self, param: &Param) -> Option<usize> {
        self.get(param)?.parse().ok()
    }
}

fn find<'v>(values: &'v [(String, String)], name: &str) -> Option<&'v str> {
    values.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

impl<T: From<Given>, S: Sync> FromRequestParts<S> for StrictParams<T> {
    type Rejection = RejectedParams;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, RejectedParams> {
        let pairs = Pairs::of(&parts.extensions);
        let page = wants_page(&parts.headers, pairs.get("format"));
        pairs.check(page).map(|given| Self(T::from(given))).map_err(|failure| {
            let page = page.then(|| pairs.get("q").unwrap_or_default().to_owned());
            RejectedParams { failure, page }
        })
    }
}

/// What to say of a parameter that is none.
fn unknown(name: &str, known: &Known) -> String {
    match query::nearest(name, known.all().map(|known| known.name)) {
        Some(near) => format!("unknown parameter {name}=; did you mean {near}=?"),
        None => format!("unknown parameter {name}=; /openapi.json lists all of them"),
    }
}
