//! What publishing counts: the files and texts of repositories, and the languages of shards; and the rows of repositories, which
//! tell it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sqlx::{AssertSqlSafe, PgConnection};

use crate::error::Result;
use crate::ingest::diff::RepoRow;
use crate::ingest::session::FOREVER;
use crate::{Epoch, RepoId, ShardId};

/// The totals of a repository in an epoch.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) files: i64,
    pub(crate) bytes: i64,
    pub(crate) shards: Vec<i16>,
    /// Those with files that the main tree lacks.
    pub(crate) tree_shards: Vec<i16>,
}

/// Returns the languages of the files of some shards in an epoch, and the approximate number of chunks of each.
pub(super) async fn count_languages(
    conn: &mut PgConnection,
    epoch: Epoch,
    shards: &BTreeSet<ShardId>,
) -> Result<Vec<(ShardId, Vec<String>, Vec<i32>)>> {
    let mut all = Vec::with_capacity(shards.len());
    for shard in shards {
        let sql = format!(
            "select coalesce(array_agg(language), '{{}}'), coalesce(array_agg(chunks), '{{}}')
             from (select lower(language) language, sum(bytes / 4096 + 1)::integer chunks from {}
                   where valid_from <= $1 and valid_to > $1 and language is not null
                   group by 1 order by 1) l",
            shard.files()
        );
        let (names, chunks) =
            sqlx::query_as(AssertSqlSafe(sql)).bind(epoch.0).fetch_one(&mut *conn).await?;
        all.push((*shard, names, chunks));
    }
    Ok(all)
}

/// Returns the totals of some repositories in an epoch, summed over these shards.
pub(crate) async fn count(
    conn: &mut PgConnection,
    epoch: Epoch,
    repos: &[i32],
    shards: &[ShardId],
) -> Result<BTreeMap<i32, Counts>> {
    let mut all: BTreeMap<i32, Counts> = BTreeMap::new();
    for shard in shards {
        let sql = format!(
            "select repo, count(*) filter (where trees >= 0),
                    coalesce(sum(bytes) filter (where trees >= 0), 0)::bigint, bool_or(trees < 0)
             from {} where valid_from <= $1 and valid_to > $1 and repo = any($2) group by repo",
            shard.files()
        );
        let rows: Vec<(i32, i64, i64, bool)> = sqlx::query_as(AssertSqlSafe(sql))
            .bind(epoch.0)
            .bind(repos)
            .fetch_all(&mut *conn)
            .await?;
        for (repo, files, bytes, others) in rows {
            let counts = all.entry(repo).or_default();
            counts.files += files;
            counts.bytes += bytes;
            counts.shards.extend((files > 0).then_some(shard.0));
            counts.tree_shards.extend(others.then_some(shard.0));
        }
    }
    Ok(all)
}

/// Updates the rows of the repositories. Returns the number of changed names, ranks and folders for git: catalogs hold
/// them, so a change needs another epoch.
pub(super) async fn update_repos(
    conn: &mut PgConnection,
    repos: &[RepoRow],
    counts: &BTreeMap<i32, Counts>,
    listed: &HashMap<RepoId, f64>,
    looked: &HashMap<RepoId, f64>,
) -> Result<u64> {
    let ids: Vec<i32> = repos.iter().map(|repo| repo.id.0).collect();
    let names: Vec<&str> = repos.iter().map(|repo| repo.name.as_str()).collect();
    let none = Counts::default();
    let counts = || ids.iter().map(|id| counts.get(id).unwrap_or(&none));
    // Two repositories may swap their names.
    let renamed = sqlx::query(
        "update repos r set name = format('(being renamed: %s)', id)
         from unnest($1::int[], $2::text[]) given (given_id, given_name)
         where id = given_id and name <> given_name",
    )
    .bind(&ids)
    .bind(&names)
    .execute(&mut *conn)
    .await?
    .rows_affected();
    let ranked = sqlx::query(
        "update repos r set rank = given.rank from unnest($1::int[], $2::int[]) given (id, rank)
         where r.id = given.id and r.rank <> given.rank",
    )
    .bind(&ids)
    .bind(repos.iter().map(|repo| i32::from(repo.rank)).collect::<Vec<_>>())
    .execute(&mut *conn)
    .await?
    .rows_affected();
    let owners = repos.iter().flat_map(|repo| vec![repo.id.0; repo.git_folders.len()]);
    let folders = repos.iter().flat_map(|repo| &repo.git_folders);
    let trusted = sqlx::query(
        "update repos r set git_folders = given.folders from (
             select id, coalesce(array_agg(folder order by folder) filter (where folder is not null), '{}')
             from unnest($1::int[]) i (id) left join unnest($2::int[], $3::text[]) f (repo, folder) on repo = id
             group by id) given (id, folders)
         where r.id = given.id and r.git_folders <> given.folders",
    )
    .bind(&ids)
    .bind(owners.collect::<Vec<_>>())
    .bind(folders.map(String::as_str).collect::<Vec<_>>())
    .execute(&mut *conn)
    .await?
    .rows_affected();
    // `unnest` would flatten arrays of arrays, so the shards are sent as texts.
    let numbers = |shards: &[i16]| {
        let numbers: Vec<String> = shards.iter().map(i16::to_string).collect();
        format!("{{{}}}", numbers.join(","))
    };
    let shards = counts().map(|counts| numbers(&counts.shards));
    let tree_shards = counts().map(|counts| numbers(&counts.tree_shards));
    sqlx::query(AssertSqlSafe(format!(
        "update repos r set name = given.name, source = given.source, web = given.web, commit = given.commit, indexed_at = now(),
             files = given.files, bytes = given.bytes, shards = given.shards::smallint[], tree_shards = given.tree_shards::smallint[],
              no_ignore = given.no_ignore, secrets = case when given.skips then 'skip' else 'keep' end,
              from_commit = given.from_commit, languages = given.languages,
              skipped = coalesce(k.skipped, 0), listed_at = coalesce(to_timestamp(given.listed), r.listed_at),
              looked_at = coalesce(to_timestamp(given.looked), r.looked_at),
              failed_at = case when given.is_lost then r.failed_at end,
              failure = case when given.is_lost then r.failure end,
              failures = case when given.is_lost then r.failures else 0 end,
              lost = case when given.is_lost then r.lost end
         from unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::text[],
                     $9::boolean[], $10::boolean[], $11::float8[], $12::boolean[], $13::bigint[],
                     $14::text[], $15::float8[], $16::boolean[])
             given (id, name, source, web, commit, files, bytes, shards, no_ignore, skips, listed, from_commit,
                    languages, tree_shards, looked, is_lost)
         left join (select repo, count(*) skipped
                    from skipped where valid_to = {FOREVER} and trees >= 0 and repo = any($1) group by repo) k
           on k.repo = given.id
         where r.id = given.id"
    )))
    .bind(&ids)
    .bind(&names)
    .bind(repos.iter().map(|repo| repo.source.as_str()).collect::<Vec<_>>())
    .bind(repos.iter().map(|repo| repo.web.as_deref()).collect::<Vec<_>>())
    .bind(repos.iter().map(|repo| repo.commit.as_deref()).collect::<Vec<_>>())
    .bind(counts().map(|counts| counts.files).collect::<Vec<_>>())
    .bind(counts().map(|counts| counts.bytes).collect::<Vec<_>>())
    .bind(shards.collect::<Vec<_>>())
    .bind(repos.iter().map(|repo| repo.no_ignore).collect::<Vec<_>>())
    .bind(repos.iter().map(|repo| repo.skips_secrets).collect::<Vec<_>>())
    .bind(repos.iter().map(|repo| listed.get(&repo.id).copied()).collect::<Vec<Option<f64>>>())
    .bind(repos.iter().map(|repo| repo.from_commit).collect::<Vec<_>>())
    .bind(repos.iter().map(|repo| repo.languages).collect::<Vec<_>>())
    .bind(tree_shards.collect::<Vec<_>>())
    .bind(repos.iter().map(|repo| looked.get(&repo.id).copied()).collect::<Vec<Option<f64>>>())
    .bind(repos.iter().map(|repo| repo.is_lost).collect::<Vec<_>>())
    .execute(conn)
    .await?;
    Ok(renamed + ranked + trusted)
}
