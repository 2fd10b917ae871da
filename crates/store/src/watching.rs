//! What a server that watches folders needs to know of the repositories, and tells of them.

use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::error::Result;
use crate::ingest::session::FOREVER;
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

    /// Notes until when all changes of repositories were told, by the folder of each, in seconds since 1970: what is not in
    /// the queue is indexed as it was then. Those that a host has are left to who fetches them.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn note_quiet(&self, quiet: &[(String, f64)]) -> Result<()> {
        let (folders, until): (Vec<&str>, Vec<f64>) =
            quiet.iter().map(|(folder, until)| (&**folder, *until)).unzip();
        // It is a short row, and no index has its columns, so that it stays on its page.
        sqlx::query(AssertSqlSafe(format!(
            "update repos r set looked_at = to_timestamp(q.until)
             from unnest($1::text[], $2::float8[]) q (folder, until)
             where r.source = q.folder and r.indexed_at is not null and r.failed_at is null
               and coalesce(r.looked_at, r.indexed_at) < to_timestamp(q.until)
               and not exists (select from mirrors m where m.folder = r.source)
               and not exists (
                   select from pending p
                   where p.source = r.source or starts_with(r.source, rtrim(p.source, '/') || '/')
                      or starts_with(p.source, r.source || '/')
                      or exists (select from trees t
                                 where t.repo = r.id and t.source = p.source and t.valid_to = {FOREVER}))"
        )))
        .bind(folders)
        .bind(until)
        .execute(self.control())
        .await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{on_index, value};
    use crate::{Change, Reason};

    /// Makes indexed repositories in `/r/0`, `/r/1`, ..., which were looked at an hour ago.
    async fn repos(store: &Store, count: usize) {
        let sql = format!(
            "insert into repos (name, source, commit, web, indexed_at, looked_at)
             select 'example.org/some/repository-' || n, '/r/' || n, md5(n::text), 'https://example.org/' || n,
                    now() - interval '1 hour', to_timestamp(1000)
             from generate_series(0, {count} - 1) n"
        );
        sqlx::query(AssertSqlSafe(sql)).execute(store.control()).await.unwrap();
    }

    #[test]
    fn what_is_quiet_is_as_fresh_as_its_watch() {
        on_index(1, async |store| {
            repos(store, 7).await;
            for sql in [
                "update repos set failed_at = now(), failure = 'its disk is gone' where source = '/r/1'",
                "insert into trees (repo, bit, kind, name, source, files, valid_from)
                 select id, 1, 'worktree', 'other', '/tree', 0, 0 from repos where source = '/r/2'",
                "insert into mirror_hosts (name, kind, url) values ('h', 'gitea', 'https://h')",
                "insert into mirrors (host, host_id, path, address, folder, found)
                 values ('h', '1', 'a/b', 'https://h/a/b', '/r/3', '{}')",
                "update repos set looked_at = to_timestamp(3000) where source = '/r/6'",
            ] {
                sqlx::query(sql).execute(store.control()).await.unwrap();
            }
            let queued = |source: &str| Change {
                source: source.to_owned(),
                paths: None,
                reason: Reason::Watched,
            };
            store.enqueue(&[queued("/tree"), queued("/r/4"), queued("/r/1/inside")]).await.unwrap();
            let all: Vec<(String, f64)> = (0..7).map(|n| (format!("/r/{n}"), 2000.0)).collect();
            let looked = "select string_agg(extract(epoch from looked_at)::int::text, ' ' order by source) from repos";
            let epoch = "select epoch from state";
            let before: i32 = value(store, epoch).await;
            store.note_quiet(&all).await.unwrap();
            assert_eq!(
                value::<String>(store, looked).await,
                "2000 1000 1000 1000 1000 2000 3000",
                "failed, queued, of a host, and newer ones stay"
            );
            assert_eq!(value::<i32>(store, epoch).await, before, "it is no new epoch");
            store.enqueue(&[queued("/r")]).await.unwrap();
            store.note_quiet(&[("/r/0".to_owned(), 2500.0)]).await.unwrap();
            assert!(
                value::<String>(store, looked).await.starts_with("2000 "),
                "a folder around it"
            );
        });
    }

    #[test]
    fn a_thousand_quiet_repositories_take_no_more_room() {
        on_index(1, async |store| {
            repos(store, 1000).await;
            let size = "select pg_relation_size('repos')";
            let log = "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8";
            let note = async |until: f64| {
                let all: Vec<(String, f64)> =
                    (0..1000).map(|n| (format!("/r/{n}"), until)).collect();
                store.note_quiet(&all).await.unwrap();
            };
            note(2000.0).await;
            let (before, log_before): (i64, f64) =
                (value(store, size).await, value(store, log).await);
            let begun = std::time::Instant::now();
            for n in 1..=60 {
                note(2000.0 + f64::from(n)).await;
            }
            let took = begun.elapsed() / 60;
            let log = (value::<f64>(store, log).await - log_before) / 1e6;
            println!("1,000 repositories: {took:?} each time; {log:.1} MB of log for 60 times");
            let after: i64 = value(store, size).await;
            // Sixty times as much if old versions of rows stayed; some stay for a while, if much else runs.
            assert!(after <= before * 30, "{before} bytes became {after}");
        });
    }
}
