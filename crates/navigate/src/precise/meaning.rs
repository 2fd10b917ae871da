//! The meaning of a name at a place, according to the SCIP indexes of its file.

use std::ops::Range;

use store::{Occurrence, Relation, ScipPlace, is_local};

use symbols::scip::Parts;

/// A symbol that a name means, and where it is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Meaning {
    pub(super) symbol: String,
    pub(super) reach: Reach,
    /// Whether its definitions are those of the name; those of merely related symbols are not.
    pub(super) defines: bool,
}

/// The documents in which a symbol is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Only its own document.
    Document,
    /// The documents of its import: the symbol names no package, so another import may have the same one.
    Import(i32),
    /// All documents.
    All,
}

impl Reach {
    fn of(symbol: &str, import: i32) -> Self {
        if is_local(symbol) {
            return Reach::Document;
        }
        match Parts::of(symbol) {
            Some(parts) if !parts.package.is_empty() => Reach::All,
            _ => Reach::Import(import),
        }
    }
}

/// The part of a file that a request points to.
#[derive(Clone, Debug)]
pub(super) enum Spot {
    /// A byte of the text.
    At(usize),
    /// A line.
    Within(Range<usize>),
    /// The whole file.
    Anywhere,
}

/// Returns the symbols that a name means: at a byte, those that occur there; in a line, those of occurrences with that
/// name; in a file, the same, but only if it is a single symbol. `name` may be empty at a byte.
pub(super) fn meanings(told: &ScipPlace, text: &str, spot: &Spot, name: &str) -> Vec<Meaning> {
    let of =
        |one: &Occurrence| text.get(one.start as usize..one.end() as usize).unwrap_or_default();
    let is_named = |one: &&Occurrence| !name.is_empty() && of(one) == name;
    let all = told.document.occurrences.iter();
    let found: Vec<&Occurrence> = match spot {
        Spot::At(byte) => {
            let holds = |one: &&Occurrence| {
                one.len > 0 && (one.start as usize..=one.end() as usize).contains(byte)
            };
            let at: Vec<&Occurrence> =
                all.filter(holds).filter(|one| of(one).contains(name)).collect();
            // Between two adjacent occurrences, the second wins; of nested ones, the innermost.
            let begins_before_end = |one: &&Occurrence| (one.end() as usize) > *byte;
            let any_begins = at.iter().any(begins_before_end);
            let at: Vec<&Occurrence> =
                at.into_iter().filter(|one| !any_begins || begins_before_end(one)).collect();
            let least = at.iter().map(|one| one.len).min();
            at.into_iter().filter(|one| Some(one.len) == least).collect()
        }
        Spot::Within(line) => {
            all.filter(|one| line.contains(&(one.start as usize))).filter(is_named).collect()
        }
        Spot::Anywhere => all.filter(is_named).collect(),
    };
    let mut symbols: Vec<u32> = found.iter().map(|one| one.symbol).collect();
    symbols.sort_unstable();
    symbols.dedup();
    if matches!(spot, Spot::Anywhere) && symbols.len() > 1 {
        return Vec::new();
    }
    let names = told.document.symbols();
    let symbols = symbols.into_iter().filter_map(|at| names.get(at as usize));
    let meaning = |symbol: &&str| {
        let reach = Reach::of(symbol, told.import);
        Meaning { symbol: (*symbol).to_owned(), reach, defines: true }
    };
    symbols.map(meaning).collect()
}

/// Returns the symbols that documents relate to known ones: referring to one also refers to the other.
pub(super) fn related(told: &[(ScipPlace, Vec<u32>)], known: &[Meaning]) -> Vec<Meaning> {
    let mut more: Vec<Meaning> = Vec::new();
    for (place, symbols) in told {
        let names = place.document.symbols();
        for relation in &place.document.relations {
            let other = match (symbols.contains(&relation.from), symbols.contains(&relation.to)) {
                (true, false) => relation.to,
                (false, true) => relation.from,
                _ => continue,
            };
            let is_defined = relation.flags & Relation::DEFINITION != 0;
            if !is_defined && relation.flags & Relation::REFERENCE == 0 {
                continue;
            }
            let Some(symbol) = names.get(other as usize) else { continue };
            let is_known = |one: &Meaning| one.symbol == *symbol;
            let reach = Reach::of(symbol, place.import);
            // A local symbol would be looked up in the wrong file: that of the request.
            if reach != Reach::Document && !known.iter().any(is_known) && !more.iter().any(is_known)
            {
                more.push(Meaning { symbol: (*symbol).to_owned(), reach, defines: is_defined });
            }
        }
    }
    more
}

#[cfg(test)]
mod tests {
    use store::{BlobId, RepoId, ScipDocument, ShardId};

    use super::*;

    const TEXT: &str = "f(x) + f(y)\nf x.y";

    fn told() -> ScipPlace {
        let one = |start: usize, len, symbol| Occurrence {
            start: start as u32,
            len,
            symbol,
            roles: 0,
            enclosing: None,
        };
        let occurrences = vec![
            one(0, 1, 0),
            one(2, 1, 1),
            one(7, 1, 0),
            one(9, 1, 2),
            one(12, 1, 3),
            one(14, 3, 2),
            one(16, 1, 2),
        ];
        let names = "s m p 1 f().\nlocal 1\ns m . . y.\ns m p 1 C#f().";
        let document = ScipDocument {
            names: names.to_owned(),
            kinds: vec![255; 4],
            relations: vec![Relation { from: 3, to: 0, flags: Relation::REFERENCE }],
            occurrences,
        };
        let (shard, blob, repo) = (ShardId(0), BlobId(0), RepoId(1));
        let (path, language) = ("a".to_owned(), None);
        ScipPlace { shard, blob, repo, import: 7, path, bytes: 17, language, document }
    }

    fn found(spot: &Spot, name: &str) -> Vec<String> {
        meanings(&told(), TEXT, spot, name).into_iter().map(|one| one.symbol).collect()
    }

    #[test]
    fn what_stands_at_a_place_is_meant() {
        let none: [&str; 0] = [];
        assert_eq!(found(&Spot::At(0), ""), ["s m p 1 f()."]);
        assert_eq!(found(&Spot::At(1), ""), ["s m p 1 f()."], "behind its last letter");
        assert_eq!(found(&Spot::At(2), "x"), ["local 1"]);
        assert_eq!(found(&Spot::At(2), "z"), none);
        assert_eq!(found(&Spot::At(5), ""), none);
        assert_eq!(found(&Spot::At(16), "y"), ["s m . . y."], "the innermost");
        assert_eq!(found(&Spot::Within(0..12), "f"), ["s m p 1 f()."]);
        assert_eq!(found(&Spot::Within(12..17), "f"), ["s m p 1 C#f()."]);
        assert_eq!(found(&Spot::Anywhere, "f"), none, "two things have that name");
        assert_eq!(found(&Spot::Anywhere, "x"), ["local 1"]);
        assert_eq!(found(&Spot::Within(0..12), ""), none);
    }

    #[test]
    fn a_symbol_without_a_package_is_known_in_its_import_only() {
        assert_eq!(Reach::of("local 1", 7), Reach::Document);
        assert_eq!(Reach::of("s m . . y.", 7), Reach::Import(7));
        assert_eq!(Reach::of("s m p 1 y.", 7), Reach::All);
        assert_eq!(Reach::of("strange", 7), Reach::Import(7));
    }

    #[test]
    fn what_is_related_is_referred_to_as_well() {
        let known = meanings(&told(), TEXT, &Spot::At(0), "");
        let more = related(&[(told(), vec![0])], &known);
        let (symbol, reach) = ("s m p 1 C#f().".to_owned(), Reach::All);
        assert_eq!(more, [Meaning { symbol, reach, defines: false }]);
        assert!(related(&[(told(), vec![1])], &known).is_empty());
    }
}
