//! The rules of ignore files (<https://git-scm.com/docs/gitignore>), read and matched as git does. Does no I/O.

use std::ops::Range;

use bstr::ByteSlice;
use gix_glob::wildmatch::{self, Mode};

/// The rules of one ignore file.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// The file, for display.
    source: String,
    /// The folder whose contents they are about: its path in the repository, with a slash at its end unless it is empty.
    folder: Vec<u8>,
    rules: Vec<Rule>,
    /// Whether capitals and lowercase letters are the same.
    folds_case: bool,
}

/// One rule.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    /// Number of its line, from 1.
    number: usize,
    line: Box<[u8]>,
    /// The pattern in the line.
    pattern: Range<usize>,
    /// Bytes of the pattern before its first special character.
    literal: usize,
    is_negative: bool,
    /// Whether it matches folders only.
    is_for_folders: bool,
    shape: Shape,
}

/// How a pattern is matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// With paths below the folder of its file.
    Path,
    /// With names in every folder below.
    Name,
    /// With the ends of names: it is a star and a literal.
    Suffix,
}

/// What a rule says of a file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is left out, because of the rule in this line: `.gitignore:3 *.log`.
    LeftOut(String),
    /// It is taken, because a rule excepts it from others.
    Taken,
}

impl Rules {
    /// Reads the rules in a file that is shown as `source`, about the contents of `folder`: its path in the repository,
    /// empty for the whole repository.
    pub fn parse(text: &[u8], source: &str, folder: &[u8], folds_case: bool) -> Self {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let mut rules = Vec::new();
        for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
            if !line.is_empty() && line[0] != b'#' {
                rules.extend(Rule::parse(line, at + 1));
            }
        }
        let mut folder = folder.to_vec();
        if !folder.is_empty() {
            folder.push(b'/');
        }
        Self { source: source.to_owned(), folder, rules, folds_case }
    }

    /// Returns what they say of a file or folder below their folder, by its path in the repository; `None` if nothing. The
    /// last rule that matches counts.
    pub fn verdict(&self, path: &[u8], is_folder: bool) -> Option<Verdict> {
        let below = path.strip_prefix(&*self.folder)?;
        let name = &below[below.rfind_byte(b'/').map_or(0, |slash| slash + 1)..];
        let found = self
            .rules
            .iter()
            .rev()
            .find(|rule| rule.matches(below, name, is_folder, self.folds_case))?;
        Some(if found.is_negative {
            Verdict::Taken
        } else {
            Verdict::LeftOut(format!("{}:{} {}", self.source, found.number, found.line.as_bstr()))
        })
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

/// Returns whether a character of a pattern has a meaning of its own.
fn is_special(byte: u8) -> bool {
    matches!(byte, b'*' | b'?' | b'[' | b'\\')
}

/// Returns the number of bytes before the first special character.
fn literal(pattern: &[u8]) -> usize {
    pattern.iter().position(|byte| is_special(*byte)).unwrap_or(pattern.len())
}

/// Returns a line without the spaces at its end, unless they are escaped.
fn trimmed(line: &[u8]) -> &[u8] {
    let mut end = 0;
    let mut at = 0;
    while at < line.len() {
        match line[at] {
            b' ' => at += 1,
            b'\\' if at + 1 == line.len() => return line,
            b'\\' => {
                at += 2;
                end = at;
            }
            _ => {
                at += 1;
                end = at;
            }
        }
    }
    &line[..end]
}

impl Rule {
    /// Reads the rule in a line without its end.
    pub(crate) fn parse(line: &[u8], number: usize) -> Option<Self> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // Git reads lines as texts of C.
        let line = trimmed(&line[..line.find_byte(0).unwrap_or(line.len())]);
        let is_negative = line.first() == Some(&b'!');
        let start = usize::from(is_negative);
        let is_for_folders = line.len() > start && line.ends_with(b"/");
        let end = line.len() - usize::from(is_for_folders);
        let text = &line[start..end];
        if text.is_empty() {
            return None;
        }
        let shape = match () {
            () if text.contains(&b'/') => Shape::Path,
            () if text[0] == b'*' && literal(&text[1..]) == text.len() - 1 => Shape::Suffix,
            () => Shape::Name,
        };
        // A slash at the beginning only ties the pattern to its folder.
        let start = start + usize::from(text[0] == b'/');
        Some(Self {
            number,
            line: line.into(),
            literal: literal(&line[start..end]),
            pattern: start..end,
            is_negative,
            is_for_folders,
            shape,
        })
    }

    /// Returns whether it excepts files from other rules.
    pub(crate) fn is_negative(&self) -> bool {
        self.is_negative
    }

    /// Returns whether it matches a path below its folder, whose last part is `name`.
    pub(crate) fn matches(
        &self,
        below: &[u8],
        name: &[u8],
        is_folder: bool,
        folds_case: bool,
    ) -> bool {
        if self.is_for_folders && !is_folder {
            return false;
        }
        let pattern = &self.line[self.pattern.clone()];
        let mode = if folds_case { Mode::IGNORE_CASE } else { Mode::empty() };
        let is = |one: &[u8], two: &[u8]| {
            if folds_case { one.eq_ignore_ascii_case(two) } else { one == two }
        };
        if self.shape != Shape::Path {
            return if self.literal == pattern.len() {
                is(pattern, name)
            } else if self.shape == Shape::Suffix {
                let suffix = &pattern[1..];
                name.len() >= suffix.len() && is(&name[name.len() - suffix.len()..], suffix)
            } else {
                wildmatch(pattern.as_bstr(), name.as_bstr(), mode)
            };
        }
        // Git compares the beginning first, and then takes the rest for a pattern of its own: `a**/b` matches `a/x/b`.
        let (before, rest) = pattern.split_at(self.literal);
        let Some((begins, below)) = below.split_at_checked(before.len()) else { return false };
        is(begins, before)
            && (rest.is_empty() && below.is_empty()
                || wildmatch(rest.as_bstr(), below.as_bstr(), mode | Mode::NO_MATCH_SLASH_LITERAL))
    }
}

fn wildmatch(pattern: &bstr::BStr, text: &bstr::BStr, mode: wildmatch::Mode) -> bool {
    gix_glob::wildmatch(pattern, text, mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(rules: &str, path: &str, is_folder: bool) -> String {
        let rules = Rules::parse(rules.as_bytes(), ".gitignore", b"", false);
        match rules.verdict(path.as_bytes(), is_folder) {
            None => "nothing".to_owned(),
            Some(Verdict::Taken) => "taken".to_owned(),
            Some(Verdict::LeftOut(rule)) => rule,
        }
    }

    #[test]
    fn the_last_rule_that_matches_is_named() {
        let rules = "# comment\n\n*.log\n!keep.log\nbuild/\n/top\nsub/x?z\n";
        assert_eq!(said(rules, "a/b.log", false), ".gitignore:3 *.log");
        assert_eq!(said(rules, "a/keep.log", false), "taken");
        assert_eq!(said(rules, "deep/build", true), ".gitignore:5 build/");
        assert_eq!(said(rules, "deep/build", false), "nothing");
        assert_eq!(said(rules, "top", false), ".gitignore:6 /top");
        assert_eq!(said(rules, "a/top", false), "nothing");
        assert_eq!(said(rules, "sub/xyz", false), ".gitignore:7 sub/x?z");
        assert_eq!(said(rules, "a/sub/xyz", false), "nothing");
    }

    #[test]
    fn lines_are_read_as_git_reads_them() {
        assert_eq!(said("\u{feff}a  \r\nb\\ \n", "a", false), ".gitignore:1 a");
        assert_eq!(said("\u{feff}a  \r\nb\\ \n", "b ", false), ".gitignore:2 b\\ ");
        assert_eq!(said("\\#a\n\\!b", "#a", false), ".gitignore:1 \\#a");
        assert_eq!(said("\\#a\n\\!b", "!b", false), ".gitignore:2 \\!b");
        assert_eq!(said("a\0b\n", "a", false), ".gitignore:1 a");
        assert_eq!(said("\t\n", "\t", false), ".gitignore:1 \t");
        assert_eq!(said("a\r", "a", false), ".gitignore:1 a");
        for nothing in ["", "!", "/", "   ", "!/", "#a"] {
            assert_eq!(said(nothing, "a", false), "nothing", "{nothing:?}");
        }
        assert_eq!(said("a**/b", "ax/y/b", false), ".gitignore:1 a**/b");
    }

    #[test]
    fn rules_are_about_their_folder() {
        let rules = Rules::parse(b"/x\ny\n", "sub/.gitignore", b"sub", false);
        let is_said = |path: &str| rules.verdict(path.as_bytes(), false).is_some();
        assert!(is_said("sub/x") && is_said("sub/deep/y"));
        assert!(!is_said("x") && !is_said("y") && !is_said("sub/deep/x") && !is_said("subx/y"));
        let folded = Rules::parse(b"/Sub/X*\nREADME\n*.LOG", "", b"", true);
        let is_said = |path: &str| folded.verdict(path.as_bytes(), false).is_some();
        assert!(is_said("sUB/xyz") && is_said("a/readme") && is_said("a.log"));
    }
}
