//! An answer: a text for a model to read, and the same as JSON for programs; and the limits of both.

use rmcp::model::JsonObject;
use serde_json::{Value, json};
use store::Epoch;

/// Most bytes of text in an answer, and the default: some thousand tokens, a part of an agent's context window.
pub(super) const MAX_BYTES: usize = 32 * 1024;
pub(super) const DEFAULT_BYTES: usize = 8 * 1024;

/// Returns the default, for calls without the argument.
pub(super) fn default_bytes() -> usize {
    DEFAULT_BYTES
}

/// Bytes of an answer that are reserved for its first lines, which describe the answer and what it leaves out.
const MAX_HEAD_BYTES: usize = 1024;

/// Most bytes of near definitions in the head; as JSON they take about as many.
pub(super) const MAX_NEAR_BYTES: usize = 500;

/// Most bytes shown of a line.
pub(super) const MAX_LINE_BYTES: usize = 500;

/// Most bytes shown of a line in a list of matches.
const MAX_BRIEF_BYTES: usize = 160;

/// An answer of a tool.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) text: String,
    /// The answer as JSON (`schemas`): a summary (the first lines and the last), the list, and the number of items left
    /// out here because JSON takes more bytes.
    pub(super) structured: JsonObject,
    /// What the last line says of the index, besides the epoch: what is not in it, how old it is.
    footer: Vec<String>,
    /// The epoch that was read, if the tool chose it.
    pub(super) epoch: Option<Epoch>,
    /// Whether it has all that there is.
    pub(super) is_all: bool,
    /// The files that the first answer of a complete search has found, if they are few: repositories and paths.
    pub(super) few: Option<Vec<(String, String)>>,
}

impl Answer {
    /// Makes an answer from a text and the items that it lists; `name` is the name of the list.
    fn new(text: String, summary: &str, name: &str, items: Vec<Value>, max: usize) -> Self {
        let mut structured = JsonObject::new();
        let end = summary.floor_char_boundary(max / 2);
        structured.insert("summary".to_owned(), json!(summary[..end]));
        structured.insert("left_out".to_owned(), json!(0));
        structured.insert(name.to_owned(), json!([]));
        let (items, left) = fitting(items, max.saturating_sub(bytes(&json!(structured)) + FURTHER));
        structured.insert("left_out".to_owned(), json!(left));
        structured.insert(name.to_owned(), json!(items));
        Self { text, structured, footer: Vec::new(), epoch: None, is_all: false, few: None }
    }

    /// Makes an answer without a list.
    pub(super) fn bare(text: String, name: &str) -> Self {
        let summary = text.clone();
        Self::new(text, &summary, name, Vec::new(), MAX_BYTES)
    }

    /// Says at the end which trees were read instead of main ones.
    pub(super) fn in_trees(mut self, trees: &str) -> Self {
        let gap = if self.text.ends_with('\n') { "\n" } else { "\n\n" };
        self.text.push_str(&format!("{gap}(Read {trees}.)\n"));
        self.and("in_trees", json!(trees))
    }

    /// Notes that a search has found only these files.
    pub(super) fn of_few(self, files: Vec<(String, String)>) -> Self {
        Self { few: Some(files), ..self }
    }

    /// Appends another answer, with its list under a name of its own.
    pub(super) fn followed_by(mut self, other: &Self, name: &str) -> Self {
        let gap = if self.text.ends_with('\n') { "\n" } else { "\n\n" };
        self.text.push_str(&format!("{gap}{}", other.text));
        let list = other.structured.get("files").cloned().unwrap_or_default();
        self.and(name, list)
    }

    /// Returns the bytes of the text or of the JSON, whichever has more.
    pub(super) fn size(&self) -> usize {
        self.text.len().max(bytes(&json!(self.structured)))
    }

    /// Puts this answer before another, whose list gets a name of its own, and which says where to continue.
    pub(super) fn before(mut self, mut other: Self, name: &str) -> Self {
        let gap = if self.text.ends_with('\n') { "\n" } else { "\n\n" };
        self.text.push_str(&format!("{gap}{}", other.text));
        for (from, to) in [("files", name), ("cursor", "cursor")] {
            let value = other.structured.remove(from).unwrap_or_default();
            self.structured.insert(to.to_owned(), value);
        }
        Self { text: self.text, structured: self.structured, ..other }
    }

    /// Puts a sentence before the answer, and before its summary.
    pub(super) fn after(mut self, sentence: &str) -> Self {
        self.text.insert_str(0, sentence);
        if let Some(Value::String(summary)) = self.structured.get_mut("summary") {
            summary.insert_str(0, sentence);
        }
        self
    }

    /// Sets the epoch that was read.
    pub(super) fn at(self, epoch: Epoch) -> Self {
        Self { epoch: Some(epoch), ..self }
    }

    /// Adds a part of the text to the summary.
    pub(super) fn summing_up(mut self, part: &str) -> Self {
        if let Some(Value::String(summary)) = self.structured.get_mut("summary") {
            summary.push_str(&format!("\n{part}"));
        }
        self
    }

    /// Says in the last line what is not in the index, and how old it is; so does the summary.
    pub(super) fn about(mut self, index: Vec<String>) -> Self {
        if let Some(Value::String(summary)) = self.structured.get_mut("summary")
            && !index.is_empty()
        {
            summary.push_str(&format!(" ({})", index.join("; ")));
        }
        Self { footer: index, ..self }
    }

    /// Adds the last line, with the epoch that was read.
    pub(super) fn finished(mut self) -> Self {
        let mut parts = std::mem::take(&mut self.footer);
        parts.extend(self.epoch.map(|Epoch(epoch)| format!("epoch {epoch}")));
        if !parts.is_empty() {
            let told = format!("({})", parts.join("; "));
            let (before, after) = if self.text.ends_with('\n') { ("", "\n") } else { ("\n", "") };
            self.text.extend([before, &told, after]);
        }
        match self.epoch {
            Some(Epoch(epoch)) => self.and("epoch", json!(epoch)),
            None => self,
        }
    }

    /// Adds a value, such as where to continue.
    pub(super) fn and(mut self, name: &str, value: Value) -> Self {
        self.structured.insert(name.to_owned(), value);
        self
    }
}

/// Bytes of JSON for where to continue, for near definitions, and for numbers that grow.
const FURTHER: usize = 200 + 2 * MAX_NEAR_BYTES;

/// Returns the length of a value as JSON.
fn bytes(value: &Value) -> usize {
    value.to_string().len()
}

/// Drops the last items, and of items with `lines` the last lines, until the rest fits. Returns the rest and the number
/// dropped.
fn fitting(mut items: Vec<Value>, most: usize) -> (Vec<Value>, usize) {
    let mut all: usize = items.iter().map(|item| bytes(item) + 1).sum();
    let mut left = 0;
    while all > most {
        let Some(last) = items.last_mut() else { break };
        left += 1;
        match last.get_mut("lines").and_then(Value::as_array_mut).filter(|lines| lines.len() > 1) {
            Some(lines) => all -= lines.pop().map_or(0, |line| bytes(&line) + 1),
            None => all -= items.pop().map_or(0, |item| bytes(&item) + 1),
        }
    }
    (items, left)
}

/// The text of an answer after its first lines.
pub(super) struct Text {
    text: String,
    /// The items of its list, as JSON.
    items: Vec<Value>,
    /// Most bytes of the answer.
    max: usize,
    /// A sentence about files that were not searched; empty, or begins with a space.
    left_out: String,
}

impl Text {
    /// Makes an empty text for an answer of at most `max` bytes.
    pub(super) fn of(max: usize) -> Self {
        Self { text: String::new(), items: Vec::new(), max, left_out: String::new() }
    }

    /// Returns the number of bytes that still fit.
    pub(super) fn room(&self) -> usize {
        (self.max - MAX_HEAD_BYTES).saturating_sub(self.text.len())
    }

    /// Returns the most bytes of the answer.
    pub(super) fn max(&self) -> usize {
        self.max
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the number of bytes of the list.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Takes the items of the JSON list, for one beside it.
    pub(super) fn take_items(&mut self) -> Value {
        Value::Array(std::mem::take(&mut self.items))
    }

    /// Reserves room in the JSON for another list.
    pub(super) fn reserve(&mut self, other: &Value) {
        self.max = self.max.saturating_sub(bytes(other));
    }

    /// Puts another list before this one, which gets a title.
    pub(super) fn after(mut self, before: &Self, title: &str) -> Self {
        let gap = if before.is_empty() { "" } else { "\n" };
        self.text = format!("{}{gap}{title}\n{}", before.text, self.text);
        self
    }

    /// Adds a piece; returns false if it does not fit.
    pub(super) fn add(&mut self, piece: &str) -> bool {
        let fits = piece.len() <= self.room();
        if fits {
            self.text.push_str(piece);
        }
        fits
    }

    /// Adds an item to the JSON list.
    pub(super) fn note(&mut self, item: Value) {
        self.items.push(item);
    }

    /// Adds a line to the JSON list, to the last file or to a new one.
    pub(super) fn note_line(&mut self, file: Value, line: Value) {
        let keys = ["repo", "path", "trees", "commit"];
        let is_same = |last: &&mut Value| keys.iter().all(|key| last.get(key) == file.get(key));
        let last = self.items.last_mut().filter(is_same).and_then(|last| last.get_mut("lines"));
        match last.and_then(Value::as_array_mut) {
            Some(lines) => lines.push(line),
            None => {
                let mut file = file;
                file["lines"] = json!([line]);
                self.items.push(file);
            }
        }
    }

    /// Sets what was not searched. The sentence follows the list, since it is the same for most queries.
    pub(super) fn leave_out(&mut self, sentence: String) {
        self.left_out = sentence;
    }

    /// Returns the whole answer. `head` describes it and is always short; `name` is the name of the list, and `end`
    /// follows the list.
    pub(super) fn below(self, head: &str, name: &str, end: &str) -> Answer {
        let summary = format!("{head}{}", self.left_out);
        let text = match (self.text.as_str(), self.left_out.trim_start()) {
            ("", _) => format!("{summary}{end}"),
            (list, "") => format!("{head}\n\n{list}{end}"),
            (list, left_out) => format!("{head}\n\n{list}{left_out}\n{end}"),
        };
        Answer::new(text, &summary, name, self.items, self.max)
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

/// Returns a line of a list without its indentation or, if it is long, the part of it around its first match.
pub(super) fn brief(line: &str, matched: usize) -> String {
    let indented = line.len() - line.trim_start().len();
    let (line, matched) = (line.trim(), matched.saturating_sub(indented));
    if line.len() <= MAX_BRIEF_BYTES {
        return line.to_owned();
    }
    let wanted = matched.saturating_sub(MAX_BRIEF_BYTES / 4).min(line.len() - MAX_BRIEF_BYTES);
    let start = line.floor_char_boundary(wanted);
    let end = line.floor_char_boundary(start + MAX_BRIEF_BYTES);
    let left = |is_cut: bool| if is_cut { "[...]" } else { "" };
    format!("{}{}{}", left(start > 0), &line[start..end], left(end < line.len()))
}

/// Returns advice for a search that timed out.
pub(super) fn late(time: std::time::Duration) -> String {
    let seconds = time.as_secs_f64();
    format!(
        "timed out after {seconds} s. Narrow the query with repo:, file: or lang:, or raise the timeout, as in \
         timeout:{:.0}s.",
        (seconds * 6.0).max(60.0)
    )
}

/// Formats a number of things: `1 file`, `2 files`.
pub(super) fn count(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", request::human::grouped(n), if n == 1 { one } else { many })
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
        // The part begins after an eighth of a thousand bytes; the é is not cut in two.
        let middle = format!("{}é{}", "a".repeat(125), "b".repeat(373));
        assert_eq!(shown(&line, 1000), format!("[... 875 bytes ...]{middle}[... 627 bytes ...]"));
        let wide = "é".repeat(1000);
        assert_eq!(shown(&wide, 1000).matches('é').count(), 250);
    }

    #[test]
    fn lines_of_a_list_are_brief() {
        assert_eq!(brief("\t\tshort  ", 3), "short");
        let line = format!("    {}é{}", "a".repeat(200), "b".repeat(200));
        assert_eq!(brief(&line, 4), format!("{}[...]", "a".repeat(160)));
        assert_eq!(brief(&line, 404), format!("[...]{}", "b".repeat(160)));
        let middle = format!("{}é{}", "a".repeat(40), "b".repeat(118));
        assert_eq!(brief(&line, 204), format!("[...]{middle}[...]"));
        assert_eq!(brief("", 0), "");
    }

    #[test]
    fn no_more_than_there_is_room_for() {
        let mut text = Text::of(DEFAULT_BYTES);
        assert!(!text.add(&"x".repeat(DEFAULT_BYTES)));
        assert!(text.is_empty());
        assert!(text.add(&"x".repeat(text.room())));
        assert!(!text.add("x"));
        let answer = text.below(&"h".repeat(MAX_HEAD_BYTES - 2), "lines", "");
        assert!(answer.text.len() <= DEFAULT_BYTES);
    }

    #[test]
    fn json_of_an_answer_fits_and_says_what_it_lacks() {
        for (files, lines) in [(0, 0), (1, 3), (1, 900), (300, 1), (30, 30)] {
            let mut text = Text::of(DEFAULT_BYTES);
            for file in 0..files {
                for line in 0..lines {
                    let file = json!({ "repo": "r", "path": format!("p{file}") });
                    text.note_line(file, json!({ "line": line, "text": "\"quoted\"" }));
                }
            }
            let answer =
                text.below(&"\"".repeat(MAX_HEAD_BYTES), "files", "").and("cursor", json!("x"));
            let structured = Value::Object(answer.structured);
            assert!(bytes(&structured) <= DEFAULT_BYTES, "{}", bytes(&structured));
            let kept = structured["files"].as_array().unwrap();
            let kept: usize = kept.iter().map(|file| file["lines"].as_array().unwrap().len()).sum();
            let left = structured["left_out"].as_u64().unwrap() as usize;
            assert_eq!(kept + left, files * lines);
            assert!(kept > 0 || files == 0);
        }
    }
}
