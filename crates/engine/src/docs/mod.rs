//! DocText: the documents and comments that people wrote to be read, found by their words.
//!
//! What of a file is a doc, and where its title and headings are, is decided here, without SQL, once when the
//! file is ingested ([`DocText::of`]) and again when it is shown: its text is stored once only, as
//! chunks. [`words`] says what of it Postgres is given; [`find`] searches.

mod comment;
mod find;
mod markup;
mod words;

use store::{DOC_GAP, DocRow};

pub use find::{
    Dictionary, Doc, Docs, DocsError, DocsRequest, DocsStopped, Kind, MAX_RANKED, Piece,
};

/// Bytes of a file that are searched for its doc: a `tsvector` has 16,383 positions, and about as
/// many words are in it.
const MAX_TEXT: usize = 128 << 10;

/// Most characters of a title.
const MAX_TITLE: usize = 160;

/// Most bytes of all headings of a document.
const MAX_HEADINGS: usize = 16 << 10;

/// The doc of a file, as it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DocText {
    /// The comment at the head of a source file, not a document.
    pub(crate) comment: bool,
    /// Its title, or else its first sentence.
    pub(crate) title: String,
    /// The headings of its sections, one a line.
    pub(crate) headings: String,
    /// All of it, title and headings too.
    pub(crate) body: String,
}

/// A query as `websearch_to_tsquery` takes it, identifiers with their parts.
pub fn asked(typed: &str) -> String {
    words::asked(typed, true)
}

impl DocText {
    /// The doc of a file: all of a README or the like, the comment at the head of a source file. None where
    /// there is none. Of a large file only the beginning is looked at.
    pub(crate) fn of(path: &str, language: Option<&str>, text: &str) -> Option<Self> {
        let mut end = text.len().min(MAX_TEXT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = &text[..end];
        let doc = match markup::format(path, language, text) {
            Some(format) => markup::read(format, text),
            None => comment::read(language?, text),
        }?;
        let letters = doc.body.chars().filter(|c| c.is_alphabetic()).take(3).count();
        (letters == 3).then(|| doc.bounded())
    }

    fn bounded(mut self) -> Self {
        let mut title: String = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((at, _)) = title.char_indices().nth(MAX_TITLE) {
            title.truncate(at);
            title.push('…');
        }
        self.title = title;
        if self.headings.len() > MAX_HEADINGS {
            let upto = self.headings[..].char_indices().take_while(|(at, _)| *at < MAX_HEADINGS);
            let upto = upto.last().map_or(0, |(at, _)| at);
            self.headings.truncate(upto);
        }
        self
    }

    /// As it is indexed.
    pub(crate) fn row(&self) -> DocRow {
        DocRow {
            comment: self.comment,
            plain: !words::is_english(&self.body),
            title: words::spread(&self.title),
            headings: self.headings.lines().map(words::spread).collect::<Vec<_>>().join(DOC_GAP),
            body: words::spread(&self.body),
        }
    }
}
