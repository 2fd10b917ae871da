//! Stores filters and reads them back.

use ngram::{BloomFilter, FilterKind, NgramQuery};
use query::{LiteralQuery, Lookup, Scope};
use sqlx::Connection;

use super::rows::shard_ranges;
use super::*;
use crate::catalog::Shard;
use crate::testing::on_index;
use crate::{BlobId, ShardId};

#[test]
fn few_statements_name_few_shards_in_vain() {
    let groups = |asked: &[i16], count| {
        let all: Vec<String> =
            shard_ranges(asked, count).iter().map(|group| format!("{group:?}")).collect();
        all.join(" ")
    };
    assert_eq!(groups(&[0], 1), "0..1");
    assert_eq!(groups(&[7], 200), "7..8");
    assert_eq!(groups(&[0, 199], 200), "0..1 199..200");
    assert_eq!(groups(&(0..30).collect::<Vec<_>>(), 200), "0..64");
    assert_eq!(groups(&(0..200).collect::<Vec<_>>(), 200), "0..200");
    assert_eq!(groups(&[1, 2, 3, 100, 101], 200), "0..8 96..104");
}

#[test]
fn on_citus_a_statement_names_shards_of_one_group() {
    let named = |asked: &[i16], count, groups| {
        let named = named_shards(asked, count, Groups::Rounds(groups));
        let all: Vec<String> = named.iter().map(|shards| format!("{shards:?}")).collect();
        all.join(" ")
    };
    assert_eq!(named(&[0], 1, 1), "[0]");
    assert_eq!(named(&[0, 1, 2, 7], 8, 3), "[0] [1, 4, 7] [2]");
    assert_eq!(named(&[0, 1, 2, 3, 4, 5, 6, 7], 8, 3), "[0, 3, 6] [1, 4, 7] [2, 5]");
    assert_eq!(named(&[5], 200, 24), "[5]");
}

#[test]
fn rows_of_several_shards_are_those_of_their_filters() {
    on_index(9, async |store| {
        // Two shards with a chunk each, and two without.
        let mut session = crate::testing::session(store).await;
        let mut live = Vec::new();
        for (shard, text) in [(1, "some words"), (6, "and others")] {
            let chunks = vec![crate::ChunkRow { line: 1, start: 0, end: text.len() }];
            let contents = crate::Contents {
                oid: [shard as u8; 20],
                id: crate::BlobId(0),
                text: text.to_owned(),
                encoding: None,
                lines: 1,
                chunks,
                doc: None,
            };
            let mut loader = store.loader().await.unwrap();
            loader.store(ShardId(shard), &[contents]).await.unwrap();
            store.derive(ShardId(shard)).await.unwrap();
            store.build_index(ShardId(shard), 16 << 10).await.unwrap();
            live.push((ShardId(shard), text));
        }
        assert!(session.underived().await.unwrap().is_empty());
        session.close().await.unwrap();
        let shard = |id: i16, filtered| Shard {
            id: ShardId(id),
            bytes: 0,
            since: crate::Epoch(1),
            chunks: filtered,
            changed: crate::Epoch(1),
            filtered,
            worded: filtered,
            languages: [].into(),
        };
        let (one, six, empty, further) = (shard(1, 1), shard(6, 1), shard(2, 1), shard(6, 9000));
        let mut lease = store.lease().await.unwrap();
        let both = NgramQuery::any(vec![NgramQuery::folded("words"), NgramQuery::folded("others")]);
        let rows = lease.filter_rows(&[&six, &empty, &one], &both).await.unwrap();
        assert_eq!(rows.len(), 2);
        let (of_chunks, count) = lease.chunk_rows(&[&six, &empty, &one], &[&both]).await.unwrap();
        assert_eq!((of_chunks.len(), count), (2, 3));
        let shards = [ShardId(6), ShardId(2), ShardId(1)];
        let numbers = shards.map(|shard| (shard, vec![0, 5]));
        let texts = lease.chunks_of_shards(&numbers).await.unwrap();
        for (id, text) in live {
            let read: Vec<&str> = texts[&id].iter().map(|chunk| &*chunk.contents).collect();
            assert_eq!(read, [text]);
            for word in ["words", "others"] {
                let (holds, ngrams) = (text.contains(word), NgramQuery::folded(word));
                assert_eq!(rows[&id].may_hold(&ngrams), holds, "{word} in {text}");
                assert_eq!(of_chunks[&id].surviving(&ngrams).count(), usize::from(holds));
                let literals = LiteralQuery::Literal(word.to_owned());
                let lookup = Lookup { scope: Scope::Chunk, terms: vec![0], literals };
                let found = lease.lookups(&shards, crate::Epoch(1), &[&lookup]).await.unwrap();
                assert_eq!(found.len(), 3);
                let documents = holds.then_some(0..1).into_iter().collect();
                assert_eq!(found[&id], [crate::IndexAnswer::Documents(documents)], "{word}");
                assert_eq!(found[&ShardId(2)], [crate::IndexAnswer::Documents(Vec::new())]);
            }
        }
        // The shard's filters do not cover that many chunks, so it is not in the answer.
        assert!(lease.filter_rows(&[&further], &both).await.unwrap().is_empty());
        assert!(lease.chunk_rows(&[&further], &[&both]).await.unwrap().0.is_empty());
        assert!(lease.filters(&further).await.unwrap().is_none());
        assert_eq!(lease.filters(&one).await.unwrap().unwrap().width(), 1);
        lease.done();
    });
}

fn filter(kind: FilterKind, text: &str) -> BloomFilter {
    let mut filter = BloomFilter::new(kind);
    filter.add(text);
    filter
}

fn new(first_block: usize, texts: &[&str], dense: &[(i32, &str)]) -> NewFilters {
    NewFilters {
        first_block,
        blocks: texts.iter().map(|text| filter(FilterKind::Block, text)).collect(),
        dense: dense.iter().map(|(n, text)| (*n, filter(FilterKind::Dense, text))).collect(),
        ..NewFilters::default()
    }
}

#[test]
fn filters_that_grow_are_those_made_at_once() {
    let shard = ShardId(0);
    let mut grown = StoredFilters::none();
    let texts: Vec<String> = (0..11).map(|n| format!("text of block number{n}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    grown.add(shard, new(0, &texts[..3], &[(7, "seven")]));
    // The third block was not full.
    grown.add(shard, new(2, &["more"], &[(1100, "eleven"), (1200, "twelve")]));
    grown.add(shard, new(3, &texts[3..], &[]));
    let both = format!("{}\nmore", texts[2]);
    let mut all = texts.clone();
    all[2] = &both;
    let mut once = StoredFilters::none();
    once.add(shard, new(0, &all, &[(7, "seven"), (1100, "eleven"), (1200, "twelve")]));
    assert_eq!(grown.blocks.rows(), once.blocks.rows());
    assert_eq!(grown.dense.rows(), once.dense.rows());
    assert_eq!(grown.dense_chunks, [7, 1100, 1200]);
}

/// Tests that a shard filled piece by piece answers like its texts.
#[test]
fn rows_name_the_chunks_that_may_match() {
    on_index(1, async |store| {
        let mut session = crate::testing::session(store).await;
        session.next_shard(&[], 1 << 20, false).await.unwrap();
        let mut loader = store.loader().await.unwrap();
        let text = |n: i32| match n {
            7 => format!("large_word {}", "of a long line ".repeat(1000)),
            n => format!("word_{n}_in shared_{}_text", n % 1000),
        };
        // Fills two pieces in parts, which end within a block, at a piece's end, and after it. Some are tails: two that
        // are dropped later, and one that stays.
        let after = |chunks| PIECE_CHUNKS + chunks;
        let ends =
            [100, 130, 200, 700, 702, PIECE_CHUNKS, after(5), after(900), after(910), after(920)];
        let mut next = 0;
        for end in ends {
            let contents: Vec<crate::Contents> = (next..end)
                .step_by(2)
                .map(|n| {
                    // Blobs of two chunks.
                    let (a, b) = (text(n), if n + 1 < end { text(n + 1) } else { String::new() });
                    let cut = a.len();
                    let text = a + &b;
                    let mut oid = [0; 20];
                    oid[..4].copy_from_slice(&n.to_be_bytes());
                    let rows = [(0, cut), (cut, text.len())];
                    let rows = rows.into_iter().filter(|(start, end)| start < end);
                    let chunks =
                        rows.map(|(start, end)| crate::ChunkRow { line: 1, start, end }).collect();
                    crate::Contents {
                        oid,
                        id: BlobId(n),
                        text,
                        encoding: None,
                        lines: 1,
                        chunks,
                        doc: None,
                    }
                })
                .collect();
            loader.store(ShardId(0), &contents).await.unwrap();
            store.derive(ShardId(0)).await.unwrap();
            next = end;
        }
        session.close().await.unwrap();
        let shard = Shard {
            id: ShardId(0),
            bytes: 0,
            since: crate::Epoch(1),
            chunks: next,
            changed: crate::Epoch(1),
            filtered: next,
            worded: next,
            languages: [].into(),
        };
        let mut lease = store.lease().await.unwrap();
        for again in [false, true] {
            for (literal, expected) in [
                ("word_8195_in", vec![8195]),
                ("word_9105_in", vec![9105]),
                ("WORD_99_in", vec![99]),
                ("shared_3_text", (3..next).step_by(1000).collect()),
                ("large_word", vec![7]),
                ("nowhere_at_all", vec![]),
            ] {
                let ngrams = NgramQuery::folded(literal);
                let mut filters = lease.filter_rows(&[&shard], &ngrams.sample(8)).await.unwrap();
                let filter = filters.remove(&shard.id).unwrap();
                let near = filter.surviving(&ngrams, &filter.hits(&ngrams));
                let (mut rows, _) = lease.chunk_rows(&[&shard], &[&ngrams]).await.unwrap();
                let rows = rows.remove(&shard.id).unwrap();
                let mut chunks = rows.surviving(&ngrams);
                filter.ruled_out(&near, 0..next).for_each(|n| chunks.remove(n as usize));
                let found: Vec<i32> = chunks.iter().map(|n| n as i32).collect();
                let holds = |n: &i32| text(*n).contains(&literal.to_lowercase());
                let wanted: Vec<i32> = found.iter().copied().filter(holds).collect();
                assert_eq!(wanted, expected, "{literal}");
                // Hardly any false candidates.
                assert!(found.len() <= expected.len() + 40, "{literal}: {}", found.len());
                for n in found {
                    let first = ends.iter().rev().find(|end| **end <= n).map_or(0, |end| *end);
                    let blob = rows.starts().last_to(n as usize).unwrap();
                    assert_eq!(blob as i32, first + (n - first) / 2 * 2, "{n}");
                }
            }
            let whole = lease.filters(&shard).await.unwrap().unwrap();
            for literal in ["word_9105_in", "word_701_in", "word_150_in"] {
                assert!(whole.may_hold(&NgramQuery::folded(literal)), "{literal}");
            }
            assert!(!whole.may_hold(&NgramQuery::folded("nowhere_at_all")));
            let mut conn = store.connection().await.unwrap();
            let tail = read_tail(&mut conn, store.groups(), ShardId(0), next).await.unwrap();
            assert_eq!(tail.unwrap().map(|tail| tail.first), (!again).then_some(after(900)));
            if !again {
                let session = crate::testing::session(store).await;
                store.derive_anew(ShardId(0)).await.unwrap();
                session.close().await.unwrap();
            }
        }
        lease.done();
        // All filters are taken out; else all would be rebuilt.
        let mut conn = store.connection().await.unwrap();
        let mut tx = conn.begin().await.unwrap();
        let taken = take(&mut tx, store.groups(), ShardId(0), next).await.unwrap().unwrap();
        assert!(taken.is_blob_start(0) && taken.blocks.width() > 0);
        tx.rollback().await.unwrap();
    });
}
