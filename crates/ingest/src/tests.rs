//! An ingest treats files in memory like files in a folder.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use files::{RACY, fingerprint_of};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use store::{Missing, RepoRow, Store, Target};

use crate::source::folder::{Choice, FolderSource};
use crate::source::{Entry, FileContents, FileSource, Listing, Reader, Skipped};
use crate::update::{Repository, Taken, update};
use crate::{Error, Options, Report, SkipReason, lock};

/// Maximum bytes of a file.
const MAX_BYTES: u64 = 1000;

/// Files by path, with their bytes or the reason why they cannot be read.
type Tree = BTreeMap<&'static str, Result<Vec<u8>, SkipReason>>;

fn tree(files: &[(&'static str, &[u8])]) -> Tree {
    files.iter().map(|(path, bytes)| (*path, Ok(bytes.to_vec()))).collect()
}

/// A place to put a tree, and to ingest it from.
trait Place: Send + Sync {
    fn put(&self, tree: &Tree);
    fn source(&self) -> &dyn FileSource;
}

/// Files in memory.
#[derive(Default)]
struct Memory(Mutex<Tree>);

impl Place for Memory {
    fn put(&self, tree: &Tree) {
        self.0.lock().unwrap().clone_from(tree);
    }

    fn source(&self) -> &dyn FileSource {
        self
    }
}

impl FileSource for Memory {
    fn list(&self, seen: &(dyn Fn(Entry) -> ControlFlow<()> + Sync)) -> Result<Listing, String> {
        let entry = |path: &str, bytes: &[u8]| {
            Entry::new(Path::new(path), bytes.len() as u64, hash(bytes), None)
        };
        for (path, bytes) in &*self.0.lock().unwrap() {
            let Ok(bytes) = bytes else { continue };
            if seen(entry(path, bytes)).is_break() {
                break;
            }
        }
        Ok(Listing::default())
    }

    fn open(&self, max_bytes: u64) -> Result<Reader<'_>, SkipReason> {
        Ok(Box::new(move |path, _| match self.0.lock().unwrap().get(path) {
            None => Err(Skipped::new(SkipReason::Vanished, 0)),
            Some(Err(reason)) => Err(Skipped::new(*reason, 0)),
            Some(Ok(bytes)) if bytes.len() as u64 > max_bytes => {
                Err(Skipped::new(SkipReason::TooLarge, bytes.len() as u64))
            }
            Some(Ok(bytes)) => {
                Ok(FileContents { bytes: bytes.clone(), fingerprint: hash(bytes), named: None })
            }
        }))
    }
}

fn hash(bytes: &[u8]) -> i64 {
    fingerprint_of(bytes.iter().map(|byte| u64::from(*byte)))
}

/// Files in a folder. An unreadable file becomes a folder.
struct Disk(PathBuf, FolderSource);

impl Place for Disk {
    fn put(&self, tree: &Tree) {
        for entry in fs::read_dir(&self.0).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            match tree.get(name) {
                Some(Ok(bytes)) if fs::read(&path).is_ok_and(|found| found == *bytes) => {}
                _ if path.is_dir() => fs::remove_dir(&path).unwrap(),
                _ => fs::remove_file(&path).unwrap(),
            }
        }
        for (name, bytes) in tree {
            let path = self.0.join(name);
            match bytes {
                Ok(_) if path.exists() => {}
                Ok(bytes) => fs::write(&path, bytes).unwrap(),
                Err(_) => fs::create_dir(&path).unwrap(),
            }
        }
        self.settle();
    }

    fn source(&self) -> &dyn FileSource {
        &self.1
    }
}

impl Disk {
    /// Waits until the files are old enough for their times to be reliable.
    fn settle(&self) {
        let changed = |entry: fs::DirEntry| {
            let found = entry.metadata().unwrap();
            Duration::new(found.ctime() as u64, found.ctime_nsec() as u32)
        };
        let entries = fs::read_dir(&self.0).unwrap();
        let last = entries.map(|entry| changed(entry.unwrap())).max().unwrap_or_default();
        let settled = SystemTime::UNIX_EPOCH + last + RACY;
        std::thread::sleep(settled.duration_since(SystemTime::now()).unwrap_or_default());
    }
}

/// A source that becomes another tree once listed, and records reads.
struct Changing {
    place: Arc<dyn Place>,
    then: Tree,
    read: Mutex<Vec<String>>,
}

impl FileSource for Changing {
    fn list(&self, seen: &(dyn Fn(Entry) -> ControlFlow<()> + Sync)) -> Result<Listing, String> {
        let notices = self.place.source().list(seen);
        self.place.put(&self.then);
        notices
    }

    fn open(&self, max_bytes: u64) -> Result<Reader<'_>, SkipReason> {
        let reader = self.place.source().open(max_bytes)?;
        Ok(Box::new(move |path, oid| {
            self.read.lock().unwrap().push(path.to_owned());
            reader(path, oid)
        }))
    }
}

/// Path, bytes, language, hash, encoding, text.
type StoredFile = (String, i32, Option<String>, String, Option<String>, String);

/// The results of an ingest, and the index after it.
#[derive(Debug, PartialEq)]
struct Outcome {
    /// Paths that were read.
    read: Vec<String>,
    /// Files, texts stored, new and retired files.
    counts: [i64; 4],
    files: Vec<StoredFile>,
    /// Path, bytes, reason.
    left_out: Vec<(String, i64, String)>,
}

impl Outcome {
    fn texts(&self) -> Vec<(&str, &str)> {
        self.files.iter().map(|(path, .., text)| (&**path, &**text)).collect()
    }

    fn reasons(&self) -> Vec<(&str, &str)> {
        self.left_out.iter().map(|(path, _, reason)| (&**path, &**reason)).collect()
    }
}

/// Ingests a tree that becomes another one between listing and reading.
async fn ingest(
    store: &Store,
    place: &Arc<dyn Place>,
    tree: &Tree,
    then: &Tree,
) -> Result<Outcome, Error> {
    place.put(tree);
    let (place, then) = (Arc::clone(place), then.clone());
    let files = Arc::new(Changing { place, then, read: Mutex::default() });
    let options = Options { max_bytes: MAX_BYTES, ..Options::default() };
    let mut session = lock(store, &|_| ()).await?;
    let known = session.repos().await?.pop();
    let (name, source) = ("repo".to_owned(), "/nowhere".to_owned());
    let id = match &known {
        Some(row) => row.id,
        None => session.new_repo(&name, &source).await?,
    };
    let row = RepoRow {
        id,
        name,
        source,
        web: None,
        commit: None,
        rank: 0,
        git_folders: Vec::new(),
        no_ignore: false,
        skips_secrets: false,
        from_commit: false,
        languages: None,
        is_lost: false,
    };
    let repo = Repository {
        row,
        files: Arc::clone(&files) as _,
        trees: crate::trees::OtherTrees::default(),
        unread: Vec::new(),
        again: false,
        part: None,
        max_bytes: MAX_BYTES,
    };
    let mut report = Report::default();
    let how = (&options, Taken::default());
    let updated = update(store, &mut session, vec![repo], &[], how, &mut report, &|_| ()).await;
    session.close().await?;
    updated?;
    let mut read = std::mem::take(&mut *files.read.lock().unwrap());
    read.sort();
    let counts = [report.seen.files, report.stored.files, report.new_files, report.retired_files];
    let left_out = store.skipped(id, &store::TreeFilter::Main).await?;
    let left_out = left_out.into_iter().map(|row| (row.path, row.bytes, row.reason)).collect();
    Ok(Outcome { read, counts, files: stored(store).await?, left_out })
}

async fn stored(store: &Store) -> Result<Vec<StoredFile>, store::Error> {
    let (catalog, mut lease) = (store.catalog().await?, store.lease().await?);
    let mut files = Vec::new();
    for shard in &catalog.shards {
        for file in lease.files(shard.id, None, &catalog.filter()).await? {
            let chunks = lease.blobs(shard.id, &[file.blob]).await?;
            let text = chunks.iter().map(|chunk| &*chunk.contents).collect();
            let (hash, encoding) = store.hash(shard.id, file.blob).await?;
            files.push((file.path, file.bytes, file.language, hash, encoding, text));
        }
    }
    lease.done();
    files.sort();
    Ok(files)
}

/// Runs a test on two indexes of a private Postgres.
fn on_indexes(test: impl AsyncFnOnce([&Store; 2])) {
    let user = fs::metadata("/proc/self").unwrap().uid();
    // The folder stays, so that Postgres is downloaded only once.
    let home = std::env::temp_dir().join(format!("codesearch-store-tests-{user}"));
    let (name, source) = ("codesearch".to_owned(), postgres::Source::Auto);
    let postgres =
        postgres::Postgres::open(&postgres::Options { home, name, source, idle: None }).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let database = |name: &str| format!("ingest_{}_{name}", std::process::id());
    let store = async |name: &str| {
        let target = Target::Socket {
            folder: postgres.socket_dir().to_owned(),
            role: postgres.name().to_owned(),
            database: database(name),
        };
        let store = Store::connect(&target, 4, Missing::Make).await.unwrap();
        store.init(2).await.unwrap();
        store
    };
    runtime.block_on(async {
        let (one, other) = (store("memory").await, store("disk").await);
        test([&one, &other]).await;
        let options = PgConnectOptions::new().socket(postgres.socket_dir());
        let options = options.username(postgres.name()).database("postgres");
        let mut conn = PgConnection::connect_with(&options).await.unwrap();
        for (store, name) in [(one, "memory"), (other, "disk")] {
            store.close().await;
            let sql = format!("drop database {} with (force)", database(name));
            sqlx::query(AssertSqlSafe(sql)).execute(&mut conn).await.unwrap();
        }
        conn.close().await.unwrap();
    });
    postgres.close().unwrap();
}

#[test]
fn files_in_memory_are_ingested_as_those_in_a_folder() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().canonicalize().unwrap();
    let memory: Arc<dyn Place> = Arc::new(Memory::default());
    let disk: Arc<dyn Place> =
        Arc::new(Disk(folder.clone(), FolderSource::new(&folder, &[], Choice::default())));
    let large = vec![b'x'; MAX_BYTES as usize + 1];
    on_indexes(async |[one, other]| {
        let both = async |tree: &Tree, then: &Tree| {
            let in_memory = ingest(one, &memory, tree, then).await.unwrap();
            assert_eq!(in_memory, ingest(other, &disk, tree, then).await.unwrap());
            in_memory
        };
        let mut files = tree(&[
            ("a.rs", b"fn a() {}\n"),
            ("b.txt", b"two\nlines\n"),
            ("binary", b"\0\x01"),
            ("empty", b""),
            ("large", &large),
            ("latin", b"d\xe9j\xe0 vu, gar\xe7on\n"),
            ("same.txt", b"two\nlines\n"),
            ("utf16", b"\xff\xfea\0\n\0"),
            ("wrong", "é".repeat(9).as_bytes()),
        ]);
        files.get_mut("wrong").unwrap().as_mut().unwrap().push(0xff);

        let first = both(&files, &files).await;
        let texts = [
            ("a.rs", "fn a() {}\n"),
            ("b.txt", "two\nlines\n"),
            ("empty", ""),
            ("latin", "déjà vu, garçon\n"),
            ("same.txt", "two\nlines\n"),
            ("utf16", "a\n"),
            ("wrong", "ééééééééé\u{fffd}"),
        ];
        assert_eq!(first.texts(), texts);
        assert_eq!(first.reasons(), [("binary", "binary"), ("large", "too-large")]);
        assert_eq!((first.counts, first.read.len()), ([9, 6, 7, 0], 8));

        let unchanged = both(&files, &files).await;
        assert!(unchanged.read.is_empty(), "{:?}", unchanged.read);
        assert_eq!(unchanged.counts, [9, 0, 0, 0]);
        assert_eq!((&unchanged.files, &unchanged.left_out), (&first.files, &first.left_out));

        files.insert("a.rs", Ok(b"fn changed() {}\n".to_vec()));
        files.remove("b.txt");
        let changed = both(&files, &files).await;
        assert_eq!((&*changed.read, changed.counts), (&["a.rs".to_owned()][..], [8, 1, 1, 2]));
        assert_eq!(changed.texts()[..2], [("a.rs", "fn changed() {}\n"), ("empty", "")]);

        // Changes between listing and reading.
        let names = ["folder", "gone", "grown", "rewritten"];
        files.extend(names.map(|name| (name, Ok(name.as_bytes().to_vec()))));
        let mut then = files.clone();
        then.remove("gone");
        then.insert("folder", Err(SkipReason::Special));
        then.insert("grown", Ok(large.clone()));
        then.insert("rewritten", Ok(b"another".to_vec()));
        let raced = both(&files, &then).await;
        assert_eq!(raced.read, names);
        assert_eq!(
            raced.reasons(),
            [
                ("binary", "binary"),
                ("folder", "special"),
                ("grown", "too-large"),
                ("large", "too-large"),
                ("gone", "vanished")
            ]
        );
        assert!(raced.texts().contains(&("rewritten", "another")));
        // All but files read whole are tried again.
        let mut again = files.clone();
        again.insert("rewritten", Ok(b"another".to_vec()));
        let again = both(&again, &again).await;
        assert_eq!(again.read, ["folder", "gone", "grown"]);
        assert_eq!(again.reasons(), [("binary", "binary"), ("large", "too-large")]);

        // A file that cannot be read.
        let mut failing = files.clone();
        failing.insert("new", Ok(b"new".to_vec()));
        let mut then = failing.clone();
        then.insert("new", Err(SkipReason::Unreadable));
        let failed = ingest(one, &memory, &failing, &then).await.unwrap();
        assert!(failed.reasons().contains(&("new", "unreadable")), "{failed:?}");

        for (store, place) in [(one, memory), (other, disk)] {
            let none = ingest(store, &place, &Tree::new(), &Tree::new()).await;
            assert!(matches!(none, Err(Error::NoFiles(_))), "{none:?}");
        }
    });
}
