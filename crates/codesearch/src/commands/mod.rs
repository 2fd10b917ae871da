//! One file for each verb of the command line.

mod by_path;
mod by_rank;
pub(crate) mod check;
mod collected;
pub(crate) mod db;
pub(crate) mod docs;
pub(crate) mod files;
mod globs;
mod hints;
pub(crate) mod ingest;
pub(crate) mod mcp;
pub(crate) mod navigate;
mod patterns;
pub(crate) mod repos;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod sql;
pub(crate) mod stats;
pub(crate) mod symbols;
pub(crate) mod token;
pub(crate) mod up;

use crate::request::Refused;

/// An option that is wrong, by the name that it has on the command line.
fn refused(refused: Refused) -> anyhow::Error {
    match refused {
        Refused::Query(error) => error.into(),
        Refused::Option { name, why } => anyhow::anyhow!("--{name}: {why}"),
    }
}

/// `codesearch syntax`: the language of queries, as in the documentation.
pub(crate) fn syntax() -> anyhow::Result<u8> {
    say!("{}", include_str!("../../../../docs/syntax.md").trim_end());
    Ok(crate::FOUND)
}
