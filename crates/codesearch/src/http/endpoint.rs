//! The declaration of an endpoint: from it come its route, the check of its parameters, its limits and its entry in the
//! `OpenAPI` document. To add one, write such a constant beside its handler, and put it into the list in `endpoints`.

use axum::routing::MethodRouter;

use super::params::Known;
use super::server::Server;

/// An address, and all that is said of it.
#[derive(Clone, Copy)]
pub(crate) struct Endpoint {
    pub(crate) path: &'static str,
    /// Its handler, by methods.
    pub(crate) route: fn() -> MethodRouter<Server>,
    pub(crate) class: Class,
    pub(crate) admits: Admits,
    pub(crate) params: Known,
    /// Its entry in the `OpenAPI` document; none for our own pages and for the addresses of other engines.
    pub(crate) doc: Option<Doc>,
}

/// How much an endpoint costs, and which limits it has for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// It searches: a client may do so many at once, so many a minute, and be sent so many bytes.
    Search,
    /// The same, and its answer is made at once, whole, in up to half a second: never on a thread of connections.
    Whole,
    /// It reads: a client may be sent so many bytes.
    Read,
    /// It has no limits, and may take a moment.
    Free,
    /// It is answered in no time, where the request was read, also when everybody searches.
    Light,
}

/// Who may ask at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admits {
    /// Anyone who reaches the server.
    Anyone,
    /// Who may search: whoever has a token, where the server asks for one.
    Clients,
    /// Who may know what others search for.
    Operators,
}

/// What the `OpenAPI` document says of an endpoint, beside its parameters and what its class and its guards answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doc {
    pub(crate) summary: &'static str,
    /// Empty for none.
    pub(crate) description: &'static str,
    pub(crate) answers: &'static [Answer],
}

/// An answer, by its status.
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
    /// Text of a media type.
    Text(&'static str),
    /// Server-sent events, the data of each JSON of one of these schemas.
    Events(&'static [&'static str]),
    /// Always this text.
    Only(&'static str),
}

impl Endpoint {
    /// An address that the `OpenAPI` document does not tell.
    pub(crate) const fn untold(
        path: &'static str,
        class: Class,
        route: fn() -> MethodRouter<Server>,
    ) -> Self {
        let admits = Admits::Clients;
        Self { path, route, class, admits, params: Known::NONE, doc: None }
    }
}

impl Answer {
    pub(crate) const BAD: Self = Self::wrong(400);
    pub(crate) const NOT_FOUND: Self = Self::wrong(404);
    pub(crate) const GONE: Self = Self::wrong(410);
    pub(crate) const UNAVAILABLE: Self = Self::wrong(503);

    const fn wrong(status: u16) -> Self {
        Self { status, says: "What is wrong, in a sentence.", content: Content::Json(&["Error"]) }
    }

    /// What any address may answer, by the name that it is asked by and for whom.
    pub(crate) const ANYWHERE: &'static [Self] = &[
        Self {
            status: 403,
            says: "A browser asks for a page of another site.",
            content: Content::Json(&["Error"]),
        },
        Self {
            status: 421,
            says: "The server is asked by a name that it does not know.",
            content: Content::Json(&["Error"]),
        },
    ];

    /// What is answered when all is well.
    pub(crate) const fn ok(says: &'static str, content: Content) -> Self {
        Self { status: 200, says, content }
    }
}

impl Admits {
    /// What who is not admitted is answered.
    pub(crate) fn answers(self) -> &'static [Answer] {
        const UNKNOWN: Answer = Answer {
            status: 401,
            says: "The server asks for a token (Authorization: Bearer TOKEN), or nobody has the one that was sent.",
            content: Content::Json(&["Error"]),
        };
        const NOT_MARKED: Answer = Answer {
            status: 403,
            says: "The token is not marked admin, or a browser asks for a page of another site.",
            content: Content::Json(&["Error"]),
        };
        match self {
            Admits::Anyone => &[],
            Admits::Clients => &[UNKNOWN],
            Admits::Operators => &[UNKNOWN, NOT_MARKED],
        }
    }
}

impl Class {
    /// What its limits answer.
    pub(crate) fn answers(self) -> &'static [Answer] {
        const LIMITED: &[Answer] = &[Answer {
            status: 429,
            says: "The client, or all clients together, have used up what they may; Retry-After says for how \
                       many seconds.",
            content: Content::Json(&["Error"]),
        }];
        match self {
            Class::Search | Class::Whole | Class::Read => LIMITED,
            Class::Free | Class::Light => &[],
        }
    }
}
