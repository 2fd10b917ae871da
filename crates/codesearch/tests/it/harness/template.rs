//! Databases of indexes that are copies: to make the tables of an index takes seconds on nodes and two thirds of one elsewhere,
//! to copy them a fifth of that.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use sqlx::{AssertSqlSafe, Executor};

use super::citus::{make_nodes, ports, programs};
use super::{clean_command, connect_at, on};

/// Most shards of an index that is copied.
const MOST: u16 = 16;

/// A database, on each node, of which those of indexes are copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Template {
    /// No index. On Citus, a coordinator that knows its workers; elsewhere, the program creates the database.
    Empty,
    /// An index of so many shards.
    Index(u16),
}

impl Template {
    /// Returns the one for an index whose first command has these arguments.
    pub(super) fn of<S: AsRef<std::ffi::OsStr>>(args: &[S]) -> Self {
        let mut args = args.iter().map(|arg| arg.as_ref().to_string_lossy());
        let shards = args.find(|arg| arg == "--shards").and(args.next());
        let shards = shards.and_then(|shards| shards.parse().ok());
        shards.filter(|shards| (1..=MOST).contains(shards)).map_or(Self::Empty, Self::Index)
    }

    fn name(self) -> String {
        match self {
            // Another run may have left some.
            Self::Empty => format!("empty_{}", std::process::id()),
            Self::Index(shards) => format!("index_of_{shards}_{}", std::process::id()),
        }
    }

    fn exists(self) -> bool {
        self != Self::Empty || programs().is_some()
    }
}

/// Creates the database of an index on all nodes, unless the program is to create it.
pub(super) fn create_database(socket: &Path, name: &str, template: Template) {
    static MADE: Mutex<Vec<Template>> = Mutex::new(Vec::new());
    {
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        for template in [Template::Empty, template] {
            if template.exists() && !made.contains(&template) {
                make_template(socket, template);
                made.push(template);
            }
        }
    }
    if template.exists() {
        on(copy_database(socket, name, template));
    }
    if template != Template::Empty {
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
        Template::Empty => on(make_nodes(socket, &name)),
        Template::Index(shards) => {
            if Template::Empty.exists() {
                on(copy_database(socket, &name, Template::Empty));
            }
            let mut init = clean_command();
            init.arg("--home").arg(socket.parent().unwrap()).args(["--index", &name, "init"]);
            let ran = init.args(["--shards", &shards.to_string()]).output().unwrap();
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        }
    }
    on(close(socket, template));
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
        let mut conn = connect_at(socket, port, "postgres").await;
        let sql = format!("drop database if exists {name} with (force)");
        let _ = conn.execute(AssertSqlSafe(sql)).await;
    }
}
