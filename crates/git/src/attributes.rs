//! The attributes of files (<https://git-scm.com/docs/gitattributes>) that matter here: the language of a file, and
//! whether git converts contents in ways that keep their size. Does no I/O.

use bstr::ByteSlice;

use crate::ignore::Rule;

/// Maximum number of bytes of the name of a language.
const MAX_NAME: usize = 100;

/// What one `.gitattributes` says.
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    /// The folder whose contents they are about: its path in the repository, with a slash at its end unless it is empty.
    folder: Vec<u8>,
    languages: Vec<(Rule, Option<String>)>,
    /// The lines about languages.
    lines: Vec<u8>,
    converts: bool,
    folds_case: bool,
}

impl Attributes {
    /// Reads the attributes in a file about the contents of `folder`: its path in the repository, empty for the whole
    /// repository.
    pub fn parse(text: &[u8], folder: &[u8], folds_case: bool) -> Self {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let (mut languages, mut lines) = (Vec::new(), Vec::new());
        for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let Some((pattern, words)) = split(line) else { continue };
            let mut said = None;
            for word in words.split(u8::is_ascii_whitespace) {
                if let Some(name) = word.strip_prefix(b"linguist-language=") {
                    let name = std::str::from_utf8(name).ok().filter(|name| name.len() <= MAX_NAME);
                    said = Some(name.filter(|name| !name.is_empty()).map(str::to_owned));
                } else if matches!(
                    word,
                    b"-linguist-language" | b"!linguist-language" | b"linguist-language"
                ) {
                    said = Some(None);
                }
            }
            // A pattern for a folder does not match the files in it.
            if let Some(said) = said
                && let Some(rule) = Rule::parse(&pattern, at + 1)
                && !rule.is_negative()
            {
                languages.push((rule, said));
                lines.extend(line.trim_end());
                lines.push(b'\n');
            }
        }
        let mut folder = folder.to_vec();
        if !folder.is_empty() {
            folder.push(b'/');
        }
        Self { folder, languages, lines, converts: converts(text), folds_case }
    }

    /// Returns the language that they give to a file by its path in the repository, as written there: `Some(None)` if
    /// they say that it has none of its own.
    pub fn language(&self, path: &[u8]) -> Option<Option<&str>> {
        let below = path.strip_prefix(&*self.folder)?;
        let name = &below[below.rfind_byte(b'/').map_or(0, |slash| slash + 1)..];
        let matches = |rule: &Rule| rule.matches(below, name, false, self.folds_case);
        let (_, said) = self.languages.iter().rev().find(|(rule, _)| matches(rule))?;
        Some(said.as_deref())
    }

    /// Returns the lines that give languages to files.
    pub fn languages(&self) -> &[u8] {
        &self.lines
    }

    /// Returns whether git may write other contents of the same size to a file.
    pub fn converts(&self) -> bool {
        self.converts
    }
}

/// Returns whether attributes, in any of their lines, may have git write other contents of the same size to a file: by a
/// program (`filter`), or in another encoding. Line ends and `ident` change the size.
pub fn converts(text: &[u8]) -> bool {
    [b"filter".as_slice(), b"working-tree-encoding"].iter().any(|word| text.contains_str(word))
}

/// Splits a line into its pattern and the rest; `None` if it has no pattern.
fn split(line: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let line = line.trim_start();
    match line.first()? {
        b'#' => None,
        b'"' => {
            let mut pattern = Vec::new();
            let mut at = 1;
            loop {
                match *line.get(at)? {
                    b'"' => return Some((pattern, &line[at + 1..])),
                    b'\\' => {
                        let next = *line.get(at + 1)?;
                        at += 2;
                        pattern.push(match next {
                            b'a' => 7,
                            b'b' => 8,
                            b't' => b'\t',
                            b'n' => b'\n',
                            b'v' => 11,
                            b'f' => 12,
                            b'r' => b'\r',
                            b'0'..=b'3' => {
                                let digits = std::str::from_utf8(line.get(at - 1..at + 2)?).ok()?;
                                at += 2;
                                u8::from_str_radix(digits, 8).ok()?
                            }
                            other => other,
                        });
                    }
                    byte => {
                        pattern.push(byte);
                        at += 1;
                    }
                }
            }
        }
        _ => {
            let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
            // `[attr]` defines a macro.
            (!line.starts_with(b"[attr]")).then(|| (line[..end].to_vec(), &line[end..]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_that_matches_gives_the_language() {
        let text = b"# words\n*.h linguist-language=C++\n/old/*.h -text linguist-language=C eol=lf\n\
            \"with \\\"space\\\" .x\" linguist-language=Objective-C\nnone.h !linguist-language\n\
            sub/ linguist-language=Ruby\n[attr]mine linguist-language=Perl\n!x linguist-language=Perl\n";
        let said = |path: &str| {
            Attributes::parse(text, b"", false)
                .language(path.as_bytes())
                .map(|said| said.unwrap_or("none").to_owned())
        };
        assert_eq!(said("a.h").as_deref(), Some("C++"));
        assert_eq!(said("deep/old/a.h").as_deref(), Some("C++"));
        assert_eq!(said("old/a.h").as_deref(), Some("C"));
        assert_eq!(said("with \"space\" .x").as_deref(), Some("Objective-C"));
        assert_eq!(said("none.h").as_deref(), Some("none"));
        assert_eq!((said("sub/a"), said("x"), said("mine")), (None, None, None));
        let below = Attributes::parse(b"a.h linguist-language=C\n", b"x", false);
        assert_eq!(below.language(b"x/a.h"), Some(Some("C")));
        assert_eq!(below.language(b"a.h"), None);
    }

    #[test]
    fn conversions_that_keep_the_size_are_known() {
        for text in [
            "*.psd filter=lfs diff=lfs merge=lfs -text\n",
            "[attr]x filter=x",
            "*.txt working-tree-encoding=UTF-16",
        ] {
            assert!(Attributes::parse(text.as_bytes(), b"", false).converts(), "{text}");
        }
        assert!(!Attributes::parse(b"* text=auto eol=crlf ident\n", b"", false).converts());
    }
}
