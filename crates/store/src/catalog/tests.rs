use super::*;
use crate::locks::PIN_LOCKS;
use crate::testing::{ingest, on_index, value};

#[test]
fn there_is_none_before_the_first_epoch() {
    on_index(2, async |store| {
        assert!(matches!(store.catalog().await, Err(Error::Empty)));
        ingest(store, "r", &[]).await;
        let catalog = store.catalog().await.unwrap();
        assert_eq!((catalog.epoch, catalog.shards.len(), catalog.repos.len()), (Epoch(1), 0, 1));
    });
}

#[test]
fn it_says_what_there_is_and_what_is_left_out() {
    on_index(2, async |store| {
        ingest(store, "r", &[("a", 1, "one"), ("b", 2, "two")]).await;
        let catalog = store.catalog().await.unwrap();
        let shard = &catalog.shards[0];
        assert_eq!((shard.id, shard.bytes, shard.chunks, shard.filtered), (ShardId(0), 6, 2, 2));
        assert_eq!((shard.since, shard.changed), (Epoch(1), Epoch(1)));
        let repo = catalog.repos.values().next().unwrap();
        assert_eq!((&*repo.name, repo.rank, &*repo.shards), ("r", 0, &[ShardId(0)][..]));
        assert!(catalog.skipped().await.unwrap().is_empty());
    });
}

#[test]
fn an_epoch_that_is_held_is_kept_and_a_new_one_is_told() {
    on_index(2, async |store| {
        ingest(store, "r", &[("a", 1, "one")]).await;
        let catalog = store.catalog().await.unwrap();
        let mut changes = store.changes().await.unwrap();
        assert!(catalog.is_current().await.unwrap());
        ingest(store, "r", &[("b", 2, "two")]).await;
        changes.next().await.unwrap();
        assert!(!catalog.is_current().await.unwrap());
        let chunks = "select count(*) from chunks";
        assert_eq!(value::<i64>(store, chunks).await, 2);
        let newest = store.catalog().await.unwrap();
        assert_eq!(newest.epoch, Epoch(2));
        // Closes the connection and waits until its lock is gone, before garbage is collected.
        let pins = Arc::clone(&catalog.pin.pins);
        drop(catalog);
        Arc::into_inner(pins).unwrap().conn.into_inner().close().await.unwrap();
        let held = format!(
            "select count(*) from pg_locks where locktype = 'advisory' and classid::bigint = {PIN_LOCKS}
                 and objid = 1 and objsubid = 2
                 and database = (select oid from pg_database where datname = current_database())"
        );
        while value::<i64>(store, &held).await > 0 {}
        let mut session = crate::testing::session(store).await;
        session.collect_garbage(&[]).await.unwrap();
        session.close().await.unwrap();
        assert_eq!(value::<i64>(store, chunks).await, 1);
    });
}

/// A server keeps the catalogs of hundreds of epochs with one connection, and frees each.
#[test]
fn catalogs_of_later_epochs_share_a_connection() {
    on_index(2, async |store| {
        ingest(store, "r", &[("a", 1, "one")]).await;
        let pinned = format!(
            "select coalesce(string_agg(objid::text || ':' || pid, ' ' order by objid::bigint), '')
             from pg_locks where locktype = 'advisory' and classid::bigint = {PIN_LOCKS} and objsubid = 2
               and database = (select oid from pg_database where datname = current_database())"
        );
        let first = store.catalog().await.unwrap();
        ingest(store, "r", &[("a", 2, "two")]).await;
        let second = store.catalog_after(&first).await.unwrap();
        ingest(store, "r", &[("a", 3, "three")]).await;
        let third = store.catalog_after(&second).await.unwrap();
        let held = value::<String>(store, &pinned).await;
        let (one, pid) = held.split_once(' ').unwrap().0.split_once(':').unwrap();
        assert_eq!((one, held.clone()), ("1", format!("1:{pid} 2:{pid} 3:{pid}")));
        assert!(Arc::ptr_eq(&second.pin.pins, &third.pin.pins));
        assert!(first.is_held().await && !first.is_current().await.unwrap());
        drop(second);
        assert!(third.is_current().await.unwrap());
        assert_eq!(value::<String>(store, &pinned).await, format!("1:{pid} 3:{pid}"));
        // A broken connection is replaced.
        value::<bool>(store, &format!("select pg_terminate_backend({pid}, 10000)")).await;
        assert!(third.is_current().await.is_err() && !first.is_held().await);
        let fourth = store.catalog_after(&third).await.unwrap();
        assert_eq!(fourth.epoch, Epoch(3));
        assert!(fourth.is_held().await);
    });
}
