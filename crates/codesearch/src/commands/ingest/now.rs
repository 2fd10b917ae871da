//! `codesearch ingest --now`: puts repositories into the queue of changes, and sees to it that they are taken.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use ingest::{Configured, Options, Report, queue};
use query::nearest;
use request::human::count;
use store::{Change, Reason, Repo, Store, Waited};

use super::CONNECTIONS;
use crate::cli::{DatabaseArgs, IngestArgs};
use crate::commands::{monitor, symbols};
use crate::database::Database;
use crate::progress::IngestProgress;

/// Time that a program that listens for changes has to take them. Its connections are open, so it is faster.
const OF_OTHERS: Duration = Duration::from_secs(20);

/// Time between two looks whether the lock on writing is free.
const LOOK: Duration = Duration::from_millis(200);

pub(super) fn run(
    database: &DatabaseArgs,
    args: &IngestArgs,
    configured: Vec<Configured>,
) -> Result<u8> {
    let database = Database::open_to_add(database, CONNECTIONS)?;
    let disks = database.disks();
    database.run(async |store| {
        let named = sources(&store.repos().await?, &args.paths)?;
        let (upto, sources) = match &named {
            Some(sources) => {
                let change = |source: &String| Change {
                    source: source.clone(),
                    paths: None,
                    reason: Reason::Asked,
                };
                let changes: Vec<Change> = sources.iter().map(change).collect();
                (store.enqueue(&changes).await?, Some(&**sources))
            }
            None => {
                store.hurry().await?;
                (store.pending().await?.last().map_or(0, |row| row.id), None)
            }
        };
        let max_bytes = args.how.max_size;
        let options = Options { max_bytes, disks, configured, ..Options::default() };
        let waiting = Waiting { store, options, upto, sources };
        let report = waiting.until_taken().await?;
        say!("{}", told(report.as_ref(), &args.paths));
        if report.is_some() {
            monitor::look(store).await;
        }
        if report.is_some() && !args.no_symbols {
            ingest::symbols::run(store, &symbols::program()?, &|_| ()).await?;
        }
        Ok(crate::FOUND)
    })
}

/// Returns the folders of repositories, given by their names or folders; `None` if none is given.
fn sources(repos: &[Repo], given: &[PathBuf]) -> Result<Option<Vec<String>>> {
    if given.is_empty() {
        return Ok(None);
    }
    let source = |given: &PathBuf| {
        let text = given.to_str();
        if let Some(repo) = repos.iter().find(|repo| Some(repo.name.as_str()) == text) {
            return Ok(repo.source.clone());
        }
        let shown = given.display();
        // That of a repository may have gone.
        let folder = std::path::absolute(given)?;
        let is_known = repos.iter().any(|repo| Path::new(&repo.source).starts_with(&folder));
        match given.canonicalize() {
            Ok(folder) if folder.is_dir() => {
                let folder = folder.into_os_string().into_string();
                folder.map_err(|_| anyhow!("the name of {shown} is not UTF-8"))
            }
            Ok(_) => bail!("{shown} is not a folder; name a repository, or its folder"),
            Err(_) if is_known => Ok(folder.to_string_lossy().into_owned()),
            Err(_) => {
                let names = repos.iter().map(|repo| repo.name.as_str());
                let near = text.and_then(|text| nearest(text, names));
                let near = near.map(|near| format!("; did you mean {near}?"));
                let list = || {
                    "; codesearch repos lists all, and codesearch ingest PATH adds one".to_owned()
                };
                bail!("unknown repository {shown}{}", near.unwrap_or_else(list))
            }
        }
    };
    given.iter().map(source).collect::<Result<Vec<_>>>().map(Some)
}

/// Waits for rows of the queue.
struct Waiting<'w> {
    store: &'w Store,
    options: Options,
    upto: i64,
    sources: Option<&'w [String]>,
}

impl Waiting<'_> {
    /// Waits until the rows are taken, and takes them if nobody else does. Returns the report if it has.
    async fn until_taken(&self) -> Result<Option<Report>> {
        if self.store.has_ingester().await? && self.are_taken(OF_OTHERS).await? {
            return Ok(None);
        }
        let progress = IngestProgress::new();
        let mut told = false;
        loop {
            let tell = |event| progress.event(event);
            if let Some(report) = queue::try_drain(self.store, &self.options, &tell).await? {
                progress.finish();
                if !self.are_taken(Duration::ZERO).await? {
                    bail!("what was to be ingested still waits; see: codesearch repos");
                }
                return Ok(Some(report));
            }
            if !std::mem::replace(&mut told, true) {
                progress.event(ingest::Event::Waiting);
            }
            if self.are_taken(LOOK).await? {
                progress.finish();
                return Ok(None);
            }
        }
    }

    async fn are_taken(&self, within: Duration) -> Result<bool> {
        match self.store.await_taken(self.upto, self.sources, within).await? {
            Waited::Fresh => Ok(true),
            Waited::StillPending(_) => Ok(false),
            Waited::Failed(why) => Err(anyhow!("not updated: {why}")),
        }
    }
}

/// Returns the line that is printed at the end.
fn told(report: Option<&Report>, given: &[PathBuf]) -> String {
    let given: Vec<String> = given.iter().map(|path| path.display().to_string()).collect();
    let what = if given.is_empty() { "all that waited".to_owned() } else { given.join(", ") };
    let Some(report) = report else { return format!("up to date: {what}") };
    if given.is_empty() && report.repos.is_empty() && report.removed.is_empty() {
        return "nothing waits to be ingested".to_owned();
    }
    let removed = match &*report.removed {
        [] => String::new(),
        names => format!("; removed: {}", names.join(", ")),
    };
    format!(
        "up to date: {what} ({} seen, {} new or changed, {} gone or changed){removed}",
        count(report.seen.files as usize, "file"),
        report.new_files,
        report.retired_files,
    )
}
