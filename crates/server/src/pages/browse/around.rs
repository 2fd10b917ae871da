//! The tree of files on a file's page, beside its text.

use askama::Template;
use search::{FolderItem, RepoTree, Tree};

use crate::pages::link;

/// Most items shown of a folder, around the open one.
const MAX_ITEMS: usize = 150;

/// One level of the tree: a folder and the child of it that is open.
#[derive(Template)]
#[template(path = "tree.html")]
struct Level {
    items: Vec<Item>,
    /// Items left out before those shown; `behind` counts those left out after them.
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

/// Returns the tree around a file as HTML: the items of its folder and of each folder above; nothing if a part of the
/// repository cannot be read. `place` is the repository as addresses name it.
pub(super) fn files_around(
    tree: &Tree,
    repo: &RepoTree,
    place: &str,
    path: &str,
    rev: Option<&str>,
) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    let mut inner = String::new();
    for depth in (0..parts.len()).rev() {
        let folder = parts[..depth].join("/");
        let Ok(children) = tree.folder(repo, &folder) else { return String::new() };
        let children = children.unwrap_or_default();
        let is_last = depth + 1 == parts.len();
        inner = level(children, (place, rev), &folder, parts[depth], is_last, inner);
    }
    inner
}

fn level(
    children: Vec<FolderItem>,
    (repo, rev): (&str, Option<&str>),
    folder: &str,
    open: &str,
    is_last: bool,
    inner: String,
) -> String {
    // No file system has a file and a folder of the same name, but an index may, if its parts are of different states.
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
                    link::folder_at(repo, &path, rev)
                } else {
                    link::file_at(repo, &path, rev)
                },
                name: item.name,
                folder: is_folder,
                open: n == at && !is_last,
                here: n == at && is_last,
            }
        })
        .collect();
    let behind = count - before - items.len();
    let level = Level { items, before, behind, all: link::folder_at(repo, folder, rev), inner };
    level.render().unwrap_or_default()
}
