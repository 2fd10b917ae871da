//! Files whose contents are known by git's name of them, so that nobody reads them again.
//!
//! A text is stored under git's SHA-1 of the bytes of its file. If a file's source says which name git has for them, and
//! the text is stored, what is left to find out is its language, which depends on the name of the file and its text, or
//! on `.gitattributes`. So it is that of another file with the same name and text, if nothing else decided that one's
//! ([`RepoRow::languages`]), or of a file at the same path where the same rules did.
//!
//! Whoever makes a clone decides which names are in it. An ingest takes their word: who can write the git data of an
//! ingested clone and knows the name of a text has that text in the clone's repository.

use sqlx::{AssertSqlSafe, Executor};

use super::diff::{RepoRow, SkippedRow};
use super::session::{FOREVER, Session};
use crate::error::Result;
use crate::{RepoId, ShardId};

/// The reasons that git's name of the contents implies.
const OF_NAME: [&str; 3] = ["binary", "collision", "lfs"];

/// The last part of a path.
const NAME: &str = "split_part(path, '/', -1)";

impl Session {
    /// Records what decides the languages of a repository's files besides their names and texts, as
    /// [`RepoRow::languages`]. `plain` is that of a repository without such rules. The texts of a
    /// repository for which this is not called are all read.
    pub fn note_languages(&mut self, repo: RepoId, languages: i64, plain: i64) {
        self.languages.insert(repo, languages);
        self.plain = Some(plain);
    }

    /// Finds the files of some repositories that need not be read because of git's name of their contents.
    pub(super) async fn find_known(&mut self, repos: &[i32]) -> Result<()> {
        self.find_odd(repos).await?;
        let Some(plain) = self.plain else { return Ok(()) };
        let noted = |repo: &i32| Some((*repo, *self.languages.get(&RepoId(*repo))?));
        let (repos, rules): (Vec<i32>, Vec<i64>) = repos.iter().filter_map(noted).unzip();
        // Its text has the size of the file if both are UTF-8.
        sqlx::query(AssertSqlSafe(format!(
            "create temp table named as
             select s.repo, s.path, {NAME} as name, b.shard, b.id as blob, s.fingerprint, s.language, r.rules
             from seen s join unnest($1::int[], $2::bigint[]) r (id, rules) on r.id = s.repo
             join blobs b on b.oid = s.oid
             where s.reason is null and b.encoding is distinct from 'unknown'
               and (not s.may_differ or b.encoding is null and b.bytes = s.bytes)
               and not exists (select from unchanged u where u.repo = s.repo and u.path = s.path)"
        )))
        .bind(&repos)
        .bind(&rules)
        .execute(&mut self.conn)
        .await?;
        self.conn.execute("analyze named").await?;
        let shards: Vec<i16> = sqlx::query_scalar("select distinct shard from named order by 1")
            .fetch_all(&mut self.conn)
            .await?;
        for shard in shards.into_iter().map(ShardId) {
            // One row for each text and name: an empty file may be in thousands of places.
            let current = format!(
                "from {} f join repos r on r.id = f.repo
                 where f.shard = {n} and f.valid_to = {FOREVER} and f.trees >= 0
                   and f.blob in (select blob from named where shard = {n})",
                shard.files(),
                n = shard.0
            );
            sqlx::query(AssertSqlSafe(format!(
                "insert into known
                 select n.repo, n.path, n.shard, n.blob, f.bytes, n.fingerprint, f.language
                 from named n join (
                     select distinct on (blob, name) f.blob, {NAME} as name, f.bytes, f.language
                     {current} and r.languages = $1) f on f.blob = n.blob and f.name = n.name
                 where n.shard = {} and n.language is null",
                shard.0
            )))
            .bind(plain)
            .execute(&mut self.conn)
            .await?;
            if rules.iter().all(|rules| *rules == plain) {
                continue;
            }
            sqlx::query(AssertSqlSafe(format!(
                "insert into known
                 with f as materialized (
                     select distinct on (f.blob, f.path, r.languages) f.blob, f.path, r.languages, f.bytes, f.language
                     {current} and r.languages <> $1)
                 select n.repo, n.path, n.shard, n.blob, f.bytes, n.fingerprint, f.language
                 from named n join f
                     on f.blob = n.blob and f.path = n.path and f.languages = n.rules
                 where n.shard = {}
                   and not exists (select from known k where k.repo = n.repo and k.path = n.path)",
                shard.0
            )))
            .bind(plain)
            .execute(&mut self.conn)
            .await?;
        }
        self.conn.execute("drop table named; analyze known").await?;
        Ok(())
    }

    /// Finds the files whose contents are known not to be indexed. A binary file stays one however git writes its lines.
    async fn find_odd(&mut self, repos: &[i32]) -> Result<()> {
        sqlx::query(
            "insert into known_odd
             select s.repo, s.path, s.bytes, s.fingerprint, o.reason
             from seen s join odd_blobs o on o.oid = s.oid
             where s.reason is null and s.repo = any($1) and (not s.may_differ or o.reason = 'binary')
               and not exists (select from unchanged u where u.repo = s.repo and u.path = s.path)",
        )
        .bind(repos)
        .execute(&mut self.conn)
        .await?;
        self.conn.execute("analyze known_odd").await?;
        Ok(())
    }

    /// Adds the known files of some repositories, which are published next, to those that were read.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn take_known(&mut self, repos: &[RepoRow]) -> Result<()> {
        let repos: Vec<i32> = repos.iter().map(|repo| repo.id.0).collect();
        for sql in [
            "insert into loaded (repo, path, shard, blob, bytes, fingerprint, language)
             select repo, path, shard, blob, bytes, fingerprint, language from known where repo = any($1)",
            "insert into left_out (repo, path, bytes, fingerprint, reason)
             select repo, path, bytes, fingerprint, reason from known_odd where repo = any($1)",
        ] {
            sqlx::query(sql).bind(&repos).execute(&mut self.conn).await?;
        }
        Ok(())
    }

    /// Remembers contents that are not indexed by git's names of them.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn note_odd(&mut self, files: &[SkippedRow]) -> Result<()> {
        let odd = files.iter().filter(|file| OF_NAME.contains(&file.reason));
        let (oids, reasons): (Vec<&[u8]>, Vec<&str>) =
            odd.filter_map(|file| Some((file.oid.as_deref()?, file.reason))).unzip();
        if oids.is_empty() {
            return Ok(());
        }
        sqlx::query(
            "insert into odd_blobs select * from unnest($1::bytea[], $2::text[]) on conflict (oid) do nothing",
        )
        .bind(oids)
        .bind(reasons)
        .execute(&mut self.conn)
        .await?;
        Ok(())
    }
}
