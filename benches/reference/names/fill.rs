//! Paths for the experiment: those of the index and, if they are too few, others derived from them.

use std::collections::HashMap;

/// Number of neighbouring paths that are renamed alike, as if they were another project.
const PROJECT: usize = 2000;

/// Returns `count` paths. If there are more, chooses at random. If there are fewer, adds copies of runs of neighbours
/// in which three words of ten are replaced by another word from the paths. Deterministic.
pub(crate) fn paths(real: &[String], count: usize) -> Vec<String> {
    let mut rng = fastrand::Rng::with_seed(0x7061_7468);
    if real.len() >= count || real.is_empty() {
        let mut chosen = rng.choose_multiple(0..real.len(), count.min(real.len()));
        chosen.sort_unstable();
        return chosen.into_iter().map(|at| real[at].clone()).collect();
    }
    let words: Vec<&str> =
        real.iter().flat_map(|path| split(path)).filter(|word| is_word(word)).collect();
    let mut all = real.to_vec();
    while all.len() < count {
        let mut others: HashMap<&str, &str> = HashMap::new();
        let from = rng.usize(..real.len());
        let upto = real.len().min(from + PROJECT.min(count - all.len()));
        for path in &real[from..upto] {
            let renamed: String = split(path)
                .map(|word| {
                    if !is_word(word) {
                        return word;
                    }
                    *others.entry(word).or_insert_with(|| match rng.u8(..10) {
                        0..3 => words[rng.usize(..words.len())],
                        _ => word,
                    })
                })
                .collect();
            all.push(renamed);
        }
    }
    all.sort_unstable();
    all
}

/// Splits a path into words and the texts between them.
fn split(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = path;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let same = |letter: char| letter.is_alphabetic() == first.is_alphabetic();
        let end = rest.find(|letter| !same(letter)).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        rest = after;
        Some(part)
    })
}

/// Returns whether a text is a word to be replaced; extensions and the like are too short.
fn is_word(text: &str) -> bool {
    text.len() > 3 && text.starts_with(char::is_alphabetic)
}
