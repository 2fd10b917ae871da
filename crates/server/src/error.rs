//! The body of a failed request: `{"error": {"code", "message", "position", "suggestion"}}`, and its status. Internal
//! messages of the database are logged, not sent.

use std::time::Duration;

use axum::Json;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use query::{QueryError, shortened};
use serde::Serialize;

use search::changes::CompareError;

use request::Refused;
use request::hints::Suggested;

/// Longest message, in bytes, which limits how much of the request it repeats.
const MAX_MESSAGE: usize = 2000;

/// The reason why a request failed, as its status and body.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) body: Body,
}

/// Marks the answer to a request that failed, for the audit: the error code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Code(pub(crate) &'static str);

/// The error as it is sent.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Body {
    /// The error code, for programs.
    pub(crate) code: &'static str,
    /// A sentence for people.
    pub(crate) message: String,
    /// The byte offset in the query at which the error is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) position: Option<usize>,
    /// A query to run instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) suggestion: Option<Box<Suggested>>,
}

impl Body {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        let message = shortened(&message.into(), MAX_MESSAGE).into_owned();
        Self { code, message, position: None, suggestion: None }
    }
}

impl Failure {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, body: Body::new(code, message) }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    /// Reports a missing file or repository with a message.
    pub(crate) fn no_such(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// Reports a missing file or repository by its name.
    pub(crate) fn not_indexed(what: &str) -> Self {
        Self::no_such(format!("{what} is not in the index"))
    }

    /// Reports contents of a file that are no longer stored.
    pub(crate) fn not_stored(file: &str, hash: &str) -> Self {
        Self::no_such(format!("the text of {file} with the hash {hash} is no longer stored"))
    }

    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "page not found; searches are at /search?q=")
    }

    pub(crate) fn method_not_allowed() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "use GET")
    }

    /// Reports a request whose body is too large.
    pub(crate) fn too_large() -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            "the body of the request is larger than 256 KiB; send less at once",
        )
    }

    /// Reports a webhook whose body is too large.
    pub(crate) fn too_large_hook() -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            "the body of the webhook is larger than 25 MiB; have the host send pushes only",
        )
    }

    /// Reports a wrong method at an endpoint that changes something.
    pub(crate) fn use_post() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "use POST")
    }

    /// Reports too many requests of an address.
    pub(crate) fn too_many(what: &str, seconds: u64) -> Self {
        let unit = if seconds == 1 { "second" } else { "seconds" };
        let message = format!("too many {what} from your address; try again in {seconds} {unit}");
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", message)
    }

    /// Reports a task that panicked; the panic is in the log.
    pub(crate) fn panicked() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "internal error; see the server's log",
        )
    }

    pub(crate) fn busy() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "busy",
            "too many searches at once; try again in a moment",
        )
    }

    /// Reports that other servers should be asked.
    pub(crate) fn not_ready(why: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", why)
    }

    /// Reports an answer that did not begin in time.
    pub(crate) fn silent(waited: Duration) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            format!(
                "no answer after {waited:?}; the database may not respond; see the server's log"
            ),
        )
    }

    /// Reports that too many answers are in memory because clients do not read them.
    pub(crate) fn unread() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "busy",
            "too many answers are waiting to be read by clients; try again in a moment, or ask for less",
        )
    }
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Self {
        let suggestion = error.suggestion.map(|suggestion| Box::new(Suggested::from(*suggestion)));
        let position = Some(error.position);
        let body = Body { position, suggestion, ..Body::new("bad_query", error.message) };
        Self { status: StatusCode::BAD_REQUEST, body }
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Query(error) => error.into(),
            Refused::Option { name, why } => {
                // The further lines point at the place in the pattern, for terminals.
                let why = why.lines().next().unwrap_or_default();
                Self::bad_request(format!("{name}=: {why}"))
            }
        }
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        if matches!(error, store::Error::Empty) {
            return Self::new(StatusCode::SERVICE_UNAVAILABLE, "empty", error.to_string());
        }
        tracing::error!("{error}");
        if matches!(error, store::Error::Busy) {
            return Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", error.to_string());
        }
        let message = "cannot reach the database; try again in a moment";
        match error {
            store::Error::Unreachable(_) => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "database_unreachable", message)
            }
            store::Error::Node { .. } => {
                let message = "a node of the index does not answer; try again in a moment";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "database_unreachable", message)
            }
            store::Error::Lost(_) => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", error.to_string())
            }
            store::Error::Damaged(_) => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "damaged", error.to_string())
            }
            _ => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal",
                "the search failed; see the server's log",
            ),
        }
    }
}

impl From<search::Error> for Failure {
    fn from(error: search::Error) -> Self {
        match error {
            search::Error::Query(error) => error.into(),
            search::Error::Store(error) => error.into(),
            search::Error::Compare(error) => error.into(),
            error @ (search::Error::Gone | search::Error::OtherQuery) => {
                Self::new(StatusCode::GONE, "gone", error.to_string())
            }
            search::Error::Revision(why) => Self::new(StatusCode::BAD_REQUEST, "revision", why),
        }
    }
}

impl From<CompareError> for Failure {
    fn from(error: CompareError) -> Self {
        let unavailable = StatusCode::SERVICE_UNAVAILABLE;
        let (status, code) = match &error {
            CompareError::Late(_) => (unavailable, "timeout"),
            CompareError::Clone { error: git::Error::Changed, .. } => (unavailable, "unavailable"),
            CompareError::Clone { error: git::Error::TooLarge, .. } => (unavailable, "too_large"),
            // The commit is as somebody made it.
            CompareError::Clone {
                error:
                    git::Error::Damaged(_)
                    | git::Error::Forbidden(_)
                    | git::Error::Huge
                    | git::Error::Missing { .. },
                ..
            } => (StatusCode::BAD_REQUEST, "revision"),
            CompareError::Clone { .. } if !error.is_missing() => {
                (StatusCode::INTERNAL_SERVER_ERROR, "internal")
            }
            _ => (StatusCode::BAD_REQUEST, "bad_request"),
        };
        Self::new(status, code, error.to_string())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        #[derive(Serialize)]
        struct Wrapped {
            error: Body,
        }
        let code = self.body.code;
        let mut response = (self.status, Json(Wrapped { error: self.body })).into_response();
        response.extensions_mut().insert(Code(code));
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
