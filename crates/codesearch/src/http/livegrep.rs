//! livegrep's JSON: `/api/v1/search/`, asked by GET or POST.
//!
//! A query is livegrep's: one pattern for a line, which may have blanks in it, with `file:`, `repo:` and
//! others beside it. Bounds count characters, and lines before a match are told from the nearest on.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use axum::Form;
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::FormRejection;
use axum::http::StatusCode;
use engine::search::{DEFAULT_TIMEOUT, FileMatch, Line, Request, Stats, Stopped};
use query::{Case, MAX_TERMS, Matcher, Pattern, Place, Query, QueryError, Tree};
use serde::Serialize;

use super::Server;
use super::error::{Body, Failure};
use super::gather::{MAX_ANSWER_BYTES, around, compiled, gather};

/// Lines, and as many paths, unless `max_matches:` says otherwise; livegrep's default.
const DEFAULT_MATCHES: usize = 50;

/// Lines before and after each match; livegrep's default.
const CONTEXT: usize = 3;

/// An answer, as it is sent.
#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    info: Info,
    results: Vec<Found>,
    file_results: Vec<FoundFile>,
    search_type: &'static str,
}

/// What the search did, in milliseconds.
#[derive(Debug, Serialize)]
struct Info {
    re2_time: u64,
    git_time: u64,
    sort_time: u64,
    index_time: u64,
    analyze_time: u64,
    total_time: u64,
    why: &'static str,
}

/// A line that matches.
#[derive(Debug, Serialize)]
struct Found {
    tree: String,
    version: &'static str,
    path: String,
    lno: u64,
    context_before: Vec<String>,
    context_after: Vec<String>,
    bounds: [usize; 2],
    line: String,
}

/// A path that matches.
#[derive(Debug, Serialize)]
struct FoundFile {
    tree: String,
    version: &'static str,
    path: String,
    bounds: [usize; 2],
}

/// What a query asks for. Patterns are regular expressions, also those that were given as text.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    line: String,
    files: Vec<String>,
    not_files: Vec<String>,
    repo: String,
    not_repo: String,
    fold_case: bool,
    max_matches: i64,
    /// There is no pattern for lines: it is that of the first file.
    paths_only: bool,
}

/// Answers a search.
pub(crate) async fn search(
    State(server): State<Server>,
    form: Result<Form<Vec<(String, String)>>, FormRejection>,
) -> Result<Json<Answer>, Failure> {
    let Form(parameters) = form.map_err(|error| bad_query(error.body_text()))?;
    let asked = read(&parameters).map_err(bad_query)?;
    let begun = Instant::now();
    let _turn = server.turn().await?;
    let most = match asked.max_matches {
        0 => Some(DEFAULT_MATCHES),
        most => usize::try_from(most).ok(),
    };
    let pattern = asked.pattern().map_err(wrong)?;
    let (mut stats, mut results, mut bytes) = (Stats::default(), Vec::new(), 0);
    let full = |count: usize, bytes: usize| {
        most.is_some_and(|most| count >= most) || bytes > MAX_ANSWER_BYTES
    };
    if !asked.paths_only {
        let mut request = asked.request(Place::Content, &pattern, most).await?;
        request.context = (CONTEXT, CONTEXT);
        stats = gather(&server, request, |file| {
            bytes += file.size();
            results.extend(lines(&file));
            !full(results.len(), bytes)
        })
        .await?;
    }
    let mut file_results = Vec::new();
    let request = asked.request(Place::Path, &pattern, most).await?;
    // The term that comes first.
    let matcher = request.program().terms[0].matcher.clone();
    let of_paths = gather(&server, request, |file| {
        bytes += file.size();
        file_results.extend(found_file(file, &matcher));
        !full(file_results.len(), bytes)
    })
    .await?;
    if asked.paths_only {
        stats = of_paths;
    }
    let count = if asked.paths_only { file_results.len() } else { results.len() };
    let why = match stats.stopped {
        Some(Stopped::Timeout(_) | Stopped::Shards(_)) => "TIMEOUT",
        _ if full(count, bytes) => "MATCH_LIMIT",
        _ => "NONE",
    };
    results.truncate(most.unwrap_or(usize::MAX));
    Ok(Json(Answer {
        info: Info {
            re2_time: millis(stats.phases.verify),
            git_time: 0,
            sort_time: 0,
            index_time: millis(stats.phases.lookup),
            analyze_time: 0,
            total_time: millis(begun.elapsed()),
            why,
        },
        results,
        file_results,
        search_type: if asked.paths_only { "filename_only" } else { "normal" },
    }))
}

/// The matching lines of a file.
fn lines(file: &FileMatch) -> impl Iterator<Item = Found> {
    file.lines.iter().enumerate().filter_map(|(at, line)| {
        let range = line.ranges.first()?;
        let (before, after) = around(&file.lines, at, CONTEXT);
        let text = |line: &Line| line.text.clone();
        Some(Found {
            tree: file.repo.clone(),
            version: "",
            path: file.path.clone(),
            lno: line.number,
            context_before: before.iter().rev().map(text).collect(),
            context_after: after.iter().map(text).collect(),
            bounds: bounds(&line.text, range),
            line: line.text.clone(),
        })
    })
}

fn found_file(file: FileMatch, matcher: &Matcher) -> Option<FoundFile> {
    let range = matcher.ranges(&file.path).into_iter().next()?;
    let bounds = bounds(&file.path, &range);
    Some(FoundFile { tree: file.repo, version: "", path: file.path, bounds })
}

/// A range of bytes, in characters.
fn bounds(text: &str, range: &std::ops::Range<usize>) -> [usize; 2] {
    let left = text[..range.start].chars().count();
    [left, left + text[range.clone()].chars().count()]
}

fn millis(duration: Duration) -> u64 {
    duration.as_millis() as u64
}

fn bad_query(message: String) -> Failure {
    let body = Body { code: "bad_query", message, position: None };
    Failure { status: StatusCode::BAD_REQUEST, body }
}

/// A pattern that is none. It is not known where in the query it stood.
fn wrong(error: QueryError) -> Failure {
    let body = Body { code: "query", message: error.message, position: None };
    Failure { status: StatusCode::BAD_REQUEST, body }
}

impl Asked {
    fn pattern(&self) -> Result<Pattern, QueryError> {
        let case = if self.fold_case { Case::Insensitive } else { Case::Sensitive };
        Pattern::parse(&self.line, case, false)
    }

    /// The search for the pattern in one place, beside everything else that is asked for.
    async fn request(
        &self,
        place: Place,
        pattern: &Pattern,
        most: Option<usize>,
    ) -> Result<Request, Failure> {
        // Of patterns of the same kind, a capital in one makes all of them exact.
        let term = |place, text: &String, all: &[String]| -> Result<Tree, QueryError> {
            let exact = all.iter().any(|text| text.contains(char::is_uppercase));
            let case = if exact { Case::Sensitive } else { Case::Insensitive };
            Ok(Tree::term(place, Pattern::parse(text, case, false)?))
        };
        let mut query = Query::of(place, pattern.clone());
        let kinds = [
            (Place::Path, &*self.files, false),
            (Place::Path, &*self.not_files, true),
            (Place::Repo, std::slice::from_ref(&self.repo), false),
            (Place::Repo, std::slice::from_ref(&self.not_repo), true),
        ];
        for (place, all, negated) in kinds {
            for text in all.iter().filter(|text| !text.is_empty()) {
                let tree = term(place, text, all).map_err(wrong)?;
                query = query.and(if negated { !tree } else { tree });
            }
        }
        let mut request = compiled(query).await?;
        request.limit = most;
        request.timeout = Some(DEFAULT_TIMEOUT);
        Ok(request)
    }
}

/// Reads the parameters of an address or a form.
fn read(parameters: &[(String, String)]) -> Result<Asked, String> {
    let all = |name: &str| -> Vec<String> {
        let of_name = parameters.iter().filter(|(key, _)| key == name);
        of_name.map(|(_, value)| value.clone()).collect()
    };
    let get = |name: &str| all(name).into_iter().next();
    let regex = get("regex").as_deref() != Some("false");
    let pattern = |text: String| if regex { text } else { escape(&text) };
    let mut asked = match get("q") {
        Some(q) => parse(&q, regex)?,
        None => Asked::default(),
    };
    if let Some(line) = get("line") {
        asked.line = pattern(line);
        asked.paths_only = false;
    }
    let files = all("file");
    if !files.is_empty() {
        asked.files = files.into_iter().map(pattern).collect();
    }
    if let Some(repo) = get("repo") {
        asked.repo = pattern(repo);
    }
    if asked.repo.is_empty() {
        let names: Vec<String> =
            all("repo[]").iter().map(|name| format!("^{}$", escape(name))).collect();
        asked.repo = names.join("|");
    }
    match get("fold_case").as_deref() {
        None => {}
        Some("false") => asked.fold_case = false,
        Some("true") => asked.fold_case = true,
        Some(_) => asked.fold_case = !has_capital(&asked.line),
    }
    if asked.files.len() + asked.not_files.len() > MAX_TERMS {
        return Err(format!("give at most {MAX_TERMS} patterns for paths"));
    }
    if asked.line.is_empty() {
        let kind = if regex { "regular expression" } else { "string" };
        return Err(format!("nothing to search for: give a {kind} in q="));
    }
    Ok(asked)
}

/// What a query can say beside its pattern.
const FIELDS: [&str; 11] = [
    "file",
    "-file",
    "path",
    "-path",
    "repo",
    "-repo",
    "tags",
    "-tags",
    "case",
    "lit",
    "max_matches",
];

/// A piece of a query at which something may change; what stands before it is text.
#[derive(Debug)]
enum Piece<'q> {
    Blank,
    Open(char),
    Escape,
    /// A word before a colon, without it.
    Field(&'q str),
}

/// The next piece of a query: where it begins and ends. A field stands at the very beginning only.
fn piece(rest: &str) -> Option<(usize, usize, Piece<'_>)> {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let end = rest.find(|c| !word(c)).unwrap_or(rest.len());
    if end > 0 && rest[end..].starts_with(':') {
        return Some((0, end + 1, Piece::Field(&rest[..end])));
    }
    rest.char_indices().find_map(|(at, c)| match c {
        ' ' => Some((at, at + 1, Piece::Blank)),
        '(' | '[' => Some((at, at + 1, Piece::Open(c))),
        '\\' => {
            let next = rest[at + 1..].chars().next()?;
            Some((at, at + 1 + next.len_utf8(), Piece::Escape))
        }
        _ => None,
    })
}

/// How long a group is of which the opening character was read, up to its end or that of the text.
fn group(rest: &str, open: char) -> usize {
    let close = if open == '(' { ')' } else { ']' };
    let (mut depth, mut escaped) = (1, false);
    for (at, c) in rest.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
        }
        if depth == 0 {
            return at + c.len_utf8();
        }
    }
    rest.len()
}

/// Reads a query. With `regex`, its patterns are regular expressions, else texts.
fn parse(query: &str, regex: bool) -> Result<Asked, String> {
    // What was said under each name; the pattern itself has none.
    let mut said: HashMap<&str, Vec<String>> = HashMap::new();
    let (mut key, mut term) = ("", String::new());
    let (mut in_regex, mut after_blank) = (regex, true);
    let mut rest = query.trim();
    while let Some((from, upto, piece)) = piece(rest) {
        term.push_str(&rest[..from]);
        let text = &rest[from..upto];
        rest = &rest[upto..];
        after_blank = after_blank && from == 0;
        let is_blank = matches!(piece, Piece::Blank);
        match piece {
            Piece::Blank if key.is_empty() => term.push(' '),
            Piece::Blank => {
                said.entry(key).or_default().push(std::mem::take(&mut term));
                (key, in_regex) = ("", regex);
            }
            Piece::Open(open) if in_regex || after_blank => {
                let (inside, behind) = rest.split_at(group(rest, open));
                term.push_str(text);
                term.push_str(inside);
                rest = behind;
            }
            Piece::Field(name) if key.is_empty() && FIELDS.contains(&name) => {
                if !term.trim().is_empty() {
                    said.entry(key).or_default().push(std::mem::take(&mut term));
                }
                term.clear();
                key = name;
                in_regex = in_regex && key != "lit";
            }
            Piece::Open(_) | Piece::Escape | Piece::Field(_) => term.push_str(text),
        }
        after_blank = is_blank;
    }
    term.push_str(rest);
    said.entry(key).or_default().push(term);
    asked(&said, regex)
}

fn asked(said: &HashMap<&str, Vec<String>>, regex: bool) -> Result<Asked, String> {
    let all = |name: &str| said.get(name).map_or(&[][..], Vec::as_slice);
    let pattern = |text: &String| if regex { text.clone() } else { escape(text) };
    let both = |name: &str, other: &str| -> Vec<String> {
        all(name).iter().chain(all(other)).map(pattern).collect()
    };
    let single = |name: &str| match all(name) {
        [] => Ok(String::new()),
        [one] => Ok(pattern(one)),
        _ => Err(format!("{name}: can be given once only")),
    };
    if all("").len() > 1 {
        return Err(
            "the pattern is in two places: put file:, repo: and others before or behind all of it"
                .to_owned(),
        );
    }
    if !all("tags").is_empty() || !all("-tags").is_empty() {
        return Err("there are no tags here: leave out tags:".to_owned());
    }
    let mut lines = Vec::new();
    for name in ["", "case", "lit"] {
        let text = all(name).first().map_or("", |text| text.trim());
        if !text.is_empty() {
            let literal = name == "lit" || !regex;
            lines.push(if literal { escape(text) } else { text.to_owned() });
        }
    }
    if lines.len() > 1 {
        return Err("give one of case:, lit: and a pattern without a name, not several".to_owned());
    }
    let files = both("file", "path");
    let mut line = lines.pop().unwrap_or_default();
    let paths_only = line.is_empty() && !files.is_empty();
    if paths_only {
        line.clone_from(&files[0]);
    }
    let exact = !all("case").is_empty() || !all("lit").is_empty();
    let max_matches = match all("max_matches").first().map_or("", String::as_str) {
        "" => 0,
        number => number
            .parse()
            .map_err(|_| format!("max_matches:{number}: use a number, negative for all"))?,
    };
    Ok(Asked {
        fold_case: !exact && !has_capital(&line),
        line,
        files,
        not_files: both("-file", "-path"),
        repo: single("repo")?,
        not_repo: single("-repo")?,
        max_matches,
        paths_only,
    })
}

fn has_capital(pattern: &str) -> bool {
    pattern.contains(|c: char| c.is_ascii_uppercase())
}

/// The pattern that matches a text itself.
fn escape(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if r"\.+*?()|[]{}^$".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A query as it was understood: `line`, with `i` for any case, then what is beside it.
    #[track_caller]
    fn check(query: &str, regex: bool, expected: &str) {
        let asked = parse(query, regex).unwrap();
        let mut shown = vec![format!("/{}/{}", asked.line, if asked.fold_case { "i" } else { "" })];
        shown.extend(asked.files.iter().map(|file| format!("file:{file}")));
        shown.extend(asked.not_files.iter().map(|file| format!("-file:{file}")));
        for (name, text) in [("repo", &asked.repo), ("-repo", &asked.not_repo)] {
            shown.extend((!text.is_empty()).then(|| format!("{name}:{text}")));
        }
        shown.extend((asked.max_matches != 0).then(|| format!("max:{}", asked.max_matches)));
        shown.extend(asked.paths_only.then(|| "paths".to_owned()));
        assert_eq!(shown.join(" "), expected, "{query}");
    }

    #[test]
    fn a_query_is_one_pattern_and_what_stands_beside_it() {
        check(" static int  x ", true, "/static int  x/i");
        check("Static", true, "/Static/");
        check("case:static file:^src/", true, "/static/ file:^src/");
        check("lit:a(b file:c", true, r"/a\(b/ file:c");
        check("x (y file:z)", true, "/x (y file:z)/i");
        check("[ ] path:( ) file:b", true, "/[ ]/i file:b file:( )");
        check(r"a file:\(", true, r"/a/i file:\(");
        check("std::string", true, "/std::string/i");
        check("-file:b -path:c -repo:d repo:e x", true, "/x/i -file:b -file:c repo:e -repo:d");
        check("x max_matches:7", true, "/x/i max:7");
        check("x max_matches:", true, "/x/i");
        check("file:Makefile", true, "/Makefile/ file:Makefile paths");
        check("(unclosed file:a", true, "/(unclosed file:a/i");
    }

    #[test]
    fn a_query_of_texts() {
        check("a( file:b.c", false, r"/a\(/i file:b\.c");
        check("(file:a) repo:b", false, r"/\(file:a\)/i repo:b");
        check("a (file:b", false, r"/a \(file:b/i");
        check("file:a( b", false, r"/b/i file:a\(");
    }

    #[test]
    fn what_a_query_cannot_be() {
        for query in
            ["case:a b", "lit:a b", "a max_matches:x", "a file:b c", "a repo:b repo:c", "a tags:b"]
        {
            assert!(parse(query, true).is_err(), "{query}");
        }
    }
}
