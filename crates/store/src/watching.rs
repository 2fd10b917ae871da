//! What a server that watches folders needs to know of the repositories, and tells of them.

use sqlx::{Connection, PgConnection};

use crate::error::Result;
use crate::locks::WATCH_LOCK;
use crate::store::Store;
use crate::target::{ANSWER, answered};

/// An indexed repository, for who watches its folders.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct WatchedRepo {
    /// Its folder.
    pub source: String,
    /// Folders outside of it whose git data may be read.
    pub git_folders: Vec<String>,
    /// Whether it is read without the rules of ignore files.
    pub no_ignore: bool,
    /// Whether its files are those of a commit.
    pub from_commit: bool,
    /// The folders of its worktrees besides the main one.
    pub worktrees: Vec<String>,
}

/// The right to watch the repositories of an index, which one program has at a time. It ends when this is dropped.
#[derive(Debug)]
pub struct WatchTurn(PgConnection);

impl WatchTurn {
    /// Checks whether this program still has it.
    ///
    /// # Errors
    /// The connection was lost, and so is the right.
    pub async fn check(&mut self) -> Result<()> {
        Ok(answered(ANSWER, self.0.ping()).await?)
    }
}

impl Store {
    /// Takes the right to watch; `None` if another program has it.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn watch_turn(&self) -> Result<Option<WatchTurn>> {
        let mut conn = self.connection().await?;
        let asked = sqlx::query_scalar("select pg_try_advisory_lock($1)").bind(WATCH_LOCK);
        let has: bool = answered(ANSWER, asked.fetch_one(&mut conn)).await?;
        Ok(has.then_some(WatchTurn(conn)))
    }

    /// Returns whether a program watches the repositories.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn is_watched(&self) -> Result<bool> {
        Ok(sqlx::query_scalar(
            "select exists (
                 select from pg_locks where locktype = 'advisory' and objsubid = 1 and granted
                   and (classid::bigint << 32) + objid::bigint = $1
                   and database = (select oid from pg_database where datname = current_database()))",
        )
        .bind(WATCH_LOCK)
        .fetch_one(self.control())
        .await?)
    }

    /// Returns the indexed repositories, for who watches them.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn watched_repos(&self) -> Result<Vec<WatchedRepo>> {
        Ok(sqlx::query_as(
            "select r.source, r.git_folders, r.no_ignore, r.from_commit,
                    array(select t.source from state s
                          join trees t on t.repo = r.id and t.valid_from <= s.epoch and s.epoch < t.valid_to
                          where t.kind = 'worktree' and t.source is not null order by t.source) as worktrees
             from repos r where r.indexed_at is not null order by r.source",
        )
        .fetch_all(self.control())
        .await?)
    }

    /// Returns the folders that were ingested, and the levels below each at which every folder is a repository (`None` if
    /// every clone is one).
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn watched_roots(&self) -> Result<Vec<(String, Option<usize>)>> {
        let rows: Vec<(String, Option<i32>)> =
            sqlx::query_as("select path, depth from roots order by path")
                .fetch_all(self.control())
                .await?;
        Ok(rows
            .into_iter()
            .map(|(path, depth)| (path, depth.map(|depth| depth as usize)))
            .collect())
    }

    /// Notes which repositories are polled, by the folder of one of their checkouts, and why. The others are not.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn note_polled(&self, polled: &[(String, String)]) -> Result<()> {
        let (folders, why): (Vec<&str>, Vec<&str>) =
            polled.iter().map(|(folder, why)| (&**folder, &**why)).unzip();
        sqlx::query(
            "update repos r set polled = p.why
             from (select r.id, (select min(n.why) from unnest($1::text[], $2::text[]) n (folder, why)
                                 where n.folder = r.source
                                    or n.folder in (select t.source from trees t
                                                    where t.repo = r.id and t.source is not null)) as why
                   from repos r) p
             where p.id = r.id and p.why is distinct from r.polled",
        )
        .bind(folders)
        .bind(why)
        .execute(self.control())
        .await?;
        Ok(())
    }
}
