//! The whole suite on Citus: where `CODESEARCH_CITUS` names the folder with the programs of a Postgres that has Citus, the
//! shared server is a coordinator, with three workers beside it, and each index lies on them.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sqlx::{AssertSqlSafe, Executor, PgConnection};

use super::{clean_command, connect_at, is_root, on, socket_folder};

/// The ports of the workers, beside the socket of the coordinator.
const WORKERS: [u16; 3] = [5433, 5434, 5435];

/// Settings that Citus needs, and those that make a thousand tables for each test bearable.
const SETTINGS: &str = "
shared_preload_libraries = 'citus'
wal_level = logical
max_wal_senders = 10
max_prepared_transactions = 250
max_connections = 250
max_worker_processes = 200
max_locks_per_transaction = 512
shared_buffers = 64MB
fsync = off
full_page_writes = off
citus.enable_statistics_collection = off
citus.max_cached_conns_per_worker = 1
";

/// Returns the folder with the programs of a Postgres with Citus, if the tests are to run on it.
pub(crate) fn programs() -> Option<PathBuf> {
    std::env::var_os("CODESEARCH_CITUS").filter(|bin| !bin.is_empty()).map(PathBuf::from)
}

/// Returns whether the tests do not run on Citus; then says that one is left out.
pub(crate) fn is_absent() -> bool {
    let is_absent = programs().is_none();
    if is_absent {
        println!("left out: CODESEARCH_CITUS names no folder of a Postgres with Citus");
    }
    is_absent
}

/// Returns whether the tests run on Citus; then says why one is left out there.
pub(crate) fn leaves_out(why: &str) -> bool {
    let leaves_out = programs().is_some();
    if leaves_out {
        println!("left out on Citus: {why}");
    }
    leaves_out
}

/// Makes a home whose private Postgres is a coordinator, before it is started for the tests, and starts the workers. They end
/// with this process.
pub(super) fn prepare(home: &Path, programs: &Path) {
    let run = |args: &[&str]| {
        let mut command = clean_command();
        command.env("CODESEARCH_POSTGRES_BIN", programs).arg("--home").arg(home).args(args);
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    };
    run(&["db", "start"]);
    run(&["db", "stop"]);
    stop_workers(home, programs);
    let socket = home.join("run");
    // There is no TCP: nodes connect to themselves, too, by the socket.
    let common = format!("{SETTINGS}citus.local_hostname = '{}'\n", socket.display());
    let settings = home.join("data/local.conf");
    fs::write(&settings, &common).unwrap();
    give(&settings, &home.join("data"));
    for port in WORKERS {
        let data = worker(home, port);
        let _ = fs::remove_dir_all(&data);
        fs::create_dir_all(&data).unwrap();
        give(&data, &home.join("data"));
        let data = data.display().to_string();
        as_owner(
            home,
            programs,
            "initdb",
            &format!("-D '{data}' -U codesearch -E UTF8 --locale=C.UTF-8 -A trust --no-sync"),
        );
        let conf = Path::new(&data).join("postgresql.conf");
        let mut text = fs::read_to_string(&conf).unwrap();
        text += &common;
        text += &format!(
            "port = {port}\nlisten_addresses = ''\nunix_socket_directories = '{}'\nunix_socket_permissions = 0700\njit = off\n",
            socket.display()
        );
        fs::write(&conf, text).unwrap();
        as_owner(home, programs, "pg_ctl", &format!("-D '{data}' -l '{data}/log' -w -s start"));
    }
    // Stops them when this process ends in any way, since that closes its standard input.
    let stops: Vec<String> = WORKERS
        .iter()
        .map(|port| {
            let (pg_ctl, data) = (programs.join("pg_ctl"), worker(home, *port));
            format!("'{}' -D '{}' -m immediate -s stop", pg_ctl.display(), data.display())
        })
        .collect();
    let script = format!("read -r line; {}", stops.join("; "));
    let mut keeper = of_owner(home, &script);
    keeper.process_group(0);
    std::mem::forget(keeper.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap());
}

fn worker(home: &Path, port: u16) -> PathBuf {
    home.join(format!("worker_{port}"))
}

/// Stops workers that an earlier run left.
fn stop_workers(home: &Path, programs: &Path) {
    for port in WORKERS {
        let data = worker(home, port);
        if data.join("postmaster.pid").exists() {
            as_owner(
                home,
                programs,
                "pg_ctl",
                &format!("-D '{}' -m immediate -w -s stop || true", data.display()),
            );
        }
    }
}

/// Gives a file to the owner of another one.
fn give(path: &Path, like: &Path) {
    let owner = fs::metadata(like).unwrap();
    chown(path, Some(owner.uid()), Some(owner.gid())).unwrap();
}

/// Returns a script as a command of the user of the private server.
fn of_owner(home: &Path, script: &str) -> Command {
    let owner = fs::metadata(home.join("data")).unwrap();
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).current_dir("/").stdin(Stdio::null());
    if is_root() {
        command.uid(owner.uid()).gid(owner.gid());
    }
    command
}

/// Runs a program of Postgres as the user of the private server.
fn as_owner(home: &Path, programs: &Path, program: &str, args: &str) {
    let mut command = of_owner(home, &format!("'{}' {args}", programs.join(program).display()));
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{program} {args}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// The ports of all nodes; that of the only server, without Citus.
pub(super) fn ports() -> Vec<u16> {
    let workers = if programs().is_some() { &WORKERS[..] } else { &[] };
    [&[5432], workers].concat()
}

/// Makes a database on all nodes, whose coordinator knows its workers.
pub(super) async fn make_nodes(socket: &Path, name: &str) {
    for port in ports() {
        let mut conn = connect_at(socket, port, "postgres").await;
        conn.execute(AssertSqlSafe(format!("create database {name}"))).await.unwrap();
        let mut conn = connect_at(socket, port, name).await;
        conn.execute("create extension citus").await.unwrap();
    }
    let mut conn = connect_at(socket, 5432, name).await;
    let at = socket.display();
    let mut sql = format!("select citus_set_coordinator_host('{at}', 5432)");
    for port in WORKERS {
        sql += &format!("; select citus_add_node('{at}', {port})");
    }
    conn.execute(AssertSqlSafe(sql)).await.unwrap();
}

/// Has the worker at this port refuse a database, and ends the connections to it.
pub(crate) fn refuse(port: u16, database: &str) {
    on_worker(port, &format!("alter database {database} allow_connections false"));
    let ended = "select pg_terminate_backend(pid) from pg_stat_activity where datname";
    on_worker(port, &format!("{ended} = '{database}'"));
}

/// Has the worker at this port admit a database again.
pub(crate) fn admit(port: u16, database: &str) {
    on_worker(port, &format!("alter database {database} allow_connections true"));
}

fn on_worker(port: u16, sql: &str) {
    on(async {
        let mut conn = connect_at(&socket_folder(), port, "postgres").await;
        conn.execute(AssertSqlSafe(sql)).await.unwrap();
    });
}

/// The tables whose rows lie on nodes, in tables of shards or groups.
const PARENTS: [&str; 10] = [
    "chunks",
    "documents",
    "files",
    "docs",
    "symbols",
    "filters",
    "chunk_filters",
    "scip",
    "word_segments",
    "words",
];

/// Returns the tables of shards and groups that belong to a parent.
async fn tables_of(conn: &mut PgConnection, parent: &str) -> Vec<String> {
    let tables = "select relname::text from pg_class
        where relnamespace = 'codesearch'::regnamespace and relkind = 'r' and relname ~ ('^' || $1 || '_[0-9]+$')
        order by 1";
    sqlx::query_scalar(tables).bind(parent).fetch_all(conn).await.unwrap()
}

/// Returns a statement that locks tables as one that locks those of shards in place of their parents; any other as it is.
pub(super) async fn with_shards(conn: &mut PgConnection, sql: &str) -> String {
    let Some((names, mode)) =
        sql.strip_prefix("lock table ").and_then(|rest| rest.split_once(" in "))
    else {
        return sql.to_owned();
    };
    let mut tables = Vec::new();
    for name in names.split(", ") {
        let parent = name.trim_start_matches("codesearch.");
        if PARENTS.contains(&parent) {
            let of_shards = tables_of(conn, parent).await;
            tables.extend(of_shards.into_iter().map(|table| format!("codesearch.{table}")));
        } else {
            tables.push(name.to_owned());
        }
    }
    format!("lock table {} in {mode}", tables.join(", "))
}

/// Makes, for a connection of a test, temporary tables with the rows of the parents that a statement names.
pub(super) async fn copy_tables(conn: &mut PgConnection, sql: &str) {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    for parent in
        PARENTS.iter().filter(|parent| sql.split(|c| !is_part(c)).any(|word| word == **parent))
    {
        let tables = tables_of(conn, parent).await;
        let mut sql = format!("create temp table {parent} as select * from codesearch.{parent}");
        for table in tables {
            sql += &format!("; insert into pg_temp.{parent} select * from codesearch.{table}");
        }
        conn.execute(AssertSqlSafe(sql)).await.unwrap();
    }
}
