//! Publishing, on a Postgres of its own.

use super::*;
use crate::testing::{compared, ingest, load, on_index, value};
use crate::{FileFilter, Store};

/// Returns the paths that a search sees.
async fn paths(store: &Store) -> Vec<String> {
    let catalog = store.catalog().await.unwrap();
    let filter = FileFilter {
        epoch: catalog.epoch,
        repos: None,
        languages: None,
        trees: crate::TreeFilter::All,
    };
    let mut lease = store.lease().await.unwrap();
    let mut paths = Vec::new();
    for shard in &catalog.shards {
        let files = lease.files(shard.id, None, &filter).await.unwrap();
        paths.extend(files.into_iter().map(|file| file.path));
    }
    lease.done();
    paths.sort();
    paths
}

#[test]
fn nothing_is_seen_of_an_epoch_before_it_is_current() {
    on_index(3, async |store| {
        ingest(store, "r", &[("same", 1, "one"), ("gone", 2, "two")]).await;
        let now = [("same", 1, "one"), ("new", 3, "three")];
        let (mut session, repo) = compared(store, "r", &now).await;
        load(store, &mut session, &now).await;
        let prepared = session.prepare(&[repo], &[]).await.unwrap();
        assert_eq!((prepared.epoch, prepared.published.stored), (Epoch(2), 1));
        assert_eq!(prepared.published.retired, 1);
        assert_eq!(paths(store).await, ["gone", "same"]);
        // The ingest is killed here.
        session.close().await.unwrap();
        assert_eq!(value::<Option<i32>>(store, "select prepared from state").await, Some(2));
        crate::testing::session(store).await.close().await.unwrap();
        assert_eq!(value::<Option<i32>>(store, "select prepared from state").await, None);
        let rows = "select count(*) from files where valid_from > 1 or valid_to <> 2147483647";
        assert_eq!(value::<i64>(store, rows).await, 0);
        assert_eq!(paths(store).await, ["gone", "same"]);
        let published = ingest(store, "r", &now).await;
        assert_eq!(published, Published { stored: 1, retired: 1, moved: 0 });
        assert_eq!(paths(store).await, ["new", "same"]);
    });
}

#[test]
fn an_epoch_begins_only_when_something_changes() {
    on_index(2, async |store| {
        let epoch = async || value::<i32>(store, "select epoch from state").await;
        // There is a first epoch even if it is empty.
        ingest(store, "r", &[]).await;
        assert_eq!(epoch().await, 1);
        let files = [("a", 1, "one")];
        ingest(store, "r", &files).await;
        assert_eq!(epoch().await, 2);
        ingest(store, "r", &files).await;
        // The file was touched but has the same contents: only the fingerprint of its row changes.
        ingest(store, "r", &[("a", 7, "one")]).await;
        assert_eq!(epoch().await, 2);
        let fingerprint = "select fingerprint from files";
        assert_eq!(value::<i64>(store, fingerprint).await, 7);
        // A new name is a change: cached catalogs would not have it.
        let before = store.catalog().await.unwrap();
        let (mut session, mut repo) = compared(store, "r", &[("a", 7, "one")]).await;
        repo.name = "renamed".to_owned();
        session.publish(&[repo], &[], &[]).await.unwrap();
        session.close().await.unwrap();
        assert_eq!(epoch().await, 3);
        assert!(!before.is_current().await.unwrap());
        let now = store.catalog().await.unwrap();
        assert_eq!(now.repos.values().next().unwrap().name, "renamed");
    });
}

#[test]
fn repositories_are_counted_and_removed() {
    on_index(3, async |store| {
        ingest(store, "r", &[("a", 1, "one"), ("b", 2, "three")]).await;
        ingest(store, "s", &[("a", 1, "one")]).await;
        let repos = store.repos().await.unwrap();
        let counts: Vec<_> =
            repos.iter().map(|repo| (&*repo.name, repo.files, repo.bytes)).collect();
        assert_eq!(counts, [("r", 2, 8), ("s", 1, 3)]);
        let mut session = crate::testing::session(store).await;
        let published = session.publish(&[], &[repos[0].id], &[]).await.unwrap();
        assert_eq!(published, Published { stored: 0, retired: 2, moved: 0 });
        session.collect_garbage(&[]).await.unwrap();
        session.close().await.unwrap();
        assert_eq!(paths(store).await, ["a"]);
        // Contents that only it had are deleted; those of another repository are kept.
        assert_eq!(value::<i64>(store, "select count(*) from blobs").await, 1);
        assert_eq!(value::<i64>(store, "select count(*) from files").await, 1);
    });
}

#[test]
fn repositories_may_change_names() {
    on_index(2, async |store| {
        ingest(store, "r", &[("a", 1, "one")]).await;
        ingest(store, "s", &[("b", 1, "two")]).await;
        let mut session = crate::testing::session(store).await;
        let mut repos = session.repos().await.unwrap();
        repos.sort_by_key(|repo| repo.id);
        let (first, second) = repos.split_at_mut(1);
        std::mem::swap(&mut first[0].name, &mut second[0].name);
        for repo in &repos {
            // Only their names change.
            let path = if repo.name == "s" { "a" } else { "b" };
            let text = crate::testing::seen(repo.id, path, 1, "one");
            session.seen(&[text]).await.unwrap();
        }
        session.compare(|_| false).await.unwrap();
        session.publish(&repos, &[], &[]).await.unwrap();
        session.close().await.unwrap();
        let names: Vec<_> =
            store.repos().await.unwrap().into_iter().map(|repo| (repo.name, repo.id.0)).collect();
        assert_eq!(names, [("r".to_owned(), 2), ("s".to_owned(), 1)]);
        assert_eq!(paths(store).await, ["a", "b"]);
    });
}
