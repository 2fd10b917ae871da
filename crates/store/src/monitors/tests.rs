use super::*;
use crate::ShardId;
use crate::testing::{ingest, on_index, session, value};

fn monitor(name: &str) -> NewMonitor {
    NewMonitor { name: name.to_owned(), query: "x".to_owned(), ..NewMonitor::default() }
}

async fn collected(store: &Store) {
    let mut session = session(store).await;
    session.collect_garbage(&[] as &[ShardId]).await.unwrap();
    session.close().await.unwrap();
}

fn paths(files: &[FileVersion]) -> Vec<&str> {
    files.iter().map(|file| &*file.path).collect()
}

/// Returns one piece of news of a monitor.
fn found(monitor: i32) -> NewNews {
    let hit = Hit {
        appeared: true,
        repo: crate::RepoId(1),
        name: "r".to_owned(),
        path: "a".to_owned(),
        line: Some(3),
        text: Some("a\0b".to_owned()),
    };
    NewNews { monitor, appeared: 1, hits: vec![hit], ..NewNews::default() }
}

#[test]
fn what_an_epoch_changed_is_kept_until_all_monitors_have_looked() {
    on_index(3, async |store| {
        ingest(store, "r", &[("a", 1, "one"), ("b", 2, "two")]).await;
        // Nobody waits: all is deleted.
        ingest(store, "r", &[("a", 1, "one"), ("b", 3, "other")]).await;
        assert_eq!(store.kept_from().await.unwrap(), Epoch(2));
        assert_eq!(store.changed_rows(Epoch(2)).await.unwrap(), None);
        assert!(store.add_monitor(&monitor("m")).await.unwrap());
        assert!(!store.add_monitor(&monitor("m")).await.unwrap());
        ingest(store, "r", &[("a", 1, "one"), ("c", 4, "new")]).await;
        ingest(store, "r", &[("a", 5, "uno"), ("c", 4, "new")]).await;
        let looked = store.monitor_epoch().await.unwrap();
        assert_eq!((looked.looked, looked.newest, looked.is_needed), (Epoch(2), Epoch(4), true));
        let third = store.changed_rows(Epoch(3)).await.unwrap().unwrap();
        assert_eq!((paths(&third.ended), paths(&third.begun)), (vec!["b"], vec!["c"]));
        assert!(third.new_repos.is_empty());
        // Each epoch is looked at once, in order.
        let id = store.monitor("m").await.unwrap().unwrap().id;
        assert!(!store.publish_news(Epoch(4), &[]).await.unwrap());
        assert!(store.publish_news(Epoch(3), &[found(id)]).await.unwrap());
        assert!(!store.publish_news(Epoch(3), &[found(id)]).await.unwrap());
        collected(store).await;
        assert_eq!(store.changed_rows(Epoch(3)).await.unwrap(), None);
        let fourth = store.changed_rows(Epoch(4)).await.unwrap().unwrap();
        assert_eq!((paths(&fourth.ended), paths(&fourth.begun)), (vec!["a"], vec!["a"]));
        let news = store.news(id, 9, 9).await.unwrap();
        assert_eq!((news.len(), news[0].epoch, news[0].appeared), (1, Epoch(3), 1));
        assert_eq!(news[0].hits[0].text.as_deref(), Some("a\u{fffd}b"));
        // A paused monitor waits for nothing.
        store.pause_monitor(id, true, None).await.unwrap();
        collected(store).await;
        // An emptied shard made another epoch.
        assert_eq!(store.kept_from().await.unwrap(), Epoch(5));
        store.pause_monitor(id, false, None).await.unwrap();
        let looked = store.monitor_epoch().await.unwrap();
        assert_eq!((looked.looked, looked.newest), (Epoch(5), Epoch(5)));
    });
}

#[test]
fn monitors_that_nobody_runs_miss_epochs_after_a_day_and_say_so() {
    on_index(2, async |store| {
        ingest(store, "r", &[("a", 1, "one")]).await;
        store.add_monitor(&monitor("m")).await.unwrap();
        ingest(store, "r", &[("a", 2, "two")]).await;
        ingest(store, "r", &[("a", 3, "three")]).await;
        let day = "with u as (update monitor_epoch set looked_at = now() - interval '25 hours' returning 1)
                   select count(*) from u";
        assert_eq!(value::<i64>(store, day).await, 1);
        collected(store).await;
        assert_eq!(store.kept_from().await.unwrap(), Epoch(3));
        let news = store.news(1, 9, 9).await.unwrap();
        assert_eq!(
            news[0].note.as_deref(),
            Some(
                "the changes of epochs 2 to 3 were not looked at, since no server ran for a day; run codesearch serve"
            )
        );
    });
}

#[test]
fn a_repository_knows_its_first_epoch_and_takes_its_matches_along() {
    on_index(2, async |store| {
        ingest(store, "r", &[("a", 1, "one")]).await;
        store.add_monitor(&monitor("m")).await.unwrap();
        ingest(store, "s", &[("a", 1, "one")]).await;
        ingest(store, "r", &[("a", 2, "two")]).await;
        let second = store.changed_rows(Epoch(2)).await.unwrap().unwrap();
        assert_eq!(second.new_repos, [crate::RepoId(2)]);
        assert!(store.changed_rows(Epoch(3)).await.unwrap().unwrap().new_repos.is_empty());
        store.publish_news(Epoch(2), &[]).await.unwrap();
        store.publish_news(Epoch(3), &[found(1)]).await.unwrap();
        let mut session = session(store).await;
        session.publish(&[], &[crate::RepoId(1)], &[]).await.unwrap();
        session.close().await.unwrap();
        let news = store.news(1, 9, 9).await.unwrap();
        assert_eq!((news[0].appeared, news[0].hits.len()), (1, 0));
    });
}

#[test]
fn a_delivery_waits_until_it_is_acknowledged_and_in_order() {
    on_index(2, async |store| {
        ingest(store, "r", &[("a", 1, "one")]).await;
        let delivery = Some(("https://example.com/".to_owned(), "whsec_eA==".to_owned()));
        store.add_monitor(&NewMonitor { delivery, ..monitor("m") }).await.unwrap();
        ingest(store, "r", &[("a", 2, "two")]).await;
        ingest(store, "r", &[("a", 3, "one")]).await;
        for epoch in 2..4 {
            assert!(store.publish_news(Epoch(epoch), &[found(1)]).await.unwrap());
        }
        let (first, next) = store.waiting_deliveries().await.unwrap();
        assert_eq!((first.len(), next), (1, None));
        assert_eq!((first[0].news.epoch, first[0].attempts), (Epoch(2), 0));
        store.not_delivered(&first[0].id, Some(3600.0), "no answer").await.unwrap();
        // The second waits for the first.
        let (none, next) = store.waiting_deliveries().await.unwrap();
        assert!(none.is_empty() && next.is_some_and(|next| next > 3000.0));
        assert_eq!(store.waiting_counts().await.unwrap(), [(1, 2, Some("no answer".to_owned()))]);
        store.delivered(&first[0].id, "200 OK").await.unwrap();
        store.not_delivered(&first[0].id, Some(0.0), "late").await.unwrap();
        let (second, _) = store.waiting_deliveries().await.unwrap();
        assert_eq!(second[0].news.epoch, Epoch(3));
        assert_ne!(second[0].id, first[0].id);
        store.not_delivered(&second[0].id, None, "410 Gone").await.unwrap();
        let states: Vec<_> = store.deliveries(1, 9).await.unwrap();
        let states: Vec<_> = states.iter().map(|of| (of.epoch, &*of.state, of.attempts)).collect();
        assert_eq!(states, [(3, "given-up", 1), (2, "delivered", 2)]);
        store.remove_monitor(1).await.unwrap();
        assert_eq!(value::<i64>(store, "select count(*) from monitor_hits").await, 0);
    });
}
