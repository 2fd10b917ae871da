//! Suggests a query in place of a wrong one: replaces fields of other engines, and treats words that are not valid
//! regular expressions as literal text.

use crate::error::{Edit, QueryError, Suggestion};
use crate::field;
use crate::lex::{delimited, field_name, quoted_length, word_length};
use crate::tree::Query;
use crate::write::{escape, literal, quoted, written};

/// Longest query for which a suggestion is made, in bytes.
const MAX_BYTES: usize = 1000;

/// Maximum number of edits to a query.
const MAX_EDITS: usize = 16;

/// Parses a query.
type Parse<'p> = &'p dyn Fn(&str) -> Result<Query, QueryError>;

/// Checks whether a text is a valid query that may be suggested.
type Check<'c> = &'c dyn Fn(&str) -> Result<(), QueryError>;

/// Returns a query to run instead of the wrong one, if one can be made.
pub(crate) fn suggestion(source: &str, error: &QueryError, parse: Parse<'_>) -> Option<Suggestion> {
    if source.len() > MAX_BYTES || source.trim().is_empty() {
        return None;
    }
    let check = |text: &str| {
        let query = parse(text)?;
        // The rest of `||` must not become an expression that matches every line.
        if matches_more(&query, source) {
            return Err(QueryError::new(text, 0, "it matches every line"));
        }
        Ok(())
    };
    let check: Check<'_> = &check;
    // Spaces at the end stay: one may be escaped, and edits refer to bytes of the whole query.
    let mut query = source.to_owned();
    let mut edit = error.edit.clone();
    for _ in 0..MAX_EDITS {
        let Some(next) = edit else { break };
        query = edited(&query, &next);
        if query.trim().is_empty() {
            break;
        }
        match check(&query) {
            Ok(()) => {
                let short = query.trim_end();
                let query = if check(short).is_ok() { short.to_owned() } else { query };
                return Some(Suggestion { query, text: None });
            }
            Err(error) => {
                edit = error.edit;
                if edit.is_none() && parse(&query).is_ok() {
                    source.clone_into(&mut query);
                }
            }
        }
    }
    if query.trim().is_empty() {
        // All of it was unsupported, so the suggestion searches for it as literal text.
        source.trim().clone_into(&mut query);
        let text = query.clone();
        let query = literal(&text);
        return check(&query).is_ok().then_some(Suggestion { query, text: Some(text) });
    }
    let whole = query.trim();
    // If a part was replaced or left out, the rest is not the text that was typed.
    let is_typed = whole == source.trim();
    let pieces = pieces(whole);
    let resolved: Vec<String> = pieces.iter().map(|piece| piece.resolved(check)).collect();
    let together = resolved.join(" ");
    if check(&together).is_ok() && together != whole {
        let text = match &*pieces {
            [piece] if is_typed => {
                piece.text().filter(|text| literal(text) == together).map(str::to_owned)
            }
            _ => None,
        };
        return Some(Suggestion { query: together, text });
    }
    let query = literal(whole);
    let text = is_typed.then(|| whole.to_owned());
    check(&query).is_ok().then_some(Suggestion { query, text })
}

/// Returns whether a pattern of a query can match the empty text and is not in the source.
fn matches_more(query: &Query, source: &str) -> bool {
    query.terms().into_iter().any(|term| {
        let least = term.pattern.hir().properties().minimum_len();
        least == Some(0) && !source.contains(term.pattern.source())
    })
}

/// Applies an edit. If it deletes a part, operators left without a term are deleted, too.
fn edited(query: &str, edit: &Edit) -> String {
    let (before, after) = (&query[..edit.range.start], &query[edit.range.end..]);
    let mut edited = if edit.with.is_empty() {
        let mut before = before.trim_end();
        let mut dropped = false;
        // Remove a negation first, then an `and` or `or`.
        for operators in [&["-", "not", "NOT"][..], &["and", "AND", "or", "OR", "|"]] {
            for operator in operators {
                if let Some(rest) = before.strip_suffix(operator)
                    && rest.chars().next_back().is_none_or(|c| c.is_whitespace() || c == '(')
                {
                    before = rest.trim_end();
                    dropped |= operators.len() > 3;
                    break;
                }
            }
        }
        let mut after = after.trim_start();
        if !dropped && (before.is_empty() || before.ends_with('(')) {
            let word = after.split_whitespace().next().unwrap_or_default();
            if ["and", "AND", "or", "OR", "|"].contains(&word) {
                after = after[word.len()..].trim_start();
            }
        }
        let joined = before.is_empty() || before.ends_with('(');
        let gap = if joined || after.is_empty() || after.starts_with(')') { "" } else { " " };
        format!("{before}{gap}{after}")
    } else {
        format!("{before}{}{after}", edit.with)
    };
    if !edit.append.is_empty() {
        if !edited.is_empty() {
            edited.push(' ');
        }
        edited.push_str(&edit.append);
    }
    edited
}

/// A part of a query as typed by a user who does not know the language well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece<'q> {
    /// A field with its value, and the minus before it.
    Field(&'q str),
    /// Text in quotes or slashes.
    Quoted(&'q str),
    /// `OR`, `AND` or `NOT`.
    Operator(&'q str),
    /// Words.
    Words(&'q str),
}

impl<'q> Piece<'q> {
    /// Returns the literal text that was probably meant.
    fn text(self) -> Option<&'q str> {
        match self {
            Piece::Quoted(text) => Some(&text[1..text.len() - 1]),
            Piece::Words(text) => Some(text),
            Piece::Field(_) | Piece::Operator(_) => None,
        }
    }

    /// Returns the replacement for this piece: the piece itself if it is a valid query.
    fn resolved(self, check: Check<'_>) -> String {
        let text = match self {
            Piece::Operator(text) => return text.to_owned(),
            Piece::Field(text) | Piece::Quoted(text) | Piece::Words(text) => text,
        };
        let error = match check(text) {
            Ok(()) => return text.to_owned(),
            Err(error) => error,
        };
        if let Some(edit) = &error.edit {
            let edited = edited(text, edit);
            if !edited.is_empty() && check(&edited).is_ok() {
                return edited;
            }
        }
        let simple = in_this_dialect(text);
        // Spaces between `\Q` and `\E` are part of the text.
        let is_one = text.contains("\\Q") && simple.contains(char::is_whitespace);
        let simple = if is_one { quoted(&simple) } else { simple };
        if simple != text && !simple.trim().is_empty() && check(&simple).is_ok() {
            return simple;
        }
        match self {
            Piece::Field(text) => field_of_text(text),
            Piece::Quoted(text) => {
                // Inside the quotes, only `\"` is an escape.
                literal(&text[1..text.len() - 1].replace("\\\"", "\""))
            }
            Piece::Words(text) if is_glob(text) => written_glob(text),
            Piece::Operator(text) | Piece::Words(text) => literal(text),
        }
    }
}

/// Splits a query into pieces.
fn pieces(query: &str) -> Vec<Piece<'_>> {
    // Split it into words, then join neighbouring words into one text.
    let mut words: Vec<(usize, Piece<'_>)> = Vec::new();
    let mut at = 0;
    while at < query.len() {
        let rest = &query[at..];
        let Some(blank) = rest.find(|c: char| !c.is_whitespace()) else { break };
        at += blank;
        let (piece, length) = word(&query[at..]);
        words.push((at, piece));
        at += length;
    }
    let mut pieces = Vec::new();
    let text = |(_, piece): &(usize, Piece<'_>)| match piece {
        Piece::Words(word) => !is_glob(word),
        Piece::Quoted(_) => true,
        Piece::Field(_) | Piece::Operator(_) => false,
    };
    for run in words.chunk_by(|a, b| text(a) && text(b)) {
        let is_words = |(_, piece): &(usize, Piece<'_>)| matches!(piece, Piece::Words(_));
        let (first, last) = (run.iter().position(is_words), run.iter().rposition(is_words));
        let (Some(first), Some(last)) = (first, last) else {
            pieces.extend(run.iter().map(|(_, piece)| *piece));
            continue;
        };
        pieces.extend(run[..first].iter().map(|(_, piece)| *piece));
        let inner = &run[first..=last];
        let or = |(_, piece): &(usize, Piece<'_>)| *piece == Piece::Words("or");
        // Between single words `or` is an operator; in a longer text it is a word.
        let alternates = inner.len() >= 3
            && inner.len() % 2 == 1
            && inner.iter().enumerate().all(|(at, one)| or(one) == (at % 2 == 1));
        if alternates {
            pieces.extend(
                inner.iter().map(|one| if or(one) { Piece::Operator("or") } else { one.1 }),
            );
        } else {
            let (from, (last_at, last_piece)) = (inner[0].0, inner[inner.len() - 1]);
            let length = last_piece.text().map_or(0, str::len);
            pieces.push(Piece::Words(&query[from..last_at + length]));
        }
        pieces.extend(run[last + 1..].iter().map(|(_, piece)| *piece));
    }
    pieces
}

/// Returns the first word of a text and its length in bytes.
fn word(text: &str) -> (Piece<'_>, usize) {
    let ends = |length: usize| text[length..].chars().next().is_none_or(char::is_whitespace);
    let positive = text.strip_prefix('-').unwrap_or(text);
    if let Some((name, value)) = field_name(positive)
        && field::find(name).is_some()
        && !value.starts_with(char::is_whitespace)
        && !value.is_empty()
    {
        let length = text.len() - value.len() + word_length(value);
        if ends(length) {
            return (Piece::Field(&text[..length]), length);
        }
    }
    if text.starts_with('"') {
        let length = quoted_length(text);
        if length > 1 && text[..length].ends_with('"') && ends(length) {
            return (Piece::Quoted(&text[..length]), length);
        }
    }
    if let Some(length) = delimited(text)
        && ends(length)
    {
        return (Piece::Quoted(&text[..length]), length);
    }
    let length = text.find(char::is_whitespace).unwrap_or(text.len());
    let word = &text[..length];
    let excludes = !positive.is_empty() && positive.len() < text.len();
    let name = |word: &str| word.chars().all(|c| c.is_alphanumeric() || c == '_');
    let piece = match word {
        "OR" | "AND" | "NOT" => Piece::Operator(word),
        // A negated word is not part of a text.
        _ if excludes && length > 1 && name(&word[1..]) => Piece::Field(word),
        _ => Piece::Words(word),
    };
    (piece, length)
}

/// Rewrites a field so that its value is literal text.
fn field_of_text(text: &str) -> String {
    let (minus, positive) = match text.strip_prefix('-') {
        Some(positive) => ("-", positive),
        None => ("", text),
    };
    let Some((name, value)) = positive.split_once(':') else { return literal(text) };
    let inside = value.strip_prefix('(').and_then(|value| value.strip_suffix(')'));
    if let Some(inside) = inside.filter(|inside| inside.contains(char::is_whitespace)) {
        // A field before a group applies to each word of the group.
        let words = inside.split_whitespace().map(|word| match word {
            "or" | "OR" | "and" | "AND" | "not" | "NOT" | "|" => word.to_owned(),
            word => format!("{name}:{word}"),
        });
        return format!("{minus}({})", words.collect::<Vec<_>>().join(" "));
    }
    let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
    format!("{minus}{}", written(name, &escape(value)))
}

/// Returns whether a word is a glob for paths.
fn is_glob(text: &str) -> bool {
    let named = text.strip_prefix("*.").is_some_and(|ending| {
        !ending.is_empty() && ending.chars().all(|c| c.is_alphanumeric() || ".{},".contains(c))
    });
    named || text.starts_with("**/") && !text.contains(char::is_whitespace)
}

fn written_glob(text: &str) -> String {
    format!("file:{text}")
}

/// Replaces constructs that this dialect does not support. A positive look-around becomes part of the match, a negative
/// one is removed, a backreference becomes a copy of its group, and text between `\Q` and `\E` is escaped. Used to
/// suggest a pattern that still runs.
fn in_this_dialect(pattern: &str) -> String {
    let mut result = String::new();
    // The start of each group in the result, and its end once it is closed, in the order of the opening parentheses.
    let mut groups: Vec<(usize, Option<usize>)> = Vec::new();
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        // A group of copies that is copied itself grows without end.
        if result.len() > MAX_BYTES {
            return pattern.to_owned();
        }
        let mut length = c.len_utf8();
        match c {
            '\\' if rest.starts_with("\\Q") => {
                let text = rest[2..].split("\\E").next().unwrap_or_default();
                result += &escape(text);
                length = (2 + text.len() + 2).min(rest.len());
            }
            '\\' => {
                length += rest[1..].chars().next().map_or(0, char::len_utf8);
                let digit = rest[1..length].chars().next().and_then(|c| c.to_digit(10));
                let group = digit.filter(|n| *n > 0).and_then(|n| groups.get(n as usize - 1));
                if let Some((from, Some(upto))) = group {
                    let copy = result[*from..*upto].to_owned();
                    result += &copy;
                } else {
                    result += &rest[..length];
                }
            }
            '(' => {
                let forbids = ["(?!", "(?<!"].iter().any(|look| rest.starts_with(look));
                let wants = ["(?=", "(?<=", "(?>"].iter().find(|look| rest.starts_with(**look));
                if forbids {
                    length = word_length(rest);
                } else if let Some(look) = wants {
                    length = look.len();
                    open.push(None);
                    result += "(?:";
                } else {
                    let captures = !rest.starts_with("(?");
                    open.push(captures.then_some(groups.len()));
                    if captures {
                        groups.push((result.len(), None));
                    }
                    result.push('(');
                }
            }
            ')' => {
                result.push(')');
                if let Some(Some(group)) = open.pop() {
                    groups[group].1 = Some(result.len());
                }
            }
            _ => result += &rest[..length],
        }
        rest = &rest[length..];
    }
    result
}

#[cfg(test)]
mod tests {
    use crate::{Case, Query};

    #[test]
    fn a_query_that_is_none_has_one_that_is() {
        for (query, expected, text) in [
            ("fmt.Println(", "lit:fmt.Println(", true),
            ("interface{}", "lit:interface{}", true),
            ("if (err", "lit:\"if (err\"", true),
            ("\"unclosed", "lit:\"\\\"unclosed\"", true),
            ("\"f(x\"", "lit:f(x", true),
            ("if (err lang:go", "lit:\"if (err\" lang:go", false),
            ("repo:x foo( -file:test bar", "repo:x lit:foo( -file:test bar", false),
            ("foo( OR bar", "lit:foo( OR bar", false),
            ("foo( or bar", "lit:foo( or bar", false),
            ("x = \"a b\" {", "lit:\"x = \\\"a b\\\" {\"", true),
            ("\"a b\" foo(", "\"a b\" lit:foo(", false),
            ("*.go", "file:*.go", false),
            ("*ptr", "lit:*ptr", true),
            ("*.go Kubelet", "file:*.go Kubelet", false),
            ("Kubelet *.go", "Kubelet file:*.go", false),
            ("lnag:go foo(", "lang:go lit:foo(", false),
            ("foo AND author:jane", "foo", false),
            ("foo -is:fork bar", "foo -fork:yes bar", false),
            ("foo -is:mirror bar", "foo bar", false),
            ("NOT is:archived or foo", "NOT archived:yes or foo", false),
            ("NOT is:vendored or foo", "foo", false),
            ("foo archived:maybe", "foo", false),
            ("foo repo:has.topic(a b) bar", "foo topic:\"a b\" bar", false),
            ("author:jane", "lit:author:jane", true),
            ("foo author:jane or bar", "foo or bar", false),
            ("foo added:bar", "foo added:bar history:*", false),
            ("foo or added:bar", "foo or added:bar history:*", false),
            ("foo diff:main", "foo diff:main..", false),
            ("foo diff:a..b diff:c..d", "foo diff:a..b", false),
            ("foo diff:a..b..c", "foo", false),
            ("foo diff:a..b history:x", "foo diff:a..b", false),
            ("foo diff:a..b -rev:x y", "foo diff:a..b y", false),
            ("foo diff:a..b repo:x@y:z a", "foo diff:a..b repo:x a", false),
            ("foo (history:x or y)", "foo (content:x or y) history:*", false),
            ("foo -history:x", "foo -content:x history:*", false),
            ("foo or history:\"a b\"", "foo or content:\"a b\" history:*", false),
            ("(foo diff:a..b) bar", "(foo) bar diff:a..b", false),
            ("foo -diff:a..b", "foo", false),
            ("type:diff foo", "history:* foo", false),
            ("foo rev:at.time(1 week ago) bar", "foo bar", false),
            ("foo -repo:x@y bar", "foo -repo:x bar", false),
            ("repo:x@ foo", "repo:x foo", false),
            ("a || b", "a or b", false),
            ("||", "lit:||", true),
            ("|| |", "lit:\"|| |\"", true),
            ("\\Qa.b\\E", "a\\.b", false),
            ("x\\Qa. b\\E+", "\"xa\\. b+\"", false),
            ("\\Qa.b", "a\\.b", false),
            ("foo -", "foo \\-", false),
            ("(count:5 x) y", "(x) y count:5", false),
            ("foo or case:yes", "foo case:yes", false),
            ("content:(a or b)", "(content:a or content:b)", false),
            ("-foo bar(", "-foo lit:bar(", false),
            ("content:foo( x", "content:\"foo\\(\" x", false),
            ("(?<!a)b", "b", false),
            ("foo(?=bar)", "foo(?:bar)", false),
            ("(['\"])x\\1", "(['\"])x(['\"])", false),
            ("localhost:8080", "lit:localhost:8080", false),
            ("file:has.content(x) y", "content:x y", false),
            ("multiline:yes:\\ ", "lit:multiline:yes:\\", true),
            ("foo -is:mirror ", "foo", false),
        ] {
            let error = Query::parse(query, Case::Smart).unwrap_err();
            let found = error.suggestion.map(|found| (found.query, found.text.is_some()));
            assert_eq!(found, Some((expected.to_owned(), text)), "{query}");
        }
        // Copies of copies of groups.
        let group = |n: usize| format!("({})", format!("\\{n}").repeat(40));
        let copies = "(a)".to_owned() + &(1..9).map(group).collect::<String>();
        let error = Query::parse(&copies, Case::Smart).unwrap_err();
        assert_eq!(error.suggestion.unwrap().text.as_deref(), Some(&*copies));
        for query in ["", "  ", &"(".repeat(2000)] {
            assert_eq!(Query::parse(query, Case::Smart).unwrap_err().suggestion, None);
        }
    }
}
