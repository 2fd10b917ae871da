//! Compares the lines of two texts.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

/// Lines that another text has instead. Numbers begin with 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The lines of the old text.
    pub old: Range<u32>,
    /// The lines of the new text.
    pub new: Range<u32>,
}

/// Returns the changes of lines between two texts, in order, as `git diff --histogram` finds them. A line has its line
/// feed, so the last line of a text without one differs from a line that has one.
pub fn line_changes(old: &str, new: &str) -> Vec<Hunk> {
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    diff.hunks().map(|hunk| Hunk { old: hunk.before, new: hunk.after }).collect()
}
