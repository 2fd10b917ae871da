//! The parts of a file's page beside its text: the tree of files around it, and its headings.

use askama::Template;
use engine::browse::{FileText, FolderItem, RepoTree, Tree};
use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};

use crate::http::pages::link;

/// Most items shown of one folder, around the one that is open.
const MAX_ITEMS: usize = 150;

/// Most headings shown.
const MAX_HEADINGS: usize = 300;

/// One level of the tree: a folder and the child of it that is open.
#[derive(Template)]
#[template(path = "tree.html")]
struct Level {
    items: Vec<Item>,
    /// Items left out before the shown ones; `behind` counts those left out after them.
    before: usize,
    behind: usize,
    /// The address of the whole folder.
    all: String,
    /// The HTML of the open child's own items.
    inner: String,
}

struct Item {
    name: String,
    href: String,
    folder: bool,
    open: bool,
    /// Whether it is the file of this page.
    here: bool,
}

/// A heading of a document.
pub(super) struct Heading {
    pub(super) level: u8,
    pub(super) text: String,
    /// The line on which it begins, counted from 1.
    pub(super) line: usize,
}

/// Returns the tree around a file as HTML: the items of its folder and of each folder above.
pub(super) fn files_around(tree: &Tree, repo: &RepoTree, path: &str) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    let mut inner = String::new();
    for depth in (0..parts.len()).rev() {
        let folder = parts[..depth].join("/");
        let children = tree.folder(repo, &folder).unwrap_or_default();
        inner = level(children, &repo.name, &folder, parts[depth], depth + 1 == parts.len(), inner);
    }
    inner
}

fn level(
    children: Vec<FolderItem>,
    repo: &str,
    folder: &str,
    open: &str,
    is_last: bool,
    inner: String,
) -> String {
    // No file system has a file and a folder of one name, but an index whose parts are of two states may.
    let is_open = |item: &FolderItem| item.name == open && item.files.is_none() == is_last;
    let at = children.iter().position(is_open).unwrap_or(0);
    let count = children.len();
    let before = at.saturating_sub(MAX_ITEMS / 2).min(count.saturating_sub(MAX_ITEMS));
    let items: Vec<Item> = children
        .into_iter()
        .enumerate()
        .skip(before)
        .take(MAX_ITEMS)
        .map(|(n, item)| {
            let path = if folder.is_empty() {
                item.name.clone()
            } else {
                format!("{folder}/{}", item.name)
            };
            let is_folder = item.files.is_some();
            Item {
                href: if is_folder {
                    link::folder(repo, &path)
                } else {
                    link::file(repo, &path, "", None)
                },
                name: item.name,
                folder: is_folder,
                open: n == at && !is_last,
                here: n == at && is_last,
            }
        })
        .collect();
    let behind = count - before - items.len();
    let level = Level { items, before, behind, all: link::folder(repo, folder), inner };
    level.render().unwrap_or_default()
}

/// Returns the headings of a Markdown document; none of any other file.
pub(super) fn outline(document: &FileText) -> Vec<Heading> {
    if document.language.as_deref() != Some("Markdown") {
        return Vec::new();
    }
    headings(&document.text)
}

fn headings(text: &str) -> Vec<Heading> {
    let mut headings: Vec<Heading> = Vec::new();
    let mut open = false;
    // The start of the last heading, and its line number: line feeds are counted from there.
    let (mut counted, mut line) = (0, 1);
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                if headings.len() == MAX_HEADINGS {
                    break;
                }
                line += text[counted..range.start].matches('\n').count();
                counted = range.start;
                headings.push(Heading { level: depth(level), text: String::new(), line });
                open = true;
            }
            Event::End(TagEnd::Heading(_)) => open = false,
            Event::Text(piece) | Event::Code(piece) if open => {
                if let Some(heading) = headings.last_mut() {
                    heading.text.push_str(&piece);
                }
            }
            _ => {}
        }
    }
    headings.retain(|heading| !heading.text.trim().is_empty());
    headings
}

fn depth(level: HeadingLevel) -> u8 {
    level as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_have_the_lines_in_which_they_begin() {
        let text = "# One `x`\n\ntext\n```\n# none\n```\n\nTwo\n---\n### Three\n#\n";
        let told: Vec<String> = headings(text)
            .into_iter()
            .map(|Heading { level, text, line }| format!("{level} {line} {text}"))
            .collect();
        assert_eq!(told, ["1 1 One x", "2 8 Two", "3 10 Three"]);
    }
}
