//! The bounds of an answer.

/// Most bytes of text in an answer, and the default: some thousand tokens, a part of an agent's context window.
pub(super) const MAX_BYTES: usize = 32 * 1024;
pub(super) const DEFAULT_BYTES: usize = 8 * 1024;

/// The same, for arguments that are left out.
pub(super) fn default_bytes() -> usize {
    DEFAULT_BYTES
}

/// Bytes of an answer that are reserved for its first lines, which describe the answer and what it leaves out.
const MAX_HEAD_BYTES: usize = 1024;

/// Most bytes shown of a matching line.
pub(super) const MAX_LINE_BYTES: usize = 500;

/// The text of an answer, below its first lines.
pub(super) struct Text {
    text: String,
    /// Bytes of the answer at most.
    max: usize,
}

impl Text {
    /// Of an answer of so many bytes at most.
    pub(super) fn of(max: usize) -> Self {
        Self { text: String::new(), max }
    }

    /// Bytes that there is still room for.
    pub(super) fn room(&self) -> usize {
        (self.max - MAX_HEAD_BYTES).saturating_sub(self.text.len())
    }

    /// Bytes of the answer at most.
    pub(super) fn max(&self) -> usize {
        self.max
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Adds a piece; false if there is no room for it.
    pub(super) fn add(&mut self, piece: &str) -> bool {
        let fits = piece.len() <= self.room();
        if fits {
            self.text.push_str(piece);
        }
        fits
    }

    /// The whole answer. What is said of it is short, whatever was asked.
    pub(super) fn below(self, head: &str) -> String {
        if self.text.is_empty() { head.to_owned() } else { format!("{head}\n\n{}", self.text) }
    }
}

/// Returns a line or, if it is long, the part of it around its first match.
pub(super) fn shown(line: &str, matched: usize) -> String {
    if line.len() <= MAX_LINE_BYTES {
        return line.to_owned();
    }
    let wanted = matched.saturating_sub(MAX_LINE_BYTES / 4).min(line.len() - MAX_LINE_BYTES);
    let start = line.floor_char_boundary(wanted);
    let end = line.floor_char_boundary(start + MAX_LINE_BYTES);
    let left = |bytes: usize| match bytes {
        0 => String::new(),
        bytes => format!("[... {bytes} bytes ...]"),
    };
    format!("{}{}{}", left(start), &line[start..end], left(line.len() - end))
}

/// A number of things, as in `1 file` and `2 files`.
pub(super) fn count(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", crate::human::grouped(n), if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_shown_around_what_matches() {
        assert_eq!(shown("short", 3), "short");
        let line = format!("{}é{}", "a".repeat(1000), "b".repeat(1000));
        assert_eq!(shown(&line, 0), format!("{}[... 1502 bytes ...]", "a".repeat(500)));
        assert_eq!(shown(&line, 2001), format!("[... 1502 bytes ...]{}", "b".repeat(500)));
        // 1000 bytes in, behind an eighth of a thousand; the é is not cut in two.
        let middle = format!("{}é{}", "a".repeat(125), "b".repeat(373));
        assert_eq!(shown(&line, 1000), format!("[... 875 bytes ...]{middle}[... 627 bytes ...]"));
        let wide = "é".repeat(1000);
        assert_eq!(shown(&wide, 1000).matches('é').count(), 250);
    }

    #[test]
    fn no_more_than_there_is_room_for() {
        let mut text = Text::of(DEFAULT_BYTES);
        assert!(!text.add(&"x".repeat(DEFAULT_BYTES)));
        assert!(text.is_empty());
        assert!(text.add(&"x".repeat(text.room())));
        assert!(!text.add("x"));
        assert!(text.below(&"h".repeat(MAX_HEAD_BYTES - 2)).len() <= DEFAULT_BYTES);
    }
}
