//! `codesearch ingest`: brings the index up to date, and prints a summary.

mod now;

use std::path::PathBuf;
use std::time::Duration;

use ::settings::Settings;
use anyhow::{Result, ensure};
use indicatif::HumanCount;
use ingest::{self, Configured, Options, Report, SkipReason};
use store::Store;

use super::{config, git_hook, symbols};
use crate::cli::{DatabaseArgs, IngestArgs, IngestOptions, Secrets};
use crate::database::Database;
use crate::progress::IngestProgress;
use request::human::{count, size};

/// Connections besides those of the writer and the loaders, to observe the progress of index builds.
const CONNECTIONS: u32 = 2;

pub(crate) fn run(database: &DatabaseArgs, args: &IngestArgs) -> Result<u8> {
    if let Some(hook) = args.print_hook {
        return git_hook::print(database, hook);
    }
    let settings = Settings::find(args.configuration.settings.as_deref())?;
    let configured = config::configured(&settings);
    if args.now {
        return now::run(database, args, configured);
    }
    let mut paths = args.paths.clone();
    if paths.is_empty() {
        paths.extend(configured.iter().map(|folder| folder.path.clone()));
    }
    ensure!(
        !paths.is_empty(),
        "name a folder that contains repositories, or add [[folder]] to the configuration file (codesearch config --help)"
    );
    check_paths(&paths)?;
    let database = Database::open(database, CONNECTIONS)?;
    let disks = database.disks();
    database.run(async |store| {
        let history = (args.how.history || args.no_history).then_some(args.how.history);
        let folders = Folders { paths, configured };
        let report = ingest(store, &folders, &args.how, history, disks.clone()).await?;
        super::monitor::look(store).await;
        if !args.no_symbols {
            symbols::take(store).await?;
        }
        settle(store, &disks).await?;
        Ok(if report.untouched.is_empty() { crate::FOUND } else { crate::FAILED })
    })
}

/// Bytes of write-ahead log from which an ingest ends with a checkpoint, which deletes the log. A small ingest need not
/// wait for one.
const MUCH_LOG: u64 = 64 << 20;

/// Makes a private server delete its write-ahead log, and prints the disk space in use. `disks` are the server's
/// folders: its data, and within it the log.
pub(crate) async fn settle(store: &Store, disks: &[PathBuf]) -> Result<()> {
    let [data, log] = disks else { return Ok(()) };
    if postgres::size_of(log) > MUCH_LOG {
        // The index is complete without it.
        if let Err(error) = store.checkpoint().await {
            tracing::warn!("Postgres keeps its log for now: {error}");
        }
    }
    say!("in all: {} on disk, with all of Postgres", size(postgres::size_of(data)));
    Ok(())
}

/// Reports wrong paths before a database is started.
pub(crate) fn check_paths(paths: &[PathBuf]) -> Result<(), ingest::Error> {
    paths.iter().try_for_each(|path| match path.metadata() {
        Err(cause) => Err(ingest::Error::Path { path: path.clone(), cause }),
        Ok(found) if !found.is_dir() => Err(ingest::Error::NotAFolder(path.clone())),
        Ok(_) => Ok(()),
    })
}

/// Where to look for repositories.
pub(crate) struct Folders {
    pub(crate) paths: Vec<PathBuf>,
    /// What the configuration file says of folders.
    pub(crate) configured: Vec<Configured>,
}

/// Makes the tables of an index unless they are there, and returns its number of shards. Says so if it takes long, as on nodes of
/// Citus.
pub(crate) async fn make_tables(store: &Store, shards: i16) -> store::Result<i16> {
    let mut making = Box::pin(store.init(shards));
    tokio::select! {
        made = &mut making => made,
        () = tokio::time::sleep(Duration::from_secs(2)) => {
            note!("codesearch: making the tables of {}", count(usize::from(shards.unsigned_abs()), "shard"));
            making.await
        }
    }
}

/// Ingests, and prints a summary. `history` has the histories of lines indexed or removed; `None` for what was chosen
/// before.
pub(crate) async fn ingest(
    store: &Store,
    folders: &Folders,
    how: &IngestOptions,
    history: Option<bool>,
    disks: Vec<PathBuf>,
) -> Result<Report> {
    let shards = make_tables(store, how.shards).await?;
    if shards != how.shards {
        tracing::debug!("the index has {shards} shards");
    }
    let options = Options {
        paths: folders.paths.clone(),
        depth: how.depth,
        max_bytes: how.max_size,
        no_ignore: (how.no_ignore || how.ignore).then_some(how.no_ignore),
        skip_secrets: how.secrets.map(|secrets| secrets == Secrets::Skip),
        history,
        commit: (how.commit || how.no_commit).then_some(how.commit),
        follow_git: how.follow_git,
        branches: how.branches.as_deref().map(ingest::globs),
        configured: folders.configured.clone(),
        again: how.again,
        shard_bytes: how.shard_bytes,
        disks,
        parser: None,
    };
    let progress = IngestProgress::new();
    let report = ingest::run(store, &options, &|event| progress.event(event)).await;
    progress.finish();
    let report = report?;
    print_summary(store, &report).await?;
    Ok(report)
}

async fn print_summary(store: &Store, report: &Report) -> Result<()> {
    let asked = async {
        let (repos, skipped) = (store.repos().await?, store.skipped_by_reason().await?);
        Ok((repos, skipped, store.inexact_files().await?, store.size_on_disk().await?))
    };
    let (repos, skipped, inexact, (tables, indexes, docs, words)) = store.in_time(asked).await?;
    let files: i64 = repos.iter().map(|repo| repo.files).sum();
    let bytes: i64 = repos.iter().map(|repo| repo.bytes).sum();
    say!(
        "{} seen in {}: {} read, {} new or changed, {} gone or changed",
        count(report.seen.files as usize, "file"),
        count(report.repos.len(), "repository"),
        HumanCount(report.read.files as u64),
        HumanCount(report.new_files as u64),
        HumanCount(report.retired_files as u64),
    );
    if report.trees > 0 {
        say!(
            "trees besides the main ones (worktrees, branches, tags): {}, {:.1} seconds",
            HumanCount(report.trees as u64),
            seconds(report.trees_time)
        );
    }
    let history = &report.history;
    if history.commits + history.removed > 0 {
        say!(
            "history: {} read with {}, {} no longer reached, {:.1} seconds",
            count(history.commits as usize, "commit"),
            count(history.lines as usize, "changed line"),
            HumanCount(history.removed as u64),
            seconds(report.history_time)
        );
    }
    for name in &report.removed {
        say!("removed: {name} (its folder no longer exists)");
    }
    say!(
        "indexed: {} in {}, {} of text",
        count(files as usize, "file"),
        count(repos.len(), "repository"),
        size(bytes as u64)
    );
    let reasons: Vec<String> = SkipReason::ALL
        .iter()
        .filter_map(|reason| {
            let n = skipped.get(reason.word())?;
            Some(format!("{} {reason}", HumanCount(*n as u64)))
        })
        .collect();
    if !reasons.is_empty() {
        let all: i64 = skipped.values().sum();
        say!(
            "left out: {} ({}); codesearch repos --skipped NAME lists them",
            count(all as usize, "file"),
            reasons.join(", ")
        );
    }
    if inexact > 0 {
        say!(
            "inexact: {} with bytes that are invalid in every encoding tried, indexed as U+FFFD; codesearch sql \
             \"select repository, path, encoding from files where encoding like '%inexact)'\" lists them",
            count(inexact as usize, "file")
        );
    }
    say!(
        "on disk: {} of tables, {} of trigram indexes, {} of word index, {} of document index",
        size(tables as u64),
        size(indexes as u64),
        size(words as u64),
        size(docs as u64)
    );
    say!(
        "seconds: {:.1} scanning, {:.1} reading and storing, {:.1} indexing, {:.1} publishing",
        seconds(report.walk),
        seconds(report.load),
        seconds(report.index),
        seconds(report.publish)
    );
    Ok(())
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}
