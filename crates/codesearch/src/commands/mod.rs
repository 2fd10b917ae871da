//! One file for each verb of the command line.

pub(crate) mod db;
pub(crate) mod ingest;
pub(crate) mod repos;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod up;
