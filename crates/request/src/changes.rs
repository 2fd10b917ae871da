//! Changes between two revisions as all clients show them: in the form of git's unified diff, and as JSON.

use std::fmt::Write as _;

use answer::LineChange;
use git::FileMode;
use search::changes::{ChangedFile, Compared, Contents, DiffLine, Script, Side, Status};
use serde_json::{Value, json};

use crate::human::count;

/// Unchanged lines shown around changed ones unless another number is given, as in git.
pub const CONTEXT: usize = 3;

/// First digits of a hash that are shown.
const DIGITS: usize = 10;

/// A line of a unified diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row<'f> {
    /// A line about the file.
    Head(String),
    /// The place of the lines after it: `@@ -1,2 +1,3 @@`.
    Place(String),
    /// A line of the texts.
    Line(DiffLine<'f>),
    /// The line before it ends the text without a line feed.
    Unended,
}

impl Row<'_> {
    /// Returns the sign before the line of a text; empty for other rows.
    pub fn sign(&self) -> &'static str {
        match self {
            Self::Line(line) => sign(line.change),
            _ => "",
        }
    }

    /// Returns its text after the sign.
    pub fn text(&self) -> &str {
        match self {
            Self::Head(text) | Self::Place(text) => text,
            Self::Line(line) => line.text,
            Self::Unended => "\\ No newline at end of file",
        }
    }
}

fn sign(change: Option<LineChange>) -> &'static str {
    match change {
        None => " ",
        Some(LineChange::Added) => "+",
        Some(LineChange::Removed) => "-",
    }
}

/// Returns the rows of a unified diff of a file, as `git diff` prints them, with unchanged lines around changed ones.
pub fn rows(file: &ChangedFile, context: usize) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = head(file).into_iter().map(Row::Head).collect();
    let texts = match &file.contents {
        Contents::Texts(texts) => texts,
        Contents::LeftOut(why) => {
            let [old, new] = names(file);
            rows.push(Row::Head(match *why {
                "binary" => format!("Binary files {old} and {new} differ"),
                why => format!("Not compared: {why}"),
            }));
            return rows;
        }
    };
    let blocks = Script::of(texts).blocks(context);
    if !blocks.is_empty() {
        let [old, new] = names(file);
        // As in git, a tab ends a name with a space.
        let ended = |name: String| if name.contains(' ') { format!("{name}\t") } else { name };
        rows.extend([format!("--- {}", ended(old)), format!("+++ {}", ended(new))].map(Row::Head));
    }
    for block in blocks {
        let [old, new] = block.places();
        let place = |(first, lines): (usize, usize)| match lines {
            1 => first.to_string(),
            lines => format!("{first},{lines}"),
        };
        rows.push(Row::Place(format!("@@ -{} +{} @@", place(old), place(new))));
        for line in block.lines {
            rows.push(Row::Line(line));
            if !line.ended {
                rows.push(Row::Unended);
            }
        }
    }
    rows
}

/// Returns the names in the lines `---` and `+++`.
fn names(file: &ChangedFile) -> [String; 2] {
    let name = |side: &Option<Side>, folder: &str| match side {
        Some(side) => quoted(&format!("{folder}/{}", side.path)),
        None => "/dev/null".to_owned(),
    };
    [name(&file.old, "a"), name(&file.new, "b")]
}

/// Returns the lines about a file, before its texts.
fn head(file: &ChangedFile) -> Vec<String> {
    let sides = (&file.old, &file.new);
    let path =
        |side: &Option<Side>| side.as_ref().map_or(file.path(), |side| &side.path).to_owned();
    let [old, new] = [("a", path(sides.0)), ("b", path(sides.1))]
        .map(|(folder, path)| quoted(&format!("{folder}/{path}")));
    let mut lines = vec![format!("diff --git {old} {new}")];
    let mut common = String::new();
    match sides {
        (None, Some(new)) => lines.push(format!("new file mode {}", mode(new.mode))),
        (Some(old), None) => lines.push(format!("deleted file mode {}", mode(old.mode))),
        (Some(old), Some(new)) if old.mode != new.mode => {
            lines.push(format!("old mode {}", mode(old.mode)));
            lines.push(format!("new mode {}", mode(new.mode)));
        }
        (Some(old), _) => common = format!(" {}", mode(old.mode)),
        (None, None) => {}
    }
    if let Some(from) = file.renamed_from() {
        lines.push(format!("rename from {}", quoted(from)));
        lines.push(format!("rename to {}", quoted(file.path())));
    }
    let zeros = "0".repeat(DIGITS);
    let hash = |side: &Option<Side>| {
        side.as_ref().map_or(zeros.clone(), |side| side.hash[..DIGITS].to_owned())
    };
    let (old, new) = (hash(sides.0), hash(sides.1));
    if old != new {
        lines.push(format!("index {old}..{new}{common}"));
    }
    lines
}

fn mode(mode: FileMode) -> &'static str {
    match mode {
        FileMode::File => "100644",
        FileMode::Executable => "100755",
        FileMode::Link => "120000",
        FileMode::Submodule => "160000",
    }
}

/// Returns a path in quotes, with escapes, if it has control characters, as git prints it.
fn quoted(path: &str) -> String {
    if !path.contains(|c: char| c.is_control() || c == '"' || c == '\\') {
        return path.to_owned();
    }
    let mut text = String::from("\"");
    for c in path.chars() {
        match c {
            '\t' => text += "\\t",
            '\n' => text += "\\n",
            '\r' => text += "\\r",
            '"' => text += "\\\"",
            '\\' => text += "\\\\",
            c if c.is_ascii_control() => {
                // Writing to a text does not fail.
                let _ = write!(text, "\\{:03o}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text + "\""
}

/// Returns a changed file as JSON; with `context`, its hunks, with that number of lines around changed ones.
pub fn file_json(file: &ChangedFile, context: Option<usize>) -> Value {
    let (added, removed) = file.counts().unzip();
    let of = |side: &Option<Side>, value: fn(&Side) -> &str| {
        side.as_ref().map(|side| value(side).to_owned())
    };
    let left_out = match &file.contents {
        Contents::LeftOut(why) => Some(*why),
        Contents::Texts(_) => None,
    };
    let mut told = json!({
        "path": file.path(),
        "renamed_from": file.renamed_from(),
        "status": file.status().word(),
        "language": file.language(),
        "added": added,
        "removed": removed,
        "left_out": left_out,
        "old_hash": of(&file.old, |side| &side.hash),
        "new_hash": of(&file.new, |side| &side.hash),
        "old_mode": of(&file.old, |side| mode(side.mode)),
        "new_mode": of(&file.new, |side| mode(side.mode)),
    });
    if let (Some(context), Contents::Texts(texts)) = (context, &file.contents) {
        let blocks = Script::of(texts).blocks(context);
        let hunks = blocks.iter().map(|block| {
            let [(old_start, old_lines), (new_start, new_lines)] = block.places();
            json!({
                "old_start": old_start, "old_lines": old_lines,
                "new_start": new_start, "new_lines": new_lines,
                "lines": block.lines.iter().map(line_json).collect::<Vec<_>>(),
            })
        });
        told["hunks"] = hunks.collect();
    }
    told
}

fn line_json(line: &DiffLine<'_>) -> Value {
    let change = match line.change {
        None => None,
        Some(LineChange::Added) => Some("added"),
        Some(LineChange::Removed) => Some("removed"),
    };
    let old = (line.change != Some(LineChange::Added)).then_some(line.old);
    let new = (line.change != Some(LineChange::Removed)).then_some(line.new);
    json!({ "change": change, "old": old, "new": new, "text": line.text, "ended": line.ended })
}

/// Numbers of changed files and lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// Changed files.
    pub files: usize,
    /// Added lines.
    pub added: usize,
    /// Removed lines.
    pub removed: usize,
    /// Files whose contents were not compared.
    pub left_out: usize,
}

impl Totals {
    /// Counts a file.
    pub fn add(&mut self, file: &ChangedFile) {
        self.files += 1;
        match file.counts() {
            Some((added, removed)) => {
                self.added += added;
                self.removed += removed;
            }
            None => self.left_out += 1,
        }
    }

    /// Returns the numbers as text: `2 files changed, 1 line added, 3 lines removed`.
    pub fn text(&self) -> String {
        let Self { files, added, removed, left_out } = *self;
        let mut text = format!(
            "{} changed, {} added, {} removed",
            count(files, "file"),
            count(added, "line"),
            count(removed, "line")
        );
        if left_out > 0 {
            text += &format!("; {} not compared", count(left_out, "file"));
        }
        text
    }
}

/// Returns what was compared, for people: `main..topic (1f2e3d4c5b to 5c6d7e8f9a)`.
pub fn compared(of: &Compared) -> String {
    let short = |hash: &str| hash.get(..DIGITS).unwrap_or(hash).to_owned();
    match &of.old {
        Some(old) => format!("{} ({} to {})", of.label, short(old), short(&of.new)),
        None => format!("{} (the first commit)", of.label),
    }
}

/// Returns the sign of what happened to a file, as `git diff --name-status` prints it.
pub fn letter(status: Status) -> &'static str {
    match status {
        Status::Added => "A",
        Status::Deleted => "D",
        Status::Renamed => "R",
        Status::Modified => "M",
    }
}

#[cfg(test)]
mod tests {
    use search::changes::Texts;

    use super::*;

    fn side(path: &str, digit: &str, mode: FileMode) -> Side {
        Side { path: path.to_owned(), hash: digit.repeat(40), mode }
    }

    fn texts(old: &str, new: &str) -> Contents {
        let hunks = git::line_changes(old, new);
        Contents::Texts(Texts { old: old.to_owned(), new: new.to_owned(), hunks })
    }

    fn printed(file: &ChangedFile) -> String {
        let rows = rows(file, CONTEXT);
        let lines: Vec<String> =
            rows.iter().map(|row| format!("{}{}\n", row.sign(), row.text())).collect();
        lines.concat()
    }

    #[test]
    fn a_renamed_file_is_printed_as_git_does() {
        let file = ChangedFile {
            old: Some(side("a b", "1", FileMode::File)),
            new: Some(side("c\"d", "2", FileMode::Executable)),
            contents: texts("x\ny\n", "x\nz"),
        };
        let expected = "diff --git a/a b \"b/c\\\"d\"\nold mode 100644\nnew mode 100755\nrename from a b\n\
             rename to \"c\\\"d\"\nindex 1111111111..2222222222\n--- a/a b\t\n+++ \"b/c\\\"d\"\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n\
             \\ No newline at end of file\n";
        assert_eq!(printed(&file), expected);
        assert_eq!(file_json(&file, None)["added"], 1);
        let json = file_json(&file, Some(0));
        assert_eq!(json["hunks"][0]["lines"][1]["text"], "z");
        assert_eq!((&json["status"], &json["renamed_from"]), (&json!("renamed"), &json!("a b")));
    }

    #[test]
    fn new_files_and_binary_ones() {
        let file = ChangedFile {
            old: None,
            new: Some(side("x", "2", FileMode::File)),
            contents: texts("", "x\n"),
        };
        let expected = "diff --git a/x b/x\nnew file mode 100644\nindex 0000000000..2222222222\n--- /dev/null\n\
             +++ b/x\n@@ -0,0 +1 @@\n+x\n";
        assert_eq!(printed(&file), expected);
        let file = ChangedFile { contents: Contents::LeftOut("binary"), ..file };
        assert!(printed(&file).ends_with("\nBinary files /dev/null and b/x differ\n"));
        assert_eq!(file_json(&file, Some(3))["left_out"], "binary");
        let mut totals = Totals::default();
        totals.add(&file);
        assert_eq!(
            totals.text(),
            "1 file changed, 0 lines added, 0 lines removed; 1 file not compared"
        );
    }
}
