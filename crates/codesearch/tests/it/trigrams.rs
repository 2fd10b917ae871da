//! Trigrams that codesearch computes for a literal equal those of `pg_trgm`.

use std::collections::BTreeSet;

use fastrand::Rng;
use ngram::fold_beyond_ascii;
use query::{Lexemes, trigrams};

use crate::harness::Fixture;

/// Texts that can surround a literal.
const AROUND: [&str; 5] = ["", "x", " ", "_", "9q"];

/// Returns the trigrams that `pg_trgm` extracts from each text.
fn shown(fixture: &Fixture, texts: &[String]) -> Vec<BTreeSet<String>> {
    let quoted: Vec<String> =
        texts.iter().map(|text| format!("'{}'", text.replace('\'', "''"))).collect();
    let sql = format!(
        "select array_agg(array_to_string(show_trgm(text), '|') order by place)
         from unnest(array[{}]) with ordinality as given (text, place)",
        quoted.join(",")
    );
    let lists: Vec<String> = fixture.sql(&sql);
    let set =
        |list: &String| list.split('|').filter(|t| !t.is_empty()).map(str::to_owned).collect();
    lists.iter().map(set).collect()
}

/// Returns the trigrams that every text with the literal contains.
fn certain(fixture: &Fixture, literal: &str) -> BTreeSet<String> {
    let texts: Vec<String> = AROUND
        .iter()
        .flat_map(|before| AROUND.map(|behind| format!("{before}{literal}{behind}")))
        .collect();
    let mut all = shown(fixture, &texts).into_iter();
    let first = all.next().unwrap();
    all.fold(first, |kept, found| kept.intersection(&found).cloned().collect())
}

fn ours(literal: &str) -> BTreeSet<String> {
    trigrams(literal).into_iter().map(|trigram| trigram.text).collect()
}

#[test]
fn trigrams_are_those_that_every_text_with_the_literal_has() {
    let fixture = Fixture::new();
    fixture.write("r/a.txt", "a\n");
    fixture.ingest();
    let mut literals: Vec<String> =
        ["fmt.Println", "a", "ab", ".ab", "a_b", "(if)", "=>", "x{2,3}", "", "_alloc("]
            .map(str::to_owned)
            .into();
    let mut rng = Rng::with_seed(7);
    let alphabet: Vec<char> = "abcABC019_. ()-%\\'=".chars().collect();
    for _ in 0..150 {
        let length = rng.usize(1..10);
        literals.push((0..length).map(|_| alphabet[rng.usize(0..alphabet.len())]).collect());
    }
    for literal in &literals {
        assert_eq!(ours(literal), certain(&fixture, literal), "{literal:?}");
    }
    // Postgres shows a hash in place of a non-ASCII trigram.
    for literal in ["日本語", "naïve", "é", "ταχύτητα", "straße.", "🚢🚢🚢", "ſesam"]
    {
        assert_eq!(ours(literal).len(), certain(&fixture, literal).len(), "{literal:?}");
    }
}

#[test]
fn words_have_the_trigrams_of_their_texts() {
    let fixture = Fixture::new();
    fixture.write("r/a.txt", "a\n");
    fixture.ingest();
    let mut rng = Rng::with_seed(11);
    let alphabet: Vec<char> =
        "abAB09_ .-(\n\t\u{a0}éÉßſ\u{212a}İıΣσςяЯ日本—→🚢\u{301}".chars().collect();
    let texts: Vec<String> = (0..300)
        .map(|_| {
            let length = rng.usize(0..60);
            (0..length).map(|_| alphabet[rng.usize(0..alphabet.len())]).collect()
        })
        .collect();
    // Two neighbouring texts: no trigram spans them.
    let halves: Vec<(&str, &str)> = texts
        .iter()
        .map(|text| {
            let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
            text.split_at(middle)
        })
        .collect();
    let words = halves.iter().map(|(one, other)| {
        let mut words = Lexemes::default();
        words.add(one);
        words.add(other);
        words.text().to_owned()
    });
    let both = halves
        .iter()
        .map(|(one, other)| fold_beyond_ascii(&format!("{one}\n{other}")).into_owned());
    let (of_words, of_texts) =
        (shown(&fixture, &words.collect::<Vec<_>>()), shown(&fixture, &both.collect::<Vec<_>>()));
    for (at, text) in texts.iter().enumerate() {
        assert_eq!(of_words[at], of_texts[at], "{text:?}");
    }
    assert!(of_texts.iter().filter(|found| found.len() > 10).count() > 200);
}
