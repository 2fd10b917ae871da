//! `/syntax`: the manual of the query language, as a page whose examples are links, and as Markdown for programs.

use std::sync::LazyLock;

use askama::Template;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};
use query::{Case, Query};
use search::Request;

use super::link;
use super::render::render;
use crate::endpoint::{Class, Endpoint};
use crate::params::wants_page;

/// The manual of the query language, in Markdown.
const MANUAL: &str = include_str!("../../../../docs/syntax.md");

/// `/syntax`.
pub(crate) const SYNTAX: Endpoint = Endpoint::undocumented("/syntax", Class::Light, || get(syntax));

/// The manual as a page.
static DRAWN: LazyLock<Drawn> = LazyLock::new(|| Drawn::of(MANUAL));

#[derive(Template)]
#[template(path = "syntax.html")]
struct SyntaxPage<'a> {
    query: &'a str,
    /// The anchor of each section, and its title.
    sections: &'a [(String, String)],
    body: &'a str,
}

/// A block of examples. Each complete query is a link.
#[derive(Template)]
#[template(
    source = r#"<dl class="queries">
{%- for (href, query, says) in rows %}
<div><dt>{% if href.is_empty() %}<code>{{ query }}</code>{% else %}<a href="{{ href }}"><code>{{ query }}</code></a>{% endif %}</dt><dd>{{ says }}</dd></div>
{%- endfor %}
</dl>"#,
    ext = "html"
)]
struct Examples<'a> {
    rows: &'a [(String, String, String)],
}

struct Drawn {
    sections: Vec<(String, String)>,
    body: String,
}

async fn syntax(headers: HeaderMap) -> Response {
    if !wants_page(&headers, None) {
        return MANUAL.into_response();
    }
    let Drawn { sections, body } = &*DRAWN;
    render(StatusCode::OK, &SyntaxPage { query: "", sections, body })
}

impl Drawn {
    /// Renders the manual.
    fn of(manual: &str) -> Self {
        let mut sections = Vec::new();
        let mut events = Vec::new();
        let manual = literal(manual);
        let mut parser = Parser::new_ext(&manual, Options::ENABLE_TABLES);
        while let Some(event) = parser.next() {
            match event {
                Event::Start(Tag::CodeBlock(_)) => {
                    let ends = |event: &Event<'_>| matches!(event, Event::End(TagEnd::CodeBlock));
                    let inner = parser.by_ref().take_while(|event| !ends(event));
                    let block: String = inner.map(text_of).collect();
                    let rows = rows(&block);
                    let drawn = Examples { rows: &rows }.render().unwrap_or_default();
                    events.push(Event::Html(drawn.into()));
                }
                Event::Start(Tag::Heading { level, classes, attrs, .. }) => {
                    let ends = |event: &Event<'_>| matches!(event, Event::End(TagEnd::Heading(_)));
                    let inner = parser.by_ref().take_while(|event| !ends(event));
                    let title: Vec<Event<'_>> = inner.collect();
                    let name: String = title.iter().cloned().map(text_of).collect();
                    let id = name.to_lowercase().replace(' ', "-");
                    if level as u8 == 2 {
                        sections.push((id.clone(), name));
                    }
                    let id = Some(CowStr::from(id));
                    events.push(Event::Start(Tag::Heading { level, id, classes, attrs }));
                    events.extend(title);
                    events.push(Event::End(TagEnd::Heading(level)));
                }
                other => events.push(other),
            }
        }
        let mut body = String::new();
        html::push_html(&mut body, events.into_iter());
        Self { sections, body }
    }
}

/// Escapes characters that Markdown would read as emphasis, an escape or a tag: the manual is also read in a terminal,
/// where they are literal.
fn literal(manual: &str) -> String {
    let mut text = String::with_capacity(manual.len() * 11 / 10);
    for line in manual.split_inclusive('\n') {
        let is_code = line.starts_with("    ");
        for c in line.chars() {
            if !is_code && matches!(c, '\\' | '*' | '_' | '<') {
                text.push('\\');
            }
            text.push(c);
        }
    }
    text
}

fn text_of(event: Event<'_>) -> String {
    match event {
        Event::Text(text) | Event::Code(text) => text.into_string(),
        Event::SoftBreak | Event::HardBreak => " ".to_owned(),
        _ => String::new(),
    }
}

/// Splits a block into rows: a query and, after two spaces, its description, which may continue on indented lines. A
/// row has no address if its query is not complete, or names trees.
fn rows(block: &str) -> Vec<(String, String, String)> {
    let mut rows: Vec<(String, String, String)> = Vec::new();
    for line in block.lines().filter(|line| !line.trim().is_empty()) {
        if line.starts_with(' ')
            && let Some((_, _, says)) = rows.last_mut()
        {
            says.push(' ');
            says.push_str(line.trim());
            continue;
        }
        let (query, says) = line.split_once("  ").unwrap_or((line, ""));
        let parsed = Query::parse(query, Case::Smart).ok();
        // Which trees and revisions there are, the manual does not know.
        let is_of_files = |request: Request| {
            let query = request.compiled_query();
            query.trees.is_empty() && query.changes.is_none()
        };
        let can_be_asked = parsed.is_some_and(|query| Request::new(&query).is_ok_and(is_of_files));
        let href = if can_be_asked { link::to("/search", &[("q", query)]) } else { String::new() };
        rows.push((href, query.to_owned(), says.trim().to_owned()));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_that_can_be_asked_are_links() {
        let rows = rows(
            "foo -bar       files with foo\n               and without bar\ncase:yes|no    either\n\na b\n",
        );
        let told: Vec<_> =
            rows.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str())).collect();
        assert_eq!(
            told,
            [
                ("/search?q=foo%20-bar", "foo -bar", "files with foo and without bar"),
                ("", "case:yes|no", "either"),
                ("/search?q=a%20b", "a b", ""),
            ]
        );
    }

    #[test]
    fn the_manual_is_drawn_whole() {
        let drawn = Drawn::of(MANUAL);
        assert!(drawn.sections.len() >= 5, "{:?}", drawn.sections);
        assert!(drawn.body.matches("<a href=\"/search?q=").count() >= 20, "{}", drawn.body);
        for (id, _) in &drawn.sections {
            assert!(drawn.body.contains(&format!("<h2 id=\"{id}\">")), "{id}");
        }
        let escapes = Drawn::of("Write \\( or *a* or _b_ <c>\n\n    x\\*\n").body;
        assert!(escapes.contains("Write \\( or *a* or _b_ &lt;c&gt;"), "{escapes}");
        assert!(escapes.contains("<code>x\\*</code>"), "{escapes}");
        // No word of the manual is lost.
        let words = |text: &str| {
            text.split(|c: char| !c.is_alphanumeric())
                .filter(|w| w.len() > 3)
                .map(str::to_owned)
                .collect::<std::collections::BTreeSet<_>>()
        };
        let shown = words(&drawn.body);
        let lost: Vec<_> = words(MANUAL).into_iter().filter(|word| !shown.contains(word)).collect();
        assert_eq!(lost, [""; 0]);
    }
}
