//! The naive design in the same Postgres: one table with a row for each file, and its variant of
//! many tables.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Connection, Executor};

use crate::Result;
use crate::rows::Times;
use crate::shared::queries::Query;

/// Number of tables in the variant.
pub(crate) const TABLES: usize = 200;

/// Returns the options for connecting to the Postgres of a home.
pub(crate) fn options(home: &Path) -> PgConnectOptions {
    PgConnectOptions::new_without_pgpass()
        .socket(home.join("run"))
        .username("codesearch")
        .database("codesearch")
        .options([("search_path", "codesearch,public")])
}

/// Makes the tables of the naive design from the index, unless they exist.
pub(crate) async fn build(home: &Path) -> sqlx::Result<String> {
    let mut conn = PgConnection::connect_with(&options(home)).await?;
    conn.execute(
        "create schema if not exists naive; create table if not exists naive.told (line text)",
    )
    .await?;
    let told: Vec<(String,)> =
        sqlx::query_as("select line from naive.told").fetch_all(&mut conn).await?;
    if !told.is_empty() {
        return Ok(told.into_iter().map(|(line,)| line + "\n").collect());
    }
    let begun = Instant::now();
    conn.execute(
        "create table naive.files (id bigserial primary key, contents text, filepath text);
         insert into naive.files (contents, filepath)
         select (select string_agg(contents, '' order by n) from chunks c
                 where c.shard = f.shard and c.n >= b.id and c.n < b.id + b.chunks), f.path
         from files f join blobs b on b.shard = f.shard and b.id = f.blob
         where f.valid_to = 2147483647;
         alter table naive.files alter column contents set statistics 0;
         analyze naive.files",
    )
    .await?;
    let filled = begun.elapsed().as_secs();
    conn.execute("create index on naive.files using gin (contents gin_trgm_ops)").await?;
    let one = format!("naive, 1 table: {filled} s to fill, {} s in all", begun.elapsed().as_secs());
    let begun = Instant::now();
    let tables: Vec<usize> = (0..TABLES).collect();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let work = tables.chunks(TABLES.div_ceil(workers)).map(|tables| {
        let (tables, options) = (tables.to_vec(), options(home));
        tokio::spawn(async move {
            let mut conn = PgConnection::connect_with(&options).await?;
            for n in tables {
                let sql = format!(
                    "create table naive.files_{n:03} (id bigint, contents text, filepath text);
                     insert into naive.files_{n:03}
                         select id, contents, filepath from naive.files where id % {TABLES} = {n};
                     alter table naive.files_{n:03} alter column contents set statistics 0;
                     create index on naive.files_{n:03} using gin (contents gin_trgm_ops);
                     analyze naive.files_{n:03}"
                );
                conn.execute(AssertSqlSafe(sql)).await?;
            }
            conn.close().await
        })
    });
    for done in work.collect::<Vec<_>>() {
        done.await.expect("building does not panic")?;
    }
    let many = format!("naive, {TABLES} tables: {} s more", begun.elapsed().as_secs());
    for line in [&one, &many] {
        sqlx::query("insert into naive.told values ($1)").bind(line).execute(&mut conn).await?;
    }
    Ok(format!("{one}\n{many}\n"))
}

/// Queries the one table, or all of the many on as many connections as there are cores, until the
/// limit.
pub(crate) async fn ask(home: &Path, query: &Query, limit: usize, tables: usize) -> Result<Times> {
    // Postgres writes a word boundary differently, and needs a flag to let lines end at line feeds.
    let regex = query.regex.replace(r"\b", r"\y");
    let regex = match regex.strip_prefix("(?i)") {
        Some(regex) => format!("(?in){regex}"),
        None => format!("(?n){regex}"),
    };
    let workers =
        if tables == 1 { 1 } else { std::thread::available_parallelism().map_or(1, usize::from) };
    let mut conns = Vec::new();
    for _ in 0..workers {
        let mut conn =
            PgConnection::connect_with(&options(home)).await.map_err(std::io::Error::other)?;
        conn.execute("set statement_timeout = '60s'; set jit = off")
            .await
            .map_err(std::io::Error::other)?;
        conns.push(conn);
    }
    let begun = Instant::now();
    let next = Arc::new(std::sync::Mutex::new((0, 0)));
    let work: Vec<_> = conns
        .into_iter()
        .map(|mut conn| {
            let (next, regex) = (Arc::clone(&next), regex.clone());
            tokio::spawn(async move {
                loop {
                    let (table, found) = {
                        let mut next = next.lock().expect("nobody panics");
                        next.0 += 1;
                        (next.0 - 1, next.1)
                    };
                    if table >= tables || (limit > 0 && found >= limit) {
                        return Ok::<_, sqlx::Error>(());
                    }
                    let name =
                        if tables == 1 { "files".to_owned() } else { format!("files_{table:03}") };
                    let most = if limit == 0 {
                        String::new()
                    } else {
                        format!(" limit {}", limit - found)
                    };
                    let sql =
                        format!("select filepath from naive.{name} where contents ~ $1{most}");
                    let rows: Vec<(String,)> = sqlx::query_as(AssertSqlSafe(sql))
                        .bind(&regex)
                        .fetch_all(&mut conn)
                        .await?;
                    next.lock().expect("nobody panics").1 += rows.len();
                }
            })
        })
        .collect();
    let mut failed = false;
    for done in work {
        failed |= done.await.expect("asking does not panic").is_err();
    }
    let found = next.lock().expect("nobody panics").1;
    let files = if limit > 0 { found.min(limit) } else { found };
    // A timeout counts with the time it took.
    Ok(Times {
        ms: vec![begun.elapsed().as_secs_f64() * 1000.0],
        files: if failed { 0 } else { files },
    })
}
