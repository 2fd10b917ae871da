//! Builds addresses of pages. Repository names and paths contain slashes, so both are passed as parameters.

use std::fmt::Write as _;

use answer::FileMatch;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use query::Comparison;

/// The characters that a parameter may contain unescaped.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/')
    .remove(b':')
    .remove(b'@');

/// Returns an address with parameters. Empty ones are left out.
pub(crate) fn to(page: &str, parameters: &[(&str, &str)]) -> String {
    let mut address = page.to_owned();
    let given = parameters.iter().filter(|(_, value)| !value.is_empty());
    for (i, (name, value)) in given.enumerate() {
        let mark = if i == 0 { '?' } else { '&' };
        // Writing to a text does not fail.
        let _ = write!(address, "{mark}{name}={}", utf8_percent_encode(value, PLAIN));
    }
    address
}

/// Returns a path, escaped for the address of a file on the web.
pub(crate) fn path(path: &str) -> String {
    utf8_percent_encode(path, PLAIN).to_string()
}

/// Returns the address of a file's page, with the matches of a query, at a line.
pub(crate) fn file(repo: &str, path: &str, q: &str, line: Option<u64>) -> String {
    let mut address = to("/file", &[("repo", repo), ("path", path), ("q", q)]);
    if let Some(line) = line {
        let _ = write!(address, "#L{line}");
    }
    address
}

/// Returns the address of the page with both sides of a file that a search of changes found; `None` for other files.
pub(crate) fn changes(file: &FileMatch) -> Option<String> {
    let (repo, path) = (("repo", file.repo.as_str()), ("path", file.path.as_str()));
    if let Some(commit) = &file.commit {
        return Some(to("/diff", &[repo, ("commit", &commit.hash), path]));
    }
    let [label] = file.trees.as_slice() else { return None };
    // No branch or tag has two dots in its name.
    let Comparison { old, new, from_merge_base } = Comparison::parse(label)?;
    let merge_base = ("merge_base", if from_merge_base { "1" } else { "" });
    Some(to("/diff", &[repo, ("base", &old), ("head", &new), merge_base, path]))
}

/// Returns the address of a file's page in a tree, or in the main tree if its name is empty.
pub(crate) fn file_in(repo: &str, path: &str, tree: &str, q: &str, line: Option<u64>) -> String {
    file(&in_tree(repo, tree), path, q, line)
}

/// Returns a repository as addresses name it, with a tree; the main one if that is empty.
pub(crate) fn in_tree(repo: &str, tree: &str) -> String {
    if tree.is_empty() { repo.to_owned() } else { format!("{repo}@{tree}") }
}

/// Returns the address for a path: the page of a file, which redirects if the path is a folder.
pub(crate) fn file_or_folder(repo: &str, path: &str) -> String {
    if path.is_empty() { folder(repo, "") } else { file(repo, path, "", None) }
}

/// Returns the address of all matching lines of a file.
pub(crate) fn lines(repo: &str, path: &str, q: &str) -> String {
    to("/search/lines", &[("repo", repo), ("path", path), ("q", q)])
}

/// Returns the first digits of a hash, by which people know it.
pub(crate) fn short(hash: &str) -> &str {
    hash.get(..10).unwrap_or(hash)
}

/// Returns the address of a commit's page, given the address of the files of any commit.
pub(crate) fn commit_page(web: &str, hash: &str) -> Option<String> {
    for (files, commits) in
        [("/-/blob/", "/-/commit/"), ("/src/commit/", "/commit/"), ("/blob/", "/commit/")]
    {
        if let Some((project, _)) = web.rsplit_once(files) {
            return Some(format!("{project}{commits}{hash}"));
        }
    }
    None
}

/// A file on the web: its address, and what is said of its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WebFile {
    pub(crate) href: String,
    /// `GitHub`, or the name of the host.
    pub(crate) host: String,
    /// What stands between the numbers of the first and the last line in an address.
    pub(crate) between: &'static str,
}

/// Returns a file on the web, given the address before the paths of files.
pub(crate) fn on_the_web(web: &str, file: &str) -> WebFile {
    let host = web.split_once("://").map_or(web, |(_, rest)| rest).split('/').next();
    let host = host.unwrap_or_default();
    let known = [
        ("github.com", "GitHub"),
        ("gitlab.com", "GitLab"),
        ("codeberg.org", "Codeberg"),
        ("gitea.com", "Gitea"),
    ];
    let name = known.iter().find(|(of, _)| *of == host).map(|(_, name)| *name);
    let between = if web.contains("/-/blob/") { "-" } else { "-L" };
    WebFile { href: format!("{web}{}", path(file)), host: name.unwrap_or(host).to_owned(), between }
}

/// Returns the address of a folder's page.
pub(crate) fn folder(repo: &str, folder: &str) -> String {
    to("/repos", &[("repo", repo), ("path", folder)])
}

/// Returns the address of a folder's page at a revision, if one is given.
pub(crate) fn folder_at(repo: &str, folder: &str, rev: Option<&str>) -> String {
    to("/repos", &[("repo", repo), ("path", folder), ("rev", rev.unwrap_or_default())])
}

/// Returns the address of a file's page at a revision, if one is given.
pub(crate) fn file_at(repo: &str, path: &str, rev: Option<&str>) -> String {
    of_file_at("/file", repo, path, rev)
}

/// Returns the address of a page about a file, at a revision, if one is given.
pub(crate) fn of_file_at(page: &str, repo: &str, path: &str, rev: Option<&str>) -> String {
    to(page, &[("repo", repo), ("path", path), ("rev", rev.unwrap_or_default())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_in_an_address_is_encoded() {
        assert_eq!(
            file("h/r", "a b/c&d#e?.rs", "x+y \"<", Some(3)),
            "/file?repo=h/r&path=a%20b/c%26d%23e%3F.rs&q=x%2By%20%22%3C#L3"
        );
        assert_eq!(folder("h/r", ""), "/repos?repo=h/r");
        assert_eq!(path("a b/c#d.rs"), "a%20b/c%23d.rs");
    }

    #[test]
    fn a_file_on_the_web_is_on_a_host() {
        for (web, host, between) in [
            ("https://github.com/a/b/blob/c/", "GitHub", "-L"),
            ("https://gitlab.com/a/b/-/blob/c/", "GitLab", "-"),
            ("https://gitlab.example.org/a/-/blob/c/", "gitlab.example.org", "-"),
            ("https://codeberg.org/a/b/src/commit/c/", "Codeberg", "-L"),
            ("https://gitea.example.org/a/b/src/commit/c/", "gitea.example.org", "-L"),
        ] {
            let href = format!("{web}x%20y.rs");
            let expected = WebFile { href, host: host.to_owned(), between };
            assert_eq!(on_the_web(web, "x y.rs"), expected);
        }
    }
}
