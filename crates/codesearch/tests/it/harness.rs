//! A private Postgres shared by all tests; each test has its own folder and index.

pub(crate) mod citus;
pub(crate) mod gate;
mod git;
pub(crate) mod scip;
mod server;
mod symbols;
mod template;
mod wait;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Once, OnceLock};
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, PgConnection};
use tempfile::TempDir;
use tokio::runtime::Runtime;

pub(crate) use server::{Server, raw};
pub(crate) use symbols::Defined;
use template::Template;
pub(crate) use wait::{eventually, eventually_async};

const BINARY: &str = env!("CARGO_BIN_EXE_codesearch");

/// Returns the home that the tests share. It is kept, so that Postgres is downloaded once; its data are not.
fn home() -> &'static Path {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    HOME.get_or_init(|| {
        let kind = if citus::programs().is_some() { "citus" } else { "tests" };
        let home = std::env::temp_dir().join(format!("codesearch-{kind}-{}", user()));
        // Another run of the tests may start at the same time.
        let lock = fs::File::create(home.with_extension("lock")).unwrap();
        lock.lock().unwrap();
        let mut status = clean_command();
        status.arg("--home").arg(&home).args(["db", "status"]);
        if home.exists() && status.output().unwrap().status.code() == Some(1) {
            let _ = fs::remove_dir_all(home.join("data"));
            let _ = fs::remove_file(home.join("build.json"));
        }
        if let Some(programs) = citus::programs() {
            citus::prepare(&home, &programs);
        }
        // Holds the server until this process ends in any way, since that closes the standard input of `hold`.
        let mut hold = clean_command();
        hold.arg("--home").arg(&home).args(["db", "hold"]);
        let mut hold = hold.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(hold.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the private Postgres for the tests does not start");
        std::mem::forget(hold);
        home
    })
}

/// Returns the folder of the shared server's socket.
pub(crate) fn socket_folder() -> PathBuf {
    home().join("run")
}

/// Returns the binary as a command, in an environment without the user's settings.
pub(crate) fn clean_command() -> Command {
    let mut command = Command::new(BINARY);
    for (key, _) in std::env::vars_os() {
        let key = key.to_string_lossy();
        let settings = [
            "DATABASE_URL",
            "CODESEARCH_HOME",
            "CODESEARCH_INDEX",
            "CODESEARCH_LOG",
            "CODESEARCH_PAGER",
            "CODESEARCH_REPOS",
            "CODESEARCH_SERVER",
            "CODESEARCH_SERVER_TOKEN",
            "CODESEARCH_SETTINGS",
            "NO_COLOR",
        ];
        if settings.contains(&&*key) {
            command.env_remove(&*key);
        }
    }
    if let Some(programs) = citus::programs() {
        command.env("CODESEARCH_POSTGRES_BIN", programs);
    }
    // Nothing outlives a test.
    command.env("CODESEARCH_POSTGRES_IDLE", "0");
    // An empty name: no configuration file.
    command.env("CODESEARCH_CONFIG_PATH", "");
    // Nor has git any, such as an ignore file.
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    command.env("XDG_CONFIG_HOME", "/nonexistent");
    command
}

/// Runs the binary on the database of a URL.
pub(crate) fn run_on_url(url: &str, args: &[&str], folder: &Path) -> Ran {
    let mut command = clean_command();
    Ran::of(command.env("DATABASE_URL", url).args(args).current_dir(folder).output().unwrap())
}

/// Longest time that a command of a test may take. A longer one waits for something that never comes.
const LONGEST: Duration = Duration::from_mins(4);

/// Runs a command to its end; kills it, so that its test fails, if it takes longer than [`LONGEST`].
fn output(mut command: Command) -> Output {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let pid = child.id();
    let (ended, end) = std::sync::mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        let is_late = end.recv_timeout(LONGEST) == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
        is_late && Command::new("kill").args(["-KILL", &pid.to_string()]).status().is_ok()
    });
    let output = child.wait_with_output().unwrap();
    drop(ended);
    assert!(!watch.join().unwrap(), "it had not ended after {LONGEST:?}: {command:?}");
    output
}

/// Returns whether the tests run as root.
pub(crate) fn is_root() -> bool {
    user() == 0
}

/// Returns the id of the user that runs the tests.
fn user() -> u32 {
    std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").unwrap())
}

/// The result of a run of the binary.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            status: output.status,
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Checks the exit status, and returns the output.
    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "out: {}\nerr: {}", self.out, self.err);
        self
    }
}

/// An index, and a folder for its repositories.
pub(crate) struct Fixture {
    folder: TempDir,
    pub(crate) index: String,
    /// Passed once its database exists or the next command makes it.
    made: Once,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let index = format!("test_{}_{next}", std::process::id());
        Self { folder: tempfile::tempdir().unwrap(), index, made: Once::new() }
    }

    /// Makes its database, once.
    fn make(&self, template: Template) {
        let create = || template::create_database(&socket_folder(), &self.index, template);
        self.made.call_once(create);
    }

    /// Returns the folder of its repositories.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file, and creates the folders above it.
    pub(crate) fn write(&self, path: &str, contents: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    }

    /// Returns the binary as a command on this index.
    pub(crate) fn command<S: AsRef<std::ffi::OsStr>>(&self, args: &[S]) -> Command {
        self.make(Template::of(args));
        let mut command = clean_command();
        command.arg("--home").arg(home()).args(["--index", &self.index]).args(args);
        command.current_dir(self.path());
        command
    }

    /// Returns another program as a command, in which `codesearch` is the binary on this index.
    pub(crate) fn program(&self, program: &str) -> Command {
        self.make(Template::Empty);
        let mut command = Command::new(program);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folder = Path::new(BINARY).parent().unwrap().to_owned();
        let path =
            std::env::join_paths(std::iter::once(folder).chain(std::env::split_paths(&path)));
        for (key, value) in clean_command().get_envs() {
            match value {
                Some(value) => command.env(key, value),
                None => command.env_remove(key),
            };
        }
        command.env("PATH", path.unwrap()).env("CODESEARCH_HOME", home());
        command.env("CODESEARCH_INDEX", &self.index).current_dir(self.path());
        command
    }

    pub(crate) fn run<S: AsRef<std::ffi::OsStr>>(&self, args: &[S]) -> Ran {
        Ran::of(output(self.command(args)))
    }

    /// Ingests the folder, each folder in it as a repository, into a few shards.
    #[track_caller]
    pub(crate) fn ingest(&self) -> Ran {
        self.run(&["ingest", "--shards", "4", "--depth", "1", "."]).code(0)
    }

    /// Ingests the folder into exactly this many shards, however little text there is.
    #[track_caller]
    pub(crate) fn ingest_over(&self, shards: usize) -> Ran {
        let shards = shards.to_string();
        let args = ["ingest", "--shards", &shards, "--shard-bytes", "1", "--depth", "1", "."];
        self.run(&args).code(0)
    }

    /// Ingests until no file is read again because of a recent change.
    #[track_caller]
    pub(crate) fn ingest_until_known(&self) {
        eventually("files that do not change are not read", || {
            self.ingest().out.contains(": 0 read,")
        });
    }

    /// Returns the binary as a command on this index, connected by a URL.
    pub(crate) fn command_on(&self, url: &str, args: &[&str]) -> Command {
        if citus::programs().is_some() {
            self.make(Template::of(args));
        }
        let mut command = clean_command();
        command.env("DATABASE_URL", url).args(args).current_dir(self.path());
        command
    }

    pub(crate) fn through(&self, url: &str, args: &[&str]) -> Ran {
        Ran::of(output(self.command_on(url, args)))
    }

    /// Starts a server on this index, connected by a URL; `None` if it does not start.
    pub(crate) fn serve_on(&self, url: &str, options: &[&str]) -> Option<Server> {
        Server::try_start(
            self.command_on(url, &[&["serve", "--listen", "127.0.0.1:0"], options].concat()),
        )
    }

    /// Returns the `path:line:text` lines that a search prints, sorted.
    pub(crate) fn search(&self, args: &[&str]) -> Vec<String> {
        let ran = self.run(&[&["search", "--limit", "0"], args].concat());
        let found = ran.status.code();
        assert!(matches!(found, Some(0 | 1)), "{}", ran.err);
        let mut lines: Vec<String> = ran.out.split_terminator('\n').map(str::to_owned).collect();
        assert_eq!(found == Some(1), lines.is_empty());
        lines.sort();
        lines
    }

    /// Starts a server on a free port.
    pub(crate) fn serve(&self) -> Server {
        self.serve_with(&[])
    }

    /// Starts a server with options; on a loopback address, unless they say otherwise.
    pub(crate) fn serve_with(&self, options: &[&str]) -> Server {
        let here: &[&str] =
            if options.contains(&"--listen") { &[] } else { &["--listen", "127.0.0.1:0"] };
        Server::start(self.command(&[&["serve"], here, options].concat()))
    }

    /// Creates the database without the binary, as on someone else's server.
    pub(crate) fn create_database(&self) {
        self.make(Template::Empty);
        if citus::programs().is_some() {
            return;
        }
        on(async {
            let mut conn = connect("postgres").await;
            conn.execute(AssertSqlSafe(format!("create database {}", self.index))).await.unwrap();
        });
    }

    /// Reads a value directly from the database.
    pub(crate) fn sql<T>(&self, sql: &str) -> T
    where
        T: Send + Unpin + for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
    {
        on(async {
            let mut conn = connect(&self.index).await;
            if citus::programs().is_some() {
                citus::copy_tables(&mut conn, sql).await;
            }
            sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(&mut conn).await.unwrap()
        })
    }

    /// Executes a statement on each table of a parent, whose name is `{}` in it: on Citus, the parent has no rows.
    pub(crate) fn exec_each(&self, parent: &str, sql: &str) {
        on(async {
            let mut conn = connect(&self.index).await;
            let sql = sql.replace('%', "%%").replace("{}", "%1$s");
            let each = sqlx::query("select each_table($1, $2)").bind(parent).bind(sql);
            each.execute(&mut conn).await.unwrap();
        });
    }

    /// Passes a connection to the database to `work`.
    pub(crate) fn with_connection<T>(&self, work: impl AsyncFnOnce(PgConnection) -> T) -> T {
        on(async { work(connect(&self.index).await).await })
    }

    /// Executes statements in the database.
    pub(crate) fn exec(&self, sql: &str) {
        on(async {
            let mut conn = connect(&self.index).await;
            conn.execute(AssertSqlSafe(sql.to_owned())).await.unwrap();
        });
    }

    /// Executes a statement in a transaction that stays open until the returned guard is dropped.
    pub(crate) fn hold(&self, sql: &str) -> Held {
        let runtime = runtime();
        let conn = runtime.block_on(async {
            let mut conn = connect(&self.index).await;
            conn.execute("begin").await.unwrap();
            let sql = match citus::programs() {
                Some(_) => citus::with_shards(&mut conn, sql).await,
                None => sql.to_owned(),
            };
            conn.execute(AssertSqlSafe(sql)).await.unwrap();
            conn
        });
        Held { conn: Some(conn), runtime }
    }

    /// Checks the invariants of an index that no ingest is changing.
    #[track_caller]
    pub(crate) fn check_invariants(&self) {
        let ran = self.run(&["check"]);
        assert_eq!(ran.status.code(), Some(0), "{}{}", ran.out, ran.err);
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        on(template::drop_database(&socket_folder(), &self.index));
    }
}

/// An open transaction, which is rolled back when dropped.
pub(crate) struct Held {
    conn: Option<PgConnection>,
    runtime: Runtime,
}

impl Drop for Held {
    fn drop(&mut self) {
        let conn = self.conn.take().unwrap();
        self.runtime.block_on(conn.close()).unwrap();
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn on<T>(work: impl Future<Output = T>) -> T {
    runtime().block_on(work)
}

async fn connect(database: &str) -> PgConnection {
    connect_to(&socket_folder(), database).await
}

async fn connect_to(socket: &Path, database: &str) -> PgConnection {
    connect_at(socket, 5432, database).await
}

/// Connects to a server by its socket and port, as the owner of the index.
async fn connect_at(socket: &Path, port: u16, database: &str) -> PgConnection {
    PgConnectOptions::new_without_pgpass()
        .socket(socket)
        .port(port)
        .username("codesearch")
        .database(database)
        .options([("search_path", "codesearch,public")])
        .connect()
        .await
        .unwrap()
}

/// Runs a statement in the index of a private server, and returns its column of texts.
pub(crate) fn texts(socket: &Path, sql: &str) -> Vec<String> {
    on(async {
        let mut conn = connect_to(socket, "codesearch").await;
        sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_all(&mut conn).await.unwrap()
    })
}
