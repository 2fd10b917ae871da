//! `codesearch up`: ingests and serves, in one command.

use std::path::{Path, PathBuf};

use ::ingest::Configured;
use anyhow::{Context, Result};

use super::keep::Keep;
use super::serve::Symbols;
use super::{config, ingest, serve};
use crate::cli::{DatabaseArgs, UpArgs};
use crate::database::{Database, clones_folder, connections};

pub(crate) fn run(database: &DatabaseArgs, mut args: UpArgs) -> Result<u8> {
    let configured = config::configured(&config::open(&args.serve.configuration)?.get());
    // Whoever names folders wants no others.
    let takes_new = args.paths.is_empty();
    if args.paths.is_empty() {
        args.paths.extend(configured.iter().map(|folder| folder.path.clone()));
    }
    if args.paths.is_empty() {
        args.paths.push(sample()?);
        // The sample's repositories are plain folders.
        args.how.depth = args.how.depth.or(Some(1));
        say!("no folder given: using the sample code in {}", args.paths[0].display());
    }
    ingest::check_paths(&args.paths)?;
    let settings = serve::settings(database, &args.serve)?;
    let listener = serve::bind(args.serve.listen)?;
    let index = database;
    let database = Database::open(index, connections())?;
    let disks = database.disks();
    let done = database.runtime.block_on(async {
        tokio::select! {
            done = ingest_all(&database, &args, configured, disks) => done.map(|()| true),
            _ = tokio::signal::ctrl_c() => Ok(false),
        }
    });
    match done {
        Ok(true) => {
            let socket = serve::listen_on_socket(index);
            let into = clones_folder(index)?;
            let (how, most) = ((!args.no_watch, takes_new), args.how.max_size);
            let keep = Keep::new(&args.serve, how, most, database.disks(), into.clone())?;
            let kept = (keep, into);
            serve::serve(database, (listener, socket), &args.serve, settings, Symbols::Take, kept)
        }
        Ok(false) => {
            database.close();
            Ok(crate::INTERRUPTED)
        }
        Err(error) => {
            let error = database.explain(error);
            database.close();
            Err(error)
        }
    }
}

async fn ingest_all(
    database: &Database,
    args: &UpArgs,
    configured: Vec<Configured>,
    disks: Vec<PathBuf>,
) -> Result<()> {
    let history = args.how.history.then_some(true);
    let folders = ingest::Folders { paths: args.paths.clone(), configured };
    ingest::ingest(&database.store, &folders, &args.how, history, disks.clone()).await?;
    ingest::settle(&database.store, &disks).await
}

/// Returns the folder of the sample, which comes with the source code.
fn sample() -> Result<PathBuf> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/sample");
    [built, PathBuf::from("corpus/sample")]
        .into_iter()
        .find_map(|path| path.canonicalize().ok())
        .context("name a folder to index; the sample code is only in a checkout of codesearch")
}
