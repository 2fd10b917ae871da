//! `codesearch db rebuild`: rebuilds the groups of lost nodes: ingests again what was in them.

use std::path::Path;

use ::settings::Settings;
use anyhow::Result;
use ingest::{Options, queue, symbols};
use request::human::{count, size};
use store::{Change, LostNodes, Reason, Store};

use super::{config, monitor, symbols as parser};
use crate::cli::DatabaseArgs;
use crate::database::Database;
use crate::progress::IngestProgress;

/// Connections besides those of the writer and the loaders, to observe the progress of index builds.
const CONNECTIONS: u32 = 2;

/// Gives nodes up as lost, ingests the repositories that had files there, and tells which could not be.
pub(crate) fn run(database: &DatabaseArgs, nodes: &[(String, u16)]) -> Result<u8> {
    let configured = config::configured(&Settings::find(None)?);
    let database = Database::open_index(database, CONNECTIONS)?;
    let disks = database.disks();
    database.run(async |store| {
        let lost = store.lose_nodes(nodes).await?;
        tell(&lost)?;
        let repos = store.lost_repos().await?;
        let (there, gone): (Vec<_>, Vec<_>) =
            repos.into_iter().partition(|(_, source)| Path::new(source).is_dir());
        // An ingest of a folder that is gone would remove what is left of the repository.
        let why = |(name, source): &(String, String)| {
            format!(
                "its folder {source} is gone; bring it back and run: codesearch ingest --now {name} (or: codesearch \
                 remove {name})"
            )
        };
        let (whys, sources): (Vec<String>, Vec<String>) =
            gone.iter().map(|repo| (why(repo), repo.1.clone())).unzip();
        store.note_lost(&sources, &whys).await?;
        let change = |(_, source): &(String, String)| Change {
            source: source.clone(),
            paths: None,
            reason: Reason::Asked,
        };
        store.enqueue(&there.iter().map(change).collect::<Vec<_>>()).await?;
        let options = Options { disks, configured, ..Options::default() };
        let progress = IngestProgress::new();
        let drained = queue::drain(store, &options, &|event| progress.event(event)).await;
        progress.finish();
        drained?;
        monitor::look(store).await;
        symbols::run(store, &parser::program()?, &|_| ()).await?;
        told(store, &there).await
    })
}

/// Prints what was lost.
fn tell(lost: &LostNodes) -> Result<()> {
    if lost.groups.is_empty() {
        return Ok(());
    }
    let groups = count(lost.groups.len(), "group");
    if lost.shards == 0 {
        say!("{groups} made on other nodes");
    } else {
        let (shards, bytes) = (count(lost.shards, "shard"), size(lost.bytes.cast_unsigned()));
        say!("{groups} made on other nodes; lost: {shards} with {bytes} of text");
    }
    for name in &lost.scip {
        say!("import again: the SCIP index of {name}, which was lost");
    }
    Ok(())
}

/// Prints which repositories were ingested again, and why others could not be. Of those, answers stay incomplete.
async fn told(store: &Store, ingested: &[(String, String)]) -> Result<u8> {
    let repos = store.repos().await?;
    let left = repos.iter().filter_map(|repo| Some((repo, repo.failed.as_ref()?)));
    let left: Vec<_> = left.filter(|(_, failed)| failed.is_lost).collect();
    let is_left = |name: &str| left.iter().any(|(repo, _)| repo.name == name);
    let done = ingested.iter().filter(|(name, _)| !is_left(name)).count();
    say!("ingested again: {}", count(done, "repository"));
    for (repo, failed) in &left {
        say!("not ingested again: {}: {}", repo.name, failed.why);
    }
    Ok(if left.is_empty() { crate::FOUND } else { crate::FAILED })
}
