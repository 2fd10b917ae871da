//! Extracts the symbols of stored texts, once for each blob, after an ingest has published them.
//!
//! Parsers are C code that reads untrusted texts. So they run in [`worker`] processes, which have a memory limit and
//! are killed when they take too long: a hostile text costs a worker, and its symbols. One task processes each shard.
//! The stored rows record its progress, so a killed run resumes there.

mod client;
mod wire;
pub mod worker;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use store::{BlobId, BlobTodo, Session, Store, SymbolRow, SymbolsTodo};
use symbols::{FORMAT, MAX_BYTES, Reason, Taken};

use crate::{Error, Event, Progress, cores, lock};
use client::Client;

/// Number of blobs to look up at once.
const BLOBS: i64 = 1000;

/// Bytes of texts to read and parse at once.
const BATCH_BYTES: usize = 2 << 20;

/// Interval between checks whether another ingest waits.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Number of symbols stored.
    pub symbols: i64,
    /// Number of blobs with symbols.
    pub files: i64,
    /// Number of blobs whose symbols are incomplete, by reason.
    pub given_up: BTreeMap<Reason, i64>,
    /// Whether the run left the rest to a waiting ingest.
    pub yielded: bool,
}

/// Extracts the symbols that the index lacks; `None` if it lacks none. `program` is a program that runs [`worker::run`]
/// when its only argument is [`worker::ARGUMENT`].
///
/// # Errors
/// The database fails or is silent for a minute, or the program cannot be started.
pub async fn run(
    store: &Store,
    program: &Path,
    progress: &dyn Progress,
) -> Result<Option<Report>, Error> {
    let languages = symbols::languages();
    if store.has_symbols(FORMAT, &languages).await? {
        return Ok(None);
    }
    store.watched(Box::pin(take_all(store, program, &languages, progress))).await.map(Some)
}

async fn take_all(
    store: &Store,
    program: &Path,
    languages: &[&str],
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let mut session = lock(store, progress).await?;
    let mut shards = session.symbols_todo(FORMAT, languages).await?;
    let part = |todo: &SymbolsTodo, upto: i32| {
        let part = f64::from(upto - todo.upto) / f64::from(todo.chunks.max(1));
        (todo.bytes as f64 * part) as i64
    };
    progress(Event::Symbols(shards.iter().map(|todo| part(todo, todo.chunks)).sum()));
    // The largest first, so that none remains at the end.
    shards.sort_by_key(|todo| part(todo, todo.chunks));
    let state = Mutex::new(State { shards, done: 0, report: Report::default() });
    let stop = Mutex::new(false);
    let work = async |session: &Session| -> Result<(), Error> {
        let mut client = Client::new(program.to_owned());
        loop {
            let Some(todo) = state.lock().expect("no panics hold it").shards.pop() else {
                return Ok(());
            };
            let mut shard = store.symbols_writer(todo.shard).await?;
            let mut from = todo.upto;
            loop {
                if *stop.lock().expect("no panics hold it") {
                    return Ok(());
                }
                let blobs = shard.next(from, languages, BLOBS).await?;
                let is_last = (blobs.len() as i64) < BLOBS;
                for batch in batches(&blobs) {
                    if *stop.lock().expect("no panics hold it") {
                        return Ok(());
                    }
                    let next = batch.last().map_or(from, |last| last.blob.0 + 1);
                    let texts = shard.texts(&small(batch)).await?;
                    let mut taken = take(session, &mut client, batch, texts).await?;
                    let rows = std::mem::take(&mut taken.rows);
                    // The whole shard is done only when its index is built.
                    let upto = next.min(todo.chunks - 1);
                    let (files, symbols) = counted(&rows);
                    shard.store(rows, &taken.given_up(), upto).await?;
                    let mut state = state.lock().expect("no panics hold it");
                    state.report.add((files, symbols), &taken.reasons);
                    state.done += part(&todo, next) - part(&todo, from);
                    from = next;
                    progress(Event::SymbolsTaken(state.done));
                }
                if is_last {
                    break;
                }
            }
            shard.finish(todo.chunks).await?;
            let mut state = state.lock().expect("no panics hold it");
            state.done += part(&todo, todo.chunks) - part(&todo, from);
            progress(Event::SymbolsTaken(state.done));
        }
    };
    // One task more than cores: while one stores or reads, the parsers of the others keep all cores busy.
    let all = futures_util::future::try_join_all((0..=cores()).map(|_| work(&session)));
    let watch = async {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if store.is_awaited().await.unwrap_or(false) {
                *stop.lock().expect("no panics hold it") = true;
            }
        }
    };
    tokio::select! {
        result = all => { result?; }
        () = watch => unreachable!("watching never ends"),
    }
    session.close().await?;
    let mut report = state.into_inner().expect("no panics hold it").report;
    report.yielded = stop.into_inner().expect("no panics hold it");
    Ok(report)
}

/// The state that all tasks share.
struct State {
    /// The shards that no task has taken yet.
    shards: Vec<SymbolsTodo>,
    /// Bytes of text processed.
    done: i64,
    report: Report,
}

/// Cuts blobs into batches with about [`BATCH_BYTES`] of texts to parse.
fn batches(blobs: &[BlobTodo]) -> impl Iterator<Item = &[BlobTodo]> {
    let mut bytes = 0;
    blobs.chunk_by(move |blob, next| {
        bytes += if is_small(blob) { blob.bytes as usize } else { 0 };
        let goes_on = bytes + next.bytes as usize <= BATCH_BYTES || !is_small(next);
        if !goes_on {
            bytes = 0;
        }
        goes_on
    })
}

/// Returns whether a text is small enough to read.
fn is_small(blob: &BlobTodo) -> bool {
    blob.bytes as usize <= MAX_BYTES
}

fn small(blobs: &[BlobTodo]) -> Vec<BlobId> {
    blobs.iter().filter(|blob| is_small(blob)).map(|blob| blob.blob).collect()
}

/// The symbols of a batch.
#[derive(Debug, Default)]
struct Batch {
    rows: Vec<SymbolRow>,
    reasons: Vec<(BlobId, Reason)>,
}

impl Batch {
    fn given_up(&self) -> Vec<(BlobId, &str)> {
        self.reasons.iter().map(|(blob, reason)| (*blob, reason.word())).collect()
    }
}

/// Returns how many blobs define something, and the number of symbols.
fn counted(rows: &[SymbolRow]) -> (i64, i64) {
    let counts = rows.iter().map(|row| row.starts.len() as i64).filter(|count| *count > 0);
    counts.fold((0, 0), |(files, symbols), count| (files + 1, symbols + count))
}

impl Report {
    fn add(&mut self, (files, symbols): (i64, i64), reasons: &[(BlobId, Reason)]) {
        self.files += files;
        self.symbols += symbols;
        for (_, reason) in reasons {
            *self.given_up.entry(*reason).or_default() += 1;
        }
    }
}

/// Extracts the symbols of some texts.
async fn take(
    session: &Session,
    client: &mut Client,
    blobs: &[BlobTodo],
    texts: Vec<(BlobId, String)>,
) -> Result<Batch, Error> {
    let mut batch = Batch::default();
    let too_large = blobs.iter().filter(|blob| !is_small(blob));
    batch.reasons.extend(too_large.map(|blob| (blob.blob, Reason::TooLarge)));
    let language = |id: BlobId| {
        let at = blobs.partition_point(|blob| blob.blob < id);
        blobs[at].language.clone()
    };
    let jobs: Vec<(String, String)> =
        texts.iter().map(|(blob, text)| (language(*blob), text.clone())).collect();
    let begun = Instant::now();
    let taken = session.await_other(client.take(jobs)).await.map_err(Error::Parser)?;
    tracing::debug!("{} texts parsed in {:?}", texts.len(), begun.elapsed());
    for ((blob, text), taken) in texts.iter().zip(taken) {
        if let Some(reason) = taken.given_up {
            batch.reasons.push((*blob, reason));
        }
        // A text that was given up has no row without symbols.
        if taken.given_up.is_none() || !taken.symbols.is_empty() {
            batch.rows.push(row(*blob, text, &taken));
        }
    }
    batch.reasons.sort_unstable();
    Ok(batch)
}

/// Makes the row of a blob.
fn row(blob: BlobId, text: &str, taken: &Taken) -> SymbolRow {
    let names: Vec<&str> = taken.symbols.iter().map(|symbol| &text[symbol.name.clone()]).collect();
    let mut row = SymbolRow { blob, names: names.join("\n"), ..SymbolRow::default() };
    for symbol in &taken.symbols {
        row.kinds.push(symbol.kind.byte());
        row.starts.push(symbol.name.start as i32);
        row.ends.push(symbol.end as i32);
        row.lines.push(symbol.line as i32);
        row.parents.push(symbol.parent.map_or(-1, |parent| parent as i16));
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_cut_by_the_bytes_that_are_parsed() {
        let blob = |n: i32, bytes: usize| BlobTodo {
            blob: BlobId(n),
            bytes: bytes as i32,
            language: "go".to_owned(),
        };
        let many: Vec<BlobTodo> = (0..20).map(|n| blob(n, BATCH_BYTES / 8)).collect();
        assert_eq!(batches(&many).map(<[_]>::len).collect::<Vec<_>>(), [8, 8, 4]);
        // Texts that are too large are not read.
        let large: Vec<BlobTodo> = (0..20).map(|n| blob(n, MAX_BYTES + 1)).collect();
        assert_eq!(batches(&large).count(), 1);
        assert!(small(&large).is_empty());
        assert_eq!(batches(&[]).count(), 0);
    }
}
