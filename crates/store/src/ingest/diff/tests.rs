use super::*;
use crate::testing::{compared, ingest, on_index};

#[test]
fn what_looks_as_it_did_is_not_read_again() {
    on_index(2, async |store| {
        let before = [("a", 1, "one"), ("b", 2, "two"), ("racy", 0, "three")];
        assert_eq!(ingest(store, "r", &before).await.stored, 3);
        let now = [("a", 1, "one"), ("b", 9, "another"), ("c", 4, "new"), ("racy", 0, "three")];
        let (mut session, _) = compared(store, "r", &now).await;
        let todo = session.todo(0, 10, 100).await.unwrap();
        let paths: Vec<&str> = todo.iter().map(|todo| todo.path.as_str()).collect();
        assert_eq!(paths, ["b", "c", "racy"]);
        // A batch ends at a number of files or bytes, and holds at least one file.
        let next = session.todo(0, 2, 100).await.unwrap();
        assert_eq!(next.len(), 2);
        let next = session.todo(next[0].number, 10, 1).await.unwrap();
        assert_eq!((next.len(), next[0].path.as_str()), (1, "c"));
        assert!(session.todo(3, 10, 100).await.unwrap().is_empty());
        session.close().await.unwrap();
    });
}

#[test]
fn all_is_read_again_when_that_is_asked_for() {
    on_index(2, async |store| {
        let files = [("a", 1, "one"), ("b", 2, "two")];
        ingest(store, "r", &files).await;
        let mut session = crate::testing::session(store).await;
        let id = session.repos().await.unwrap()[0].id;
        let seen = files
            .map(|(path, fingerprint, text)| crate::testing::seen(id, path, fingerprint, text));
        session.seen(&seen).await.unwrap();
        assert_eq!(session.compare(|_| true).await.unwrap(), Totals { files: 2, bytes: 6 });
    });
}

#[test]
fn only_what_was_left_out_for_its_contents_is_trusted() {
    on_index(2, async |store| {
        let (mut session, repo) = compared(store, "r", &[]).await;
        let id = repo.id;
        let left_out = [("a", "binary"), ("b", "unreadable")].map(|(path, reason)| SkippedRow {
            repo: id,
            path: path.to_owned(),
            bytes: 1,
            fingerprint: 5,
            reason,
            rule: None,
            oid: None,
        });
        session.left_out(&left_out).await.unwrap();
        session.publish(&[repo], &[], &[]).await.unwrap();
        session.close().await.unwrap();
        let now = [("a", 5, "x"), ("b", 5, "x")];
        let (mut session, _) = compared(store, "r", &now).await;
        let todo = session.todo(0, 10, 100).await.unwrap();
        assert_eq!((todo.len(), todo[0].path.as_str()), (1, "b"));
        session.close().await.unwrap();
    });
}
