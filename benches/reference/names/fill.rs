//! Paths for the experiment: those of the index, and when they are too few, others made of them.

use std::collections::HashMap;

/// Neighbouring paths that are renamed in the same way, as if they were another project.
const PROJECT: usize = 2000;

/// So many paths: of more, some that are chosen at random; of fewer, all, and copies of runs of neighbours in which
/// three words of ten are another one of the words in all paths. Always the same.
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

/// A path in words and what is between them.
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

/// Extensions and the like stay.
fn is_word(text: &str) -> bool {
    text.len() > 3 && text.starts_with(char::is_alphabetic)
}
