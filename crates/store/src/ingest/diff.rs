//! Compares the files seen by the walk with the index, lists those to read, and records the results.

use std::collections::HashMap;

use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Executor, Row};

use super::copy::{self, Rows};
use super::session::{FOREVER, Session};
use crate::error::Result;
use crate::{BlobId, Oid, RepoId, ShardId};

/// The reasons to leave out a file that hold as long as its contents do.
pub(super) const OF_CONTENTS: &str = "('binary', 'lfs')";

/// A repository that is or will be indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are columns of one row")]
pub struct RepoRow {
    /// Its key.
    pub id: RepoId,
    /// Its name.
    pub name: String,
    /// The folder it is read from.
    pub source: String,
    /// The URL at which its files can be read; their paths follow.
    pub web: Option<String>,
    /// The commit that is checked out, if it is a clone.
    pub commit: Option<String>,
    /// Its rank among the repositories; 0 for none.
    pub rank: u16,
    /// Folders outside of `source` that git may read for its history.
    pub git_folders: Vec<String>,
    /// Whether it is read without the rules of ignore files.
    pub no_ignore: bool,
    /// Whether files that look like secrets are left out.
    pub skips_secrets: bool,
    /// Whether its files are those of the commit of `HEAD`, and not those in its folder.
    pub from_commit: bool,
    /// A hash of what decides the languages of its files besides their names and texts; `None` if it is unknown.
    pub languages: Option<i64>,
    /// Whether some of its files were on a node that is lost and were not read again, so that all of it must be compared,
    /// whatever has changed.
    pub is_lost: bool,
}

/// A file seen by the walk.
#[derive(Clone, Debug)]
pub struct SeenRow {
    /// Its repository.
    pub repo: RepoId,
    /// Its path in the repository.
    pub path: String,
    /// Its size on disk, in bytes.
    pub bytes: i64,
    /// A hash of its `stat` data; 0 if that cannot be relied on.
    pub fingerprint: i64,
    /// The reason to leave it out, if known without reading it.
    pub reason: Option<&'static str>,
    /// The rule that leaves it out, if one does.
    pub rule: Option<String>,
    /// Git's name of its contents, if that is known without reading it.
    pub oid: Option<Vec<u8>>,
    /// Whether git may have changed the contents when it wrote the file: then the name is that of another text, unless
    /// both have the same size.
    pub may_differ: bool,
    /// The language that `.gitattributes` gives it.
    pub language: Option<String>,
}

/// A file to read.
#[derive(Clone, Debug)]
pub struct FileTodo {
    /// Its place in the order of reading, from 1.
    pub number: i64,
    /// Its repository.
    pub repo: RepoId,
    /// Its path in the repository.
    pub path: String,
    /// Its size on disk when it was seen, in bytes.
    pub bytes: i64,
    /// Git's name of its contents, if its source knows it.
    pub oid: Option<Vec<u8>>,
    /// The language that `.gitattributes` gives it.
    pub language: Option<String>,
}

/// A file that was read, and the place of its contents.
#[derive(Clone, Debug)]
pub struct FileRow {
    /// Its repository.
    pub repo: RepoId,
    /// Its path in the repository.
    pub path: String,
    /// The shard of its contents.
    pub shard: ShardId,
    /// Its blob.
    pub blob: BlobId,
    /// Bytes of its text.
    pub bytes: i32,
    /// A hash of its `stat` data when it was read; 0 if that cannot be relied on.
    pub fingerprint: i64,
    /// Its language, if recognised.
    pub language: Option<String>,
}

/// The place where contents are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPlace {
    /// Their shard.
    pub shard: ShardId,
    /// Their number there.
    pub blob: BlobId,
    /// The encoding of their file: `blobs.encoding`.
    pub encoding: Option<String>,
}

/// A file that was left out after an attempt to read it.
#[derive(Clone, Debug)]
pub struct SkippedRow {
    /// Its repository.
    pub repo: RepoId,
    /// Its path in the repository.
    pub path: String,
    /// Its size on disk, in bytes.
    pub bytes: i64,
    /// A hash of its `stat` data; 0 if that cannot be relied on.
    pub fingerprint: i64,
    /// The reason.
    pub reason: &'static str,
    /// More about the reason, if there is more to say.
    pub rule: Option<String>,
    /// Git's name of its contents, if they are the reason.
    pub oid: Option<Vec<u8>>,
}

/// Number of files and of bytes in them.
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

impl Session {
    /// Returns every indexed repository.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn repos(&mut self) -> Result<Vec<RepoRow>> {
        let rows = sqlx::query(
            "select id, name, source, web, commit, rank, git_folders, no_ignore, secrets = 'skip' as skips_secrets,
                    from_commit, languages, lost is not null as is_lost
             from repos where indexed_at is not null",
        )
        .fetch_all(&mut self.conn)
        .await?;
        let repo = |row: PgRow| {
            Ok(RepoRow {
                id: RepoId(row.try_get("id")?),
                name: row.try_get("name")?,
                source: row.try_get("source")?,
                web: row.try_get("web")?,
                commit: row.try_get("commit")?,
                rank: row.try_get::<i32, _>("rank")? as u16,
                git_folders: row.try_get("git_folders")?,
                no_ignore: row.try_get("no_ignore")?,
                skips_secrets: row.try_get("skips_secrets")?,
                from_commit: row.try_get("from_commit")?,
                languages: row.try_get("languages")?,
                is_lost: row.try_get("is_lost")?,
            })
        };
        rows.into_iter().map(repo).collect()
    }

    /// Makes a key for a repository that is not indexed yet. It is invisible until published.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn new_repo(&mut self, name: &str, source: &str) -> Result<RepoId> {
        // A killed ingest may have left the name behind.
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

    /// Adds files seen by the walk.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn seen(&mut self, files: &[SeenRow]) -> Result<()> {
        let mut rows = Rows::new();
        for file in files {
            rows.row(9).i32(file.repo.0).bytes(file.path.as_bytes());
            rows.i64(file.bytes).i64(file.fingerprint).text(file.reason).text(file.rule.as_deref());
            rows.maybe(file.oid.as_deref()).bool(file.may_differ).text(file.language.as_deref());
        }
        let statement =
            "copy seen (repo, path, bytes, fingerprint, reason, rule, oid, may_differ, language)
                         from stdin (format binary)";
        copy::send(&mut self.conn, statement, rows).await
    }

    /// Forgets what was seen of a repository, which then keeps its files.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn unsee(&mut self, repo: RepoId) -> Result<()> {
        let delete = sqlx::query("delete from seen where repo = $1").bind(repo.0);
        delete.execute(&mut self.conn).await?;
        self.listed.remove(&repo);
        self.looked.remove(&repo);
        Ok(())
    }

    /// Has only a part of a repository compared and changed: files and folders `below`, and what has the path of a folder
    /// of `around` itself. Nothing else may be seen of it.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn narrow(
        &mut self,
        repo: RepoId,
        below: &[String],
        around: &[String],
    ) -> Result<()> {
        sqlx::query(
            "insert into scope select $1, path, true from unnest($2::text[]) b (path)
             union all select $1, path, false from unnest($3::text[]) a (path)",
        )
        .bind(repo.0)
        .bind(below)
        .bind(around)
        .execute(&mut self.conn)
        .await?;
        self.narrowed.insert(repo);
        // Other files of it were not listed.
        self.listed.remove(&repo);
        Ok(())
    }

    /// Returns a condition on a row of files or left-out files: it is compared in this session.
    pub(super) fn compares(&self, row: &str) -> String {
        if self.narrowed.is_empty() {
            return "true".to_owned();
        }
        // The arrays are made once, not for each row.
        let paths = |repo: i32, paths: &str| {
            format!(
                "any((select coalesce({paths}, '{{}}') from scope where repo = {repo})::text[])"
            )
        };
        let of = |repo: &RepoId| {
            // A file may have been where a folder is now.
            let named = "array_agg(path) || coalesce(array_agg(path || '/') filter (where not below), '{}')";
            let named = paths(repo.0, named);
            let below = paths(repo.0, "array_agg(path || '/') filter (where below)");
            format!("{row}.repo = {} and ({row}.path = {named} or {row}.path ^@ {below})", repo.0)
        };
        let repos: Vec<String> = self.narrowed.iter().map(|repo| repo.0.to_string()).collect();
        let others = format!("{row}.repo <> all('{{{}}}')", repos.join(","));
        let parts: Vec<String> =
            std::iter::once(others).chain(self.narrowed.iter().map(of)).collect();
        format!("({})", parts.join(" or "))
    }

    /// Compares the seen files with the index, and returns how much there is to read.
    ///
    /// A file with the same fingerprint is not read again, even if it was left out for its contents, unless `again` holds
    /// for its repository. Neither is one of which git's name is known ([`known`](super::known)).
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn compare(&mut self, again: impl Fn(RepoId) -> bool + Send) -> Result<Totals> {
        // Plain joins only: over this many rows, a condition with two lookups takes minutes.
        self.conn.execute("analyze seen").await?;
        let repos = self.note_current_files().await?;
        let trusted: Vec<i32> = repos.into_iter().filter(|repo| !again(RepoId(*repo))).collect();
        if !trusted.is_empty() {
            sqlx::query(
                "insert into unchanged
                 select s.repo, s.path from seen s
                 join current_files f on f.repo = s.repo and f.path = s.path and f.fingerprint = s.fingerprint
                 where s.reason is null and s.fingerprint <> 0 and s.repo = any($1)
                   and (s.language is null or s.language = f.language)",
            )
            .bind(&trusted)
            .execute(&mut self.conn)
            .await?;
            sqlx::query(AssertSqlSafe(format!(
                "insert into unchanged
                 select s.repo, s.path from seen s
                 join skipped k on k.repo = s.repo and k.path = s.path and k.fingerprint = s.fingerprint
                 where s.reason is null and s.fingerprint <> 0 and k.valid_to = {FOREVER} and k.trees >= 0
                   and k.reason in {OF_CONTENTS} and s.repo = any($1)"
            )))
            .bind(&trusted)
            .execute(&mut self.conn)
            .await?;
            self.conn.execute("analyze unchanged").await?;
            self.find_known(&trusted).await?;
        }
        self.conn
            .execute(
                "insert into todo
                 select row_number() over (order by s.repo, s.path), s.repo, s.path, s.bytes, s.oid, s.language
                 from seen s
                 where s.reason is null
                   and not exists (select from unchanged u where u.repo = s.repo and u.path = s.path)
                   and not exists (select from known k where k.repo = s.repo and k.path = s.path)
                   and not exists (select from known_odd k where k.repo = s.repo and k.path = s.path)",
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

    /// Copies the current epoch's files of all repositories that were seen, and returns these repositories.
    async fn note_current_files(&mut self) -> Result<Vec<i32>> {
        let mut repos: Vec<i32> =
            sqlx::query_scalar("select distinct repo from seen").fetch_all(&mut self.conn).await?;
        // A repository may have lost all of its files.
        repos.extend(self.listed.keys().chain(&self.narrowed).map(|repo| repo.0));
        repos.sort_unstable();
        repos.dedup();
        let compares = self.compares("f");
        for shard in self.shards_of(&repos).await? {
            let sql = format!(
                "insert into current_files select shard, blob, repo, path, fingerprint, language
                 from {} f where valid_to = {FOREVER} and repo = any($1) and trees >= 0 and {compares}",
                shard.files()
            );
            sqlx::query(AssertSqlSafe(sql)).bind(&repos).execute(&mut self.conn).await?;
        }
        self.conn.execute("analyze current_files").await?;
        Ok(repos)
    }

    /// Returns the shards with files of some repositories.
    pub(crate) async fn shards_of(&mut self, repos: &[i32]) -> Result<Vec<ShardId>> {
        let shards: Vec<i16> = sqlx::query_scalar(
            "select distinct unnest(shards || tree_shards) from repos where id = any($1) order by 1",
        )
        .bind(repos)
        .fetch_all(&mut self.conn)
        .await?;
        Ok(shards.into_iter().map(ShardId).collect())
    }

    /// Returns the next files to read after number `after`: at most `files`, and no further ones once their sizes add
    /// up to `bytes`.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn todo(&mut self, after: i64, files: i64, bytes: i64) -> Result<Vec<FileTodo>> {
        type Row = (i64, i32, String, i64, Option<Vec<u8>>, Option<String>);
        let rows: Vec<Row> = sqlx::query_as(
            "select number, repo, path, bytes, oid, language from (
                 select *, sum(bytes) over (order by number) - bytes as before from (
                     select * from todo where number > $1 order by number limit $2) t) t
             where before < $3 order by number",
        )
        .bind(after)
        .bind(files)
        .bind(bytes)
        .fetch_all(&mut self.conn)
        .await?;
        let todo = |(number, repo, path, bytes, oid, language): Row| FileTodo {
            number,
            repo: RepoId(repo),
            path,
            bytes,
            oid,
            language,
        };
        Ok(rows.into_iter().map(todo).collect())
    }

    /// Returns where contents with these hashes are already stored.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn stored(&mut self, oids: &[Oid]) -> Result<HashMap<Oid, StoredPlace>> {
        let keys: Vec<&[u8]> = oids.iter().map(<[u8; 20]>::as_slice).collect();
        let rows: Vec<(Vec<u8>, i16, i32, Option<String>)> =
            sqlx::query_as("select oid, shard, id, encoding from blobs where oid = any($1)")
                .bind(keys)
                .fetch_all(&mut self.conn)
                .await?;
        Ok(rows
            .into_iter()
            .filter_map(|(oid, shard, id, encoding)| {
                let place = StoredPlace { shard: ShardId(shard), blob: BlobId(id), encoding };
                Some((oid.try_into().ok()?, place))
            })
            .collect())
    }

    /// Adds files that were read.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn loaded(&mut self, files: &[FileRow]) -> Result<()> {
        let mut rows = Rows::new();
        for file in files {
            rows.row(7).i32(file.repo.0).bytes(file.path.as_bytes());
            rows.i16(file.shard.0).i32(file.blob.0).i32(file.bytes).i64(file.fingerprint);
            rows.text(file.language.as_deref());
        }
        let statement = "copy loaded (repo, path, shard, blob, bytes, fingerprint, language) from stdin (format binary)";
        copy::send(&mut self.conn, statement, rows).await
    }

    /// Adds files that were left out.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn left_out(&mut self, files: &[SkippedRow]) -> Result<()> {
        let mut rows = Rows::new();
        for file in files {
            rows.row(6).i32(file.repo.0).bytes(file.path.as_bytes());
            rows.i64(file.bytes).i64(file.fingerprint).bytes(file.reason.as_bytes());
            rows.text(file.rule.as_deref());
        }
        let statement = "copy left_out (repo, path, bytes, fingerprint, reason, rule) from stdin (format binary)";
        copy::send(&mut self.conn, statement, rows).await?;
        self.note_odd(files).await
    }
}

#[cfg(test)]
mod tests;
