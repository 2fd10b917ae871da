//! Hyperlinks to files on a terminal (OSC 8), in ripgrep's formats
//! (<https://docs.rs/grep-printer/latest/grep_printer/struct.HyperlinkFormat.html>).

use std::fmt::Write as _;
use std::path::Path;
use std::str::FromStr;

use query::nearest;

/// ripgrep's names of formats.
const ALIASES: &[(&str, &str)] = &[
    ("cursor", "cursor://file{path}:{line}:{column}"),
    ("default", "file://{host}{path}"),
    ("file", "file://{host}{path}"),
    ("grep+", "grep+://{path}:{line}"),
    ("kitty", "file://{host}{path}#{line}"),
    ("macvim", "mvim://open?url=file://{path}&line={line}&column={column}"),
    ("none", ""),
    ("textmate", "txmt://open?url=file://{path}&line={line}&column={column}"),
    ("vscode", "vscode://file{path}:{line}:{column}"),
    ("vscode-insiders", "vscode-insiders://file{path}:{line}:{column}"),
    ("vscodium", "vscodium://file{path}:{line}:{column}"),
];

/// The format of hyperlinks; without parts, there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HyperlinkFormat {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Host,
    Path,
    Line,
    Column,
}

impl FromStr for HyperlinkFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let alias = ALIASES.iter().find(|(name, _)| *name == text);
        let text = alias.map_or(text, |(_, format)| format);
        if text.is_empty() {
            return Ok(Self::default());
        }
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            let (name, after) =
                after.split_once('}').ok_or_else(|| "unclosed brace; write {path}".to_owned())?;
            match name {
                "host" => parts.push(Part::Host),
                "path" => parts.push(Part::Path),
                "line" => parts.push(Part::Line),
                "column" => parts.push(Part::Column),
                // Of Windows.
                "wslprefix" => {}
                _ => {
                    return Err(format!(
                        "unknown variable {{{name}}}; use {{host}}, {{path}}, {{line}}, {{column}}"
                    ));
                }
            }
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        if parts.iter().all(|part| matches!(part, Part::Text(_))) {
            let names = ALIASES.iter().map(|(name, _)| *name);
            let near = nearest(text, names).map(|near| format!("; did you mean {near}?"));
            let near = near.unwrap_or_else(|| {
                let names: Vec<&str> = ALIASES.iter().map(|(name, _)| *name).collect();
                format!("; use {{path}} in it, or one of: {}", names.join(", "))
            });
            return Err(format!("{text} is not a format{near}"));
        }
        let format = Self { parts };
        if !format.has(&Part::Path) {
            return Err("the format needs {path}".to_owned());
        }
        if format.has(&Part::Column) && !format.has(&Part::Line) {
            return Err("a format with {column} needs {line}".to_owned());
        }
        let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
        let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) || !scheme.chars().all(is_scheme)
        {
            return Err("the format must begin with a scheme, as in file://{path}".to_owned());
        }
        Ok(format)
    }
}

impl HyperlinkFormat {
    /// The links of a terminal that asks for no others.
    pub(crate) fn file() -> Self {
        "file".parse().unwrap_or_default()
    }

    pub(crate) fn is_none(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns whether a link depends on the line.
    pub(crate) fn has_line(&self) -> bool {
        self.has(&Part::Line)
    }

    fn has(&self, part: &Part) -> bool {
        self.parts.contains(part)
    }

    /// Returns the sequence that begins a link to a place in a file.
    pub(crate) fn begin(&self, file: &Path, line: Option<u64>, column: Option<usize>) -> String {
        let mut url = String::from("\u{1b}]8;;");
        for part in &self.parts {
            // Writing to memory does not fail.
            let _ = match part {
                Part::Text(text) => write!(url, "{text}"),
                Part::Host => write!(url, "{}", host()),
                Part::Path => write!(url, "{}", encoded(&file.to_string_lossy())),
                Part::Line => write!(url, "{}", line.unwrap_or(1)),
                Part::Column => write!(url, "{}", column.unwrap_or(1)),
            };
        }
        url + "\u{1b}\\"
    }
}

/// The sequence that ends a link.
pub(crate) const LINK_END: &str = "\u{1b}]8;;\u{1b}\\";

/// Returns the name of this machine; an empty one means this machine, too.
pub(crate) fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

/// Encodes a path as ripgrep does: what is not plain in a URL, byte by byte, but no letters outside ASCII.
fn encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for c in path.chars() {
        match c {
            '0'..='9' | 'A'..='Z' | 'a'..='z' | '/' | ':' | '-' | '.' | '_' | '~' => out.push(c),
            c if !c.is_ascii() && !c.is_control() => out.push(c),
            c => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    let _ = write!(out, "%{byte:02X}");
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_those_of_ripgrep() {
        let link = |format: &str| {
            let format: HyperlinkFormat = format.parse().unwrap();
            format.begin(Path::new("/a b/é#.rs"), Some(7), Some(3))
        };
        assert_eq!(link("vscode"), "\u{1b}]8;;vscode://file/a%20b/é%23.rs:7:3\u{1b}\\");
        assert_eq!(link("x-y://open?f={path}"), "\u{1b}]8;;x-y://open?f=/a%20b/é%23.rs\u{1b}\\");
        assert!(link("default").starts_with(&format!("\u{1b}]8;;file://{}/a%20b", host())));
        assert!("none".parse::<HyperlinkFormat>().unwrap().is_none());
        for (format, _) in ALIASES {
            assert!(format.parse::<HyperlinkFormat>().is_ok(), "{format}");
        }
        for (format, why) in [
            ("vscod", "did you mean vscode?"),
            ("foo", "use {path} in it"),
            ("file://{host}", "needs {path}"),
            ("file://{path}:{column}", "needs {line}"),
            ("{path}", "must begin with a scheme"),
            ("file://{pth}", "unknown variable {pth}"),
            ("file://{path", "unclosed brace"),
        ] {
            let error = format.parse::<HyperlinkFormat>().unwrap_err();
            assert!(error.contains(why), "{format}: {error}");
        }
    }
}
