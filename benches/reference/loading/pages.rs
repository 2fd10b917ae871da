//! A page of items, loaded in batches or one by one, from a database made for this experiment.
//!
//! The rows are those of an index, in plain tables with keys, so that several servers can be
//! measured with the same data.

use anyhow::Result;
use postgres::Postgres;
use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::{Connection, Executor};

use crate::index::{Index, options, socket, sql};

/// Items sent in one statement.
const BATCH: usize = 10_000;

/// The data of one item of a page, in four tables.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct Item {
    /// Its repository.
    repo: i32,
    /// The repository's name.
    name: String,
    /// Its path in the repository.
    path: String,
    /// Bytes of its contents.
    bytes: i32,
    /// The beginning of its contents.
    text: String,
}

/// The way to load a page, once the keys of its items are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loading {
    /// One statement for each table.
    Batched,
    /// One statement for each item and table.
    Single,
}

/// The database of the pages.
#[derive(Clone, Debug)]
pub(crate) struct Pages {
    pool: PgPool,
    items: i64,
}

/// Returns about `most` items of the index, equally from all shards.
pub(crate) async fn items(index: &Index, most: i64) -> Result<Vec<Item>> {
    let mut conn = index.sql().await?;
    let (shards,): (i64,) =
        sqlx::query_as("select count(*) from shards where live_from is not null")
            .fetch_one(&mut conn)
            .await?;
    let items = sqlx::query_as(
        "select r.id repo, r.name, f.path, f.bytes, left(c.contents, 500) text
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
    Ok(items)
}

impl Pages {
    /// Creates and fills the database on a server that lacks it.
    pub(crate) async fn fill(
        postgres: &Postgres,
        items: &[Item],
        connections: u32,
    ) -> Result<Self> {
        let mut conn = sql(&socket(postgres, "postgres")).await?;
        conn.execute("create database pages").await?;
        conn.close().await?;
        let options = options(&socket(postgres, "pages"))?;
        let pool = PgPoolOptions::new().max_connections(connections).connect_with(options).await?;
        pool.execute(
            "create table page_items (id bigint primary key, repo int not null);
             create table page_repos (id int primary key, name text not null);
             create table page_files (item bigint primary key, path text not null, bytes int not null);
             create table page_texts (item bigint primary key, contents text not null)",
        )
        .await?;
        for (first, items) in (0_i64..).step_by(BATCH).zip(items.chunks(BATCH)) {
            let column = |text: fn(&Item) -> &str| items.iter().map(text).collect::<Vec<&str>>();
            let number = |number: fn(&Item) -> i32| items.iter().map(number).collect::<Vec<i32>>();
            sqlx::query(
                "with items as materialized (
                     select n + $1 - 1 id, repo, name, path, bytes, text
                     from unnest($2::int[], $3::text[], $4::text[], $5::int[], $6::text[])
                         with ordinality given (repo, name, path, bytes, text, n)),
                 keys as (insert into page_items select id, repo from items),
                 names as (insert into page_repos select distinct repo, name from items on conflict do nothing),
                 paths as (insert into page_files select id, path, bytes from items)
                 insert into page_texts select id, text from items",
            )
            .bind(first)
            .bind(number(|item| item.repo))
            .bind(column(|item| &item.name))
            .bind(column(|item| &item.path))
            .bind(number(|item| item.bytes))
            .bind(column(|item| &item.text))
            .execute(&pool)
            .await?;
        }
        pool.execute("analyze page_items, page_repos, page_files, page_texts").await?;
        Ok(Self { pool, items: items.len() as i64 })
    }

    /// Returns the server's version, as reported by it.
    pub(crate) async fn version(&self) -> Result<String> {
        let (version,): (String,) =
            sqlx::query_as("show server_version").fetch_one(&self.pool).await?;
        Ok(version)
    }

    /// Returns a page of `size` items, spread over the tables: `repo/path`, bytes, text.
    pub(crate) async fn page(
        &self,
        number: i64,
        size: i64,
        loading: Loading,
    ) -> Result<Vec<(String, i32, String)>> {
        let mut conn = self.pool.acquire().await?;
        // Take items at equal distances, since search results are spread likewise.
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

    /// Closes all connections.
    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}
