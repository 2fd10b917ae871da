//! Names as programmers spell them: `readFile`, `ReadFile` and `read_file` are one.

/// Returns a name in lowercase and without underscores.
pub(super) fn folded(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

/// A name, and the places where its parts begin.
#[derive(Clone, Debug)]
pub(super) struct Name {
    pub(super) folded: String,
    /// The offsets of its parts in `folded`, and its length.
    borders: Vec<usize>,
}

/// The share of a name that a word covers.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) enum Share {
    /// The word lies anywhere in the name.
    Inside,
    /// The word begins a part.
    Start,
    /// The word is one part or several.
    Parts,
    /// The word is the whole name.
    Whole,
}

impl Share {
    /// Returns the weight of the share. Whole parts are names that somebody chose; anything less matches mostly by
    /// chance.
    pub(super) fn weight(self) -> f32 {
        match self {
            Share::Whole => 1.0,
            Share::Parts => 0.55,
            Share::Start => 0.35,
            Share::Inside => 0.1,
        }
    }
}

impl Name {
    pub(super) fn new(name: &str) -> Self {
        let (mut folded, mut borders) = (String::with_capacity(name.len()), vec![0]);
        let (mut last, mut chars) = ('_', name.chars().peekable());
        while let Some(c) = chars.next() {
            let next = chars.peek().copied().unwrap_or('_');
            let begins = matches!(last, '_' | '-' | '.')
                || c.is_uppercase() && (!last.is_uppercase() || next.is_lowercase())
                || c.is_numeric() != last.is_numeric();
            last = c;
            if matches!(c, '_' | '-') {
                continue;
            }
            if begins && borders.last() != Some(&folded.len()) {
                borders.push(folded.len());
            }
            folded.extend(c.to_lowercase());
        }
        borders.push(folded.len());
        Self { folded, borders }
    }

    /// Returns the share that a folded word covers; `None` if it does not occur.
    pub(super) fn share(&self, word: &str) -> Option<Share> {
        if self.folded == word {
            return Some(Share::Whole);
        }
        let border = |at: usize| self.borders.contains(&at);
        let of = |(at, _): (usize, &str)| match (border(at), border(at + word.len())) {
            (true, true) => Share::Parts,
            (true, false) => Share::Start,
            _ => Share::Inside,
        };
        let shares = self.folded.match_indices(word).map(of);
        shares.reduce(|a, b| if a < b { b } else { a })
    }

    /// Iterates over the parts.
    pub(super) fn parts(&self) -> impl Iterator<Item = &str> {
        self.borders.windows(2).map(|two| &self.folded[two[0]..two[1]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_parts() {
        for (name, expected) in [
            ("ReadFile", "read file"),
            ("read_file", "read file"),
            ("ServeHTTP", "serve http"),
            ("HTTPServer2", "http server 2"),
            ("_private", "private"),
            ("x", "x"),
        ] {
            assert_eq!(Name::new(name).parts().collect::<Vec<_>>().join(" "), expected, "{name}");
        }
    }

    #[test]
    fn a_word_is_a_share_of_a_name() {
        let share = |name: &str, word: &str| Name::new(name).share(word);
        assert_eq!(share("ReadFile", "readfile"), Some(Share::Whole));
        assert_eq!(share("read_file", "readfile"), Some(Share::Whole));
        assert_eq!(share("NewReader", "reader"), Some(Share::Parts));
        assert_eq!(share("Readers", "reader"), Some(Share::Start));
        assert_eq!(share("spreading", "read"), Some(Share::Inside));
        assert_eq!(share("spread_read", "read"), Some(Share::Parts));
        assert_eq!(share("write", "read"), None);
    }
}
