//! The subcommands, one file for each.

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
mod ordered;
mod patterns;
pub(crate) mod repos;
pub(crate) mod scip;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod sql;
pub(crate) mod stats;
pub(crate) mod symbols;
pub(crate) mod token;
pub(crate) mod up;

use request::Refused;

/// Turns a refusal into an error that names an option as the command line does.
fn refused(refused: Refused) -> anyhow::Error {
    match refused {
        Refused::Query(error) => error.into(),
        Refused::Option { name, why } => anyhow::anyhow!("--{name}: {why}"),
    }
}

/// `codesearch syntax`: prints the manual of the query language.
pub(crate) fn syntax() -> anyhow::Result<u8> {
    say!("{}", include_str!("../../../../docs/syntax.md").trim_end());
    Ok(crate::FOUND)
}
