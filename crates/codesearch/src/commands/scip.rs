//! `codesearch scip`: imports a SCIP index, or removes those of a repository.

use std::fs::File;
use std::io::{Read, stdin};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use ingest::scip::{self, Error, Report};

use crate::cli::{DatabaseArgs, ScipArgs};
use crate::database::Database;
use crate::progress::IngestProgress;
use request::human::{count, size};

/// Most reasons that are reported with an example.
const NAMED: usize = 4;

pub(crate) fn run(database: &DatabaseArgs, args: &ScipArgs) -> Result<u8> {
    // Report a file that cannot be opened before a database is started.
    let index = match &args.file {
        Some(file) => Some(open(file)?),
        None => None,
    };
    let database = match &index {
        Some(_) => Database::open_to_add(database, 1)?,
        None => Database::open_index(database, 1)?,
    };
    database.run(async |store| {
        let progress = IngestProgress::new();
        let repo = &args.repo;
        let Some((index, bytes)) = index else {
            let removed = scip::remove(store, repo, &|event| progress.event(event)).await;
            let removed = removed.map_err(plain)?;
            say!("removed {} of {repo}", count(removed, "SCIP index"));
            return Ok(if removed == 0 { crate::NOTHING } else { crate::FOUND });
        };
        let told = |event| progress.event(event);
        let done = scip::import(store, repo, args.root.as_deref(), index, bytes, &told).await;
        progress.finish();
        let report = done.map_err(plain)?;
        let bytes = store.in_time(store.scip_bytes()).await?;
        say!("{}, {} on disk in all", summary(&report), size(bytes as u64));
        for (refusal, (n, path)) in report.refused.iter().take(NAMED) {
            let such = if *n > 1 { ", such as" } else { ":" };
            note!("codesearch: left out {} {refusal}{such} {path}", count(*n, "file"));
        }
        Ok(crate::FOUND)
    })
}

/// Opens an index, and returns its size in bytes, if known.
fn open(path: &Path) -> Result<(Box<dyn Read + Send>, Option<u64>)> {
    if path == Path::new("-") {
        return Ok((Box::new(stdin()), None));
    }
    let why = || format!("cannot read {}", path.display());
    let file = File::open(path).with_context(why)?;
    let found = file.metadata().with_context(why)?;
    if found.is_dir() {
        bail!("{} is a folder; give the file index.scip in it", path.display());
    }
    Ok((Box::new(file), found.is_file().then_some(found.len())))
}

/// Unwraps an error of ingest or the database, so that it is recognized as one.
fn plain(error: Error) -> anyhow::Error {
    match error {
        Error::Ingest(error) => anyhow!(error),
        other => anyhow!(other),
    }
}

fn summary(report: &Report) -> String {
    let what = if report.replaced { "replaced by" } else { "imported" };
    let folder =
        if report.root.is_empty() { String::new() } else { format!(" for {}", report.root) };
    let mut text = format!(
        "{what} the SCIP index of {}{folder}: {} in {}",
        report.tool,
        count(report.occurrences, "place"),
        count(report.documents, "file"),
    );
    if report.refusals() > 0 {
        text.push_str(&format!("; {} left out", count(report.refusals(), "file")));
    }
    text
}
