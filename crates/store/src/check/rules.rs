//! The rules between the tables of an index, while no ingest is running.

use sqlx::AssertSqlSafe;

use super::{Check, Problem};
use crate::error::Result;
use crate::tables::over_all;

/// A rule: the problem if it does not hold, a statement that counts its violations (`{files}` are the files of all
/// shards), and whether a killed ingest may break it until the next one cleans up.
struct Rule {
    what: &'static str,
    sql: &'static str,
    settled: bool,
}

const fn rule(what: &'static str, sql: &'static str) -> Rule {
    Rule { what, sql, settled: false }
}

const fn settled(what: &'static str, sql: &'static str) -> Rule {
    Rule { what, sql, settled: true }
}

const RULES: &[Rule] = &[
    settled(
        "texts without a file",
        "select count(*) from blobs b where not exists
             (select from {files} f where f.shard = b.shard and f.blob = b.id)",
    ),
    rule(
        "files without a text",
        "select count(*) from {files} f where not exists
             (select from blobs b where f.shard = b.shard and f.blob = b.id)",
    ),
    rule(
        "files whose size differs from their text",
        "select count(*) from {files} f join blobs b on f.shard = b.shard and f.blob = b.id where f.bytes <> b.bytes",
    ),
    rule(
        "files without a repository",
        "select count(*) from {files} f where valid_to = 2147483647 and not exists
             (select from repos r where r.id = f.repo)",
    ),
    rule(
        "files of epochs that are no longer kept",
        "select count(*) from {files} f join shards s on s.shard = f.shard where f.valid_to <= s.purged",
    ),
    settled(
        "documents and comments without a text",
        "select count(*) from {docs} p where not exists
             (select from blobs b where p.shard = b.shard and p.blob = b.id)",
    ),
    rule(
        "shards with files but no complete trigram index",
        "select count(*) from shards s where exists (select from {files} f where f.shard = s.shard) and not exists
             (select from pg_index i where i.indisvalid and i.indexrelid =
                  to_regclass(format('codesearch.documents_%s_trgm', to_char(s.shard, 'FM000'))))",
    ),
    settled(
        "symbols without a text",
        "select count(*) from (select shard, unnest(blobs) as blob from {symbols} t
              union select shard, blob from symbols_skipped) y
         where not exists (select from blobs b where y.shard = b.shard and y.blob = b.id)",
    ),
    rule(
        "groups of symbols that overlap",
        "select count(*) from (
             select blobs[cardinality(blobs)] >= lead(first) over (partition by shard order by first) as meets
             from {symbols} t) g
         where meets",
    ),
    rule(
        "words without a segment",
        "select count(*) from (select distinct shard, segment from {words} t) w where not exists
             (select from {word_segments} s where s.shard = w.shard and s.segment = w.segment)",
    ),
    rule(
        "segments of words that overlap",
        "select count(*) from (
             select first + octet_length(lengths) > lead(first) over (partition by shard order by first) as meets
             from {word_segments} t where field = 0) s
         where meets",
    ),
    rule(
        "segments of words of empty shards",
        "select count(*) from {word_segments} t join shards s on s.shard = t.shard where s.chunks = 0",
    ),
    settled(
        "documents of SCIP indexes without a text",
        "select count(*) from {scip} c where not exists
             (select from blobs b where c.shard = b.shard and c.blob = b.id)",
    ),
    rule(
        "documents of SCIP indexes that no longer exist",
        "select count(*) from {scip} c where not exists
             (select from scip_imports i where i.id = c.import and c.shard = any(i.shards))",
    ),
    rule(
        "SCIP indexes of repositories that no longer exist",
        "select count(*) from scip_imports i where not exists (select from repos r where r.id = i.repo)",
    ),
    settled(
        "SCIP indexes whose counts are wrong",
        "select count(*) from scip_imports i where fitting <>
             (select count(*) from {scip} c join {files} f on f.shard = c.shard and f.blob = c.blob and f.path = c.path
                  and f.repo = i.repo and f.valid_to = 2147483647
              where c.import = i.id)",
    ),
    rule(
        "histories of repositories that no longer exist",
        "select count(*) from histories h where not exists (select from repos r where r.id = h.repo)",
    ),
    rule(
        "parts of histories that no longer exist",
        "select (select count(*) from history_batches b where not exists (select from histories h where h.repo = b.repo))
              + (select count(*) from history_lines l where not exists
                     (select from history_batches b where b.first = l.batch and b.repo = l.repo))
              + (select count(*) from history_commits c where not exists
                     (select from history_batches b
                      where b.first <= c.number and c.number < b.upto and b.repo = c.repo))",
    ),
    rule(
        "monitors that have looked at states that do not exist",
        "select count(*) from monitor_epoch m, state s where m.epoch > s.epoch",
    ),
    rule(
        "matches of monitors in repositories that no longer exist",
        "select count(*) from monitor_hits h where not exists (select from repos r where r.id = h.repo)",
    ),
    rule(
        "monitors without an owner that have the groups or the narrowing of one",
        "select count(*) from monitors where owner is null and (owner_groups <> '{}' or owner_repos <> '{}')",
    ),
    rule("no state of the grants", "select count(*) from (select where not exists (select from access_state)) missing"),
    rule(
        "grants, although everybody sees all",
        "select count(*) from grants where exists (select from access_state where not restricted)",
    ),
    rule(
        "repositories shown because of a host that they are not mirrored from",
        "select count(*) from host_visibility v join repos r on r.source = v.folder where not exists
             (select from mirrors m where m.folder = v.folder and m.host = v.host)",
    ),
    rule(
        "mirrors shown because of what hosts are yet to say",
        "select count(*) from host_visibility where seen_at > now() + interval '1 minute'",
    ),
    rule(
        "batches of histories that overlap",
        "select count(*) from (select upto > lead(first) over (order by first) as meets from history_batches) b where meets",
    ),
    rule(
        "commits that are twice in a history",
        "select count(*) from (select from history_commits group by repo, oid having count(*) > 1) twice",
    ),
    rule(
        "duplicate paths",
        "select count(*) from (select 1 from {files} t where valid_to = 2147483647 and trees >= 0
             group by repo, path having count(*) > 1) twice",
    ),
    rule(
        "duplicate paths in a tree",
        "select count(*) from (
             select 1 from {files} f join tree_sets s on s.id = abs(f.trees) and s.valid_to = 2147483647
             cross join generate_series(0, 8 * length(s.members) - 1) bit
             where f.valid_to = 2147483647 and f.trees <> 0 and get_bit(s.members, bit) = 1 and (f.repo, f.path) in (
                 select repo, path from {files} t where valid_to = 2147483647 group by repo, path having count(*) > 1)
             group by f.repo, f.path, bit having count(*) > 1) twice",
    ),
    rule(
        "files whose set of trees does not exist",
        "select count(*) from (
             select repo, trees, valid_to from {files} t where trees <> 0
             union all select repo, trees, valid_to from skipped where trees <> 0) f, state
         where not exists (select from tree_sets s where s.id = abs(f.trees) and s.repo = f.repo
             and s.valid_from <= least(epoch, f.valid_to - 1) and s.valid_to > least(epoch, f.valid_to - 1))",
    ),
    rule(
        "sets of trees that no file has",
        "select count(*) from tree_sets s where valid_to = 2147483647 and id not in (
             select abs(trees) from {files} t where valid_to = 2147483647
             union all select abs(trees) from skipped where valid_to = 2147483647)",
    ),
    rule(
        "sets of trees with equal members",
        "select count(*) from (select from tree_sets where valid_to = 2147483647
             group by repo, members having count(*) > 1) twice",
    ),
    rule(
        "sets of trees whose members are none or not trees",
        "select count(*) from tree_sets s where valid_to = 2147483647 and (
             not exists (select from generate_series(0, 8 * length(members) - 1) bit where get_bit(members, bit) = 1)
             or exists (select from generate_series(0, 8 * length(members) - 1) bit
                 where get_bit(members, bit) = 1 and not exists (
                     select from trees t where t.repo = s.repo and t.bit = bit and t.valid_to = 2147483647)))",
    ),
    rule(
        "duplicate trees",
        "select (select count(*) from (select from trees where valid_to = 2147483647
                 group by repo, bit having count(*) > 1) bits)
              + (select count(*) from (select from trees where valid_to = 2147483647
                 group by repo, kind, name having count(*) > 1) names)",
    ),
    rule(
        "trees of repositories that no longer exist",
        "select (select count(*) from trees t where valid_to = 2147483647 and not exists
                 (select from repos r where r.id = t.repo))
              + (select count(*) from tree_sets s where valid_to = 2147483647 and not exists
                 (select from repos r where r.id = s.repo))",
    ),
    rule(
        "trees whose counts are wrong",
        "with counts as (
             select abs(trees) as id, count(*) as n from {files} t where valid_to = 2147483647 and trees <> 0 group by 1)
         select count(*) from trees t where valid_to = 2147483647 and files <> (
             select coalesce(sum(c.n), 0) from tree_sets s join counts c on c.id = s.id
             where s.repo = t.repo and s.valid_to = 2147483647 and t.bit < 8 * length(s.members)
               and get_bit(s.members, t.bit) = 1)",
    ),
    rule(
        "shards of trees that their repository does not list",
        "select count(*) from (select distinct repo, shard from {files} t
             where valid_to = 2147483647 and trees < 0) f
         where not exists (select from repos r where r.id = f.repo and f.shard = any(r.tree_shards))",
    ),
    settled(
        "shards whose size is wrong",
        "select count(*) from shards s where bytes <>
             (select coalesce(sum(bytes), 0) from blobs b where b.shard = s.shard)",
    ),
    settled(
        "rows of an unpublished state",
        "select (select count(*) from {files} t, state
                 where valid_from > epoch or valid_to > epoch and valid_to <> 2147483647)
              + (select count(*) from skipped, state
                 where valid_from > epoch or valid_to > epoch and valid_to <> 2147483647)
              + (select count(*) from trees, state
                 where valid_from > epoch or valid_to > epoch and valid_to <> 2147483647)
              + (select count(*) from tree_sets, state
                 where valid_from > epoch or valid_to > epoch and valid_to <> 2147483647)
              + (select count(*) from state where prepared is not null)",
    ),
    rule(
        "repositories whose counts are wrong",
        "select count(*) from repos r
         left join (select repo, count(*) n from {files} t where valid_to = 2147483647 and trees >= 0
             group by repo) f on f.repo = r.id
         where files <> coalesce(n, 0)",
    ),
];

impl Check {
    /// Returns the rules that do not hold.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn rules(&mut self) -> Result<Vec<Problem>> {
        let unfinished: bool =
            sqlx::query_scalar("select unfinished from state").fetch_one(&mut self.conn).await?;
        let shards: i64 =
            sqlx::query_scalar("select count(*) from shards").fetch_one(&mut self.conn).await?;
        let mut problems = Vec::new();
        for rule in RULES.iter().filter(|rule| !(unfinished && rule.settled)) {
            let sql = over_all(rule.sql, shards as i16, self.store.groups());
            let count: i64 =
                sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut self.conn).await?;
            if count > 0 {
                let what = format!("{}: {count}", rule.what);
                problems.push(Problem { shard: None, what, is_derived: false });
            }
        }
        problems.extend(self.grants().await?);
        Ok(problems)
    }
}
