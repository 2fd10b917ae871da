//! The whole suite on Citus: where `CODESEARCH_CITUS` names the folder with the programs of a Postgres that has Citus, the
//! shared server is a coordinator, with three workers beside it, and each index lies on them.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use sqlx::{AssertSqlSafe, Executor, PgConnection};

use super::{clean_command, connect_at, is_root, on};

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

/// A database, on each node, of which those of indexes are copies. To make the tables of an index takes seconds on nodes, to
/// copy them tenths of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Template {
    /// A coordinator that knows its workers, and no index.
    Nodes,
    /// An index of so many shards.
    Index(u16),
}

impl Template {
    /// Returns the one for an index whose first command has these arguments.
    pub(super) fn of<S: AsRef<std::ffi::OsStr>>(args: &[S]) -> Self {
        let mut args = args.iter().map(|arg| arg.as_ref().to_string_lossy());
        let shards = args.find(|arg| arg == "--shards").and(args.next());
        shards.and_then(|shards| shards.parse().ok()).map_or(Self::Nodes, Self::Index)
    }

    fn name(self) -> String {
        match self {
            // Another run may have left some.
            Self::Nodes => format!("nodes_{}", std::process::id()),
            Self::Index(shards) => format!("index_of_{shards}_{}", std::process::id()),
        }
    }
}

/// The ports of all nodes.
fn ports() -> impl Iterator<Item = u16> {
    std::iter::once(5432).chain(WORKERS)
}

/// Creates the database of an index on all nodes.
pub(super) fn create_database(socket: &Path, name: &str, template: Template) {
    static MADE: Mutex<Vec<Template>> = Mutex::new(Vec::new());
    {
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        for template in [Template::Nodes, template] {
            if !made.contains(&template) {
                make_template(socket, template);
                made.push(template);
            }
        }
    }
    on(copy_database(socket, name, template));
    if template != Template::Nodes {
        // Of no other index.
        on(async {
            let mut conn = connect_at(socket, 5432, name).await;
            let sql = "update codesearch.state set identity = (random() * 9e18)::bigint";
            conn.execute(sql).await.unwrap();
        });
    }
}

/// Creates a database as a copy of a template on all nodes, at once.
async fn copy_database(socket: &Path, name: &str, template: Template) {
    let template = template.name();
    // What belongs to a database and is not copied with it.
    let sql = format!(
        "set allow_system_table_mods = on;
         update pg_database d set datacl = t.datacl from pg_database t
         where d.datname = '{name}' and t.datname = '{template}';
         insert into pg_db_role_setting
         select d.oid, s.setrole, s.setconfig from pg_db_role_setting s join pg_database t on t.oid = s.setdatabase
         cross join pg_database d where t.datname = '{template}' and d.datname = '{name}'"
    );
    let mut copies = tokio::task::JoinSet::new();
    for port in ports() {
        let (socket, sql, template) = (socket.to_owned(), sql.clone(), template.clone());
        let create = format!("create database {name} template {template} strategy file_copy");
        copies.spawn(async move {
            let mut conn = connect_at(&socket, port, "postgres").await;
            // The daemon that Citus has in each database.
            let end = "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1";
            sqlx::query(end).bind(template).execute(&mut conn).await.unwrap();
            conn.execute(AssertSqlSafe(create)).await.unwrap();
            conn.execute(AssertSqlSafe(sql)).await.unwrap();
        });
    }
    copies.join_all().await;
}

/// Makes a template.
fn make_template(socket: &Path, template: Template) {
    let name = template.name();
    match template {
        Template::Nodes => on(make_nodes(socket, &name)),
        Template::Index(shards) => {
            on(copy_database(socket, &name, Template::Nodes));
            let mut init = clean_command();
            init.arg("--home").arg(socket.parent().unwrap()).args(["--index", &name, "init"]);
            let ran = init.args(["--shards", &shards.to_string()]).output().unwrap();
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        }
    }
    on(close(socket, template));
}

/// Makes a database on all nodes, whose coordinator knows its workers.
async fn make_nodes(socket: &Path, name: &str) {
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

/// Has nobody connect to a template any more: it could not be copied meanwhile.
async fn close(socket: &Path, template: Template) {
    for port in ports() {
        let mut conn = connect_at(socket, port, "postgres").await;
        let sql = format!("alter database {} with allow_connections false", template.name());
        conn.execute(AssertSqlSafe(sql)).await.unwrap();
    }
}

/// Drops the database of an index on all nodes.
pub(super) async fn drop_database(socket: &Path, name: &str) {
    for port in ports() {
        let mut conn: PgConnection = connect_at(socket, port, "postgres").await;
        let sql = format!("drop database if exists {name} with (force)");
        let _ = conn.execute(AssertSqlSafe(sql)).await;
    }
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
