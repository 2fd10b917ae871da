//! The headings of Markdown.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use query::SymbolKind;

use crate::walk::{Found, Parent};

/// The language's names, in lowercase.
pub(crate) const NAMES: &[&str] = &["markdown"];

/// Returns the headings. Each ends where the next one begins that is not nested in it.
pub(crate) fn headings(text: &str) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    // The open headings, each with its level.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let (mut row, mut counted) = (0, 0);
    let mut heading = None;
    for (event, range) in
        Parser::new_ext(text, Options::ENABLE_YAML_STYLE_METADATA_BLOCKS).into_offset_iter()
    {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                heading = Some((level as usize, range.start, None));
            }
            Event::End(TagEnd::Heading(_)) => {
                let Some((level, start, Some((from, to)))) = heading.take() else { continue };
                while let Some((_, last)) = open.pop_if(|(above, _)| *above >= level) {
                    found[last].end = start;
                }
                row += text[counted..from].matches('\n').count();
                counted = from;
                let parent = open.last().map_or(Parent::None, |(_, above)| Parent::Symbol(*above));
                open.push((level, found.len()));
                let kind = SymbolKind::Heading;
                let (name, end) = (from..to, text.len());
                found.push(Found { kind, name, end, row, parent, node: 0 });
            }
            Event::End(_) => {}
            // The content of a heading with its marks; for a link, only the link's text.
            Event::Start(Tag::Link { .. })
                if heading.as_ref().is_some_and(|(.., named)| named.is_none()) => {}
            _ => {
                if let Some((.., named)) = &mut heading {
                    let (from, to): (usize, usize) = named.unwrap_or((range.start, range.end));
                    *named = Some((from.min(range.start), to.max(range.end)));
                }
            }
        }
    }
    // A name over two lines is shortened to the first.
    for heading in &mut found {
        let name = &text[heading.name.clone()];
        let line = name.split('\n').next().unwrap_or_default().trim_end();
        heading.name.end = heading.name.start + line.len();
    }
    found
}
