//! `--glob`, `--type` and `--max-depth`: conditions on paths with ripgrep's meaning, as parts of a query.

use anyhow::{Context, Result, anyhow};
use globset::GlobBuilder;
use ignore::types::{FileTypeDef, TypesBuilder};
use query::{Case, Field, Pattern, Tree, nearest_in_use};

use crate::cli::FilterArgs;

/// Largest depth of folders that is put into a pattern. No repository is deeper.
const MAX_DEPTH: usize = 1000;

/// Most bytes of a pattern that joins the globs of several types. The limit of patterns is higher.
const MOST_BYTES: usize = 7 * 1024;

/// Returns the condition on paths; `None` if no option sets one.
pub(crate) fn condition(args: &FilterArgs) -> Result<Option<Tree>> {
    let mut globs = Vec::new();
    for (texts, caseless) in [(&args.glob, args.glob_case_insensitive), (&args.iglob, true)] {
        for text in texts {
            globs.extend(Glob::new(text, caseless).with_context(|| format!("--glob {text}"))?);
        }
    }
    let chosen = globs.iter().any(|glob| glob.wanted);
    let mut parts: Vec<Tree> = decide(&globs)?.into_iter().collect();
    // A file selected by a glob is searched whatever its type.
    if !chosen {
        parts.extend(decide(&types(args)?)?);
    }
    if let Some(depth) = args.max_depth {
        parts.push(match depth.min(MAX_DEPTH) {
            0 => !Tree::every_file(),
            depth => path(&format!("^(?:[^/]+/){{0,{}}}[^/]+$", depth - 1), false)?,
        });
    }
    Ok(if parts.is_empty() { None } else { Some(Tree::all(parts)) })
}

/// Returns the definitions of types, with the changes that options make.
pub(crate) fn definitions(args: &FilterArgs) -> Result<Vec<FileTypeDef>> {
    let mut types = TypesBuilder::new();
    types.add_defaults();
    for name in &args.type_clear {
        types.clear(name);
    }
    for definition in &args.type_add {
        types
            .add_def(definition)
            .map_err(|_| anyhow!("--type-add {definition}: give NAME:GLOB, as in 'web:*.vue'"))?;
    }
    Ok(types.definitions())
}

/// A glob, and whether it selects or excludes the files that it matches.
struct Glob {
    wanted: bool,
    caseless: bool,
    /// The pattern of the files that it matches; `None` if it matches folders only.
    file: Option<String>,
    /// The pattern of the files below a folder that it matches.
    below: Option<String>,
}

impl Glob {
    /// Parses a glob as a line of `.gitignore`; `None` for a comment.
    fn new(text: &str, caseless: bool) -> Result<Option<Self>> {
        if text.starts_with('#') {
            return Ok(None);
        }
        let (wanted, text) = match text.strip_prefix('!') {
            Some(rest) => (false, rest),
            None => (
                true,
                text.strip_prefix('\\').filter(|rest| rest.starts_with(['!', '#'])).unwrap_or(text),
            ),
        };
        let (folders, text) = match text.strip_suffix('/') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let mut glob = text.strip_prefix('/').unwrap_or(text).to_owned();
        if !text.contains('/') {
            glob.insert_str(0, "**/");
        }
        // `dir/**` matches the contents of the folder, not the folder itself.
        if glob.ends_with("/**") {
            glob.push_str("/*");
        }
        let regex = regex(&glob)?;
        Ok(Some(Self {
            wanted,
            caseless,
            file: (!folders).then(|| format!("^(?:{regex})$")),
            below: Some(format!("^(?:{regex})/")),
        }))
    }
}

/// Returns globs that select the files of some types and exclude those of others.
fn types(args: &FilterArgs) -> Result<Vec<Glob>> {
    let (chosen, others) = (&args.types, &args.type_not);
    if chosen.is_empty() && others.is_empty() {
        return Ok(Vec::new());
    }
    let known = definitions(args)?;
    let mut globs = Vec::new();
    for (names, wanted) in [(chosen, true), (others, false)] {
        let mut regexes = Vec::new();
        for name in names {
            let of = |known: &&FileTypeDef| name == "all" || known.name() == name;
            let mut found = known.iter().filter(of).peekable();
            if found.peek().is_none() {
                let near = near_type(name, &known);
                let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
                anyhow::bail!(
                    "--type: unknown type {name}{near} (codesearch search --type-list lists all)"
                );
            }
            for glob in found.flat_map(FileTypeDef::globs) {
                regexes.push(format!("(?:{})", regex(glob)?));
            }
        }
        let mut rest = &regexes[..];
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |regex: &&String| {
                bytes += regex.len() + 1;
                bytes <= MOST_BYTES
            };
            let (some, more) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            let file = Some(format!("(?:^|/)(?:{})$", some.join("|")));
            globs.push(Glob { wanted, caseless: false, file, below: None });
            rest = more;
        }
    }
    Ok(globs)
}

/// Returns the type that was probably meant: that of an extension (`rs`), that of a language with another name
/// (`golang`, `c++`), or the one with the most similar name.
fn near_type<'k>(name: &str, known: &'k [FileTypeDef]) -> Option<&'k str> {
    fn extensions(known: &FileTypeDef) -> impl Iterator<Item = &str> {
        known.globs().iter().filter_map(|glob| glob.strip_prefix("*."))
    }
    let of_extension =
        known.iter().find(|known| extensions(known).any(|extension| extension == name));
    let languages = query::languages(name).unwrap_or_default();
    let is_language = |name: &str| languages.iter().any(|language| language == name);
    let of_language = || {
        // All languages have their own names among their names.
        let own = |known: &&FileTypeDef| is_language(known.name());
        let shared = |known: &FileTypeDef| {
            let of = |extension: &str| query::languages(extension).unwrap_or_default();
            extensions(known)
                .filter(|extension| of(extension).iter().any(|name| is_language(name)))
                .count()
        };
        let most = || {
            known.iter().rev().max_by_key(|known| shared(known)).filter(|known| shared(known) > 0)
        };
        known.iter().find(own).or_else(most)
    };
    let found = of_extension.or_else(of_language).map(FileTypeDef::name);
    found.or_else(|| nearest_in_use(name, known.iter().map(FileTypeDef::name)))
}

/// Builds the condition that the last matching glob decides: a file is searched if that glob selects it, or if no glob
/// matches it and none selects. A file in an excluded folder is not searched.
fn decide(globs: &[Glob]) -> Result<Option<Tree>> {
    if globs.is_empty() {
        return Ok(None);
    }
    let chosen = globs.iter().any(|glob| glob.wanted);
    let mut tree = if chosen { None } else { Some(Tree::every_file()) };
    for glob in globs {
        let Some(file) = &glob.file else { continue };
        let file = path(file, glob.caseless)?;
        tree = match (tree, glob.wanted) {
            (None, true) => Some(file),
            (Some(before), true) => Some(Tree::any(vec![file, before])),
            (None, false) => None,
            (Some(before), false) => Some(Tree::all(vec![!file, before])),
        };
    }
    let mut parts = vec![tree.unwrap_or_else(|| !Tree::every_file())];
    for (at, glob) in globs.iter().enumerate().filter(|(_, glob)| !glob.wanted) {
        let Some(below) = &glob.below else { continue };
        let mut left_out = vec![path(below, glob.caseless)?];
        for later in globs[at + 1..].iter().filter(|later| later.wanted) {
            if let Some(below) = &later.below {
                left_out.push(!path(below, later.caseless)?);
            }
        }
        parts.push(!Tree::all(left_out));
    }
    Ok(Some(Tree::all(parts)))
}

fn path(regex: &str, caseless: bool) -> Result<Tree> {
    let case = if caseless { Case::Insensitive } else { Case::Sensitive };
    Ok(Tree::term(Field::Path, Pattern::parse(regex, case, false)?))
}

/// Translates a glob into a regular expression without anchors.
fn regex(glob: &str) -> Result<String> {
    let glob = GlobBuilder::new(glob).literal_separator(true).backslash_escape(true).build();
    let glob = glob.map_err(|error| anyhow!("{}", error.kind()))?;
    let regex = glob.regex();
    let regex = regex.strip_prefix("(?-u)").unwrap_or(regex);
    let regex = regex.strip_prefix('^').unwrap_or(regex);
    Ok(characters(regex.strip_suffix('$').unwrap_or(regex)))
}

/// Turns a regular expression for bytes into one for text: the former spells non-ASCII characters byte by byte.
fn characters(regex: &str) -> String {
    let mut out = Vec::with_capacity(regex.len());
    let mut rest = regex.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let byte = match rest {
            [b'\\', b'x', high, low, ..] => std::str::from_utf8(&[*high, *low])
                .ok()
                .and_then(|digits| u8::from_str_radix(digits, 16).ok())
                .filter(|byte| !byte.is_ascii()),
            _ => None,
        };
        match byte {
            Some(byte) => {
                out.push(byte);
                rest = &rest[4..];
            }
            // An escape and the character after it are copied together.
            None if *first == b'\\' && !after.is_empty() => {
                out.extend_from_slice(&rest[..2]);
                rest = &rest[2..];
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| regex.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_type_is_most_likely_a_common_one() {
        let mut types = TypesBuilder::new();
        let known = types.add_defaults().definitions();
        for (typed, near) in [
            ("golang", Some("go")),
            ("c++", Some("cpp")),
            ("rs", Some("rust")),
            ("shell", Some("sh")),
            ("c#", Some("cs")),
            ("javascript", Some("js")),
            ("pythno", Some("python")),
            ("jaba", Some("java")),
            ("klingon", None),
        ] {
            let near = near.filter(|near| known.iter().any(|known| known.name() == *near));
            assert_eq!(near_type(typed, &known), near, "{typed}");
        }
    }

    #[test]
    fn a_glob_is_an_expression_for_characters() {
        assert_eq!(regex("*.gö").unwrap(), r"[^/]*\.gö");
        assert_eq!(regex(r"a\\b").unwrap(), r"a\\b");
        assert!(regex("[").is_err());
    }
}
