//! The doc of a file, as it was written.

use store::{DOC_GAP, DocRow};

use super::words;

/// Most characters of a title.
pub(super) const MAX_TITLE: usize = 160;

/// Most bytes of all headings of a doc.
const MAX_HEADINGS: usize = 16 << 10;

/// The doc of a file, as it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DocText {
    /// It is the comment at the head of a source file, not all of a file.
    pub(crate) comment: bool,
    /// Its title, or else its first sentence.
    pub(crate) title: String,
    /// The headings of its sections, one a line.
    pub(crate) headings: String,
    /// All of it, title and headings too.
    pub(crate) body: String,
}

impl DocText {
    /// Adds a heading; the first one is the title.
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

    /// The same with title and headings cut to what is indexed of them.
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

    /// Its words, as they are indexed.
    pub(crate) fn row(&self) -> DocRow {
        let words_of = |text: &str| words::words_of(text, true);
        DocRow {
            comment: self.comment,
            plain: !words::is_english(&self.body),
            title: words_of(&self.title),
            headings: self.headings.lines().map(words_of).collect::<Vec<_>>().join(DOC_GAP),
            body: words_of(&self.body),
        }
    }
}
