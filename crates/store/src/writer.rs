//! One ingest: what was seen, what is to be read, what was read, and the switch to a new epoch.
//!
//! A [`Writer`] is one connection that holds the lock on writing. What it learns lies in temporary
//! tables, so that the memory of the program does not grow with the tree and nothing is left over
//! when it is killed. Contents are stored as they are read, by [`Loader`]s on connections of their
//! own; without files that refer to them they are not part of any epoch, and the next ingest finds
//! them by their hash.

use std::collections::HashMap;

use sqlx::{Connection, Executor, PgConnection};

use crate::catalog::PIN_LOCKS;
use crate::connect::Store;
use crate::copy::{self, Contents, Rows};
use crate::error::Result;
use crate::{BlobId, DocRow, Oid, RepoId, ShardId, docs, shards};

/// The advisory lock on writing.
pub(crate) const WRITE_LOCK: i64 = 0x6373_0000_0000;

/// The advisory lock that every connection which writes for an ingest shares. When a program is
/// killed, its statements go on until they notice; the next ingest ends them and waits for the last.
const HELPER_LOCK: i64 = WRITE_LOCK + 1;

/// A repository that is or will be indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepoRow {
    /// Its key.
    pub id: RepoId,
    /// Its name.
    pub name: String,
    /// The folder it is read from.
    pub source: String,
    /// Where its files can be read on the web, before their paths.
    pub web: Option<String>,
    /// Its rank among the repositories; 0 for none.
    pub rank: u16,
}

/// A file that the walk has seen.
#[derive(Clone, Debug)]
pub struct SeenRow {
    /// Its repository.
    pub repo: RepoId,
    /// Its path in the repository.
    pub path: String,
    /// Its size on disk.
    pub bytes: i64,
    /// A hash of what `stat` says of it; 0 when that cannot be relied on.
    pub stamp: i64,
    /// Why it is left out, when that is known without reading it.
    pub reason: Option<&'static str>,
}

/// A file that is to be read.
#[derive(Clone, Debug)]
pub struct Todo {
    /// Its place in the order of reading, from 1.
    pub number: i64,
    /// Its repository.
    pub repo: RepoId,
    /// Its path in the repository.
    pub path: String,
    /// Its size on disk when it was seen.
    pub bytes: i64,
}

/// A file that was read, and where its contents lie.
#[derive(Clone, Debug)]
pub struct FileRow {
    /// Its repository.
    pub repo: RepoId,
    /// Its path in the repository.
    pub path: String,
    /// The shard of its contents.
    pub shard: ShardId,
    /// Its contents.
    pub blob: BlobId,
    /// Bytes of its text.
    pub bytes: i32,
    /// A hash of what `stat` said of it when it was read; 0 when that cannot be relied on.
    pub stamp: i64,
    /// Its language, when that was recognised.
    pub language: Option<String>,
}

/// A file that was left out after it was read, or tried to be.
#[derive(Clone, Debug)]
pub struct SkippedRow {
    /// Its repository.
    pub repo: RepoId,
    /// Its path in the repository.
    pub path: String,
    /// Its size on disk.
    pub bytes: i64,
    /// A hash of what `stat` said of it; 0 when that cannot be relied on.
    pub stamp: i64,
    /// Why.
    pub reason: &'static str,
}

/// How many files there are of a kind, and how many bytes in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Files.
    pub files: i64,
    /// Bytes.
    pub bytes: i64,
}

impl std::ops::AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.files += other.files;
        self.bytes += other.bytes;
    }
}

/// What a switch changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switched {
    /// Files that are new or have new contents.
    pub stored: i64,
    /// Files that are gone or had other contents.
    pub retired: i64,
}

/// A shard as an ingest sees it.
#[derive(Clone, Copy, Debug)]
struct Fill {
    shard: ShardId,
    chunks: i32,
    bytes: i64,
    /// It has files and a whole index.
    live: bool,
}

/// The one ingest that may run.
#[derive(Debug)]
pub struct Writer {
    conn: PgConnection,
    /// The shards, and how full they are.
    fills: Vec<Fill>,
    /// An earlier ingest was killed, so contents without files may lie about.
    sweep: bool,
}

/// Stores contents in one shard at a time, on a connection of its own.
#[derive(Debug)]
pub struct Loader {
    conn: PgConnection,
}

impl Store {
    /// Becomes the one that writes, if nobody else is.
    pub async fn try_writer(&self) -> Result<Option<Writer>> {
        let mut conn = self.connection().await?;
        let (locked,): (bool,) = sqlx::query_as("select pg_try_advisory_lock($1)")
            .bind(WRITE_LOCK)
            .fetch_one(&mut conn)
            .await?;
        if !locked {
            return Ok(None);
        }
        end_orphans(&mut conn).await?;
        conn.execute(
            "set work_mem = '64MB';
             create temp table seen (repo int, path text, bytes bigint, stamp bigint, reason text);
             create temp table unchanged (repo int, path text);
             create temp table todo (number bigint primary key, repo int, path text, bytes bigint);
             create temp table loaded (repo int, path text, shard smallint, blob int, bytes int,
                                       stamp bigint, language text);
             create temp table left_out (repo int, path text, bytes bigint, stamp bigint, reason text);
             create index loaded_path on loaded (repo, path);
             create index left_out_path on left_out (repo, path)",
        )
        .await?;
        let (sweep,): (bool,) =
            sqlx::query_as("select unfinished from state").fetch_one(&mut conn).await?;
        let rows: Vec<(i16, i32, i64, bool)> = sqlx::query_as(
            "select shard, chunks, bytes, live_from is not null
                 and to_regclass(format('stretches_%s_trgm', lpad(shard::text, 3, '0'))) is not null
             from shards order by shard",
        )
        .fetch_all(&mut conn)
        .await?;
        let fills = rows
            .into_iter()
            .map(|(shard, chunks, bytes, live)| Fill { shard: ShardId(shard), chunks, bytes, live })
            .collect();
        Ok(Some(Writer { conn, fills, sweep }))
    }

    /// A connection that writes for the one ingest that runs.
    pub(crate) async fn helper(&self) -> Result<PgConnection> {
        let mut conn = self.connection().await?;
        sqlx::query("select pg_advisory_lock_shared($1)")
            .bind(HELPER_LOCK)
            .execute(&mut conn)
            .await?;
        Ok(conn)
    }

    /// A connection to store contents with.
    pub async fn loader(&self) -> Result<Loader> {
        let mut conn = self.helper().await?;
        // Where the server was built with lz4: it takes less time than pglz, writing and reading.
        let _ = conn
            .execute(
                "select set_config('default_toast_compression', 'lz4', false) from pg_settings
                 where name = 'default_toast_compression' and 'lz4' = any(enumvals)",
            )
            .await?;
        Ok(Loader { conn })
    }
}

/// Ends what a killed ingest has left running, and returns when it is over.
async fn end_orphans(conn: &mut PgConnection) -> Result<()> {
    sqlx::query(
        "select pg_terminate_backend(pid) from pg_locks
         where locktype = 'advisory' and objsubid = 1 and granted
           and classid::bigint = $1 >> 32 and objid::bigint = $1 & 4294967295
           and database = (select oid from pg_database where datname = current_database())",
    )
    .bind(HELPER_LOCK)
    .execute(&mut *conn)
    .await?;
    sqlx::query("select pg_advisory_lock($1)").bind(HELPER_LOCK).execute(&mut *conn).await?;
    sqlx::query("select pg_advisory_unlock($1)").bind(HELPER_LOCK).execute(&mut *conn).await?;
    Ok(())
}

/// Makes shards fresh again in which nothing is left. The epoch goes on, so that no later search
/// has them in its catalog.
async fn free_empty_shards(conn: &mut PgConnection) -> Result<()> {
    let empty: Vec<(i16,)> = sqlx::query_as(
        "update shards s set live_from = null, chunks = 0, summarised = 0
         where live_from is not null and bytes = 0
           and not exists (select from files f where f.shard = s.shard)
           and not exists (select from blobs b where b.shard = s.shard)
         returning shard",
    )
    .fetch_all(&mut *conn)
    .await?;
    for (shard,) in &empty {
        shards::empty(conn, ShardId(*shard)).await?;
    }
    if !empty.is_empty() {
        conn.execute("update state set epoch = epoch + 1").await?;
    }
    Ok(())
}

impl Loader {
    /// Stores contents in a shard, all or nothing.
    pub async fn store(&mut self, shard: ShardId, contents: &[Contents]) -> Result<()> {
        let Some(last) = contents.last() else { return Ok(()) };
        let next = last.id.0 + last.chunks.len() as i32;
        let bytes: usize = contents.iter().map(|c| c.text.len()).sum();
        let mut tx = self.conn.begin().await?;
        copy::chunks(&mut tx, shard, contents).await?;
        copy::blobs(&mut tx, shard, contents).await?;
        let written = contents.iter().filter_map(|c| Some((c.id, c.doc.as_ref()?)));
        docs::insert(&mut tx, shard, &written.collect::<Vec<_>>()).await?;
        sqlx::query(
            "update shards set chunks = greatest(chunks, $2), bytes = bytes + $3 where shard = $1",
        )
        .bind(shard.0)
        .bind(next)
        .bind(bytes as i64)
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }
}

impl Writer {
    pub(crate) fn conn(&mut self) -> &mut PgConnection {
        &mut self.conn
    }

    /// Every repository that is indexed.
    pub async fn repos(&mut self) -> Result<Vec<RepoRow>> {
        let rows: Vec<(i32, String, String, Option<String>, i32)> = sqlx::query_as(
            "select id, name, source, web, rank from repos where indexed_at is not null",
        )
        .fetch_all(&mut self.conn)
        .await?;
        let repo = |(id, name, source, web, rank)| {
            let (id, rank): (i32, i32) = (id, rank);
            RepoRow { id: RepoId(id), name, source, web, rank: rank as u16 }
        };
        Ok(rows.into_iter().map(repo).collect())
    }

    /// A key for a repository that is not indexed yet. Nothing of it is seen before the switch.
    pub async fn new_repo(&mut self, name: &str, source: &str) -> Result<RepoId> {
        // An ingest that was killed may have left the name behind.
        let (id,): (i32,) = sqlx::query_as(
            "insert into repos (name, source) values ($1, $2)
             on conflict (name) do update set source = excluded.source returning id",
        )
        .bind(name)
        .bind(source)
        .fetch_one(&mut self.conn)
        .await?;
        Ok(RepoId(id))
    }

    /// Adds files that the walk has seen.
    pub async fn seen(&mut self, files: &[SeenRow]) -> Result<()> {
        let mut rows = Rows::new();
        for file in files {
            rows.row(5).i32(file.repo.0).bytes(file.path.as_bytes());
            rows.i64(file.bytes).i64(file.stamp).text(file.reason);
        }
        let statement = "copy seen (repo, path, bytes, stamp, reason) from stdin (format binary)";
        copy::send(&mut self.conn, statement, rows).await
    }

    /// Compares what was seen with what is indexed, and returns how much there is to read.
    ///
    /// A file is not read again when its stamp is the same; `again` reads every file. A file that
    /// was left out for what it contains is treated likewise.
    pub async fn plan(&mut self, again: bool) -> Result<Totals> {
        // Plain joins only: over this many rows, a condition with two lookups in it takes minutes.
        self.conn.execute("analyze seen").await?;
        if !again {
            self.conn
                .execute(
                    "insert into unchanged
                     select s.repo, s.path
                     from seen s join files f on f.repo = s.repo and f.path = s.path and f.stamp = s.stamp
                     where s.reason is null and s.stamp <> 0 and f.died = 2147483647;
                     insert into unchanged
                     select s.repo, s.path
                     from seen s join skipped k on k.repo = s.repo and k.path = s.path and k.stamp = s.stamp
                     where s.reason is null and s.stamp <> 0 and k.died = 2147483647
                       and k.reason = 'binary';
                     analyze unchanged",
                )
                .await?;
        }
        self.conn
            .execute(
                "insert into todo
                 select row_number() over (order by s.repo, s.path), s.repo, s.path, s.bytes
                 from seen s
                 where s.reason is null
                   and not exists (select from unchanged u where u.repo = s.repo and u.path = s.path)",
            )
            .await?;
        self.conn.execute("analyze todo").await?;
        let (files, bytes): (i64, i64) =
            sqlx::query_as("select count(*), coalesce(sum(bytes), 0)::bigint from todo")
                .fetch_one(&mut self.conn)
                .await?;
        if files > 0 {
            self.conn.execute("update state set unfinished = true where not unfinished").await?;
        }
        Ok(Totals { files, bytes })
    }

    /// The next files to read after number `after`: at most `files` of them, and no more once they
    /// add up to `bytes`.
    pub async fn todo(&mut self, after: i64, files: i64, bytes: i64) -> Result<Vec<Todo>> {
        let rows: Vec<(i64, i32, String, i64)> = sqlx::query_as(
            "select number, repo, path, bytes from (
                 select *, sum(bytes) over (order by number) - bytes as before from (
                     select * from todo where number > $1 order by number limit $2) t) t
             where before < $3 order by number",
        )
        .bind(after)
        .bind(files)
        .bind(bytes)
        .fetch_all(&mut self.conn)
        .await?;
        Ok(rows
            .into_iter()
            .map(|(number, repo, path, bytes)| Todo { number, repo: RepoId(repo), path, bytes })
            .collect())
    }

    /// Where contents with these hashes are stored already.
    pub async fn stored(&mut self, oids: &[Oid]) -> Result<HashMap<Oid, (ShardId, BlobId, i32)>> {
        let keys: Vec<&[u8]> = oids.iter().map(<[u8; 20]>::as_slice).collect();
        let rows: Vec<(Vec<u8>, i16, i32, i32)> =
            sqlx::query_as("select oid, shard, id, bytes from blobs where oid = any($1)")
                .bind(keys)
                .fetch_all(&mut self.conn)
                .await?;
        Ok(rows
            .into_iter()
            .filter_map(|(oid, shard, id, bytes)| {
                Some((oid.try_into().ok()?, (ShardId(shard), BlobId(id), bytes)))
            })
            .collect())
    }

    /// Stores the docs of contents that were stored before without one: before docs were indexed, or for a file in
    /// which nothing is a doc. A search that sees the contents sees their docs at once.
    ///
    /// # Errors
    /// The database cannot be reached, or refuses a statement.
    pub async fn add_docs(&mut self, rows: &[(ShardId, BlobId, DocRow)]) -> Result<()> {
        docs::insert_missing(&mut self.conn, rows).await
    }

    /// Bytes of text stored so far, and the number of shards.
    pub fn stored_bytes(&self) -> (i64, usize) {
        (self.fills.iter().map(|fill| fill.bytes).sum(), self.fills.len())
    }

    /// The shard to fill next, other than those in `busy`, and its next free chunk number.
    ///
    /// Fresh shards are filled one after another, up to `full` bytes, because they are loaded
    /// without an index and because a repository that lies in few shards is searched faster. A
    /// `small` amount goes to the emptiest shard that is live instead, and so does everything when
    /// no fresh shard is left.
    pub async fn next_shard(
        &mut self,
        busy: &[ShardId],
        full: i64,
        small: bool,
    ) -> Result<(ShardId, i32, i64)> {
        let free = || self.fills.iter().filter(|fill| !busy.contains(&fill.shard));
        let fresh = free().find(|fill| !fill.live && fill.bytes < full);
        let live = free().filter(|fill| fill.live).min_by_key(|fill| fill.bytes);
        let emptiest = free().min_by_key(|fill| fill.bytes);
        let chosen = match (fresh, live) {
            (_, Some(live)) if small && live.bytes < full => *live,
            (Some(fresh), _) => *fresh,
            (None, Some(live)) => *live,
            (None, None) => *emptiest.expect("there are more shards than are filled at once"),
        };
        if !chosen.live {
            shards::drop_index(&mut self.conn, chosen.shard).await?;
        }
        Ok((chosen.shard, chosen.chunks, chosen.bytes))
    }

    /// Notes that a shard was filled up to this chunk number and size.
    pub fn filled(&mut self, shard: ShardId, chunks: i32, bytes: i64) {
        if let Some(fill) = self.fills.iter_mut().find(|fill| fill.shard == shard) {
            (fill.chunks, fill.bytes) = (chunks, bytes);
        }
    }

    /// The shards that hold something and have no index yet, largest first, with their bytes.
    pub fn unindexed(&self) -> Vec<(ShardId, i64)> {
        let fresh = self.fills.iter().filter(|fill| !fill.live && fill.chunks > 0);
        let mut all: Vec<_> = fresh.map(|fill| (fill.shard, fill.bytes)).collect();
        all.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        all
    }

    /// Adds files that were read.
    pub async fn loaded(&mut self, files: &[FileRow]) -> Result<()> {
        let mut rows = Rows::new();
        for file in files {
            rows.row(7).i32(file.repo.0).bytes(file.path.as_bytes());
            rows.i16(file.shard.0).i32(file.blob.0).i32(file.bytes).i64(file.stamp);
            rows.text(file.language.as_deref());
        }
        let statement = "copy loaded (repo, path, shard, blob, bytes, stamp, language) from stdin (format binary)";
        copy::send(&mut self.conn, statement, rows).await
    }

    /// Adds files that were left out.
    pub async fn left_out(&mut self, files: &[SkippedRow]) -> Result<()> {
        let mut rows = Rows::new();
        for file in files {
            rows.row(5).i32(file.repo.0).bytes(file.path.as_bytes());
            rows.i64(file.bytes).i64(file.stamp).bytes(file.reason.as_bytes());
        }
        let statement =
            "copy left_out (repo, path, bytes, stamp, reason) from stdin (format binary)";
        copy::send(&mut self.conn, statement, rows).await
    }

    /// Makes the new state of these repositories the current one, in one transaction, removes those
    /// in `gone` (which are others), and makes the shards live that were `indexed` for it.
    pub async fn switch(
        &mut self,
        repos: &[RepoRow],
        gone: &[RepoId],
        indexed: &[ShardId],
    ) -> Result<Switched> {
        let ids: Vec<i32> = repos.iter().map(|repo| repo.id.0).collect();
        let names: Vec<&str> = repos.iter().map(|repo| repo.name.as_str()).collect();
        let sources: Vec<&str> = repos.iter().map(|repo| repo.source.as_str()).collect();
        let webs: Vec<Option<&str>> = repos.iter().map(|repo| repo.web.as_deref()).collect();
        let ranks: Vec<i32> = repos.iter().map(|repo| i32::from(repo.rank)).collect();
        let gone: Vec<i32> = gone.iter().map(|id| id.0).collect();
        let fresh: Vec<i16> = indexed.iter().map(|shard| shard.0).collect();

        self.conn.execute("analyze loaded; analyze left_out").await?;
        let mut tx = self.conn.begin().await?;
        // Files that were read again and are what they were.
        tx.execute(
            "update files f set stamp = l.stamp from loaded l
             where f.repo = l.repo and f.path = l.path and f.died = 2147483647
               and f.shard = l.shard and f.blob = l.blob and f.language is not distinct from l.language",
        )
        .await?;
        tx.execute(
            "with same as (
                 delete from loaded l using files f
                 where f.repo = l.repo and f.path = l.path and f.died = 2147483647
                   and f.shard = l.shard and f.blob = l.blob and f.language is not distinct from l.language
                 returning l.repo, l.path)
             insert into unchanged select repo, path from same;
             analyze unchanged",
        )
        .await?;
        // What remains are new files and new contents. All files that are not known to be unchanged
        // end here: they have new contents, are left out, or are gone.
        let mut retired = sqlx::query(
            "update files f set died = (select epoch + 1 from state)
             where f.died = 2147483647 and f.repo = any($1)
               and not exists (select from unchanged u where u.repo = f.repo and u.path = f.path)",
        )
        .bind(&ids)
        .execute(&mut *tx)
        .await?
        .rows_affected();
        retired += sqlx::query(
            "update files set died = (select epoch + 1 from state)
             where died = 2147483647 and repo = any($1)",
        )
        .bind(&gone)
        .execute(&mut *tx)
        .await?
        .rows_affected();
        let stored = sqlx::query(
            "insert into files (shard, blob, repo, born, bytes, stamp, language, path)
             select shard, blob, repo, (select epoch + 1 from state), bytes, stamp, language, path
             from loaded order by shard, blob",
        )
        .execute(&mut *tx)
        .await?
        .rows_affected();
        // The same for the files that are left out. Those left out for their contents were not
        // looked at again if they have not changed.
        sqlx::query(
            "insert into left_out select repo, path, bytes, stamp, reason from seen
             where reason is not null and repo = any($1)",
        )
        .bind(&ids)
        .execute(&mut *tx)
        .await?;
        sqlx::query(
            "insert into left_out
             select k.repo, k.path, k.bytes, k.stamp, k.reason
             from skipped k join unchanged u on u.repo = k.repo and u.path = k.path
             where k.repo = any($1) and k.died = 2147483647 and k.reason = 'binary'",
        )
        .bind(&ids)
        .execute(&mut *tx)
        .await?;
        let mut skips = sqlx::query(
            "update skipped k set died = (select epoch + 1 from state)
             where k.died = 2147483647 and (k.repo = any($1) or k.repo = any($2))
               and not exists (select from left_out o
                   where o.repo = k.repo and o.path = k.path and o.reason = k.reason
                     and o.bytes = k.bytes and o.stamp = k.stamp)",
        )
        .bind(&ids)
        .bind(&gone)
        .execute(&mut *tx)
        .await?
        .rows_affected();
        skips += sqlx::query(
            "insert into skipped (repo, born, bytes, stamp, reason, path)
             select o.repo, (select epoch + 1 from state), o.bytes, o.stamp, o.reason, o.path
             from left_out o
             where not exists (select from skipped k
                 where k.repo = o.repo and k.path = o.path and k.died = 2147483647)",
        )
        .execute(&mut *tx)
        .await?
        .rows_affected();
        // Two repositories may have changed names with each other.
        sqlx::query(
            "update repos r set name = format('(being renamed: %s)', id)
             from unnest($1::int[], $2::text[]) given (given_id, given_name)
             where id = given_id and name <> given_name",
        )
        .bind(&ids)
        .bind(&names)
        .execute(&mut *tx)
        .await?;
        let ranked = sqlx::query(
            "update repos r set rank = given.rank from unnest($1::int[], $2::int[]) given (id, rank)
             where r.id = given.id and r.rank <> given.rank",
        )
        .bind(&ids)
        .bind(&ranks)
        .execute(&mut *tx)
        .await?
        .rows_affected();
        sqlx::query(
            "update repos r set name = given.name, source = given.source, web = given.web, indexed_at = now(),
                 files = coalesce(f.files, 0), bytes = coalesce(f.bytes, 0),
                 shards = coalesce(f.shards, '{}'), skipped = coalesce(k.skipped, 0)
             from unnest($1::int[], $2::text[], $3::text[], $4::text[]) given (id, source, name, web)
             left join (select repo, count(*) files, sum(bytes)::bigint bytes,
                               array_agg(distinct shard) shards
                        from files where died = 2147483647 and repo = any($1) group by repo) f
               on f.repo = given.id
             left join (select repo, count(*) skipped
                        from skipped where died = 2147483647 and repo = any($1) group by repo) k
               on k.repo = given.id
             where r.id = given.id",
        )
        .bind(&ids)
        .bind(&sources)
        .bind(&names)
        .bind(&webs)
        .execute(&mut *tx)
        .await?;
        sqlx::query("delete from repos where id = any($1)").bind(&gone).execute(&mut *tx).await?;
        sqlx::query(
            "update shards set live_from = coalesce(live_from, (select epoch + 1 from state))
             where shard = any($1)",
        )
        .bind(&fresh)
        .execute(&mut *tx)
        .await?;
        tx.execute(
            "update shards s set changed = epoch + 1 from state where exists (
                 select from files f where f.shard = s.shard and (f.born = epoch + 1 or f.died = epoch + 1))",
        )
        .await?;
        let (epoch,): (i32,) =
            sqlx::query_as("select epoch from state for update").fetch_one(&mut *tx).await?;
        // The first epoch exists from the first ingest on, even if that found nothing to index.
        if epoch == 0 || stored + retired + skips + ranked > 0 || !gone.is_empty() {
            tx.execute("update state set epoch = epoch + 1").await?;
        }
        tx.execute("truncate loaded, left_out").await?;
        tx.commit().await?;
        for shard in indexed {
            shards::index_paths(&mut self.conn, *shard).await?;
        }
        for fill in &mut self.fills {
            fill.live |= fresh.contains(&fill.shard.0);
        }
        Ok(Switched { stored: stored as i64, retired: retired as i64 })
    }

    /// Clears up after an ingest: puts the additions to indexed shards in their place, makes the indexes
    /// of paths that a killed ingest left out, deletes what no epoch in use refers to, and refreshes the
    /// planner's statistics of what changed.
    ///
    /// `filled` are the shards that got new contents.
    pub async fn tidy(&mut self, filled: &[ShardId], changed: bool) -> Result<()> {
        for shard in filled {
            shards::flush_index(&mut self.conn, *shard).await?;
        }
        for fill in self.fills.iter().filter(|fill| fill.live) {
            shards::index_paths(&mut self.conn, fill.shard).await?;
            docs::build_index(&mut self.conn, fill.shard).await?;
        }
        self.purge().await?;
        if changed {
            self.conn
                .execute("analyze files; analyze skipped; analyze blobs; analyze repos")
                .await?;
        }
        self.conn.execute("update state set unfinished = false where unfinished").await?;
        Ok(())
    }

    /// Deletes the files that ended before every epoch that a search still reads, and the contents
    /// that only they had.
    async fn purge(&mut self) -> Result<()> {
        let mut tx = self.conn.begin().await?;
        let (oldest,): (i32,) = sqlx::query_as(
            "select least((select epoch from state), (select min(objid::bigint)::int from pg_locks
                 where locktype = 'advisory' and objsubid = 2 and classid::bigint = $1 and granted
                   and database = (select oid from pg_database where datname = current_database())))",
        )
        .bind(i64::from(PIN_LOCKS))
        .fetch_one(&mut *tx)
        .await?;
        tx.execute("create temp table orphans (shard smallint, id int) on commit drop").await?;
        let mut gone = sqlx::query(
            "with gone as (delete from files where died <= $1 returning shard, blob)
             insert into orphans select distinct shard, blob from gone",
        )
        .bind(oldest)
        .execute(&mut *tx)
        .await?
        .rows_affected();
        sqlx::query("delete from skipped where died <= $1").bind(oldest).execute(&mut *tx).await?;
        if self.sweep {
            gone += tx
                .execute("truncate orphans; insert into orphans select shard, id from blobs")
                .await?
                .rows_affected();
            self.sweep = false;
        }
        if gone > 0 {
            tx.execute(
                "analyze orphans;
                 delete from orphans o using files f where f.shard = o.shard and f.blob = o.id;
                 create temp table gone on commit drop as
                     select b.shard, b.id, b.chunks, b.bytes
                     from blobs b join orphans o on o.shard = b.shard and o.id = b.id;
                 delete from blobs b using gone g where b.shard = g.shard and b.id = g.id;
                 update shards s set bytes = s.bytes - g.bytes
                 from (select shard, sum(bytes) bytes from gone group by shard) g where s.shard = g.shard",
            )
            .await?;
            let shards: Vec<(i16,)> =
                sqlx::query_as("select distinct shard from gone").fetch_all(&mut *tx).await?;
            // One shard at a time, so that each statement goes to one partition.
            for (shard,) in shards {
                sqlx::query(
                    "delete from chunks where shard = $1 and n in (
                         select generate_series(id, id + chunks - 1) from gone where shard = $1)",
                )
                .bind(shard)
                .execute(&mut *tx)
                .await?;
                // Lexemes stay as long as there is any of the chunks that they may be of.
                sqlx::query(
                    "delete from stretches s where shard = $1 and not exists (
                         select from chunks c where c.shard = $1 and c.n >= s.first and c.n < s.upto)",
                )
                .bind(shard)
                .execute(&mut *tx)
                .await?;
                docs::delete_gone(&mut tx, ShardId(shard)).await?;
            }
            free_empty_shards(&mut tx).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Gives up the lock on writing.
    pub async fn close(self) -> Result<()> {
        Ok(self.conn.close().await?)
    }
}
