//! The declaration of an endpoint, from which its route, the check of its parameters, its limits and its entry in the
//! `OpenAPI` document follow. To add an endpoint, write such a constant beside its handler and add it to the list in
//! `endpoints`.

use axum::routing::MethodRouter;

use super::params::DeclaredParams;
use super::server::Shared;

/// An endpoint of the server.
#[derive(Clone, Copy)]
pub(crate) struct Endpoint {
    pub(crate) path: &'static str,
    /// Makes its handlers, by method.
    pub(crate) route: fn() -> MethodRouter<Shared>,
    pub(crate) class: Class,
    pub(crate) admits: Admits,
    pub(crate) params: DeclaredParams,
    /// Its entry in the `OpenAPI` document; `None` for our own pages and for the endpoints of other engines.
    pub(crate) doc: Option<Doc>,
}

/// The cost of an endpoint, which decides its limits and its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// A search. The limits on concurrent searches, on searches a minute, and on bytes apply.
    Search,
    /// A search whose answer is built as a whole, in up to half a second of CPU time, so never on a connection's
    /// thread. The limits of [`Class::Search`] apply.
    Whole,
    /// A read without a search, never on a connection's thread: a large file takes a moment. The limit on bytes
    /// applies.
    Read,
    /// Queues an ingest, by POST. The handler limits the requests of each address.
    Queue,
    /// No limits. Never on a connection's thread, since it may take a moment.
    Free,
    /// No limits. Answered at once on the connection's thread, even while all search threads are busy.
    Light,
}

/// The clients that an endpoint admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admits {
    /// Anyone who can reach the server.
    Anyone,
    /// Clients that may search: those with a token, if the server needs one.
    Clients,
    /// Clients that may see what others search for.
    Operators,
    /// Clients that may have repositories ingested.
    Ingesters,
}

/// An endpoint's entry in the `OpenAPI` document, without its parameters and the answers that its class and access
/// check imply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doc {
    pub(crate) summary: &'static str,
    /// Empty for no description.
    pub(crate) description: &'static str,
    pub(crate) answers: &'static [Answer],
}

/// A possible answer with its status.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) says: &'static str,
    pub(crate) content: Content,
}

/// The body of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content {
    Nothing,
    /// JSON of one of these schemas.
    Json(&'static [&'static str]),
    /// JSON of this schema, or CSV.
    Rows(&'static str),
    /// Text of a media type.
    Text(&'static str),
    /// Server-sent events whose data is JSON of one of these schemas.
    Events(&'static [&'static str]),
    /// This constant text.
    Only(&'static str),
}

impl Endpoint {
    /// Declares an endpoint that the `OpenAPI` document leaves out.
    pub(crate) const fn undocumented(
        path: &'static str,
        class: Class,
        route: fn() -> MethodRouter<Shared>,
    ) -> Self {
        let admits = Admits::Clients;
        Self { path, route, class, admits, params: DeclaredParams::NONE, doc: None }
    }
}

impl Answer {
    pub(crate) const BAD: Self = Self::wrong(400);
    pub(crate) const NOT_FOUND: Self = Self::wrong(404);
    pub(crate) const GONE: Self = Self::wrong(410);
    pub(crate) const UNAVAILABLE: Self = Self::wrong(503);

    const fn wrong(status: u16) -> Self {
        Self {
            status,
            says: "A sentence that says what is wrong and what to do.",
            content: Content::Json(&["Error"]),
        }
    }

    /// The answers of every endpoint that the request's host name and site can cause.
    pub(crate) const ANYWHERE: &'static [Self] = &[
        Self {
            status: 403,
            says: "The request is for a page of another site.",
            content: Content::Json(&["Error"]),
        },
        Self {
            status: 421,
            says: "The host name of the request is unknown to the server.",
            content: Content::Json(&["Error"]),
        },
    ];

    /// Declares the answer to a successful request.
    pub(crate) const fn ok(says: &'static str, content: Content) -> Self {
        Self { status: 200, says, content }
    }
}

impl Admits {
    /// Returns the answers to clients that are not admitted.
    pub(crate) fn answers(self) -> &'static [Answer] {
        const UNKNOWN: Answer = Answer {
            status: 401,
            says: "The server requires a token or JWT (Authorization: Bearer TOKEN), or what was sent does not count.",
            content: Content::Json(&["Error"]),
        };
        const NOT_MARKED: Answer = Answer {
            status: 403,
            says: "The token is not marked admin, or the request is for a page of another site.",
            content: Content::Json(&["Error"]),
        };
        const NO_INGEST: Answer = Answer {
            status: 403,
            says: "The token is not marked ingest, or the request is for a page of another site.",
            content: Content::Json(&["Error"]),
        };
        match self {
            Admits::Anyone => &[],
            Admits::Clients => &[UNKNOWN],
            Admits::Operators => &[UNKNOWN, NOT_MARKED],
            Admits::Ingesters => &[UNKNOWN, NO_INGEST],
        }
    }
}

impl Class {
    /// Returns the answers that its limits can cause.
    pub(crate) fn answers(self) -> &'static [Answer] {
        const LIMITED: &[Answer] = &[Answer {
            status: 429,
            says: "The client, or all clients together, have reached a limit; Retry-After gives the seconds to wait.",
            content: Content::Json(&["Error"]),
        }];
        match self {
            Class::Search | Class::Whole | Class::Read | Class::Queue => LIMITED,
            Class::Free | Class::Light => &[],
        }
    }
}
