//! Globs over repositories' paths on a host.

use globset::{GlobBuilder, GlobMatcher};

/// Globs that name repositories by their paths on a host, such as `golang/go`. `*` matches within one part of the path,
/// `**` over several. A glob also matches all that is below what it names: `golang` matches `golang/go`. Letters match in
/// either case, as on the hosts.
#[derive(Clone, Debug, Default)]
pub struct Patterns(Vec<(String, GlobMatcher)>);

impl Patterns {
    /// Compiles globs.
    ///
    /// # Errors
    /// A sentence about the first that is invalid, without a full stop.
    pub fn new<'g>(globs: impl IntoIterator<Item = &'g str>) -> Result<Self, String> {
        globs.into_iter().map(compiled).collect::<Result<_, _>>().map(Self)
    }

    pub(crate) fn of(compiled: Vec<(String, GlobMatcher)>) -> Self {
        Self(compiled)
    }

    /// Returns the first glob, as it is written, that matches a path or a folder above it.
    pub fn matching(&self, path: &str) -> Option<&str> {
        let is_match = |glob: &GlobMatcher| {
            let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
            let mut above = ends.map(|end| &path[..end]);
            above.any(|part| glob.is_match(part))
        };
        self.0.iter().find(|(_, glob)| is_match(glob)).map(|(written, _)| &**written)
    }

    /// Returns the globs as they are written.
    pub fn written(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(written, _)| &**written)
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns, for each glob, the whole parts of a path with which everything that it matches begins: `golang/go` for
    /// itself, `group/sub` for `group/sub/**`, and nothing for `*/go`. So a host need not list more than that.
    pub fn beginnings(&self) -> impl Iterator<Item = String> {
        self.written().map(|glob| {
            let plain =
                glob.split('/').take_while(|part| !part.contains(['*', '?', '[', '{', '\\']));
            plain.collect::<Vec<_>>().join("/")
        })
    }
}

/// Compiles a glob.
///
/// # Errors
/// A sentence about it, without a full stop.
pub(crate) fn compiled(glob: &str) -> Result<(String, GlobMatcher), String> {
    let trimmed = glob.trim_matches('/');
    if trimmed.is_empty() {
        return Err("an empty glob matches nothing; write OWNER, OWNER/NAME or **".to_owned());
    }
    if trimmed.contains("://") {
        return Err(format!(
            "\"{glob}\" is an address; write the path on the host, as in golang/go"
        ));
    }
    let compiled = GlobBuilder::new(trimmed).literal_separator(true).case_insensitive(true).build();
    let compiled = compiled.map_err(|error| format!("\"{glob}\" is invalid: {}", error.kind()))?;
    Ok((trimmed.to_owned(), compiled.compile_matcher()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_matches_what_is_below_it() {
        for (glob, path, expected) in [
            ("golang", "golang/go", true),
            ("golang", "golangci/go", false),
            ("GoLang/go", "golang/Go", true),
            ("golang/*", "golang/go", true),
            ("**/old-*", "group/sub/old-x", true),
            ("**/old-*", "group/old-x/y", true),
            ("**/old-*", "group/new-x", false),
            ("*/go", "golang/go", true),
            ("*/go", "golang/x/go", false),
            ("group/**", "group/a/b", true),
            ("group/**", "group", false),
            ("**", "a/b", true),
            ("{a,b}/x", "b/x", true),
        ] {
            let patterns = Patterns::new([glob]).unwrap();
            assert_eq!(patterns.matching(path), expected.then_some(glob), "{glob} {path}");
        }
    }

    #[test]
    fn beginnings_are_whole_parts() {
        let globs = ["golang/go", "group/sub/**", "*/go", "a/b*", "x", "**"];
        let patterns = Patterns::new(globs).unwrap();
        let beginnings: Vec<String> = patterns.beginnings().collect();
        assert_eq!(beginnings, ["golang/go", "group/sub", "", "a", "x", ""]);
    }
}
