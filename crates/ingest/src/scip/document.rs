//! Converts a document of a SCIP index, and checks that it describes the stored text.

use std::collections::HashMap;

use store::{NO_KIND, Occurrence, Relation, ScipDocument, is_local};

use super::position::{Lines, Unit};
use super::wire::{Broken, Fields, Value};
use ::symbols::scip::{Parts, Suffix, kind};

/// The reason why a document is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// No file of the repository has its path.
    NoFile,
    /// An earlier document has the same path.
    Twice,
    /// It is too large to describe an indexed file.
    TooLarge,
    /// A range is not in the text of the file.
    Outside,
    /// The text has other names in their places.
    OtherNames,
    /// The text in the document is not that of the file.
    OtherText,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Refusal::NoFile => "not in the indexed repository",
            Refusal::Twice => "listed twice, and imported once",
            Refusal::TooLarge => "too large",
            Refusal::Outside => "with positions outside the file, which has changed",
            Refusal::OtherNames => "with names at other positions: the file has changed",
            Refusal::OtherText => "with a text that differs from the file",
        })
    }
}

/// A document converted for its text.
#[derive(Debug)]
pub(super) struct Fitted {
    pub(super) document: ScipDocument,
    /// Whether a name stands in its place, which proves that the text is right.
    pub(super) is_proven: bool,
}

/// Returns the path of a document.
pub(super) fn path(bytes: &[u8]) -> Result<&str, Broken> {
    let mut path = "";
    for field in Fields::of(bytes) {
        if let (1, value) = field? {
            path = value.text()?;
        }
    }
    Ok(path)
}

/// Converts a document for the text of its file.
pub(super) fn fit(bytes: &[u8], text: &str) -> Result<Result<Fitted, Refusal>, Broken> {
    let (mut encoding, mut given) = (0, "");
    for field in Fields::of(bytes) {
        match field? {
            (5, value) => given = value.text()?,
            (6, value) => encoding = value.number()?,
            _ => {}
        }
    }
    if !given.is_empty() && given.trim_start_matches('\u{feff}') != text {
        return Ok(Err(Refusal::OtherText));
    }
    let units = if text.is_ascii() { &[Unit::Utf8][..] } else { Unit::of(encoding) };
    let mut refusal = Refusal::Outside;
    for (tried, unit) in units.iter().enumerate() {
        match Fitting::new(text, *unit).all(bytes)? {
            Ok(fitted) => return Ok(Ok(fitted)),
            Err(why) if tried == 0 => refusal = why,
            Err(_) => {}
        }
    }
    Ok(Err(refusal))
}

/// A document that is being converted.
struct Fitting<'b, 't> {
    text: &'t str,
    lines: Lines<'t>,
    /// The symbols, with the index of each.
    known: HashMap<&'b str, u32>,
    symbols: Vec<&'b str>,
    kinds: Vec<u8>,
    /// The name that must stand in the text for each symbol, if any.
    expected: Vec<Option<String>>,
    relations: Vec<Relation>,
    occurrences: Vec<Occurrence>,
    /// Number of places with the expected name, and with another name.
    agree: usize,
    differ: usize,
}

impl<'b, 't> Fitting<'b, 't> {
    fn new(text: &'t str, unit: Unit) -> Self {
        Self {
            text,
            lines: Lines::new(text, unit),
            known: HashMap::new(),
            symbols: Vec::new(),
            kinds: Vec::new(),
            expected: Vec::new(),
            relations: Vec::new(),
            occurrences: Vec::new(),
            agree: 0,
            differ: 0,
        }
    }

    fn all(mut self, bytes: &'b [u8]) -> Result<Result<Fitted, Refusal>, Broken> {
        for field in Fields::of(bytes) {
            if let (2, value) = field?
                && let Err(refusal) = self.occurrence(value)?
            {
                return Ok(Err(refusal));
            }
        }
        // Some differ legitimately: imports under another name.
        if self.differ * 2 > self.agree {
            return Ok(Err(Refusal::OtherNames));
        }
        // Information on a symbol may come after its occurrences, or before.
        for field in Fields::of(bytes) {
            if let (3, value) = field? {
                self.information(value)?;
            }
        }
        self.occurrences.sort_by_key(|one| (one.start, one.len, one.symbol));
        self.occurrences.dedup();
        let document = ScipDocument {
            names: self.symbols.join("\n"),
            kinds: self.kinds,
            relations: self.relations,
            occurrences: self.occurrences,
        };
        Ok(Ok(Fitted { document, is_proven: self.agree > 0 }))
    }

    fn occurrence(&mut self, value: Value<'b>) -> Result<Result<(), Refusal>, Broken> {
        let (mut range, mut around) = (Vec::new(), Vec::new());
        let (mut symbol, mut roles) = ("", 0);
        for field in value.fields()? {
            match field? {
                (1, value) => value.add_to(&mut range)?,
                (2, value) => symbol = value.text()?,
                (3, value) => roles = value.number()?,
                (7, value) => value.add_to(&mut around)?,
                (8, value) => range = typed(value, 3)?,
                (9, value) => range = typed(value, 4)?,
                (10, value) => around = typed(value, 3)?,
                (11, value) => around = typed(value, 4)?,
                _ => {}
            }
        }
        // Without a symbol, an occurrence only gives a colour.
        if symbol.is_empty() || symbol.contains(['\n', '\0']) {
            return Ok(Ok(()));
        }
        let Some((start, end)) = self.lines.range(&range) else {
            return Ok(Err(Refusal::Outside));
        };
        if self.splits_word(start, end) {
            return Ok(Err(Refusal::OtherNames));
        }
        let symbol = self.index(symbol);
        self.compare(symbol, start, end);
        let roles = roles as u8 & 0x7f;
        let is_definition = roles & Occurrence::DEFINITION != 0;
        let around = if is_definition { self.lines.range(&around) } else { None };
        let around = around.filter(|(from, upto)| *from <= start && end <= *upto);
        self.occurrences.push(Occurrence {
            start: start as u32,
            len: (end - start) as u32,
            symbol,
            roles,
            enclosing: around.map(|(from, upto)| from as u32..upto as u32),
        });
        Ok(Ok(()))
    }

    /// Returns whether a range begins or ends within a word, so that the text is another.
    fn splits_word(&self, start: usize, end: usize) -> bool {
        let (before, within, after) =
            (&self.text[..start], &self.text[start..end], &self.text[end..]);
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !within.is_empty()
            && (is_word(before.chars().next_back()) && is_word(within.chars().next())
                || is_word(within.chars().next_back()) && is_word(after.chars().next()))
    }

    /// Compares the name in the text at a place with the symbol's name.
    fn compare(&mut self, symbol: u32, start: usize, end: usize) {
        let said = &self.text[start..end];
        if !is_name(said) {
            return;
        }
        match &mut self.expected[symbol as usize] {
            Some(name) if name.eq_ignore_ascii_case(said) => self.agree += 1,
            Some(_) => self.differ += 1,
            // A local symbol has no name; its first occurrence gives one.
            expected if is_local(self.symbols[symbol as usize]) => {
                *expected = Some(said.to_owned());
            }
            None => {}
        }
    }

    /// Returns the index of a symbol.
    fn index(&mut self, symbol: &'b str) -> u32 {
        let next = self.symbols.len() as u32;
        let index = *self.known.entry(symbol).or_insert(next);
        if index == next {
            self.symbols.push(symbol);
            self.kinds.push(NO_KIND);
            self.expected.push(expected(symbol));
        }
        index
    }

    /// Reads the information on a symbol.
    fn information(&mut self, value: Value<'b>) -> Result<(), Broken> {
        let (mut symbol, mut number) = ("", 0);
        for field in value.fields()? {
            match field? {
                (1, value) => symbol = value.text()?,
                (5, value) => number = value.number()?,
                _ => {}
            }
        }
        // Drop information on symbols that do not occur in the text.
        let Some(&from) = self.known.get(symbol) else { return Ok(()) };
        if let Some(kind) = kind(number) {
            self.kinds[from as usize] = kind.byte();
        }
        for field in value.fields()? {
            if let (4, value) = field? {
                self.relation(from, value)?;
            }
        }
        Ok(())
    }

    fn relation(&mut self, from: u32, value: Value<'b>) -> Result<(), Broken> {
        let (mut symbol, mut flags) = ("", 0);
        for field in value.fields()? {
            let (field, value) = field?;
            let flag = match field {
                1 => {
                    symbol = value.text()?;
                    continue;
                }
                2 => Relation::REFERENCE,
                3 => Relation::IMPLEMENTATION,
                5 => Relation::DEFINITION,
                _ => continue,
            };
            flags |= if value.number()? != 0 { flag } else { 0 };
        }
        if flags != 0 && !symbol.is_empty() && !symbol.contains(['\n', '\0']) {
            let to = self.index(symbol);
            self.relations.push(Relation { from, to, flags });
        }
        Ok(())
    }
}

/// Reads a range with named numbers; missing numbers are 0.
fn typed(value: Value<'_>, count: usize) -> Result<Vec<i32>, Broken> {
    let mut range = vec![0; count];
    for field in value.fields()? {
        let (field, value) = field?;
        if let Some(number) = range.get_mut(field as usize - 1) {
            *number = value.number()?;
        }
    }
    Ok(range)
}

/// Returns the name that must stand in the text for a symbol, if that can be known.
fn expected(symbol: &str) -> Option<String> {
    if is_local(symbol) {
        return None;
    }
    let parts = Parts::of(symbol)?;
    let (name, suffix) = parts.name();
    // The names of modules differ from those in texts; __init__ and the like stand for their class.
    let is_written = !matches!(suffix, Suffix::Namespace | Suffix::Meta) && !name.starts_with("__");
    (is_written && is_name(name)).then(|| name.to_owned())
}

fn is_name(text: &str) -> bool {
    let first = text.chars().next();
    first.is_some_and(|c| c.is_alphabetic() || c == '_' || c == '$')
        && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
}
