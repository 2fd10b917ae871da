//! The audit: what servers were asked, by whom, and what they answered. Each run of a server writes its events in batches;
//! the events of a month lie in a partition.

mod partitions;
mod read;
#[cfg(test)]
mod tests;
mod write;

use std::borrow::Cow;

pub use read::AuditFilter;
pub use write::{AuditBatch, AuditWriter};

/// Maximum number of repositories of an event that are named.
pub const MAX_AUDIT_REPOS: usize = 1000;

/// A word of an event; most are constants.
pub type Word = Cow<'static, str>;

/// One request, or what a server notes of the audit itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditEvent {
    /// When the request came, in microseconds since 1970.
    pub at: i64,
    /// Its number once it is written; else 0.
    pub id: i64,
    /// Milliseconds from the request to the end of its answer.
    pub took: i32,
    /// Number of files in the answer.
    pub files: i32,
    /// Number of lines, names or rows in the answer.
    pub results: i32,
    /// Number of repositories in the answer.
    pub repos_count: i32,
    /// Number of further events that this one stands for.
    pub more: i32,
    /// The status of the answer; 0 if there was none.
    pub status: i16,
    /// Whether the owner of the index's folder asked.
    pub is_owner: bool,
    /// `answered`, `refused`, `failed`, `aborted`, `lost` or `gap`.
    pub outcome: Word,
    /// `page`, `api`, `mcp`, `sql`, `command` or `server`.
    pub interface: Word,
    /// The address, without parameters.
    pub endpoint: Word,
    /// The address of the client; `None` for the socket of the index.
    pub sender: Option<String>,
    /// The name of who asked; `None` if nobody signed in.
    pub who: Option<String>,
    /// The query.
    pub query: Option<String>,
    /// The other parameters, as in an address.
    pub parameters: Option<String>,
    /// The code of the error, if there was one.
    pub reason: Option<Word>,
    /// The names of the repositories in the answer, at most [`MAX_AUDIT_REPOS`].
    pub repos: Vec<String>,
}

impl AuditEvent {
    /// Returns its approximate size in memory, in bytes.
    pub fn size(&self) -> usize {
        let texts = [&self.sender, &self.who, &self.query, &self.parameters];
        let texts = texts.into_iter().flatten().map(String::len).sum::<usize>();
        size_of::<Self>() + texts + self.repos.iter().map(|repo| 24 + repo.len()).sum::<usize>()
    }
}
