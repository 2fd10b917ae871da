//! Limits of clients: concurrent searches, searches a minute, and bytes of answers a minute, for each address or token,
//! and for all clients together. Refused clients are told when to retry.
//!
//! A budget refills continuously and holds a minute's worth. A search costs one before it begins.
//! The bytes of an answer are known only when it is sent, so it may overdraw the budget; the client
//! then waits until that is paid back. An answer is never cut short.
//!
//! Rate-limiting libraries do not fit: they charge costs known in advance, and never forget clients by themselves.

mod budget;
mod caller;
mod client;
mod clients;
mod exchange;
mod fellows;
mod layer;
mod named;
mod part;
mod quota;
mod rates;
mod running;
mod token;
mod token_file;
mod unread;

pub(crate) use budget::Budget;
pub use caller::Caller;
pub(crate) use caller::How;
pub use clients::{Cost, Limits};
pub use fellows::Fellows;
pub use layer::{limited, refused};
pub(crate) use named::named;
pub use quota::Quota;
pub use rates::Rates;
pub use token::{Rights, new_token};
pub use token_file::TokenFile;
pub use unread::AnswerMemory;
