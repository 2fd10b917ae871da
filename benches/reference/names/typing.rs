//! Texts that people would type to find a file, made from real paths, and the right answers.
//!
//! A typing has a kind, which makes a clean text from a path (its name, say); some kinds then make an error in it. A
//! path is a right answer if the kind makes the same clean text of it, in lower case: the typed text does not tell
//! which of the two was meant.

/// Kinds of typing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The name with one letter left out.
    Dropped,
    /// The name with two neighbouring letters swapped.
    Swapped,
    /// The name with one letter doubled.
    Doubled,
    /// The name with one letter replaced.
    Replaced,
    /// The name without its extension.
    Stem,
    /// The name in lower case.
    Small,
    /// The last folder and the name.
    Folder,
    /// The first three letters of the last folder, and the name without its extension.
    Piece,
    /// The first letters of the last two folders, and the name without its extension:
    /// `e/s/candidates`.
    Letters,
    /// The first letters of the words of the name: `hsr` for `http_server_routes.rs`.
    Initials,
}

pub(crate) const KINDS: [(Kind, &str); 10] = [
    (Kind::Dropped, "name, a letter left out"),
    (Kind::Swapped, "name, two letters swapped"),
    (Kind::Doubled, "name, a letter twice"),
    (Kind::Replaced, "name, a letter replaced"),
    (Kind::Stem, "name without extension"),
    (Kind::Small, "name in small letters"),
    (Kind::Folder, "folder/name"),
    (Kind::Piece, "three letters of the folder/name"),
    (Kind::Letters, "a letter of each of two folders/name"),
    (Kind::Initials, "initials of three words or more"),
];

/// A typed text.
#[derive(Clone, Debug)]
pub(crate) struct Typing {
    /// Index of its kind in [`KINDS`].
    pub(crate) kind: usize,
    pub(crate) text: String,
    /// The text that was meant.
    pub(crate) clean: String,
}

impl Typing {
    /// Makes `count` typings, as many of each kind, from randomly chosen paths. Deterministic.
    pub(crate) fn some(paths: &[String], count: usize) -> Vec<Self> {
        let mut rng = fastrand::Rng::with_seed(0x7479_7065);
        let mut some = Vec::with_capacity(count);
        // Most paths do not suit some kinds; other kinds suit every path.
        for _ in 0..1000 * count {
            if some.len() == count || paths.is_empty() {
                break;
            }
            let kind = some.len() % KINDS.len();
            let path = &paths[rng.usize(..paths.len())];
            some.extend(Self::of(kind, path, &mut rng));
        }
        some
    }

    fn of(kind: usize, path: &str, rng: &mut fastrand::Rng) -> Option<Self> {
        let what = KINDS[kind].0;
        let clean = clean(what, path)?;
        let stem = stem(name(path));
        // People type names of some length, and hardly ever err in the first letter.
        if stem.chars().count() < 4 || !path.is_ascii() {
            return None;
        }
        let letters: Vec<usize> = (1..stem.len()).filter(|at| is_letter(stem, *at)).collect();
        let at = *letters.get(rng.usize(..letters.len().max(1)))?;
        let mut text = match what {
            Kind::Dropped | Kind::Swapped | Kind::Doubled | Kind::Replaced => name(path).to_owned(),
            _ => clean.clone(),
        };
        match what {
            Kind::Dropped => {
                text.remove(at);
            }
            Kind::Swapped => {
                let before = text.as_bytes()[at - 1] as char;
                if !is_letter(stem, at - 1)
                    || before.eq_ignore_ascii_case(&(text.as_bytes()[at] as char))
                {
                    return None;
                }
                text.remove(at - 1);
                text.insert(at, before);
            }
            Kind::Doubled => text.insert(at, text.as_bytes()[at] as char),
            Kind::Replaced => {
                let other = rng.lowercase();
                if text[at..].starts_with([other, other.to_ascii_uppercase()]) {
                    return None;
                }
                text.replace_range(at..=at, &other.to_string());
            }
            _ => {}
        }
        Some(Self { kind, text, clean })
    }

    /// Returns whether a path could be the intended one.
    pub(crate) fn is_right(&self, path: &str) -> bool {
        clean(KINDS[self.kind].0, path).is_some_and(|clean| clean == self.clean)
    }
}

/// Returns the text that a kind makes of a path, before any error, in lower case.
pub(crate) fn clean(kind: Kind, path: &str) -> Option<String> {
    let name = name(path);
    let mut folders = path.rsplit('/').skip(1);
    let clean = match kind {
        Kind::Dropped | Kind::Swapped | Kind::Doubled | Kind::Replaced | Kind::Small => {
            name.to_owned()
        }
        Kind::Stem => stem(name).to_owned(),
        Kind::Folder => format!("{}/{name}", folders.next()?),
        Kind::Piece => {
            let folder = folders.next()?;
            format!("{}/{}", folder.get(..3).unwrap_or(folder), stem(name))
        }
        Kind::Letters => {
            let (last, around) = (folders.next()?.chars().next()?, folders.next()?.chars().next()?);
            format!("{around}/{last}/{}", stem(name))
        }
        Kind::Initials => {
            let initials = initials(stem(name));
            (initials.len() >= 3).then_some(initials)?
        }
    };
    Some(clean.to_lowercase())
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns a name without its last extension.
fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem })
}

fn is_letter(text: &str, at: usize) -> bool {
    text.as_bytes().get(at).is_some_and(u8::is_ascii_alphabetic)
}

/// Returns the first letters of the words of a name.
fn initials(stem: &str) -> String {
    let mut initials = String::new();
    let mut before = '_';
    for letter in stem.chars() {
        let hump = letter.is_uppercase() && before.is_lowercase();
        if letter.is_alphabetic() && (hump || !before.is_alphanumeric()) {
            initials.push(letter);
        }
        before = letter;
    }
    initials
}
