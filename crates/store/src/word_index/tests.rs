//! Tests the word index in Postgres: against the words of the texts that are stored.

use std::collections::{BTreeMap, BTreeSet};

use words::{Word, decode, frequency_code, tokens};

use super::*;
use crate::testing::{Seen, compared, ingest, load, on_index, value};

/// Returns the chunks that have a word in their text, with their codes.
async fn chunks_with(store: &Store, word: &str) -> BTreeMap<(i16, i32), u8> {
    let mut found = BTreeMap::new();
    let mut lease = store.lease().await.unwrap();
    let catalog = store.catalog().await.unwrap();
    let shards: Vec<ShardId> = catalog.shards.iter().map(|shard| shard.id).collect();
    let mut hash = Word(0);
    tokens(word, &mut |_, word| hash = word);
    for group in store.word_groups(&shards) {
        for row in lease.word_rows(&group, &[hash]).await.unwrap() {
            assert_eq!(row.field, WordField::Body);
            decode(&row.entries, &[hash], &mut |_, chunk, code| {
                let twice = found.insert((row.shard.0, row.first + chunk as i32), code);
                assert_eq!(twice, None);
            })
            .unwrap();
        }
    }
    lease.done();
    found
}

async fn segments(store: &Store) -> i64 {
    value(store, "select count(*) from word_segments").await
}

#[test]
fn words_are_found_in_the_chunks_that_have_them() {
    on_index(3, async |store| {
        ingest(store, "r", &[("a", 1, "alpha beta beta"), ("b", 1, "betaGamma")]).await;
        assert_eq!(
            chunks_with(store, "beta").await,
            [((0, 0), frequency_code(2)), ((0, 1), 0)].into()
        );
        assert_eq!(chunks_with(store, "gamma").await, [((0, 1), 0)].into());
        assert!(chunks_with(store, "delta").await.is_empty());
        ingest(store, "s", &[("a", 1, "delta alpha"), ("b", 1, "")]).await;
        assert_eq!(chunks_with(store, "alpha").await.len(), 2);
        let mut lease = store.lease().await.unwrap();
        let shards: Vec<(ShardId, i32)> = (0..3).map(|n| (ShardId(n), 0)).collect();
        let lengths = lease.word_lengths(&shards).await.unwrap();
        let start = words::BLOB_START;
        let codes: Vec<&[u8]> = lengths.iter().map(|lengths| &*lengths.codes).collect();
        assert_eq!(codes, [&[3 | start, 3 | start][..], &[2 | start, start]]);
        assert_eq!(lease.word_lengths(&[(ShardId(0), 2)]).await.unwrap(), []);
        assert_eq!(lease.word_rows(&[], &[Word(1)]).await.unwrap(), []);
        assert_eq!(lease.word_rows(&[ShardId(0)], &[]).await.unwrap(), []);
        lease.done();
        let shards: BTreeSet<usize> =
            store.word_groups(&[ShardId(2), ShardId(0)]).iter().map(Vec::len).collect();
        assert_eq!(shards, [2].into());
    });
}

/// Returns a word of letters for a number.
fn name(n: i64) -> String {
    format!("q{}{}x", char::from(b'a' + (n / 10) as u8), char::from(b'a' + (n % 10) as u8))
}

#[test]
fn many_small_ingests_leave_few_segments_and_no_deleted_texts() {
    on_index(1, async |store| {
        let mut versions = 1;
        for turn in 0..36_i64 {
            versions = turn + 1;
            let text = format!("alpha {} common common", name(turn));
            let fixed = format!("kept{}abc common", turn / 12);
            let files: [Seen<'_>; 2] = [("a", turn + 1, &text), ("b", turn / 12 + 1, &fixed)];
            ingest(store, "r", &files).await;
            assert!(segments(store).await <= 9, "turn {turn}");
        }
        let last = chunks_with(store, &name(versions - 1)).await;
        assert_eq!(last.len(), 1);
        assert!(chunks_with(store, &name(0)).await.is_empty());
        let (dead, alive): (i32, i64) = (
            value(store, "select words_dead from shards").await,
            value(store, "select sum(chunks)::bigint from blobs").await,
        );
        assert!(i64::from(dead) * 9 < alive.max(1) && alive == 2, "{dead} {alive}");
        check(store).await;
        // The repository goes, and with it the words of the shard.
        let (mut session, _) = compared(store, "r", &[]).await;
        let repo = store.repos().await.unwrap()[0].id;
        session.publish(&[], &[repo], &[]).await.unwrap();
        session.collect_garbage(&[]).await.unwrap();
        session.close().await.unwrap();
        assert_eq!(
            (segments(store).await, value::<i64>(store, "select count(*) from words").await),
            (0, 0)
        );
        check(store).await;
    });
}

/// After random changes, the visible chunks have exactly the words of their texts, as in a fresh index.
#[test]
fn random_changes_leave_the_words_of_the_files() {
    on_index(2, async |store| {
        let vocabulary = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "theta", "iota"];
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut files: BTreeMap<String, (i64, String)> = BTreeMap::new();
        for turn in 1..=24 {
            for _ in 0..=random(3) {
                let path = format!("f{}", random(12));
                if random(4) == 0 {
                    files.remove(&path);
                } else {
                    let words: Vec<&str> =
                        (0..=random(8)).map(|_| vocabulary[random(8) as usize]).collect();
                    files.insert(path, (turn, words.join(" ")));
                }
            }
            let given: Vec<Seen<'_>> =
                files.iter().map(|(path, (turn, text))| (&**path, *turn, &**text)).collect();
            ingest(store, "r", &given).await;
            if turn % 8 > 0 {
                continue;
            }
            let visible: Vec<(i16, i32, String)> = sqlx::query_as(
                "select distinct f.shard, c.n, c.contents from files f join chunks c on c.shard = f.shard and c.n = f.blob
                 where f.valid_to = 2147483647",
            )
            .fetch_all(store.control())
            .await
            .unwrap();
            let texts: BTreeSet<&str> = files.values().map(|(_, text)| &**text).collect();
            assert_eq!(visible.iter().map(|(.., text)| &**text).collect::<BTreeSet<_>>(), texts);
            for word in vocabulary {
                let mut found = chunks_with(store, word).await;
                found.retain(|place, _| visible.iter().any(|(shard, n, _)| (*shard, *n) == *place));
                let expected = visible.iter().filter_map(|(shard, n, text)| {
                    let count = text.split(' ').filter(|other| *other == word).count();
                    (count > 0).then(|| ((*shard, *n), frequency_code(count as u32)))
                });
                assert_eq!(found, expected.collect(), "{word} after turn {turn}");
            }
            check(store).await;
        }
        assert!(segments(store).await <= 9);
    });
}

/// An index of an earlier version, or of one that cuts texts otherwise, gets its words from the next ingest.
#[test]
fn the_next_ingest_makes_words_that_are_missing() {
    on_index(2, async |store| {
        ingest(store, "r", &[("a", 1, "alpha beta"), ("b", 1, "gamma")]).await;
        let before = chunks_with(store, "alpha").await;
        let mut conn = store.connection().await.unwrap();
        for damage in [
            "truncate words, word_segments; update shards set worded = 0, defined = false",
            "update state set words_format = 0",
            "update state set words_format = 0; truncate words, word_segments; update shards set worded = 0",
        ] {
            sqlx::raw_sql(damage).execute(&mut conn).await.unwrap();
            ingest(store, "r", &[("a", 1, "alpha beta"), ("b", 1, "gamma")]).await;
            assert_eq!(chunks_with(store, "alpha").await, before);
            assert_eq!(segments(store).await, 1);
            check(store).await;
        }
        // A killed ingest left chunks that are in no document.
        let (mut session, _) = compared(store, "s", &[("c", 1, "delta alpha")]).await;
        load(store, &mut session, &[("c", 1, "delta alpha")]).await;
        session.close().await.unwrap();
        ingest(store, "s", &[("c", 1, "delta alpha")]).await;
        assert_eq!(chunks_with(store, "alpha").await.len(), 2);
        check(store).await;
    });
}

#[test]
fn damaged_words_are_told_and_rebuilt() {
    on_index(1, async |store| {
        let words: Vec<String> = (0..500).map(|n| format!("w{}x", n * n)).collect();
        let text = words.join(" ");
        ingest(store, "r", &[("a", 1, &text), ("b", 1, "alpha beta")]).await;
        let mut conn = store.connection().await.unwrap();
        for damage in [
            "delete from words where bucket = 0",
            "update words set entries = set_byte(entries, 30, get_byte(entries, 30) # 5)",
            "update words set entries = substr(entries, 1, 20)",
            "update word_segments set lengths = set_byte(lengths, 1, 1)",
            "delete from word_segments",
            "update words set bucket = bucket + 1000",
        ] {
            sqlx::raw_sql(damage).execute(&mut conn).await.unwrap();
            let mut check = store.check().await.unwrap();
            let found = check.shard(ShardId(0), &|_, _, _| true).await.unwrap();
            assert!(
                !found.is_empty() && found.iter().all(|problem| problem.is_derived),
                "{damage} {found:?}"
            );
            check.repair(ShardId(0)).await.unwrap();
            check.end().await.unwrap();
            super::tests::check(store).await;
        }
    });
}

async fn check(store: &Store) {
    let mut check = store.check().await.unwrap();
    assert_eq!(check.rules().await.unwrap(), []);
    for shard in check.shards(None).await.unwrap() {
        assert_eq!(check.shard(shard, &|_, _, _| true).await.unwrap(), []);
    }
    check.end().await.unwrap();
}
