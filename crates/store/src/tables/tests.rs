//! Tests the partitions, and indexes with groups of several sizes.

use super::*;
use crate::connect::Missing;
use crate::testing::{ingest, on_index_with, session, value};
use crate::{NO_KIND, RepoId, ScipDocument, ScipSource, Store, Target};
use ngram::NgramQuery;

#[test]
fn the_list_is_that_of_the_schema() {
    for (shards, groups) in
        [(40, Groups::Runs(1)), (40, Groups::Runs(32)), (200, Groups::Runs(200))]
    {
        on_index_with(shards, groups, async |store| {
            // Those of shards: the audit has a partition for each month.
            let parents = "select string_agg(relname, ' ' order by relname) from pg_class
             join pg_attribute on attrelid = pg_class.oid and attname = 'shard'
             where relkind = 'p' and relnamespace = 'codesearch'::regnamespace";
            let mut listed: Vec<&str> = ALL.iter().map(|table| table.name).collect();
            listed.sort_unstable();
            assert_eq!(value::<String>(store, parents).await, listed.join(" "));
            for table in ALL {
                let partitions = format!(
                "select string_agg(inhrelid::regclass::text, ' ' order by inhrelid::regclass::text)
                 from pg_inherits where inhparent = 'codesearch.{}'::regclass",
                table.name
            );
                let found: String = value(store, &partitions).await;
                assert_eq!(found, table.partitions(shards, groups).join(" "), "{}", table.name);
                let key = format!(
                "select string_agg(attname, ' ' order by array_position(indkey::int2[], attnum)) from pg_index
                 join pg_attribute on attrelid = indrelid and attnum = any(indkey::int2[])
                 where indisprimary and indrelid = 'codesearch.{}'::regclass",
                table.name
            );
                let found: Option<String> = value(store, &key).await;
                if let Some(found) = found {
                    assert_eq!(found, table.key.join(" "), "{}", table.name);
                }
                if let Some(blob) = table.blob {
                    let column = format!(
                        "select count({blob}) + count(shard) from {}",
                        table.of(ShardId(0), groups)
                    );
                    assert_eq!(value::<i64>(store, &column).await, 0);
                }
            }
        });
    }
}

#[test]
fn tables_of_all_shards_have_their_partitions() {
    let sql = over_all(
        "select count(*) from {scip} s join {chunks} c using (shard)",
        33,
        Groups::Runs(32),
    );
    assert!(sql.starts_with("select count(*) from (table scip_00 union all table scip_01) s"));
    assert!(sql.contains("table chunks_000 union all table chunks_001"));
    assert!(sql.ends_with("table chunks_032) c using (shard)"));
}

#[test]
fn an_index_has_groups_of_any_size() {
    for groups in [1, 2, 32, 200].map(Groups::Runs) {
        on_index_with(3, groups, async |store| {
            assert_eq!(store.groups(), groups);
            for (name, text) in [("one", "first words"), ("two", "second"), ("three", "third")] {
                ingest(store, name, &[("a", 1, text)]).await;
            }
            // A program that finds the index learns the size.
            let target = Target::Socket {
                folder: store.options.get_socket().unwrap().clone(),
                role: "codesearch".to_owned(),
                database: store.options.get_database().unwrap().to_owned(),
            };
            let found = Store::connect(&target, 4, Missing::Refuse).await.unwrap();
            assert_eq!(found.groups(), groups);
            assert_eq!((found.init(9).await.unwrap(), found.groups()), (3, groups));
            assert_eq!(holding(&found, "second").await, [ShardId(1)]);
            assert_eq!(holding(&found, "third").await, [ShardId(2)]);
            import(&found, "two").await;
            import(&found, "three").await;
            check(&found).await;

            let mut session = session(&found).await;
            let gone = repo(&found, "two").await;
            session.publish(&[], &[gone], &[]).await.unwrap();
            session.collect_garbage(&[]).await.unwrap();
            session.close().await.unwrap();
            for table in ["filters", "chunk_filters", "scip"] {
                let shards =
                    format!("select array_agg(distinct shard order by shard) from {table}");
                let left: Vec<i16> = value(&found, &shards).await;
                assert_eq!(left, if table == "scip" { vec![2] } else { vec![0, 2] });
            }
            assert_eq!(holding(&found, "third").await, [ShardId(2)]);
            assert!(holding(&found, "second").await.is_empty());
            check(&found).await;
            found.close().await;
        });
    }
}

/// Returns the shards that may hold a word, according to the rows of their filters.
async fn holding(store: &Store, word: &str) -> Vec<ShardId> {
    let (catalog, ngrams) = (store.catalog().await.unwrap(), NgramQuery::folded(word));
    let shards: Vec<_> = catalog.shards.iter().collect();
    let mut lease = store.lease().await.unwrap();
    let blocks = lease.filter_rows(&shards, &ngrams).await.unwrap();
    let (chunks, _) = lease.chunk_rows(&shards, &[&ngrams]).await.unwrap();
    assert_eq!((blocks.len(), chunks.len()), (shards.len(), shards.len()));
    let mut holding = Vec::new();
    for shard in shards {
        let whole = lease.filters(shard).await.unwrap().unwrap();
        let holds = whole.may_hold(&ngrams);
        assert_eq!(blocks[&shard.id].may_hold(&ngrams), holds);
        assert_eq!(chunks[&shard.id].surviving(&ngrams).count(), usize::from(holds));
        holding.extend(holds.then_some(shard.id));
    }
    lease.done();
    holding
}

async fn repo(store: &Store, name: &str) -> RepoId {
    store.repos().await.unwrap().iter().find(|repo| repo.name == name).unwrap().id
}

/// Imports a SCIP index of a repository, and finds it.
async fn import(store: &Store, name: &str) {
    let repo = repo(store, name).await;
    let mut session = session(store).await;
    let source = ScipSource { root: "", tool: "tool", version: "1" };
    let mut writer = session.scip_writer(repo, source).await.unwrap();
    let file = writer.files(&["a".to_owned()]).await.unwrap().remove(0);
    let (names, kinds) = ("symbol".to_owned(), vec![NO_KIND]);
    let document = ScipDocument { names, kinds, relations: Vec::new(), occurrences: Vec::new() };
    writer.store(file.shard, &[(file.blob, file.path, document)]).await.unwrap();
    writer.finish(0).await.unwrap();
    session.close().await.unwrap();
    let filter = store.catalog().await.unwrap().filter();
    let mut lease = store.lease().await.unwrap();
    let told = lease.scip_of(&filter, (file.shard, file.blob), (repo, "a")).await.unwrap();
    assert_eq!(told.len(), 1);
    lease.done();
}

/// Checks an index, and again after rebuilding all derived data.
async fn check(store: &Store) {
    let mut check = store.check().await.unwrap();
    assert_eq!(check.rules().await.unwrap(), []);
    for shard in check.shards(None).await.unwrap() {
        for _ in 0..2 {
            assert_eq!(check.shard(shard, &|_, _, _| true).await.unwrap(), []);
            check.repair(shard).await.unwrap();
        }
    }
    check.end().await.unwrap();
}
