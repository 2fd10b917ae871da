//! Reads the parameters of an address once, and checks them against their declarations. Errors are pages for browsers
//! and JSON for programs.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Query, Request};
use axum::http::Extensions;
use axum::http::request::Parts;
use percent_encoding::percent_decode_str;

use super::param::{DeclaredParams, Param};
use super::{is_browser, wants_page};
use crate::error::Failure;

/// The parameters of an address, unchecked, and those that its endpoint declares.
#[derive(Clone, Debug)]
pub(crate) struct Pairs {
    known: DeclaredParams,
    values: Arc<[(String, String)]>,
    /// Whether the whole address was UTF-8; other bytes were replaced.
    is_text: bool,
}

/// The checked parameters of an address: each is declared, valid, and given once.
#[derive(Clone, Debug)]
pub(crate) struct CheckedParams(Arc<[(String, String)]>);

/// An extractor of checked parameters, converted to the handler's own type.
#[derive(Clone, Debug)]
pub(crate) struct StrictParams<T>(pub(crate) T);

/// The error for invalid parameters.
#[derive(Debug)]
pub(crate) struct RejectedParams {
    pub(crate) failure: Failure,
    /// The query to show in the search box, if the client wants a page.
    pub(crate) page: Option<String>,
}

/// Parses the parameters of a request's address once, for the layers and handlers that need them.
pub(crate) fn read_address(known: DeclaredParams, mut request: Request) -> Request {
    let values = Query::<Vec<(String, String)>>::try_from_uri(request.uri());
    let values = values.map(|Query(values)| values).unwrap_or_default().into();
    let is_text =
        percent_decode_str(request.uri().query().unwrap_or_default()).decode_utf8().is_ok();
    request.extensions_mut().insert(Pairs { known, values, is_text });
    request
}

impl Pairs {
    /// Returns the parameters of a request; none if `read_address` has not run.
    pub(crate) fn of(extensions: &Extensions) -> Self {
        let none = || Self { known: DeclaredParams::NONE, values: Arc::from([]), is_text: true };
        extensions.get().cloned().unwrap_or_else(none)
    }

    /// Returns the first value of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        find(&self.values, name)
    }

    /// Returns what the audit keeps: the query, and the other declared parameters as in an address. What an endpoint does
    /// not declare may be a secret.
    pub(crate) fn for_audit(&self) -> (Option<String>, Option<String>) {
        let declared = || self.values.iter().filter(|(name, _)| self.known.find(name).is_some());
        let query = declared().find(|(name, _)| name == "q").map(|(_, value)| value.clone());
        let others = declared().filter(|(name, value)| name != "q" && !value.is_empty());
        let others: Vec<String> = others.map(|(name, value)| format!("{name}={value}")).collect();
        (query, (!others.is_empty()).then(|| others.join("&")))
    }

    /// Checks the parameters of a request that changes something: also a browser must not send unknown ones.
    ///
    /// # Errors
    /// One is unknown, invalid, or given twice.
    pub(crate) fn check_strictly(&self) -> Result<CheckedParams, Failure> {
        self.check(false)
    }

    fn check(&self, browser: bool) -> Result<CheckedParams, Failure> {
        if !self.is_text {
            return Err(Failure::bad_request("the address is not UTF-8; encode its text as UTF-8"));
        }
        for (at, (name, value)) in self.values.iter().enumerate() {
            let Some(param) = self.known.find(name) else {
                // Browsers may send unknown parameters, since links may carry some. A program must learn that it is
                // misunderstood.
                if browser {
                    continue;
                }
                return Err(Failure::bad_request(unknown(name, &self.known)));
            };
            if !param.repeats && self.values[..at].iter().any(|(before, _)| before == name) {
                return Err(Failure::bad_request(format!("{name}= is given twice; give it once")));
            }
            // A page's form also sends empty fields.
            if !browser || !value.is_empty() {
                param.check(value).map_err(Failure::bad_request)?;
            }
        }
        Ok(CheckedParams(Arc::clone(&self.values)))
    }
}

impl CheckedParams {
    /// Returns the value of a parameter, unless it is missing or empty.
    pub(crate) fn get(&self, param: &Param) -> Option<&str> {
        find(&self.0, param.name).filter(|value| !value.is_empty())
    }

    /// Returns all values of a parameter that are not empty.
    pub(crate) fn all(&self, param: &Param) -> Vec<String> {
        let given = self.0.iter().filter(|(name, value)| name == param.name && !value.is_empty());
        given.map(|(_, value)| value.clone()).collect()
    }

    /// Returns the value of a parameter; an empty text if it is missing.
    pub(crate) fn text(&self, param: &Param) -> String {
        self.get(param).unwrap_or_default().to_owned()
    }

    /// Returns the value of a parameter that is declared as a number.
    pub(crate) fn number(&self, param: &Param) -> Option<usize> {
        self.get(param)?.parse().ok()
    }
}

fn find<'v>(values: &'v [(String, String)], name: &str) -> Option<&'v str> {
    values.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

impl<T: From<CheckedParams>, S: Sync> FromRequestParts<S> for StrictParams<T> {
    type Rejection = RejectedParams;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, RejectedParams> {
        let pairs = Pairs::of(&parts.extensions);
        let page = wants_page(&parts.headers, pairs.get("format"));
        pairs.check(is_browser(&parts.headers)).map(|given| Self(T::from(given))).map_err(
            |failure| {
                let page = page.then(|| pairs.get("q").unwrap_or_default().to_owned());
                RejectedParams { failure, page }
            },
        )
    }
}

/// Returns the message for an unknown parameter.
fn unknown(name: &str, known: &DeclaredParams) -> String {
    match query::nearest(name, known.all().map(|known| known.name)) {
        Some(near) => format!("unknown parameter {name}=; did you mean {near}=?"),
        None => format!("unknown parameter {name}=; /openapi.json lists all of them"),
    }
}
