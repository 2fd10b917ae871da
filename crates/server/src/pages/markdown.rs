//! Renders Markdown from a repository as a document. Its text comes from strangers: no HTML of theirs is passed on, no
//! image is loaded, and a link leads to a file of the repository, to a heading, or to a web or mail address.

use std::collections::HashMap;
use std::mem;

use askama::Template;
use percent_encoding::percent_decode_str;
use pulldown_cmark::{
    CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, html,
};

use super::browse::headings;
use super::highlight::Grammar;
use super::link;
use super::view::{self, Piece};

/// A block of code.
#[derive(Template)]
#[template(
    source = r#"{%- import "pieces.html" as draw -%}<pre class="explanation" tabindex="0" aria-label="Code"><code>
{%- for line in lines %}{% call draw::pieces(line.as_slice()) %}{% endcall %}
{% endfor -%}</code></pre>"#,
    ext = "html"
)]
struct Code {
    lines: Vec<Vec<Piece>>,
}

/// Renders the text of a file as HTML.
pub(crate) fn markdown(text: &str, repo: &str, path: &str) -> String {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut lines = Lines { text, at: 0, line: 1 };
    let places = Links { repo, path, anchors: anchors(text) };
    let mut tags = Tags::default();
    // Whether each open link is kept.
    let mut kept: Vec<bool> = Vec::new();
    let mut events: Vec<Event<'_>> = Vec::new();
    let mut parser = Parser::new_ext(text, options).into_offset_iter();
    while let Some((event, range)) = parser.next() {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let ends = |event: &Event<'_>| matches!(event, Event::End(TagEnd::CodeBlock));
                let inner = parser.by_ref().take_while(|(event, _)| !ends(event));
                let block: String = inner.map(|(event, _)| text_of(event)).collect();
                events.push(Event::Html(code(&kind, &block).into()));
            }
            Event::Start(Tag::Image { dest_url, .. }) => {
                let mut depth = 1;
                let mut alt = String::new();
                for (event, _) in parser.by_ref() {
                    match event {
                        Event::Start(Tag::Image { .. }) => depth += 1,
                        Event::End(TagEnd::Image) => depth -= 1,
                        other => alt.push_str(&text_of(other)),
                    }
                    if depth == 0 {
                        break;
                    }
                }
                let alt = if alt.trim().is_empty() { "image".to_owned() } else { alt };
                let place = places.place(&dest_url).filter(|_| !kept.contains(&true));
                let text = Event::Text(alt.into());
                match place {
                    Some(place) => {
                        events.push(Event::Start(link_to(LinkType::Inline, place)));
                        events.extend([text, Event::End(TagEnd::Link)]);
                    }
                    None => events.push(text),
                }
            }
            Event::Start(Tag::Link { link_type: LinkType::Email, dest_url, .. }) => {
                kept.push(true);
                events.push(Event::Start(link_to(LinkType::Email, dest_url.into_string())));
            }
            Event::Start(Tag::Link { dest_url, .. }) => {
                let place = places.place(&dest_url);
                kept.push(place.is_some());
                let open = place.map(|place| Event::Start(link_to(LinkType::Inline, place)));
                events.extend(open);
            }
            Event::End(TagEnd::Link) => {
                if kept.pop().unwrap_or_default() {
                    events.push(Event::End(TagEnd::Link));
                }
            }
            Event::Start(Tag::Heading { level, .. }) => {
                let id = Some(CowStr::from(format!("L{}", lines.of(range.start))));
                let (classes, attrs) = (Vec::new(), Vec::new());
                let level = below(level);
                events.push(Event::Start(Tag::Heading { level, id, classes, attrs }));
            }
            Event::End(TagEnd::Heading(level)) => {
                events.push(Event::End(TagEnd::Heading(below(level))));
            }
            Event::Html(html) => tags.block.push_str(&html),
            Event::Start(Tag::HtmlBlock) => tags = Tags::default(),
            Event::End(TagEnd::HtmlBlock) => {
                let words = tags.text();
                if !words.is_empty() {
                    let text = Event::Text(words.into());
                    let tag = Event::Start(Tag::Paragraph);
                    events.extend([tag, text, Event::End(TagEnd::Paragraph)]);
                }
            }
            Event::InlineHtml(html) if html.to_lowercase().starts_with("<br") => {
                events.push(Event::HardBreak);
            }
            // What a tag would do is left out; the text that it encloses is not.
            Event::InlineHtml(_) => {}
            Event::TaskListMarker(done) => {
                events.push(Event::Text(if done { "☑ " } else { "☐ " }.into()));
            }
            other => events.push(other),
        }
    }
    let mut body = String::with_capacity(text.len() * 2);
    html::push_html(&mut body, events.into_iter());
    body
}

/// Returns the level of a heading below that of the page.
fn below(level: HeadingLevel) -> HeadingLevel {
    HeadingLevel::try_from(level as usize + 1).unwrap_or(HeadingLevel::H6)
}

fn link_to<'t>(link_type: LinkType, place: String) -> Tag<'t> {
    Tag::Link { link_type, dest_url: place.into(), title: "".into(), id: "".into() }
}

fn text_of(event: Event<'_>) -> String {
    match event {
        Event::Text(text) | Event::Code(text) => text.into_string(),
        Event::SoftBreak | Event::HardBreak => " ".to_owned(),
        _ => String::new(),
    }
}

/// Renders a block of code, in colours if its language is known.
fn code(kind: &CodeBlockKind<'_>, block: &str) -> String {
    let info = match kind {
        CodeBlockKind::Fenced(info) => info.split([',', ' ', '{']).next().unwrap_or_default(),
        CodeBlockKind::Indented => "",
    };
    let lines: Vec<&str> = block.lines().collect();
    let grammar = Grammar::of(None, &format!("x.{info}"))
        .or_else(|| Grammar::of(query::languages(info).ok()?.first().map(String::as_str), ""));
    let mut colours = grammar
        .filter(|_| !info.is_empty())
        .map_or_else(Vec::new, |grammar| grammar.colour(lines.iter().copied()));
    colours.resize(lines.len(), Vec::new());
    let lines = lines.iter().zip(colours);
    let lines = lines.map(|(line, colours)| view::pieces(line, &[], &colours, 0..line.len()));
    Code { lines: lines.collect() }.render().unwrap_or_default()
}

/// The text of a block of HTML.
#[derive(Default)]
struct Tags {
    block: String,
}

impl Tags {
    /// Returns the text between the tags.
    fn text(&mut self) -> String {
        let block = mem::take(&mut self.block);
        let mut text = String::new();
        let mut rest = block.as_str();
        while let Some(at) = rest.find('<') {
            text.push_str(&rest[..at]);
            let end = if rest[at..].starts_with("<!--") { "-->" } else { ">" };
            rest = rest[at..].find(end).map_or("", |to| &rest[at + to + end.len()..]);
        }
        text.push_str(rest);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// Counts lines up to ascending offsets.
struct Lines<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl Lines<'_> {
    fn of(&mut self, at: usize) -> usize {
        let at = at.max(self.at);
        self.line += self.text[self.at..at].matches('\n').count();
        self.at = at;
        self.line
    }
}

/// Returns the line of each heading, by the name that links use: `how-it-works`.
fn anchors(text: &str) -> HashMap<String, u64> {
    let mut anchors = HashMap::new();
    for (name, line) in headings(text) {
        let words = name.trim().to_lowercase();
        let letters = words.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let name: String = letters.map(|c| if c == ' ' { '-' } else { c }).collect();
        anchors.entry(name).or_insert(line);
    }
    anchors
}

/// The places to which links of a file may lead.
struct Links<'a> {
    repo: &'a str,
    path: &'a str,
    anchors: HashMap<String, u64>,
}

impl Links<'_> {
    /// Returns the address of a link's destination; `None` if it must not lead there.
    fn place(&self, to: &str) -> Option<String> {
        let to = to.trim();
        if to.chars().any(char::is_control) {
            return None;
        }
        if let Some(name) = to.strip_prefix('#') {
            let line = self.anchors.get(&name.to_lowercase())?;
            return Some(format!("#L{line}"));
        }
        if to.starts_with("//") {
            return Some(format!("https:{to}"));
        }
        let end = to.find(['/', '?', '#']).unwrap_or(to.len());
        if let Some((scheme, _)) = to[..end].split_once(':') {
            let is_known = ["http", "https", "mailto"].contains(&&*scheme.to_lowercase());
            return is_known.then(|| to.to_owned());
        }
        let (path, fragment) = to.split_once('#').unwrap_or((to, ""));
        let path = path.split('?').next().unwrap_or_default();
        let path = percent_decode_str(path).decode_utf8().ok()?;
        let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut parts: Vec<&str> = if path.starts_with('/') { "" } else { folder }
            .split('/')
            .filter(|part| !part.is_empty())
            .collect();
        for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
            if part == ".." {
                // A link out of the repository.
                parts.pop()?;
            } else {
                parts.push(part);
            }
        }
        let mut address = link::file_or_folder(self.repo, &parts.join("/"));
        let line = fragment.strip_prefix('L').unwrap_or_default();
        if !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit()) {
            address.push_str(&format!("#L{line}"));
        }
        Some(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(markdown(text, "h/r", "docs/a.md").trim(), expected, "{text}");
    }

    #[test]
    fn markdown_is_drawn() {
        check(
            "# One\n\ntext **b** `c<d`\n\n## Two words\n",
            "<h2 id=\"L1\">One</h2>\n<p>text <strong>b</strong> <code>c&lt;d</code></p>\n<h3 id=\"L5\">Two words</h3>",
        );
        check("- [x] a\n- [ ] b\n", "<ul>\n<li>☑ a</li>\n<li>☐ b</li>\n</ul>");
        let code = markdown("```rust\nlet x = \"<b>\";\n```\n", "r", "a.md");
        assert!(code.contains("<span class=\"k\">let</span>"), "{code}");
        assert!(code.contains("&#34;&#60;b&#62;&#34;"), "{code}");
    }

    #[test]
    fn links_lead_where_they_may() {
        for (to, expected) in [
            ("b.md", "/file?repo=h/r&amp;path=docs/b.md"),
            ("../src/x.rs#L7", "/file?repo=h/r&amp;path=src/x.rs#L7"),
            ("/README.md#part", "/file?repo=h/r&amp;path=README.md"),
            ("./", "/file?repo=h/r&amp;path=docs"),
            ("..", "/repos?repo=h/r"),
            ("#here", "#L3"),
            ("https://example.org/?a=b", "https://example.org/?a=b"),
            ("//example.org", "https://example.org"),
            ("mailto:a@b.c", "mailto:a@b.c"),
        ] {
            check(
                &format!("[x]({to})\n\n# Here"),
                &format!("<p><a href=\"{expected}\">x</a></p>\n<h2 id=\"L3\">Here</h2>"),
            );
        }
        for to in [
            "javascript:alert(1)",
            "JaVaScRiPt:x",
            "data:text/html,x",
            "vbscript:x",
            "../../x",
            "#none",
        ] {
            check(&format!("[x]({to})"), "<p>x</p>");
        }
        check("[x](<java&#10;script:alert(1)>)", "<p>x</p>");
        check("<a@b.c>", "<p><a href=\"mailto:a@b.c\">a@b.c</a></p>");
    }

    #[test]
    fn nothing_of_strangers_is_loaded_or_run() {
        check(
            "![alt *text*](https://example.org/x.png)",
            "<p><a href=\"https://example.org/x.png\">alt text</a></p>",
        );
        check(
            "[![b](https://example.org/b.svg)](https://example.org)",
            "<p><a href=\"https://example.org\">b</a></p>",
        );
        check("![](javascript:x)", "<p>image</p>");
        check("a<br>b <img src=x onerror=alert(1)> c", "<p>a<br />\nb  c</p>");
        check("<script>alert(1)</script>", "<p>alert(1)</p>");
        check("<p align=\"center\">\n<img src=x>\nHello <b>you</b>\n</p>", "<p>Hello you</p>");
        check("<!-- <script>\nx -->", "");
        for hostile in [
            "<iframe src=//evil.example>",
            "<style>*{display:none}</style>",
            "<svg onload=alert(1)>",
            "[a](b \"onmouseover=alert(1)\")",
            "<div <img src=x onerror=alert(1)>",
            "```\"><script>\n</code></pre><script>alert(1)</script>\n```",
            "|a|\n|-|\n|<script>x</script>|",
            "# <img src=x onclick=x>",
            "[x]: javascript:alert(1)\n\n[x]",
        ] {
            let drawn = markdown(hostile, "r", "a.md").to_lowercase();
            for bad in [
                "<script",
                "<img",
                "<iframe",
                "<style",
                "<svg",
                "<div",
                " onclick",
                " onerror=\"",
                "javascript:",
                "title=",
            ] {
                assert!(!drawn.contains(bad), "{hostile}: {drawn}");
            }
        }
    }
}
