//! A table of the file while it is read: takes values by their keys, and notes what is wrong, with its place.

use std::cell::RefCell;
use std::ops::Range;

use query::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::Problem;

/// Where something stands, in bytes.
pub(crate) type Place = Range<usize>;

/// What is wrong so far.
pub(crate) struct Problems<'t> {
    text: &'t str,
    found: RefCell<Vec<(usize, String)>>,
}

impl<'t> Problems<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, found: RefCell::default() }
    }

    /// Notes what is wrong with the text at a place.
    pub(crate) fn note(&self, place: &Place, what: impl Into<String>) {
        self.found.borrow_mut().push((place.start, what.into()));
    }

    /// Returns what was noted, in the order of the text.
    pub(crate) fn into_all(self) -> Vec<Problem> {
        let mut found = self.found.into_inner();
        found.sort();
        let problem = |(at, what): (usize, String)| {
            let before = &self.text[..at.min(self.text.len())];
            let line = before.rfind('\n').map_or(0, |end| end + 1);
            Problem {
                line: before.matches('\n').count() + 1,
                column: before[line..].chars().count() + 1,
                what,
            }
        };
        found.into_iter().map(problem).collect()
    }
}

/// A table and the keys that were taken from it.
pub(crate) struct Table<'p, 't> {
    /// As it is written: `[host.work]`.
    title: String,
    pub(crate) place: Place,
    table: &'p DeTable<'t>,
    known: RefCell<Vec<&'static str>>,
    problems: &'p Problems<'t>,
}

impl<'p, 't> Table<'p, 't> {
    pub(crate) fn new(
        title: String,
        place: Place,
        table: &'p DeTable<'t>,
        problems: &'p Problems<'t>,
    ) -> Self {
        Self { title, place, table, known: RefCell::default(), problems }
    }

    /// Notes what is wrong at a place, or if there is none, with all of the table.
    pub(crate) fn note(&self, place: Option<&Place>, what: impl Into<String>) {
        self.problems.note(place.unwrap_or(&self.place), what);
    }

    /// Returns the value of a key, and notes that there is such a key.
    pub(crate) fn value(&self, key: &'static str) -> Option<&'p Spanned<DeValue<'t>>> {
        self.known.borrow_mut().push(key);
        self.table.get(key)
    }

    /// Returns where the value of a key stands.
    pub(crate) fn place_of(&self, key: &str) -> Option<Place> {
        self.table.get(key).map(Spanned::span)
    }

    /// Returns a value that is text and can be read.
    pub(crate) fn text<T>(
        &self,
        key: &'static str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.value(key)?;
        let Some(text) = value.get_ref().as_str() else {
            self.note(Some(&value.span()), format!("{key} must be text; write {key} = \"...\""));
            return None;
        };
        self.read(key, &value.span(), text, &read)
    }

    /// Returns a list of texts that can be read. Those that cannot are left out, and noted.
    pub(crate) fn texts<T>(
        &self,
        key: &'static str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Option<Vec<T>> {
        let value = self.value(key)?;
        let Some(list) = value.get_ref().as_array() else {
            let shown = value.get_ref().as_str().unwrap_or("...");
            let what = format!("{key} must be a list of texts; write {key} = [\"{shown}\"]");
            self.note(Some(&value.span()), what);
            return None;
        };
        let mut all = Vec::new();
        for item in list {
            match item.get_ref().as_str() {
                Some(text) => all.extend(self.read(key, &item.span(), text, &read)),
                None => {
                    let what = format!("{key} is a list of texts; write \"...\"");
                    self.note(Some(&item.span()), what);
                }
            }
        }
        Some(all)
    }

    /// Returns whether a list is missing, or has nothing.
    pub(crate) fn lacks(&self, key: &str) -> bool {
        self.table
            .get(key)
            .is_none_or(|value| value.get_ref().as_array().is_some_and(|list| list.is_empty()))
    }

    /// Returns a value that is `true` or `false`.
    pub(crate) fn flag(&self, key: &'static str) -> Option<bool> {
        let value = self.value(key)?;
        let flag = value.get_ref().as_bool();
        if flag.is_none() {
            let what = format!("{key} must be true or false, without quotes");
            self.note(Some(&value.span()), what);
        }
        flag
    }

    /// Returns a value that is a whole number in a range.
    pub(crate) fn number(&self, key: &'static str, within: Range<u32>) -> Option<usize> {
        let value = self.value(key)?;
        let number = value.get_ref().as_integer();
        let number = number.and_then(|n| u32::from_str_radix(n.as_str(), n.radix()).ok());
        let number = number.filter(|number| within.contains(number));
        if number.is_none() {
            let (least, most) = (within.start, within.end - 1);
            let what = format!("{key} must be a whole number from {least} to {most}");
            self.note(Some(&value.span()), what);
        }
        number.map(|number| number as usize)
    }

    /// Returns a value that is one of some words.
    pub(crate) fn word<T: Copy>(&self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        self.text(key, |text| one_of(words, text))
    }

    /// Notes the keys that nobody took.
    pub(crate) fn finish(self) {
        let known = self.known.into_inner();
        for (key, _) in self.table {
            let name: &str = key.get_ref();
            if known.contains(&name) {
                continue;
            }
            let title = &self.title;
            let what = match nearest(name, known.iter().copied()) {
                Some(near) => format!("unknown key {name} in {title}; did you mean {near}?"),
                None => format!("unknown key {name} in {title}; it has {}", known.join(", ")),
            };
            self.problems.note(&key.span(), what);
        }
    }

    fn read<T>(
        &self,
        key: &str,
        place: &Place,
        text: &str,
        read: &impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let value = read(text);
        value.map_err(|why| self.note(Some(place), format!("{key}: {why}"))).ok()
    }
}

/// Finds a word.
///
/// # Errors
/// A sentence that names all words.
pub(crate) fn one_of<T: Copy>(words: &[(&str, T)], text: &str) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| *word == text);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let (last, others) = all.split_last().expect("there are words");
        format!("unknown value \"{text}\", use {} or {last}", others.join(", "))
    })
}

/// Returns a text that must be there.
pub(crate) fn required<T>(
    table: &Table<'_, '_>,
    key: &'static str,
    hint: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Option<T> {
    let value = table.text(key, read);
    if table.place_of(key).is_none() {
        table.note(None, format!("{key} is missing; {hint}"));
    }
    value
}
