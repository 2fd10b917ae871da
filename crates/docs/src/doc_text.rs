//! The text of a doc.

use store::{DOC_GAP, DocRow};

use super::words;

/// Maximum number of characters of a title.
pub(super) const MAX_TITLE: usize = 160;

/// Maximum number of bytes in all headings of a doc together.
const MAX_HEADINGS: usize = 16 << 10;

/// The text of a doc, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocText {
    /// Whether it is the comment at the head of a source file, not a whole file.
    pub comment: bool,
    /// Title, or else the first sentence.
    pub title: String,
    /// Headings of its sections, one a line.
    pub headings: String,
    /// Whole text, with title and headings.
    pub body: String,
}

impl DocText {
    /// Adds a heading. The first one becomes the title.
    pub(super) fn head(&mut self, text: &str) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        if self.title.is_empty() {
            text.clone_into(&mut self.title);
        } else {
            self.headings.push_str(text);
            self.headings.push('\n');
        }
        self.line(text);
    }

    /// Adds a line.
    pub(super) fn line(&mut self, text: &str) {
        self.body.push_str(text);
        self.body.push('\n');
    }

    /// Shortens title and headings to their limits.
    pub(super) fn bounded(mut self) -> Self {
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

    /// Returns its words for the index.
    pub fn row(&self) -> DocRow {
        let words_of = |text: &str| words::words_of(text, true);
        DocRow {
            comment: self.comment,
            plain: !words::is_english(&self.body),
            title: words_of(&self.title),
            headings: self.headings.lines().map(words_of).collect::<Vec<_>>().join(DOC_GAP),
            body: words_of(&self.body),
            dense: self.body.contains(::words::is_dense),
        }
    }
}
