//! Docs that are whole files, such as READMEs and manual pages: reads title, headings and text, by format.

mod man;
mod markdown;
mod ruled;

use super::doc_text::DocText;

/// The format of a doc that is a whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Markdown,
    RestructuredText,
    AsciiDoc,
    /// A manual page, with either macro package (man, mdoc).
    Man,
    PlainText,
}

/// Returns the format of a file that is a doc as a whole; `None` for other files. Licences are not docs: they are very
/// many, with the same words.
pub(crate) fn format(path: &str, language: Option<&str>, text: &str) -> Option<Format> {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let (stem, ending) = name.rsplit_once('.').unwrap_or((&name, ""));
    let is_licence = ["license", "licence", "copying", "copyright", "unlicense"];
    if is_licence.iter().any(|word| name.starts_with(word)) {
        return None;
    }
    match ending {
        "md" | "markdown" | "mdown" | "mkd" | "mdx" => return Some(Format::Markdown),
        "rst" | "rest" => return Some(Format::RestructuredText),
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
    (plain && is_written(text)).then_some(Format::PlainText)
}

/// Returns whether a text is a manual page, by the macros in its first lines.
fn is_man(text: &str) -> bool {
    let lines = text.lines().take(100);
    lines.into_iter().any(|line| [".TH ", ".Dt ", ".Dd "].iter().any(|m| line.starts_with(m)))
}

/// Returns whether a text is prose, not a table or a dump: at least 70% of its characters are letters.
fn is_written(text: &str) -> bool {
    let sample = text.chars().take(4096).filter(|c| !c.is_whitespace());
    let (mut letters, mut all) = (0, 0);
    for c in sample {
        all += 1;
        letters += usize::from(c.is_alphabetic());
    }
    letters * 10 >= all * 7
}

/// Returns the doc in a file of some format; `None` if it has no letters.
pub(crate) fn read(format: Format, text: &str) -> Option<DocText> {
    let mut doc = match format {
        Format::Markdown => markdown::read(text),
        Format::RestructuredText => ruled::read(text, true),
        Format::PlainText => ruled::read(text, false),
        Format::AsciiDoc => ruled::read_asciidoc(text),
        Format::Man => man::read(text),
    };
    let first = first_line(&doc.body)?;
    // The first line of a plain text is its title, with or without a rule below.
    if format == Format::PlainText && first != doc.title && !doc.title.is_empty() {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks title, headings and body of a doc.
    fn check(path: &str, language: Option<&str>, text: &str, expected: (&str, &[&str], &str)) {
        let format = format(path, language, text).unwrap_or_else(|| panic!("{path} is no doc"));
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
    fn what_is_no_doc() {
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
