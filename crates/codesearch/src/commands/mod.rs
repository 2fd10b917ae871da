//! One file for each verb of the command line.

pub(crate) mod db;
pub(crate) mod docs;
pub(crate) mod files;
pub(crate) mod ingest;
pub(crate) mod mcp;
pub(crate) mod repos;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod stats;
pub(crate) mod up;

/// `codesearch syntax`: the language of queries, as in the documentation.
pub(crate) fn syntax() -> anyhow::Result<u8> {
    say!("{}", include_str!("../../../../docs/syntax.md").trim_end());
    Ok(crate::FOUND)
}
