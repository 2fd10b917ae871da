//! Documents: title, headings and text, by format.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::DocText;

/// How a document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Markdown,
    /// reStructuredText.
    Rest,
    AsciiDoc,
    /// A page of the manual, in either of its two macro packages.
    Man,
    Text,
}

/// The format of a file that is a document; none for all others. Licences are not taken for documents: there are
/// very many of them, and they hold the same words.
pub(crate) fn format(path: &str, language: Option<&str>, text: &str) -> Option<Format> {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let (stem, ending) = name.rsplit_once('.').unwrap_or((&name, ""));
    let is_licence = ["license", "licence", "copying", "copyright", "unlicense"];
    if is_licence.iter().any(|word| name.starts_with(word)) {
        return None;
    }
    match ending {
        "md" | "markdown" | "mdown" | "mkd" | "mdx" => return Some(Format::Markdown),
        "rst" | "rest" => return Some(Format::Rest),
        "adoc" | "asciidoc" | "asc" => return Some(Format::AsciiDoc),
        _ => {}
    }
    let section = ending.as_bytes().first().is_some_and(|c| (b'1'..=b'9').contains(c));
    if (section || language == Some("Roff")) && !stem.is_empty() && is_man(text) {
        return Some(Format::Man);
    }
    let plain = match language {
        Some(language) => language == "Plain Text",
        None => ["readme", "install", "changes", "news", "hacking", "contributing", "todo", "faq"]
            .contains(&stem),
    };
    (plain && is_written(text)).then_some(Format::Text)
}

/// Whether a text is a page of the manual: it says so in its first lines.
fn is_man(text: &str) -> bool {
    let lines = text.lines().take(100);
    lines.into_iter().any(|line| [".TH ", ".Dt ", ".Dd "].iter().any(|m| line.starts_with(m)))
}

/// Whether a text was written to be read, and is not a table or a dump: its marks are mostly letters.
fn is_written(text: &str) -> bool {
    let sample = text.chars().take(4096).filter(|c| !c.is_whitespace());
    let (mut letters, mut all) = (0, 0);
    for c in sample {
        all += 1;
        letters += usize::from(c.is_alphabetic());
    }
    letters * 10 >= all * 7
}

/// Title, headings and text of a document.
pub(crate) fn read(format: Format, text: &str) -> Option<DocText> {
    let mut doc = match format {
        Format::Markdown => markdown(text),
        Format::Rest => underlined(text, true),
        Format::Text => underlined(text, false),
        Format::AsciiDoc => asciidoc(text),
        Format::Man => man(text),
    };
    let first = first_line(&doc.body)?;
    // A plain text begins with its title, ruled or not.
    if format == Format::Text && first != doc.title && !doc.title.is_empty() {
        doc.headings.insert_str(0, &format!("{}\n", doc.title));
        doc.title.clear();
    }
    if doc.title.trim().is_empty() {
        doc.title = first.to_owned();
    }
    Some(doc)
}

fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| line.contains(char::is_alphabetic))
}

impl DocText {
    /// Notes a heading: the first one is the title.
    fn head(&mut self, text: &str) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        if self.title.is_empty() {
            text.clone_into(&mut self.title);
        } else {
            self.headings.push_str(text);
            self.headings.push('\n');
        }
        self.line(text);
    }

    fn line(&mut self, text: &str) {
        self.body.push_str(text);
        self.body.push('\n');
    }
}

/// Markdown as its readers see it: without marks, addresses and pictures.
fn markdown(text: &str) -> DocText {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS;
    let mut doc = DocText::default();
    let mut heading: Option<String> = None;
    let (mut pictures, mut metadata) = (0, false);
    let mut html = String::new();
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                doc.head(&heading.take().unwrap_or_default());
            }
            Event::Start(Tag::Image { .. }) => pictures += 1,
            Event::End(TagEnd::Image) => pictures -= 1,
            Event::Start(Tag::MetadataBlock(_)) => metadata = true,
            Event::End(TagEnd::MetadataBlock(_)) => metadata = false,
            Event::Text(text) if metadata => {
                if let Some(title) = metadata_title(&text) {
                    doc.head(title);
                }
            }
            Event::Text(text) | Event::Code(text) if pictures == 0 => match &mut heading {
                Some(heading) => heading.push_str(&text),
                None => doc.body.push_str(&text),
            },
            Event::SoftBreak | Event::HardBreak => match &mut heading {
                Some(heading) => heading.push(' '),
                None => doc.body.push('\n'),
            },
            Event::Start(Tag::HtmlBlock) => html.clear(),
            Event::Html(line) => html.push_str(&line),
            Event::End(TagEnd::HtmlBlock) => {
                let text = without_tags(&html);
                let is_heading = ["<h1", "<h2", "<h3"].iter().any(|tag| html.contains(tag));
                match text.trim() {
                    "" => {}
                    text if is_heading => doc.head(text),
                    text => doc.line(text),
                }
            }
            Event::End(
                TagEnd::Paragraph
                | TagEnd::Item
                | TagEnd::CodeBlock
                | TagEnd::TableRow
                | TagEnd::TableHead
                | TagEnd::BlockQuote(_),
            ) => doc.body.push('\n'),
            Event::End(TagEnd::TableCell) => doc.body.push(' '),
            _ => {}
        }
    }
    doc
}

/// The title in the settings above a document: `title: x` or `title = "x"`.
fn metadata_title(text: &str) -> Option<&str> {
    text.lines().find_map(|line| {
        let value = line.strip_prefix("title")?.trim_start();
        let value = value.strip_prefix([':', '='])?.trim();
        let value = value.trim_matches(['"', '\'']);
        (!value.is_empty()).then_some(value)
    })
}

/// What stands between the tags of a piece of HTML.
fn without_tags(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        let tag = &rest[at..];
        let end = if tag.starts_with("<!--") {
            tag.find("-->").map(|at| at + 3)
        } else {
            tag.find('>').map(|at| at + 1)
        };
        let Some(end) = end else { return text };
        rest = &tag[end..];
        text.push(' ');
    }
    text.push_str(rest);
    text
}

/// Whether a line is a rule: one mark again and again.
fn is_rule(line: &str) -> bool {
    let mut marks = line.chars();
    let Some(first) = marks.next() else { return false };
    line.len() >= 3 && first.is_ascii_punctuation() && marks.all(|c| c == first)
}

/// reStructuredText, and plain text in its manner: headings are lines with a rule below them.
fn underlined(text: &str, rest: bool) -> DocText {
    let mut doc = DocText::default();
    let mut lines = text.lines().map(str::trim_end).peekable();
    // In a comment of reStructuredText, which is what is indented below its first line.
    let mut hidden = false;
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start();
        if hidden && (trimmed.is_empty() || line.len() > trimmed.len()) {
            continue;
        }
        hidden = false;
        if is_rule(trimmed) {
            continue;
        }
        if let Some(mark) = trimmed.strip_prefix("..").filter(|_| rest) {
            if let Some((_, text)) = mark.split_once("::") {
                doc.line(text.trim_start());
            } else if mark.is_empty() || mark.starts_with(' ') {
                hidden = true;
            }
            continue;
        }
        let length = trimmed.chars().count();
        let below = lines.peek().map_or("", |below| below.trim_start());
        // One or two marks are a rule to no reader; a rule much shorter than the line is below something else.
        let ruled = is_rule(below) && below.len() + 3 >= length && length <= super::MAX_TITLE;
        if ruled && trimmed.contains(char::is_alphabetic) {
            doc.head(trimmed);
        } else {
            doc.line(line);
        }
    }
    doc
}

fn asciidoc(text: &str) -> DocText {
    let mut doc = DocText::default();
    for line in text.lines().map(str::trim_end) {
        let marks = line.len() - line.trim_start_matches('=').len();
        let (marked, rest) = line.split_at(marks);
        if !marked.is_empty() && rest.starts_with(' ') {
            doc.head(rest);
        } else if is_rule(line)
            || line.starts_with("//")
            || line.starts_with("include::")
            || line.starts_with("[[") && line.ends_with("]]")
            || line.starts_with(':') && line[1..].contains(':')
        {
            // A rule, a comment, something from elsewhere, an anchor, a setting.
        } else {
            doc.line(line);
        }
    }
    doc
}

/// A page of the manual: `.SH` and `.TH` as in man(7), `.Sh` and `.Nd` as in mdoc(7).
fn man(text: &str) -> DocText {
    let mut doc = DocText::default();
    // The line below the heading of the first section says what the page is about.
    let mut name = false;
    let (mut title, mut about) = (String::new(), String::new());
    for line in text.lines() {
        let Some(macros) = line.strip_prefix(['.', '\'']) else {
            let line = plain(line);
            if name && !line.trim().is_empty() {
                about = format!("{about} {line}");
            }
            doc.line(&line);
            continue;
        };
        let (word, arguments) = macros.trim_start().split_once(' ').unwrap_or((macros, ""));
        let arguments = plain(arguments).replace('"', "");
        match word {
            "SH" | "Sh" | "SS" | "Ss" => {
                name = arguments.trim().eq_ignore_ascii_case("name");
                doc.head(&arguments);
            }
            "TH" | "Dt" => arguments.split_whitespace().next().unwrap_or("").clone_into(&mut title),
            "Nd" => {
                title = format!("{title} - {}", arguments.trim());
                doc.line(&arguments);
            }
            // Comments, settings and requests without words.
            "\\\"" | "Dd" | "Os" | "de" | "ds" | "nr" | "if" | "ie" | "el" | "so" | "sp" | "in"
            | "ta" => {}
            _ if word.starts_with('\\') => {}
            _ if arguments.trim().is_empty() => {}
            _ => doc.line(&arguments),
        }
    }
    // The heading of the first section is NAME on all pages.
    if let Some(title) = [about, title].into_iter().find(|title| !title.trim().is_empty()) {
        doc.title = title;
    }
    doc
}

/// Text of a page of the manual without escapes: `\fBgit\fP\-log` is git-log.
fn plain(text: &str) -> String {
    let mut all = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            all.push(c);
            continue;
        }
        match chars.next() {
            Some('f') => match chars.next() {
                Some('(') => drop((chars.next(), chars.next())),
                Some('[') => drop(chars.by_ref().find(|c| *c == ']')),
                _ => {}
            },
            Some('(') => drop((chars.next(), chars.next())),
            Some('"' | '#') => break,
            Some('&' | '|' | '^' | '/' | ',' | 'c') | None => {}
            Some('e') => all.push('\\'),
            Some('s') => drop(chars.next()),
            Some(other) => all.push(other),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Format, title, headings and body of a document.
    fn check(path: &str, language: Option<&str>, text: &str, expected: (&str, &[&str], &str)) {
        let format =
            format(path, language, text).unwrap_or_else(|| panic!("{path} is no document"));
        let doc = read(format, text).unwrap();
        let body: Vec<&str> = doc.body.split_whitespace().collect();
        let title: Vec<&str> = doc.title.split_whitespace().collect();
        let headings: Vec<&str> = doc.headings.lines().collect();
        assert_eq!((title.join(" ").as_str(), &*headings), (expected.0, expected.1), "{path}");
        assert_eq!(body.join(" "), expected.2, "{path}");
    }

    #[test]
    fn markdown_is_read_as_it_is_shown() {
        let md = |text, title, headings: &[&str], body| {
            check("a/README.md", Some("Markdown"), text, (title, headings, body));
        };
        md(
            "# One `x`\n\ntext *of* [it](http://h/p)\n\n## Two\nmore",
            "One x",
            &["Two"],
            "One x text of it Two more",
        );
        md("One\n===\n\nTwo\n---\n", "One", &["Two"], "One Two");
        md("```sh\n# no heading\n```\n# Real\n", "Real", &[], "# no heading Real");
        md(
            "---\ntitle: \"From above\"\nweight: 3\n---\ntext\n",
            "From above",
            &[],
            "From above text",
        );
        md("+++\ntitle = 'Hugo'\n+++\n## Two\n", "Hugo", &["Two"], "Hugo Two");
        md("<!-- hidden\n -->\n<h1 align=center>Big</h1>\n\ntext", "Big", &[], "Big text");
        md("[![Build](b.svg)](x)\n\n# T\n", "T", &[], "T");
        md("just text\nand more", "just text", &[], "just text and more");
        md("| a | b |\n|---|---|\n| c | d |\n", "a b", &[], "a b c d");
    }

    #[test]
    fn headings_of_other_formats() {
        check(
            "x.rst",
            Some("reStructured Text"),
            ".. hidden\n   words\n\n====\nTop\n====\n\n.. note:: mind\n.. _label:\n\nSection\n-------\ntext\n",
            ("Top", &["Section"], "Top mind Section text"),
        );
        check(
            "INSTALL",
            None,
            "How to install\n\nTools you need\n--------------\nmake and a compiler\n",
            (
                "How to install",
                &["Tools you need"],
                "How to install Tools you need make and a compiler",
            ),
        );
        check(
            "notes.txt",
            Some("Plain Text"),
            "\n  A note\nof two lines\n",
            ("A note", &[], "A note of two lines"),
        );
        check(
            "b.adoc",
            None,
            ":toc: left\n// hidden\n= Top\n\n== Section\n[[anchor]]\n----\ncode\n----\n",
            ("Top", &["Section"], "Top Section code"),
        );
        check(
            "git-log.1",
            None,
            ".\\\" hidden\n.TH GIT-LOG 1 \"today\"\n.SH NAME\ngit\\-log \\- show \\fBcommit\\fP logs\n.SH \"THE OPTIONS\"\n.B \\-\\-all\n",
            (
                "git-log - show commit logs",
                &["THE OPTIONS"],
                "NAME git-log - show commit logs THE OPTIONS --all",
            ),
        );
        check(
            "tmux.1",
            None,
            ".Dd today\n.Dt TMUX 1\n.Sh NAME\n.Nm tmux\n.Nd terminal multiplexer\n.Sh DESCRIPTION\nIt is one.\n",
            (
                "TMUX - terminal multiplexer",
                &["DESCRIPTION"],
                "NAME tmux terminal multiplexer DESCRIPTION It is one.",
            ),
        );
    }

    #[test]
    fn what_is_no_document() {
        for (path, language, text) in [
            ("LICENSE.md", Some("Markdown"), "MIT"),
            ("COPYING", None, "GNU"),
            ("table.txt", Some("Plain Text"), "1 2 3 4 5 6 7\n8 9 0 1 2 3"),
            ("CMakeLists.txt", Some("CMake"), "project(x)"),
            ("lib.so.1", None, "what is this"),
            ("main.rs", Some("Rust"), "fn main() {}"),
            ("data", None, "words"),
        ] {
            assert_eq!(format(path, language, text), None, "{path}");
        }
    }
}
