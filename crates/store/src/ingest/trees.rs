//! The trees of a repository besides its main one: what the index has of them, and what an ingest makes of it.
//!
//! The main tree goes the usual way, through temporary tables. Of a repository with other trees, the program then takes
//! all rows ([`Session::tree_state`]), adds what only others have, says which trees have what, and hands it back
//! ([`Session::plan_trees`]). The next [`Session::publish`] writes what differs.

mod apply;
mod assign;
mod plan;
pub(super) mod types;

use std::collections::HashMap;

use sqlx::{AssertSqlSafe, Executor};

use super::diff::OF_CONTENTS;
use super::session::{FOREVER, Session};
use crate::error::Result;
use crate::trees::{Tree, TreeKind, TreeSet, Trees};
use crate::{BlobId, RepoId, ShardId};

pub(crate) use apply::{apply, apply_to_left_out, end_of, make_current};
pub(crate) use types::Plan;
pub use types::{TreeContents, TreeFile, TreeState};

type FileColumns = (String, i32, i32, Option<String>, i32, i64, Option<Vec<u8>>, bool);
/// A file that the main tree leaves out, with git's name of its contents.
type MainLeftOut = (String, i64, i64, String, Option<String>, Option<Vec<u8>>);
type LeftOutColumns = (String, i64, i64, String, Option<String>, i32);

/// Returns a statement for the files that main trees leave out in the next epoch, of the repositories `$1`, without those
/// that the session has already. Of those in `whole`, it has also those that the session does not compare.
pub(crate) fn main_left_out(whole: &[i32], compares: &str) -> String {
    let whole: Vec<String> = whole.iter().map(i32::to_string).collect();
    format!(
        "select repo, path, bytes, fingerprint, reason, rule from seen where reason is not null and repo = any($1)
         union all
         select k.repo, k.path, k.bytes, k.fingerprint, k.reason, k.rule from skipped k
         where k.repo = any($1) and k.valid_to = {FOREVER} and k.reason in {OF_CONTENTS} and k.trees >= 0
           and exists (select from unchanged u where u.repo = k.repo and u.path = k.path)
         union all
         select k.repo, k.path, k.bytes, k.fingerprint, k.reason, k.rule from skipped k
         where k.repo = any($1) and k.repo = any('{{{}}}') and k.valid_to = {FOREVER} and k.trees >= 0 and not {compares}",
        whole.join(",")
    )
}

impl Session {
    /// Returns the trees of all repositories besides the main ones.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn other_trees(&mut self) -> Result<HashMap<RepoId, Vec<Tree>>> {
        type Row = (i32, i32, String, String, Option<String>, Option<String>, i64, Option<f64>);
        let rows: Vec<Row> = sqlx::query_as(AssertSqlSafe(format!(
            "select repo, bit, kind, name, source, commit, files, extract(epoch from listed_at)::float8
             from trees where valid_to = {FOREVER} order by repo, bit"
        )))
        .fetch_all(&mut self.conn)
        .await?;
        let mut all: HashMap<RepoId, Vec<Tree>> = HashMap::new();
        for (repo, bit, kind, name, source, commit, files, listed) in rows {
            let Some(kind) = TreeKind::of(&kind) else { continue };
            let bit = bit.unsigned_abs() as usize;
            let tree = Tree { bit, kind, name, source, commit, files, listed };
            all.entry(RepoId(repo)).or_default().push(tree);
        }
        Ok(all)
    }

    /// Returns the globs of the branches and tags that are indexed of each repository.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn branches(&mut self) -> Result<HashMap<RepoId, Vec<String>>> {
        let rows: Vec<(i32, Vec<String>)> =
            sqlx::query_as("select id, branches from repos where branches <> '{}'")
                .fetch_all(&mut self.conn)
                .await?;
        Ok(rows.into_iter().map(|(repo, globs)| (RepoId(repo), globs)).collect())
    }

    /// Records the globs of the branches and tags of a repository, which the next publishing remembers.
    pub fn remember_branches(&mut self, repo: RepoId, globs: Vec<String>) {
        self.branches.insert(repo, globs);
    }

    /// Returns what the index has of the trees of a repository whose main tree was compared and loaded. `format` is the
    /// fingerprint of rows that the main tree lacks.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn tree_state(&mut self, repo: RepoId, format: i64) -> Result<TreeState> {
        self.conn
            .execute(
                "create index if not exists loaded_path on loaded (repo, path);
                 analyze loaded; analyze left_out",
            )
            .await?;
        let mut files = self.files_of(repo, format).await?;
        self.add_loaded(repo, &mut files).await?;
        files.extend(self.left_out_of(repo).await?);
        files.sort_by(|one, two| one.path.cmp(&two.path));
        let rows: Vec<(i32, Vec<u8>)> = sqlx::query_as(AssertSqlSafe(format!(
            "select id, members from tree_sets where repo = $1 and valid_to = {FOREVER}"
        )))
        .bind(repo.0)
        .fetch_all(&mut self.conn)
        .await?;
        let sets = rows.into_iter().map(|(id, members)| (id, TreeSet { id, members })).collect();
        Ok(TreeState { repo, files, sets })
    }

    /// Returns the rows of files of the current epoch.
    async fn files_of(&mut self, repo: RepoId, format: i64) -> Result<Vec<TreeFile>> {
        let long: HashMap<String, Vec<u8>> = sqlx::query_as::<_, (String, Vec<u8>)>(
            "select path, oid from seen where repo = $1 and length(oid) <> 20 and reason is null",
        )
        .bind(repo.0)
        .fetch_all(&mut self.conn)
        .await?
        .into_iter()
        .collect();
        let mut files = Vec::new();
        let compares = self.compares("f");
        for shard in self.shards_of(&[repo.0]).await? {
            let sql = format!(
                "with f as materialized (
                     select repo, path, blob, bytes, language, trees, fingerprint from {}
                     where repo = $1 and valid_to = {FOREVER})
                 select f.path, f.blob, f.bytes, f.language, f.trees, f.fingerprint, b.oid,
                        f.trees >= 0 and (not {compares} or f.path in (
                            select u.path from unchanged u where u.repo = $1))
                 from f left join blobs b on b.shard = {n} and b.id = f.blob",
                shard.files(),
                n = shard.0
            );
            let rows: Vec<FileColumns> =
                sqlx::query_as(AssertSqlSafe(sql)).bind(repo.0).fetch_all(&mut self.conn).await?;
            for (path, blob, bytes, language, trees, fingerprint, oid, in_main) in rows {
                let contents = TreeContents::Text { shard, blob: BlobId(blob), bytes, language };
                let oids = oid.into_iter().chain(long.get(&path).filter(|_| in_main).cloned());
                files.push(TreeFile {
                    oids: oids.collect(),
                    was: Some(Trees(trees)),
                    in_main,
                    is_new: false,
                    is_current: trees >= 0 || fingerprint == format,
                    ..TreeFile::new(path, contents)
                });
            }
        }
        Ok(files)
    }

    /// Adds the files that the main tree gets.
    async fn add_loaded(&mut self, repo: RepoId, files: &mut Vec<TreeFile>) -> Result<()> {
        type Row = (String, i16, i32, i32, Option<String>, Option<Vec<u8>>, Option<Vec<u8>>);
        let rows: Vec<Row> = sqlx::query_as(
            "select l.path, l.shard, l.blob, l.bytes, l.language, b.oid, s.oid
             from loaded l left join blobs b on b.shard = l.shard and b.id = l.blob
             left join (select distinct on (path) path, oid from seen
                        where repo = $1 and reason is null and length(oid) <> 20) s on s.path = l.path
             where l.repo = $1",
        )
        .bind(repo.0)
        .fetch_all(&mut self.conn)
        .await?;
        let mut known: HashMap<(String, ShardId, BlobId), usize> = HashMap::new();
        if !rows.is_empty() {
            for (at, file) in files.iter().enumerate() {
                if let TreeContents::Text { shard, blob, .. } = file.contents {
                    known.insert((file.path.clone(), shard, blob), at);
                }
            }
        }
        for (path, shard, blob, bytes, language, oid, long) in rows {
            let (shard, blob) = (ShardId(shard), BlobId(blob));
            let at = known.get(&(path.clone(), shard, blob)).copied();
            let contents = TreeContents::Text { shard, blob, bytes, language };
            let mut file = TreeFile { in_main: true, ..TreeFile::new(path, contents) };
            file.oids = oid.into_iter().chain(long).collect();
            match at {
                Some(at) => {
                    let before = &files[at];
                    file.was = before.was;
                    let stays = before.was.is_some_and(Trees::has_main);
                    file.is_new = !(stays && before.contents == file.contents);
                    files[at] = file;
                }
                None => files.push(file),
            }
        }
        Ok(())
    }

    /// Returns the left-out files of the current epoch, and those of the main tree in the next.
    async fn left_out_of(&mut self, repo: RepoId) -> Result<Vec<TreeFile>> {
        let rows: Vec<LeftOutColumns> = sqlx::query_as(AssertSqlSafe(format!(
            "select path, bytes, fingerprint, reason, rule, trees from skipped
             where repo = $1 and valid_to = {FOREVER}"
        )))
        .bind(repo.0)
        .fetch_all(&mut self.conn)
        .await?;
        let mut files: HashMap<(String, String, Option<String>), TreeFile> = HashMap::new();
        for (path, bytes, fingerprint, reason, rule, trees) in rows {
            let key = (path.clone(), reason.clone(), rule.clone());
            let contents = TreeContents::LeftOut { reason, rule, bytes, fingerprint };
            let was = Some(Trees(trees));
            files.insert(key, TreeFile { was, is_new: false, ..TreeFile::new(path, contents) });
        }
        let rows: Vec<MainLeftOut> = sqlx::query_as(AssertSqlSafe(format!(
            "select o.path, o.bytes, o.fingerprint, o.reason, o.rule, s.oid
             from (select path, bytes, fingerprint, reason, rule from left_out where repo = any($1)
                   union all select path, bytes, fingerprint, reason, rule from ({}) m) o
             left join (select distinct on (path) path, oid from seen
                        where repo = any($1) and oid is not null) s on s.path = o.path",
            main_left_out(&[repo.0], &self.compares("k"))
        )))
        .bind(vec![repo.0])
        .fetch_all(&mut self.conn)
        .await?;
        for (path, bytes, fingerprint, reason, rule, oid) in rows {
            let key = (path.clone(), reason.clone(), rule.clone());
            let contents = TreeContents::LeftOut { reason, rule, bytes, fingerprint };
            let before = files.get(&key);
            let was = before.and_then(|before| before.was);
            // Of two alike, the first one.
            if before.is_some_and(|before| before.in_main) {
                continue;
            }
            let is_new = !before.is_some_and(|before| {
                was.is_some_and(Trees::has_main) && before.contents == contents
            });
            let oids = oid.into_iter().collect();
            let file =
                TreeFile { was, in_main: true, is_new, oids, ..TreeFile::new(path, contents) };
            files.insert(key, file);
        }
        Ok(files.into_values().collect())
    }

    /// Returns why contents with these names in git are left out, of those of which that is known.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn odd_blobs(&mut self, oids: &[Vec<u8>]) -> Result<HashMap<Vec<u8>, String>> {
        let rows: Vec<(Vec<u8>, String)> =
            sqlx::query_as("select oid, reason from odd_blobs where oid = any($1)")
                .bind(oids)
                .fetch_all(&mut self.conn)
                .await?;
        Ok(rows.into_iter().collect())
    }
}
