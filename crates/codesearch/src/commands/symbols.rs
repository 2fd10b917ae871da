//! `codesearch symbols`: extracts missing symbols, and reports them.

use std::path::PathBuf;

use anyhow::{Context, Result};
use indicatif::HumanCount;
use ingest::symbols::Report;
use store::Store;

use crate::cli::DatabaseArgs;
use crate::database::Database;
use crate::progress::IngestProgress;
use request::human::{count, size};

/// Connections besides those that write.
const CONNECTIONS: u32 = 1;

pub(crate) fn run(database: &DatabaseArgs) -> Result<u8> {
    Database::open_to_add(database, CONNECTIONS)?.run(async |store| {
        if !take(store).await? {
            say!("the symbols of all texts are already extracted");
        }
        Ok(crate::FOUND)
    })
}

/// Extracts missing symbols, and prints a summary. Returns whether any were missing.
pub(crate) async fn take(store: &Store) -> Result<bool> {
    let progress = IngestProgress::new();
    let taken = ingest::symbols::run(store, &program()?, &|event| progress.event(event)).await;
    progress.finish();
    match taken?.as_ref().map(summary) {
        None => Ok(false),
        Some(summary) => {
            let bytes = store.in_time(store.symbols_bytes()).await?;
            say!("{summary}, {} on disk", size(bytes as u64));
            Ok(true)
        }
    }
}

/// Like [`take`], for a server: the summary goes to the log.
pub(crate) async fn take_beside(store: &Store) {
    let taken = match program() {
        Ok(program) => {
            ingest::symbols::run(store, &program, &|_| ()).await.map_err(anyhow::Error::from)
        }
        Err(error) => Err(error),
    };
    match taken {
        Ok(None) => {}
        Ok(Some(report)) => tracing::info!("{}", summary(&report)),
        Err(error) => tracing::error!("symbols are incomplete: {error:#}"),
    }
}

/// Returns the path of this program, even if its file was replaced since it started.
pub(crate) fn program() -> Result<PathBuf> {
    let own = PathBuf::from("/proc/self/exe");
    if own.exists() {
        Ok(own)
    } else {
        std::env::current_exe().context("cannot find the program's own file")
    }
}

fn summary(report: &Report) -> String {
    let mut text = format!(
        "symbols: {} in {}",
        HumanCount(report.symbols as u64),
        count(report.files as usize, "file")
    );
    let left_out: i64 = report.given_up.values().sum();
    if left_out > 0 {
        let reasons: Vec<String> = report
            .given_up
            .iter()
            .map(|(reason, n)| format!("{} {reason}", HumanCount(*n as u64)))
            .collect();
        text.push_str(&format!(
            "; incomplete in {} ({})",
            count(left_out as usize, "file"),
            reasons.join(", ")
        ));
    }
    if report.yielded {
        text.push_str("; the waiting ingest extracts the rest");
    }
    text
}
