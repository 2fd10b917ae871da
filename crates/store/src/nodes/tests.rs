//! What of Citus can be tested on plain Postgres; the whole suite runs on Citus where `CODESEARCH_CITUS` is set.

use sqlx::{AssertSqlSafe, Executor};

use super::{VIEWS, count};
use crate::ShardId;
use crate::error::Error;
use crate::tables::{ALL, Groups};
use crate::testing::{ingest, on_index, value};

#[test]
fn shards_that_are_filled_first_are_in_many_groups() {
    assert_eq!(Groups::of_new(200, 0), Groups::Runs(32));
    assert_eq!(Groups::of_new(200, 3), Groups::Rounds(24));
    assert_eq!(Groups::of_new(5, 3), Groups::Rounds(5));
    let groups = Groups::of_new(200, 3);
    let of: Vec<i16> = [0, 1, 23, 24, 199].map(|shard| groups.of(ShardId(shard))).into();
    assert_eq!(of, [0, 1, 23, 0, 7]);
    assert_eq!(groups.shards(7, 200).collect::<Vec<_>>(), [7, 31, 55, 79, 103, 127, 151, 175, 199]);
    assert_eq!(Groups::Runs(32).shards(6, 200).collect::<Vec<_>>(), (192..200).collect::<Vec<_>>());
    assert_eq!((groups.count(200), Groups::Runs(32).count(200)), (24, 7));
    for groups in [groups, Groups::OF_NEW] {
        assert_eq!(Groups::of_columns(groups.columns()), groups);
        let all: usize =
            (0..groups.count(200)).map(|group| groups.shards(group, 200).count()).sum();
        assert_eq!(all, 200);
    }
}

/// The tables that Citus gets have what partitions have: columns, keys, indexes.
#[test]
fn tables_without_a_parent_are_like_partitions() {
    on_index(1, async |store| {
        let mut conn = store.connection().await.unwrap();
        assert_eq!(count(&mut conn).await.unwrap(), 0, "it is no Citus");
        let groups = Groups::Rounds(7);
        for table in ALL {
            let (shard, partition) = (ShardId(6), table.of(ShardId(0), store.groups()));
            conn.execute(AssertSqlSafe(table.make_alone(shard, groups))).await.unwrap();
            let describe = |name: &str| {
                format!(
                    "select (select string_agg(format('%s %s %s %s %s', attname, atttypid::regtype, attnotnull, attgenerated,
                                                      attstorage), ', ' order by attname)
                             from pg_attribute where attrelid = '{name}'::regclass and attnum > 0)
                         || (select string_agg(regexp_replace(pg_get_indexdef(indexrelid), '.* USING', ''), ', '
                                               order by regexp_replace(pg_get_indexdef(indexrelid), '.* USING', ''))
                             from pg_index where indrelid = '{name}'::regclass)
                         || coalesce((select reloptions::text from pg_class where oid = '{name}'::regclass), '')"
                )
            };
            let alone = describe(&table.of(shard, groups));
            let (alone, partition): (String, String) =
                (value(store, &alone).await, value(store, &describe(&partition)).await);
            assert_eq!(alone, partition, "{}", table.name);
        }
    });
}

#[test]
fn views_read_shards_by_functions_and_tell_the_same() {
    on_index(2, async |store| {
        ingest(store, "r", &[("a", 1, "one"), ("CODEOWNERS", 2, "* @ann\n")]).await;
        let told = [
            "select string_agg(format('%s %s %s', path, bytes, hash), ' ' order by path) from codesearch_sql.files",
            "select string_agg(path || text, ' ' order by path) from codesearch_sql.file_texts",
            "select string_agg(path || owner, ' ' order by path) from codesearch_sql.owners",
            "select string_agg(path, ' ' order by path) from codesearch_sql.newest_files",
            "select count(*)::text from codesearch_sql.symbols",
        ];
        let mut before = Vec::new();
        for sql in told {
            before.push(value::<String>(store, sql).await);
        }
        let mut conn = store.connection().await.unwrap();
        // It may run again.
        conn.execute(VIEWS).await.unwrap();
        conn.execute(VIEWS).await.unwrap();
        for (sql, before) in told.into_iter().zip(before) {
            assert_eq!(value::<String>(store, sql).await, before, "{sql}");
        }
        // They still depend on parents, by the types of rows.
        let naming = "select coalesce(string_agg(c.oid::regclass::text, ' '), '') from pg_class c
             where c.relkind = 'v' and c.relnamespace in ('codesearch'::regnamespace, 'codesearch_sql'::regnamespace)
               and pg_get_viewdef(c.oid) ~* '\\y(from|join) *\\(*(codesearch\\.)?(files|chunks|symbols) '";
        assert_eq!(value::<String>(store, naming).await, "", "no view names a parent");
        let bodies = "select coalesce(string_agg(proname, ' '), '') from pg_proc
             where pronamespace in ('codesearch'::regnamespace, 'codesearch_sql'::regnamespace)
               and prosrc ~ '(from|join) (files|chunks|symbols|documents|docs|scip)\\y'";
        assert_eq!(value::<String>(store, bodies).await, "", "no function names a parent");
    });
}

#[test]
fn a_node_that_does_not_answer_is_named() {
    on_index(1, async |store| {
        let mut conn = store.connection().await.unwrap();
        let mut raise = async |code: &str, message: &str| {
            let sql =
                format!("do $$begin raise sqlstate '{code}' using message = '{message}'; end$$");
            Error::from(conn.execute(AssertSqlSafe(sql)).await.unwrap_err())
        };
        let lost = raise(
            "08006",
            "connection to the remote node codesearch@127.0.0.1:6502 failed with the following error: refused",
        );
        let Error::Node { node, .. } = lost.await else { panic!("it is an error of a node") };
        assert_eq!(node, "127.0.0.1:6502");
        let silent = raise(
            "08006",
            "could not establish any connections to the node ten:5432 after 3000 ms",
        );
        let Error::Node { node, why } = silent.await else { panic!("it is an error of a node") };
        assert_eq!(node, "ten:5432");
        assert!(why.ends_with("after 3000 ms"), "{why}");
        assert!(matches!(
            raise("08006", "server closed the connection").await,
            Error::Unreachable(_)
        ));
        assert!(matches!(raise("22012", "the remote node").await, Error::Database(_)));
    });
}

#[test]
fn the_extension_brings_the_operator() {
    on_index(1, async |store| {
        let mut conn = store.connection().await.unwrap();
        conn.execute(
            "alter operator family gin_trgm_ops using gin drop operator 3 (text, bytea);
             drop operator public.@~~ (text, bytea); drop function codesearch.no_recheck",
        )
        .await
        .unwrap();
        let script = include_str!("../../../../extension/codesearch_trgm--1.0.sql");
        conn.execute(script).await.unwrap();
        ingest(store, "r", &[("a", 1, "several words")]).await;
        let found = "select count(*) from documents_000 where lexemes @~~ '%several%'::bytea";
        assert_eq!(value::<i64>(store, found).await, 1);
    });
}

#[test]
fn what_a_lost_node_had_is_marked_until_it_is_ingested_again() {
    on_index(2, async |store| {
        ingest(store, "r", &[("a", 1, "one")]).await;
        let refused = store.lose_nodes(&[("node".to_owned(), 5432)]).await.unwrap_err();
        assert!(refused.to_string().contains("lies on one Postgres"), "{refused}");
        let mut conn = store.connection().await.unwrap();
        let lose = "update repos set lost = 'node:5432', failed_at = now(), failure = 'lost';
             update state set lost = 'node:5432'";
        conn.execute(lose).await.unwrap();
        let refused = store.try_session().await.unwrap_err().to_string();
        assert!(refused.contains("run: codesearch db rebuild node:5432"), "{refused}");
        conn.execute("update state set lost = null").await.unwrap();
        assert_eq!(store.lost_repos().await.unwrap(), [("r".to_owned(), "/nowhere".to_owned())]);
        store.note_lost(&["/nowhere".to_owned()], &["it is gone".to_owned()]).await.unwrap();
        let (_, freshness) = store.freshness().await.unwrap();
        let failed = freshness.failed(None)[0].1.clone();
        assert_eq!((failed.is_lost, &*failed.why), (true, "it is gone"));
        ingest(store, "r", &[("a", 1, "one")]).await;
        assert!(store.lost_repos().await.unwrap().is_empty());
        assert!(store.freshness().await.unwrap().1.failed(None).is_empty());
    });
}
