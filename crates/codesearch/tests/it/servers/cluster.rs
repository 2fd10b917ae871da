//! A Postgres of a test's own, with a streaming replica.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::unistd::{User, chown, geteuid};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tempfile::TempDir;

use crate::harness::{Fixture, eventually};

/// Settings of both. What a replica reads is cancelled as soon as it is in the way of the replay.
const SETTINGS: &str = "
listen_addresses = ''
max_connections = 200
shared_buffers = '32MB'
fsync = off
wal_level = replica
max_wal_senders = 10
max_wal_size = '256MB'
hot_standby = on
max_standby_streaming_delay = 0
wal_retrieve_retry_interval = '100ms'
max_locks_per_transaction = 512
default_toast_compression = 'lz4'
jit = off
";

/// A primary and a replica, which are stopped when dropped.
pub(super) struct Cluster {
    folder: TempDir,
    programs: PathBuf,
    primary: Child,
    replica: Option<Child>,
}

impl Cluster {
    /// Makes both with the Postgres of the other tests.
    pub(super) fn new(fixture: &Fixture) -> Self {
        fixture.run(&["init", "--shards", "1"]).code(0);
        let status = fixture.run(&["db", "status"]).code(0).out;
        let build = status.lines().find_map(|line| line.strip_prefix("build: ")).unwrap();
        let programs = PathBuf::from(build.split_once(" in ").unwrap().1.trim());
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        if let Some(user) = owner() {
            chown(folder.path(), Some(user.uid), Some(user.gid)).unwrap();
        }
        let data = folder.path().join("primary");
        let mut initdb = of_owner(&programs.join("initdb"));
        initdb.arg("-D").arg(&data).args(["-U", "codesearch", "-A", "trust", "-E", "UTF8"]);
        initdb.args(["--locale=C.UTF-8", "--no-sync", "--no-instructions"]);
        assert!(initdb.stdout(Stdio::null()).status().unwrap().success());
        // A copy of a server that has never run is a backup of it.
        let copy = folder.path().join("replica");
        assert!(
            of_owner(Path::new("cp")).arg("-a").args([&data, &copy]).status().unwrap().success()
        );
        let at = folder.path().display();
        let of = |name: &str| format!("{SETTINGS}unix_socket_directories = '{at}/{name}'\n");
        let more = format!("primary_conninfo = 'host={at}/primary user=codesearch'\n");
        for (data, settings) in [(&data, of("primary")), (&copy, of("replica") + &more)] {
            let file = data.join("postgresql.conf");
            let before = fs::read_to_string(&file).unwrap();
            fs::write(file, before + &settings).unwrap();
        }
        fs::write(copy.join("standby.signal"), "").unwrap();
        let primary = start(&programs, &data);
        let mut cluster = Self { folder, programs, primary, replica: None };
        cluster.exec("primary", "postgres", "create database cs");
        cluster.start_replica();
        cluster
    }

    /// Returns the URL of the index at one of the two.
    pub(super) fn url(&self, server: &str) -> String {
        let host = self.folder.path().join(server).display().to_string().replace('/', "%2F");
        format!("postgresql://codesearch@localhost/cs?host={host}")
    }

    pub(super) fn start_replica(&mut self) {
        let child = start(&self.programs, &self.folder.path().join("replica"));
        self.replica = Some(child);
    }

    pub(super) fn kill_replica(&mut self) {
        // Its processes end as soon as they notice.
        let mut child = self.replica.take().unwrap();
        let quit = nix::sys::signal::Signal::SIGQUIT;
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id().cast_signed()), quit).unwrap();
        child.wait().unwrap();
    }

    pub(super) fn exec(&self, server: &str, database: &str, sql: &str) {
        on(unless_replayed(async || {
            let mut conn = self.connect(server, database).await?;
            conn.execute(AssertSqlSafe(sql.to_owned())).await
        }));
    }

    pub(super) fn value<T>(&self, server: &str, sql: &str) -> T
    where
        T: Send + Unpin + for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
    {
        on(unless_replayed(async || {
            let mut conn = self.connect(server, "cs").await?;
            sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(&mut conn).await
        }))
    }

    async fn connect(&self, server: &str, database: &str) -> sqlx::Result<PgConnection> {
        let url = self.url(server).replace("/cs?", &format!("/{database}?"));
        let mut conn = PgConnection::connect(&url).await?;
        conn.execute("set search_path = codesearch, public").await?;
        Ok(conn)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in self.replica.iter_mut().chain([&mut self.primary]) {
            let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGQUIT);
            let _ = child.wait();
        }
    }
}

/// Returns the user that runs Postgres, if that is not the one who runs the tests.
fn owner() -> Option<User> {
    let names = ["codesearch", "postgres", "nobody"];
    let user = || names.iter().find_map(|name| User::from_name(name).ok().flatten());
    geteuid().is_root().then(|| user().expect("there is a user for Postgres"))
}

fn of_owner(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/").env("LC_ALL", "C");
    if let Some(user) = owner() {
        command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
    }
    command
}

/// Starts a server, and waits until it takes connections.
fn start(programs: &Path, data: &Path) -> Child {
    let mut command = of_owner(&programs.join("postgres"));
    let log = fs::File::create(data.with_extension("log")).unwrap();
    let mut child = command.arg("-D").arg(data).stdout(Stdio::null()).stderr(log).spawn().unwrap();
    let host = data.display().to_string().replace('/', "%2F");
    let url = format!("postgresql://codesearch@localhost/postgres?host={host}");
    eventually("Postgres takes connections", || {
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "{}", fs::read_to_string(data.with_extension("log")).unwrap());
        on(PgConnection::connect(&url)).is_ok()
    });
    child
}

fn on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Runs a statement again as long as a replica cancels it since it replays what the statement would see.
async fn unless_replayed<T>(run: impl AsyncFn() -> sqlx::Result<T>) -> T {
    loop {
        match run().await {
            Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("40001") => {}
            done => return done.unwrap(),
        }
    }
}
