//! Lines as pages show them: long lines are cut, and lines are split where a match or a colour begins or ends.

use std::ops::Range;

use answer::symbol::Symbol;
use answer::{FileMatch, Line, LineChange};

use super::highlight::{Coloured, Grammar};
use super::link;
use super::narrow::TreeFields;
use request::human::{self, count, grouped};
use store::MAIN_TREE;

/// Matching lines shown of one file at first.
pub(crate) const MAX_LINES: usize = 6;

/// Most characters shown of a line.
const MAX_CHARS: usize = 250;

/// Columns of a line that a card shows on a usual screen. A line whose first match lies further is shown from near it.
const COLUMNS: usize = 96;

/// Most characters before the first match of such a line.
const BEFORE: usize = 32;

/// Most characters of a match that count for its place.
const MATCH: usize = 16;

/// Columns of a tab.
const TAB: usize = 4;

/// Lines of context shown before and after each match.
pub(crate) const CONTEXT: usize = 1;

/// A file on a page of results.
#[derive(Debug)]
pub(crate) struct FileView {
    pub(crate) repo: String,
    /// The address of its repository.
    pub(crate) repo_href: String,
    pub(crate) path: Vec<Piece>,
    /// The address of the file, at its first match.
    pub(crate) href: String,
    /// The address of the file without a line.
    pub(crate) base: String,
    pub(crate) language: String,
    /// The number of matching lines in the file.
    pub(crate) count: String,
    pub(crate) lines: Vec<LineView>,
    /// The number of matching lines that are not shown.
    pub(crate) more: usize,
    /// The address of all matching lines, as a piece of a page.
    pub(crate) more_href: String,
    /// The parts of its score, if requested.
    pub(crate) score: Option<String>,
    /// Its identical copies, if there are any.
    pub(crate) copies: Option<CopiesView>,
    /// The first trees with it, if its repository has several: their names, and the addresses of the same search in one.
    pub(crate) trees: Vec<(String, Option<String>)>,
    /// The number of the other trees.
    pub(crate) more_trees: Option<String>,
    /// Its path before a rename.
    pub(crate) renamed_from: Option<String>,
    /// The commit that changed its lines.
    pub(crate) commit: Option<CommitView>,
}

impl FileView {
    /// Returns whether another file is of the same commit.
    pub(crate) fn is_of_commit_of(&self, other: &FileView) -> bool {
        self.commit == other.commit
    }
}

/// A commit in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommitView {
    pub(crate) hash: String,
    /// Its first digits.
    pub(crate) short: String,
    pub(crate) day: String,
    pub(crate) author: String,
    pub(crate) summary: String,
    /// The address of its changes.
    pub(crate) href: String,
}

/// Trees named of a file.
const NAMED_TREES: usize = 2;

/// The identical copies of a file.
#[derive(Debug)]
pub(crate) struct CopiesView {
    /// For example, `2 identical copies`.
    pub(crate) count: String,
    /// The names and addresses of the first ones, or of all.
    pub(crate) listed: Vec<(String, String)>,
    /// Whether the list is open.
    pub(crate) open: bool,
    /// How many are not listed, and the address of the page that lists all.
    pub(crate) more: Option<(String, String)>,
}

/// How copies are listed.
#[derive(Clone, Debug)]
pub(crate) struct ListedCopies {
    /// Whether all are, and openly.
    pub(crate) all: bool,
    /// The address of the page that lists all.
    pub(crate) href: String,
}

/// Copies listed of a file, unless all are.
const FEW_COPIES: usize = 10;

impl CopiesView {
    fn of(file: &FileMatch, q: &str, how: &ListedCopies) -> Option<Self> {
        let all = file.copies.len();
        let most = if how.all { all } else { FEW_COPIES };
        let listed = file.copies.iter().take(most).map(|copy| {
            (format!("{}/{}", copy.repo, copy.path), link::file(&copy.repo, &copy.path, q, None))
        });
        let more = all.saturating_sub(most);
        (all > 0).then(|| Self {
            count: count(all, "identical copy"),
            listed: listed.collect(),
            open: how.all,
            more: (more > 0).then(|| (format!("{more} more"), how.href.clone())),
        })
    }
}

/// A line in pieces.
#[derive(Debug)]
pub(crate) struct LineView {
    pub(crate) number: u64,
    /// How it changed.
    pub(crate) change: Option<ChangeView>,
    /// Whether it contains a match.
    pub(crate) hit: bool,
    /// Whether lines are left out before it.
    pub(crate) gap: bool,
    pub(crate) pieces: Vec<Piece>,
    /// The symbol that encloses the next match, to be named above this line, unless the match before has the same.
    pub(crate) around: Option<Around>,
}

/// How a line changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChangeView {
    /// A class of the style sheet.
    pub(crate) class: &'static str,
    pub(crate) sign: &'static str,
}

impl From<LineChange> for ChangeView {
    fn from(change: LineChange) -> Self {
        let sign = match change {
            LineChange::Added => "+",
            LineChange::Removed => "−",
        };
        Self { class: change.word(), sign }
    }
}

/// The symbol that encloses a line.
#[derive(Debug)]
pub(crate) struct Around {
    /// The qualified name: `Server.Serve`.
    pub(crate) name: String,
    /// `method, line 12`.
    pub(crate) about: String,
    /// The address of the line in which it begins.
    pub(crate) href: String,
}

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) hit: bool,
    /// A class of the style sheet; empty if it has none.
    pub(crate) class: &'static str,
    pub(crate) text: String,
}

/// Returns the view of a file found by `q`. It has `matches` matching lines in all; `file.lines` may hold fewer. Its
/// copies are listed if `copies` says how.
pub(crate) fn file(
    file: &FileMatch,
    matches: usize,
    q: &str,
    copies: Option<&ListedCopies>,
    trees: &TreeFields,
) -> FileView {
    let shown = file.matches();
    let of_changes = file.lines.iter().any(|line| line.change.is_some());
    let first = file.lines.iter().find(|line| !line.ranges.is_empty() && line.change.is_none());
    let folder = [(0..file.path.rfind('/').map_or(0, |at| at + 1), "dir")];
    let changes = link::changes(file);
    let first_changed = file.lines.iter().find(|line| !line.ranges.is_empty());
    // The page of a file that the main tree lacks is about the first tree that has it.
    let has_main = file.trees.iter().any(|name| name == MAIN_TREE);
    let tree = file.trees.first().filter(|name| !has_main && trees.term(name).is_some());
    let address =
        |line| link::file_in(&file.repo, &file.path, tree.map_or("", |name| name), q, line);
    let to = |name: &String| Some(link::to("/search", &[("q", &trees.narrowed(q, name)?)]));
    // Of the same path, another tree may have another text.
    let in_tree = file.trees.first().and_then(|name| trees.narrowed(q, name));
    let more_trees = file.trees.len().saturating_sub(NAMED_TREES);
    FileView {
        path: pieces(&file.path, &file.path_ranges, &folder, 0..file.path.len()),
        href: match &changes {
            Some(changes) => format!("{changes}{}", first_changed.map(anchor).unwrap_or_default()),
            None => address(first.map(|line| line.number)),
        },
        base: changes.unwrap_or_else(|| address(None)),
        language: file.language.clone().unwrap_or_default(),
        count: if matches > 1 { count(matches, "line") } else { String::new() },
        lines: lines(file),
        more: matches.saturating_sub(shown),
        more_href: if of_changes {
            String::new()
        } else {
            link::lines(&file.repo, &file.path, in_tree.as_deref().unwrap_or(q))
        },
        score: None,
        copies: copies.and_then(|how| CopiesView::of(file, q, how)),
        repo_href: link::folder(&file.repo, ""),
        repo: file.repo.clone(),
        trees: file.trees.iter().take(NAMED_TREES).map(|name| (name.clone(), to(name))).collect(),
        more_trees: (more_trees > 0).then(|| grouped(more_trees)),
        renamed_from: file.renamed_from.clone(),
        commit: file.commit.as_deref().map(|commit| CommitView {
            hash: commit.hash.clone(),
            short: link::short(&commit.hash).to_owned(),
            day: human::day(commit.time),
            author: commit.author.clone(),
            summary: commit.summary.clone(),
            href: link::to("/diff", &[("repo", &file.repo), ("commit", &commit.hash)]),
        }),
    }
}

/// Returns the place of a changed line on the page with both sides.
fn anchor(line: &Line) -> String {
    match line.change {
        Some(LineChange::Added) if line.number > 0 => format!("#L{}", line.number),
        Some(LineChange::Removed) if line.number > 0 => format!("#O{}", line.number),
        _ => String::new(),
    }
}

/// Returns the views of all lines that the file holds.
pub(crate) fn lines(file: &FileMatch) -> Vec<LineView> {
    let grammar = Grammar::of(file.language.as_deref(), &file.path);
    let mut views = Vec::with_capacity(file.lines.len());
    let mut next = None;
    let mut last: Option<&Symbol> = None;
    let follows = |a: &Line, b: &Line| a.number + 1 == b.number;
    for run in file.lines.chunk_by(follows) {
        let mut colours = grammar.map_or_else(Vec::new, |grammar| {
            grammar.colour(run.iter().map(|line| line.text.as_str()))
        });
        colours.resize(run.len(), Vec::new());
        // The first line that may stand below the name of the next symbol.
        let mut free = views.len();
        for (line, colours) in run.iter().zip(colours) {
            let gap = next.is_some_and(|next| match line.change {
                None => next != line.number,
                // The numbers of removed lines are those of another text.
                Some(_) => false,
            });
            next = (line.change != Some(LineChange::Removed)).then_some(line.number + 1).or(next);
            views.push(one(line, &colours, gap));
            if line.ranges.is_empty() {
                continue;
            }
            let symbol = line.enclosing.as_deref();
            if let Some(symbol) = symbol.filter(|_| symbol != last) {
                let hit = views.len() - 1;
                let begins = (free..hit).find(|at| views[*at].number == symbol.line);
                // Context before the first match of a run belongs to it, as far as is known.
                let first = if views[free].number == run[0].number { free } else { hit };
                views[begins.unwrap_or(first)].around = Some(around(file, symbol));
            }
            last = symbol;
            free = views.len();
        }
    }
    views
}

fn around(file: &FileMatch, symbol: &Symbol) -> Around {
    Around {
        name: qualified(symbol),
        about: format!("{}, line {}", symbol.kind, symbol.line),
        href: link::file(&file.repo, &file.path, "", Some(symbol.line)),
    }
}

/// For example, `Server.Serve`.
pub(crate) fn qualified(symbol: &Symbol) -> String {
    match &symbol.container {
        Some((name, _)) => format!("{name}.{}", symbol.name),
        None => symbol.name.clone(),
    }
}

/// Splits a line into pieces; only the part around the first match of a long line.
fn one(line: &Line, colours: &[Coloured], gap: bool) -> LineView {
    let text = &line.text;
    let from = line.ranges.first().map_or(0, |first| start_of_shown(text, first));
    let upto = text[from..].char_indices().nth(MAX_CHARS).map_or(text.len(), |(at, _)| from + at);
    let mut shown = pieces(text, &line.ranges, colours, from..upto);
    let cut = |text: &str| Piece { hit: false, class: "cut", text: text.to_owned() };
    if from > 0 {
        shown.insert(0, cut("… "));
    }
    if upto < text.len() {
        shown.push(cut(" …"));
    }
    LineView {
        number: line.number,
        change: line.change.map(ChangeView::from),
        hit: !line.ranges.is_empty(),
        gap,
        pieces: shown,
        around: None,
    }
}

/// Returns where the shown part of a line begins: at its start if the first match is seen then, else near the match, at
/// the start of a word if possible.
fn start_of_shown(text: &str, first: &Range<usize>) -> usize {
    let columns = |part: &str| part.chars().map(|c| if c == '\t' { TAB } else { 1 }).sum::<usize>();
    let column = columns(&text[..first.start]);
    if column + columns(&text[first.clone()]).min(MATCH) <= COLUMNS {
        return 0;
    }
    let before = text[..first.start].char_indices().rev().take(BEFORE).last();
    let from = before.map_or(first.start, |(at, _)| at);
    let lead = &text[from..first.start];
    let word = lead[..lead.floor_char_boundary(lead.len() / 2)].find(char::is_whitespace);
    word.map_or(from, |at| first.start - lead[at..].trim_start().len())
}

/// Splits a range of a text where a match or a colour begins or ends.
pub(crate) fn pieces(
    text: &str,
    ranges: &[Range<usize>],
    colours: &[Coloured],
    shown: Range<usize>,
) -> Vec<Piece> {
    let mut cuts: Vec<usize> = vec![shown.start, shown.end];
    let ends = |range: &Range<usize>| [range.start, range.end];
    cuts.extend(ranges.iter().flat_map(ends));
    cuts.extend(colours.iter().flat_map(|(range, _)| ends(range)));
    cuts.retain(|at| shown.contains(at) || *at == shown.end);
    cuts.sort_unstable();
    cuts.dedup();
    let (mut ranges, mut colours) = (ranges.iter().peekable(), colours.iter().peekable());
    let mut pieces: Vec<Piece> = Vec::new();
    for (from, upto) in cuts.iter().zip(cuts.iter().skip(1)) {
        while ranges.next_if(|range| range.end <= *from).is_some() {}
        while colours.next_if(|(range, _)| range.end <= *from).is_some() {}
        let hit = ranges.peek().is_some_and(|range| range.start <= *from);
        let class = colours.peek().filter(|(range, _)| range.start <= *from);
        let class = class.map_or("", |(_, class)| class);
        pieces.push(Piece { hit, class, text: text[*from..*upto].to_owned() });
    }
    if text.get(shown).is_some_and(|shown| shown.contains(turns)) {
        return pieces.into_iter().flat_map(split_at_controls).collect();
    }
    pieces
}

/// Returns whether an invisible character changes the direction of the text after it. Such characters can make code
/// look like other code (<https://trojansource.codes>).
fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Splits a piece so that such characters are shown by their names.
fn split_at_controls(piece: Piece) -> Vec<Piece> {
    let Piece { hit, class, text } = piece;
    let mut pieces = Vec::new();
    for part in text.split_inclusive(turns) {
        let turn = part.chars().next_back().filter(|c| turns(*c));
        let plain = turn.map_or(part, |c| &part[..part.len() - c.len_utf8()]);
        if !plain.is_empty() {
            pieces.push(Piece { hit, class, text: plain.to_owned() });
        }
        if let Some(c) = turn {
            pieces.push(Piece { hit, class: "turn", text: format!("U+{:04X}", u32::from(c)) });
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, ranges: &[(usize, usize)], colours: &[Coloured], expected: &str) {
        let ranges = ranges.iter().map(|(start, end)| *start..*end).collect();
        let line =
            Line { number: 1, text: text.to_owned(), ended: true, ranges, ..Line::default() };
        let shown: Vec<String> = one(&line, colours, false)
            .pieces
            .into_iter()
            .map(|Piece { hit, class, text }| match (hit, class) {
                (true, "") => format!("[{text}]"),
                (true, class) => format!("[{class}:{text}]"),
                (false, "" | "cut") => text,
                (false, "turn") => format!("<{text}>"),
                (false, class) => format!("{{{class}:{text}}}"),
            })
            .collect();
        assert_eq!(shown.concat(), expected);
    }

    #[test]
    fn a_line_in_pieces() {
        check("a foo b", &[(2, 5)], &[], "a [foo] b");
        check("foofoo", &[(0, 3), (3, 6)], &[], "[foo][foo]");
        check("<b>", &[(0, 0)], &[], "<b>");
        check("", &[(0, 0)], &[], "");
    }

    #[test]
    fn characters_that_turn_the_text_are_told() {
        check("a\u{202e}b\u{2069}", &[], &[], "a<U+202E>b<U+2069>");
        check("\u{2066}foo", &[(3, 6)], &[(0..6, "c")], "<U+2066>[c:foo]");
        check("שלום", &[(0, 8)], &[], "[שלום]");
    }

    #[test]
    fn matches_and_colours_cut_each_other() {
        check("let foo", &[(2, 5)], &[(0..3, "k"), (4..7, "f")], "{k:le}[k:t][ ][f:f]{f:oo}");
    }

    #[test]
    fn a_long_line_is_shown_around_its_first_match() {
        let text = format!("{}é{}", "x".repeat(1000), "y".repeat(1000));
        let expected = format!("… {}[é]{} …", "x".repeat(32), "y".repeat(217));
        check(&text, &[(1000, 1002)], &[], &expected);
        // Where it is seen, nothing is cut; else the line begins at a word.
        let text = format!("{}needle", "word ".repeat(18));
        check(&text, &[(90, 96)], &[], &format!("{}[needle]", "word ".repeat(18)));
        let text = format!("\t{}needle", "word ".repeat(18));
        check(&text, &[(91, 97)], &[], &format!("… {}[needle]", "word ".repeat(6)));
    }
}
