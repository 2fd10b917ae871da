//! Tests of segments: against plain maps of what was added.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::*;

type Map = BTreeMap<(Word, i32), u8>;

/// Returns the postings and the lengths of a text, cut by hand.
fn plain(chunks: &[(i32, String)]) -> (Map, BTreeMap<i32, u8>) {
    let (mut map, mut lengths) = (Map::new(), BTreeMap::new());
    for (n, text) in chunks {
        let mut counts: BTreeMap<Word, u32> = BTreeMap::new();
        tokens(text, &mut |_, word| *counts.entry(word).or_default() += 1);
        lengths.insert(*n, length_code(counts.values().sum()));
        map.extend(counts.into_iter().map(|(word, count)| ((word, *n), frequency_code(count))));
    }
    (map, lengths)
}

/// Reads all postings of a segment, list by list, and again word by word.
fn read(segment: &Segment) -> Map {
    let (mut map, mut postings) = (Map::new(), Vec::new());
    for row in &segment.rows {
        let mut lists = Lists::new(&row.entries).unwrap();
        let mut words = Vec::new();
        while let Some(word) = lists.next_list(&mut postings).unwrap() {
            assert_eq!(bucket(word, segment.bits), row.number);
            words.push(word);
            for posting in &postings {
                map.insert((word, segment.first + posting.chunk as i32), posting.code);
            }
        }
        let mut told = Map::new();
        let some: Vec<Word> = words.iter().copied().step_by(2).collect();
        decode(&row.entries, &some, &mut |at, chunk, code| {
            told.insert((some[at], segment.first + chunk as i32), code);
        })
        .unwrap();
        let of_row = map.iter().filter(|((word, _), _)| some.contains(word));
        assert!(told.iter().eq(of_row));
    }
    let words = map.keys().map(|(word, _)| *word).collect::<std::collections::BTreeSet<_>>();
    assert_eq!((segment.words as usize, segment.postings as usize), (words.len(), map.len()));
    map
}

fn build(chunks: &[(i32, String)]) -> Segment {
    let mut builder = SegmentBuilder::new();
    for (n, text) in chunks {
        builder.add_chunk(*n, text, n % 3 == 0);
    }
    builder.finish().unwrap()
}

fn chunks() -> impl Strategy<Value = Vec<(i32, String)>> {
    let text = prop::collection::vec(
        "[a-d]{2,3}|[a-z]{4,9}|get[A-Z][a-z]{3}|[0-9]{1,4}|[一-三]{1,3}|é[a-z]",
        0..60,
    );
    prop::collection::vec((1..40_i32, text), 1..40).prop_map(|parts| {
        let mut n = 1000;
        let chunk = |(gap, words): (i32, Vec<String>)| {
            n += gap;
            (n, words.join(" "))
        };
        parts.into_iter().map(chunk).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_segment_has_what_was_added(chunks in chunks()) {
        let segment = build(&chunks);
        let (map, lengths) = plain(&chunks);
        prop_assert_eq!(read(&segment), map);
        prop_assert_eq!(segment.first, chunks[0].0);
        for (n, byte) in (segment.first..).zip(&segment.lengths) {
            let there = lengths.get(&n);
            prop_assert_eq!(byte & !BLOB_START, there.copied().unwrap_or_default());
            prop_assert_eq!(byte & BLOB_START > 0, there.is_some() && n % 3 == 0);
        }
    }

    #[test]
    fn merged_segments_are_one_of_all_that_is_alive(chunks in chunks(), cuts in (0..40_usize, 0..40_usize), dead in 0..5_i32) {
        let (one, two) = (cuts.0.min(chunks.len()), cuts.1.min(chunks.len()));
        let cuts = [0, one.min(two), one.max(two), chunks.len()];
        let parts: Vec<Segment> =
            cuts.windows(2).filter(|cut| cut[0] < cut[1]).map(|cut| build(&chunks[cut[0]..cut[1]])).collect();
        let alive = |n: i32| n % 5 != dead;
        let merged = merge(parts.iter().map(Part::from).collect(), &alive).unwrap();
        let (mut map, lengths) = plain(&chunks);
        map.retain(|(_, n), _| alive(*n));
        prop_assert_eq!(read(&merged), map);
        for (n, byte) in (merged.first..).zip(&merged.lengths) {
            let there = lengths.get(&n);
            let length = there.copied().filter(|_| alive(n));
            prop_assert_eq!(byte & !BLOB_START, length.unwrap_or_default());
            prop_assert_eq!(byte & BLOB_START > 0, there.is_some() && n % 3 == 0);
        }
        // In another order of parts.
        let again = merge(parts.iter().rev().map(Part::from).collect(), &alive).unwrap();
        prop_assert_eq!(again, merged);
    }

    #[test]
    fn damaged_rows_are_told_or_read(bytes in prop::collection::vec(any::<u8>(), 0..200), wanted in any::<u64>()) {
        let wanted = [Word(wanted >> 24)];
        let _ = decode(&bytes, &wanted, &mut |_, _, _| ());
        let rows = vec![&*bytes];
        let _ = merge(vec![Part { first: 7, lengths: &[1], rows }], &|_| true);
    }

    #[test]
    fn a_changed_byte_never_panics(chunks in chunks(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let segment = build(&chunks);
        for row in &segment.rows {
            let mut entries = row.entries.clone();
            let place = at.index(entries.len());
            entries[place] ^= byte;
            let _ = decode(&entries, &[Word(1 << 30)], &mut |_, _, _| ());
            let _ = merge(vec![Part { first: 0, lengths: &[], rows: vec![&entries] }], &|_| true);
        }
    }
}

#[test]
fn many_chunks_make_several_runs_and_rows() {
    let words = ["alpha", "beta", "gamma", "delta", "epsilon"];
    let text = |n: i32| {
        let own: Vec<String> = (0..60).map(|i| format!("w{}", (n * 37 + i * i) % 5000)).collect();
        format!("{} {}", own.join(" "), words[n as usize % 5].repeat(n as usize % 3))
    };
    let chunks: Vec<(i32, String)> = (0..12_000).map(|n| (n * 300, text(n))).collect();
    let segment = build(&chunks);
    assert!(segment.bits > 3 && segment.rows.len() > 8, "{} {}", segment.bits, segment.rows.len());
    assert_eq!(read(&segment), plain(&chunks).0);
}

#[test]
fn codes_are_close_to_what_they_stand_for() {
    for count in 1..100_000_u32 {
        let (code, next) = (length_code(count), length_code(count + 1));
        assert!(code < BLOB_START && code <= next);
        let near = f64::from(length(code)) / f64::from(count);
        assert!((0.93..1.07).contains(&near), "{count} {near}");
        assert_eq!(length(code | BLOB_START), length(code));
        let code = frequency_code(count);
        assert!(code < 8 && code <= frequency_code(count + 1));
    }
    assert_eq!((length_code(0), length(0), length_code(u32::MAX)), (0, 0, 127));
    assert!((frequency(frequency_code(3)) - 3.0).abs() < 0.1);
}

/// Returns the words of a text as they stand in it, in order.
fn cut(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    tokens(text, &mut |place, _| words.push(&text[place]));
    words
}

#[test]
fn texts_are_cut_into_parts_and_wholes() {
    assert_eq!(
        cut("let readFiles = HTTPServer;"),
        ["let", "readFiles", "read", "Files", "HTTPServer", "HTTP", "Server"]
    );
    assert_eq!(
        cut("__init__ max_len"),
        ["__init__", "max_len", "max", "len"].map(|w| w.trim_matches('_'))
    );
    assert_eq!(cut("sha256 x 7"), ["sha256", "sha", "256", "7"]);
    assert_eq!(cut("如何配置"), ["如何", "何配", "配置"]);
    assert_eq!(cut("配 größe"), ["配", "größe"]);
    assert!(cut("").is_empty());
}

#[test]
fn a_question_has_the_words_of_texts() {
    let words = question("how are rate limits configured in readFiles?");
    let shown: Vec<(&str, Role)> = words.iter().map(|word| (&*word.text, word.role)).collect();
    assert_eq!(
        shown,
        [
            ("how", Role::Stop),
            ("are", Role::Stop),
            ("rate", Role::Plain),
            ("limits", Role::Plain),
            ("ratelimits", Role::Joined),
            ("configured", Role::Plain),
            ("limitsconfigured", Role::Joined),
            ("in", Role::Stop),
            ("readfiles", Role::Whole),
            ("read", Role::Part),
            ("files", Role::Part),
        ]
    );
    let mut of_text = Vec::new();
    tokens("RateLimit limiting configure READ_FILES", &mut |_, word| of_text.push(word));
    for word in
        words.iter().filter(|word| !["how", "are", "in", "limitsconfigured"].contains(&&*word.text))
    {
        assert!(of_text.contains(&word.word), "{}", word.text);
    }
    assert!(question("?? !").is_empty());
    assert!((question("how is it").iter().map(|word| word.weight).sum::<f32>() - 3.0).abs() < 1e-6);
    let many: Vec<String> = (0..10_000).map(|n| format!("word{n}")).collect();
    assert_eq!(question(&many.join(" ")).len(), MAX_WORDS);
}
