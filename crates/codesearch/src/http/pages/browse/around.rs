//! What stands beside the text of a file: the files around it.

use askama::Template;
use engine::browse::{FolderItem, RepoTree, Tree};

use crate::http::pages::link;

/// Items that are shown of one folder, around the one that is open.
const MAX_ITEMS: usize = 150;

/// A folder of the tree, with the folder in it that is open.
#[derive(Template)]
#[template(path = "tree.html")]
struct Level {
    items: Vec<Item>,
    /// Items that are left out before and behind those.
    before: usize,
    behind: usize,
    /// The address of all of them.
    all: String,
    /// What is in the folder that is open.
    inner: String,
}

struct Item {
    name: String,
    href: String,
    folder: bool,
    open: bool,
    /// It is the file whose page this is.
    here: bool,
}

/// The files around one, as HTML: all of its folder, and the folders above it.
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
    // A file may have the name of a folder in no file system, but in an index of two states.
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
