//! A Postgres for the tests of this crate: one server for all running tests, and an index for each.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};

use postgres::{Options, Postgres, Source};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::tables::Groups;
use crate::{
    BlobId, ChunkRow, Contents, FileRow, Loader, Missing, Oid, Published, RepoId, RepoRow, SeenRow,
    Session, ShardId, Store, Target,
};

/// A server that stops with the last test that uses it.
#[derive(Debug)]
struct Server(Option<Postgres>);

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(postgres) = self.0.take() {
            let _ = postgres.close();
        }
    }
}

fn server() -> Arc<Server> {
    static SERVER: Mutex<Weak<Server>> = Mutex::new(Weak::new());
    let mut shared = SERVER.lock().unwrap();
    if let Some(server) = shared.upgrade() {
        return server;
    }
    let user = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap());
    // The folder stays, so that Postgres is downloaded only once.
    let home = std::env::temp_dir().join(format!("codesearch-store-tests-{user}"));
    let options = Options { home, name: "codesearch".to_owned(), source: Source::Auto, idle: None };
    let server = Arc::new(Server(Some(Postgres::open(&options).unwrap())));
    *shared = Arc::downgrade(&server);
    server
}

/// Runs a test on an index of its own.
pub(crate) fn on_index(shards: i16, test: impl AsyncFnOnce(&Store)) {
    on_index_with(shards, Groups::OF_NEW, test);
}

/// Runs a test on an index of its own, with groups of this size.
pub(crate) fn on_index_with(shards: i16, groups: Groups, test: impl AsyncFnOnce(&Store)) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let server = server();
    let postgres = server.0.as_ref().unwrap();
    let database = format!("test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let target = |database: &str| Target::Socket {
        folder: postgres.socket_dir().to_owned(),
        role: postgres.name().to_owned(),
        database: database.to_owned(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::connect(&target(&database), 4, Missing::Make).await.unwrap();
        store.init_with(shards, groups).await.unwrap();
        test(&store).await;
        store.close().await;
        let options = crate::target::options(&target("postgres")).unwrap();
        let mut conn = PgConnection::connect_with(&options).await.unwrap();
        let sql = format!("drop database {database} with (force)");
        sqlx::query(AssertSqlSafe(sql)).execute(&mut conn).await.unwrap();
    });
}

/// Runs a statement and returns its one value.
pub(crate) async fn value<T>(store: &Store, sql: &str) -> T
where
    T: Send + Unpin + for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(store.control()).await.unwrap()
}

/// A seen file: path, fingerprint, text.
pub(crate) type Seen<'a> = (&'a str, i64, &'a str);

/// Waits until the lock on writing is free and takes a session: the server may release the lock some time after the
/// previous session's connection has closed.
pub(crate) async fn session(store: &Store) -> Session {
    loop {
        if let Some(session) = store.try_session().await.unwrap() {
            return session;
        }
    }
}

/// Begins a session, records the files of a repository as seen and compares them with the index. Also returns the
/// repository's row.
pub(crate) async fn compared(store: &Store, name: &str, files: &[Seen<'_>]) -> (Session, RepoRow) {
    let mut session = session(store).await;
    let known = session.repos().await.unwrap().into_iter().find(|repo| repo.name == name);
    let id = match known {
        Some(repo) => repo.id,
        None => session.new_repo(name, "/nowhere").await.unwrap(),
    };
    let seen: Vec<SeenRow> =
        files.iter().map(|(path, fingerprint, text)| seen(id, path, *fingerprint, text)).collect();
    session.seen(&seen).await.unwrap();
    session.compare(|_| false).await.unwrap();
    let (name, source) = (name.to_owned(), "/nowhere".to_owned());
    (
        session,
        RepoRow {
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
        },
    )
}

pub(crate) fn seen(repo: RepoId, path: &str, fingerprint: i64, text: &str) -> SeenRow {
    let (path, bytes) = (path.to_owned(), text.len() as i64);
    SeenRow {
        repo,
        path,
        bytes,
        fingerprint,
        reason: None,
        rule: None,
        oid: None,
        may_differ: false,
        language: None,
    }
}

/// Stores the files to read in the next shard, each text as one chunk. Returns the shards whose indexes were built.
pub(crate) async fn load(store: &Store, session: &mut Session, files: &[Seen<'_>]) -> Vec<ShardId> {
    let texts: HashMap<&str, &Seen<'_>> = files.iter().map(|file| (file.0, file)).collect();
    let (shard, mut next, mut bytes) = session.next_shard(&[], 1 << 20, false).await.unwrap();
    let mut loader: Loader = store.loader().await.unwrap();
    let mut rows = Vec::new();
    for todo in session.todo(0, i64::MAX, i64::MAX).await.unwrap() {
        let (_, fingerprint, text) = *texts[&*todo.path];
        let oid = oid(text);
        let stored = session.stored(&[oid]).await.unwrap().get(&oid).map(|at| (at.shard, at.blob));
        let (shard, blob) = match stored {
            Some(place) => place,
            None => {
                let id = BlobId(next);
                let chunks = vec![ChunkRow { line: 1, start: 0, end: text.len() }];
                let (text, lines) = (text.to_owned(), 1);
                bytes += text.len() as i64;
                next += 1;
                let contents = Contents { oid, id, text, encoding: None, lines, chunks, doc: None };
                loader.store(shard, &[contents]).await.unwrap();
                (shard, id)
            }
        };
        let (repo, path, bytes) = (todo.repo, todo.path, text.len() as i32);
        rows.push(FileRow { repo, path, shard, blob, bytes, fingerprint, language: None });
    }
    session.loaded(&rows).await.unwrap();
    session.filled(shard, next, bytes);
    let unindexed: Vec<ShardId> = session.unindexed().into_iter().map(|(shard, _)| shard).collect();
    for shard in session.underived().await.unwrap() {
        store.derive(shard).await.unwrap();
    }
    for shard in &unindexed {
        store.build_index(*shard, 16 << 10).await.unwrap();
    }
    unindexed
}

/// Brings the index up to date with a repository.
pub(crate) async fn ingest(store: &Store, name: &str, files: &[Seen<'_>]) -> Published {
    let (mut session, repo) = compared(store, name, files).await;
    let indexed = load(store, &mut session, files).await;
    let published = session.publish(&[repo], &[], &indexed).await.unwrap();
    session.collect_garbage(&indexed).await.unwrap();
    session.close().await.unwrap();
    published
}

fn oid(text: &str) -> Oid {
    let mut oid = [0; 20];
    for (n, part) in oid.chunks_mut(4).enumerate() {
        let mut hash = DefaultHasher::new();
        (n, text).hash(&mut hash);
        part.copy_from_slice(&hash.finish().to_le_bytes()[..4]);
    }
    oid
}
