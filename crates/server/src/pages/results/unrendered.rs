//! Files that are not rendered yet. The first ones are rendered and sent before the others, so that a browser paints
//! them at once.

use answer::FileMatch;
use search::View;
use store::Switch;

use crate::error::Failure;
use crate::pages::narrow::TreeFields;
use crate::pages::view::{self, FileView, ListedCopies};

/// Rows rendered in the first part, unless the first file is longer. A browser paints so many in a few milliseconds.
const FIRST_ROWS: usize = 8;

/// Most rows that are appended to the first part instead of making a second one.
const FEW_ROWS: usize = 12;

/// Rows that a file's heading and margins take.
const HEADING_ROWS: usize = 2;

/// A file to render.
#[derive(Debug)]
pub(super) struct UnrenderedFile {
    pub(super) file: FileMatch,
    /// Its number of matching lines.
    pub(super) matches: usize,
    /// The parts of its score, if requested.
    pub(super) score: Option<String>,
}

/// Files to render, in order.
#[derive(Debug)]
pub(super) struct UnrenderedFiles {
    files: Vec<UnrenderedFile>,
    /// The query.
    q: String,
    /// The state of the index in which they were found, if the enclosing symbols of lines are shown.
    enclosing: Option<Switch>,
    copies: ListedCopies,
}

impl UnrenderedFiles {
    pub(super) fn of(
        files: Vec<UnrenderedFile>,
        q: &str,
        enclosing: Option<Switch>,
        copies: ListedCopies,
    ) -> Self {
        Self { files, q: q.to_owned(), enclosing, copies }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Takes the files of the first part.
    pub(super) fn take_first(&mut self) -> Self {
        let first = first_part(self.files.iter().map(|of| of.file.lines.len()));
        let rest = self.files.split_off(first);
        let files = std::mem::replace(&mut self.files, rest);
        let (q, copies) = (self.q.clone(), self.copies.clone());
        Self { files, q, enclosing: self.enclosing, copies }
    }

    /// Reads the enclosing symbols of the lines, and renders the files.
    pub(super) async fn draw(mut self, view: &View) -> Result<Vec<FileView>, Failure> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(switch) = self.enclosing {
            let files = self.files.iter_mut().map(|of| &mut of.file);
            // The lines themselves are there, whatever is missing around them.
            let _missing = view.add_enclosing(files.collect(), switch).await?;
        }
        let has_trees = self.files.iter().any(|of| !of.file.trees.is_empty());
        let trees = if has_trees { TreeFields::of(view).await? } else { TreeFields::default() };
        let work = tokio::task::spawn_blocking(move || {
            let Self { files, q, copies, .. } = self;
            let draw = |UnrenderedFile { file, matches, score }| FileView {
                score,
                ..view::file(&file, matches, &q, Some(&copies), &trees)
            };
            files.into_iter().map(draw).collect()
        });
        work.await.map_err(|_| Failure::panicked())
    }
}

/// Returns how many files make up the first part, given their numbers of lines.
fn first_part(lines: impl Iterator<Item = usize> + Clone) -> usize {
    let rows = lines.map(|lines| lines + HEADING_ROWS);
    let mut drawn = 0;
    let first = rows
        .clone()
        .take_while(|rows| {
            let enough = drawn >= FIRST_ROWS;
            drawn += rows;
            !enough
        })
        .count();
    if rows.clone().skip(first).sum::<usize>() <= FEW_ROWS { rows.count() } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_part_is_small() {
        for (lines, first) in [
            (vec![], 0),
            (vec![100], 1),
            (vec![1; 50], 3),
            (vec![18; 14], 1),
            // The remaining rows are too few for a second part.
            (vec![1; 4], 4),
            (vec![6, 8, 0], 3),
            (vec![6, 8, 1], 1),
        ] {
            assert_eq!(first_part(lines.iter().copied()), first, "{lines:?}");
        }
    }
}
