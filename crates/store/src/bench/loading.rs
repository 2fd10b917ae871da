//! A page of items, loaded in batches or one by one, from a database made for it.
//!
//! The rows are those of an index, in plain tables with keys, so that the same can be measured on
//! several servers.

use sqlx::postgres::{PgConnection, PgPool, PgPoolOptions};
use sqlx::{Connection, Executor};

use crate::connect::{self, Store, Target};
use crate::error::Result;
use crate::ingest::copy::{Rows, send};
use crate::{BlobId, RepoId};

/// What a page says of one item, in four tables.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its repository.
    pub repo: RepoId,
    /// The repository's name.
    pub name: String,
    /// Its path in the repository.
    pub path: String,
    /// Its contents.
    pub blob: BlobId,
    /// Bytes of them.
    pub bytes: i32,
    /// How they begin.
    pub text: String,
}

/// How a page is loaded, after the keys of its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loading {
    /// One statement for each table.
    Batched,
    /// One statement for each item and table.
    Single,
}

/// The database of the pages.
#[derive(Clone, Debug)]
pub struct Pages {
    pool: PgPool,
    items: i64,
}

impl Store {
    /// About so many items of the index, from all shards alike.
    pub async fn items(&self, most: i64) -> Result<Vec<Item>> {
        let mut conn = self.connection().await?;
        let (shards,): (i64,) =
            sqlx::query_as("select count(*) from shards where live_from is not null")
                .fetch_one(&mut conn)
                .await?;
        let rows: Vec<(i32, String, String, i32, i32, String)> = sqlx::query_as(
            "select r.id, r.name, f.path, f.blob, f.bytes, left(c.contents, 500)
             from shards s
                 cross join lateral (select * from files where shard = s.shard limit $1) f
                 join repos r on r.id = f.repo
                 join chunks c on c.shard = f.shard and c.n = f.blob
             where s.live_from is not null",
        )
        .bind(most / shards.max(1) + 1)
        .fetch_all(&mut conn)
        .await?;
        conn.close().await?;
        Ok(rows
            .into_iter()
            .map(|(repo, name, path, blob, bytes, text)| Item {
                repo: RepoId(repo),
                name,
                path,
                blob: BlobId(blob),
                bytes,
                text,
            })
            .collect())
    }
}

impl Pages {
    /// Fills a database. What tables of pages it had are replaced.
    pub async fn fill(target: &Target, items: &[Item], connections: u32) -> Result<Self> {
        let options = connect::options(target).await?;
        let mut conn = PgConnection::connect_with(&options).await?;
        conn.execute(
            "drop table if exists page_items, page_repos, page_files, page_texts;
             create table page_items (id bigint primary key, repo int not null);
             create table page_repos (id int primary key, name text not null);
             create table page_files (item bigint primary key, path text not null, bytes int not null);
             create table page_texts (item bigint primary key, contents text not null)",
        )
        .await?;
        let mut repos: Vec<(i32, &str)> =
            items.iter().map(|item| (item.repo.0, item.name.as_str())).collect();
        repos.sort_unstable();
        repos.dedup();
        let [mut keys, mut names, mut files, mut texts] = [(); 4].map(|()| Rows::new());
        for (id, name) in repos {
            names.row(2).i32(id).bytes(name.as_bytes());
        }
        for (id, item) in (0..).zip(items) {
            keys.row(2).i64(id).i32(item.repo.0);
            files.row(3).i64(id).bytes(item.path.as_bytes()).i32(item.bytes);
            texts.row(2).i64(id).bytes(item.text.as_bytes());
        }
        send(&mut conn, "copy page_items from stdin (format binary)", keys).await?;
        send(&mut conn, "copy page_repos from stdin (format binary)", names).await?;
        send(&mut conn, "copy page_files from stdin (format binary)", files).await?;
        send(&mut conn, "copy page_texts from stdin (format binary)", texts).await?;
        conn.execute("analyze page_items, page_repos, page_files, page_texts").await?;
        conn.close().await?;
        let pool = PgPoolOptions::new().max_connections(connections).connect_with(options).await?;
        Ok(Self { pool, items: items.len() as i64 })
    }

    /// The server's version, as it says it.
    pub async fn version(&self) -> Result<String> {
        let (version,): (String,) =
            sqlx::query_as("show server_version").fetch_one(&self.pool).await?;
        Ok(version)
    }

    /// A page of so many items, which lie all over the tables: `repo/path`, bytes, text.
    pub async fn page(
        &self,
        number: i64,
        size: i64,
        loading: Loading,
    ) -> Result<Vec<(String, i32, String)>> {
        let mut conn = self.pool.acquire().await?;
        // Every so many items from some place on, as results of a search lie.
        let step = (self.items / size).max(1);
        let wanted: Vec<i64> = (0..size).map(|at| number % step + at * step).collect();
        let keys: Vec<(i64, i32)> =
            sqlx::query_as("select id, repo from page_items where id = any($1) order by id")
                .bind(wanted)
                .fetch_all(&mut *conn)
                .await?;
        let (ids, repos): (Vec<i64>, Vec<i32>) = keys.iter().copied().unzip();
        let mut names: Vec<(i32, String)> = Vec::new();
        let mut files: Vec<(i64, String, i32)> = Vec::new();
        let mut texts: Vec<(i64, String)> = Vec::new();
        let [name, file, text] = [
            "select id, name from page_repos where id = any($1)",
            "select item, path, bytes from page_files where item = any($1)",
            "select item, contents from page_texts where item = any($1)",
        ];
        let one = match loading {
            Loading::Batched => size.max(1) as usize,
            Loading::Single => 1,
        };
        for (ids, repos) in ids.chunks(one).zip(repos.chunks(one)) {
            names.extend(
                sqlx::query_as::<_, (i32, String)>(name).bind(repos).fetch_all(&mut *conn).await?,
            );
            files.extend(
                sqlx::query_as::<_, (i64, String, i32)>(file)
                    .bind(ids)
                    .fetch_all(&mut *conn)
                    .await?,
            );
            texts.extend(
                sqlx::query_as::<_, (i64, String)>(text).bind(ids).fetch_all(&mut *conn).await?,
            );
        }
        names.sort_unstable();
        names.dedup();
        files.sort_unstable();
        texts.sort_unstable();
        let name = |repo: i32| {
            let at = names.binary_search_by_key(&repo, |(id, _)| *id);
            at.map_or("", |at| names[at].1.as_str())
        };
        Ok(keys
            .iter()
            .zip(files)
            .zip(texts)
            .map(|(((_, repo), (_, path, bytes)), (_, text))| {
                (format!("{}/{path}", name(*repo)), bytes, text)
            })
            .collect())
    }

    /// Ends all connections.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}
