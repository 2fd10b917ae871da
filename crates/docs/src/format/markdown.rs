//! Markdown as its readers see it: without markup, addresses and images.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::doc_text::DocText;

/// Reads a Markdown file.
pub(super) fn read(text: &str) -> DocText {
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

/// Returns the title in the metadata above a text: `title: x` or `title = "x"`.
fn metadata_title(text: &str) -> Option<&str> {
    text.lines().find_map(|line| {
        let value = line.strip_prefix("title")?.trim_start();
        let value = value.strip_prefix([':', '='])?.trim();
        let value = value.trim_matches(['"', '\'']);
        (!value.is_empty()).then_some(value)
    })
}

/// Returns the text between the tags of a piece of HTML.
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
