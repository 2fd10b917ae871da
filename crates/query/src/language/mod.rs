//! The languages of files, and the names by which people call them.

mod contents;
mod files;
mod shebang;

use gengo_language::Language;
use regex_syntax::hir::Look;
use regex_syntax::hir::literal::{ExtractKind, Extractor};

use self::contents::Told;
use crate::near::nearest_in_use;
use crate::pattern::Pattern;
use crate::write::written;

/// Short names that are neither a language's name nor an extension of its files.
const SHORT: &[(&str, &str)] = &[
    ("golang", "go"),
    ("csharp", "c#"),
    ("fsharp", "f#"),
    ("bash", "shell"),
    ("text", "plain text"),
    ("viml", "vim script"),
    ("vim", "vim script"),
    ("terraform", "hcl"),
    ("protobuf", "protocol buffer"),
    ("assembler", "assembly"),
    ("make", "makefile"),
    ("dockerfile", "docker"),
    ("octave", "matlab"),
    ("rocq", "coq"),
    ("objc", "objective-c"),
    ("bazel", "starlark"),
];

/// The names, in lowercase, of all languages that can be recognized: those of `gengo-language`, which exports no list,
/// and ours.
const NAMES: &[&str] = &[
    ".env",
    "abap",
    "abnf",
    "actionscript",
    "ada",
    "agda",
    "ags script",
    "ampl",
    "angelscript",
    "antlr",
    "apex",
    "arduino",
    "asciidoc",
    "assembly",
    "astro",
    "ats",
    "autohotkey",
    "awk",
    "batch file",
    "bitbake",
    "brainfuck",
    "c",
    "c#",
    "c++",
    "ceylon",
    "clojure",
    "cmake",
    "coffeescript",
    "coldfusion",
    "common lisp",
    "cool",
    "coq",
    "crystal",
    "css",
    "csv",
    "cuda",
    "d",
    "dart",
    "diff",
    "docker",
    "dtrace",
    "eiffel",
    "elixir",
    "elm",
    "emacs lisp",
    "emojicode",
    "erlang",
    "euphoria",
    "f#",
    "fish",
    "forth",
    "fortran legacy",
    "fortran modern",
    "gap",
    "gcc machine description",
    "gdscript",
    "github workflow",
    "gleam",
    "glsl",
    "go",
    "go.mod",
    "go.sum",
    "graphql",
    "groovy",
    "haskell",
    "haxe",
    "hcl",
    "hlsl",
    "holyc",
    "html",
    "idl",
    "idris",
    "ignore list",
    "ini",
    "java",
    "javascript",
    "jinja-like",
    "json",
    "json with comments",
    "jsonnet",
    "jule",
    "julia",
    "jupyter notebook",
    "just",
    "kotlin",
    "limbo",
    "llvm",
    "lua",
    "makefile",
    "markdown",
    "matlab",
    "mdx",
    "mercury",
    "mermaid",
    "meson",
    "modula-2",
    "moonbit",
    "nim",
    "nix",
    "nushell",
    "objective-c",
    "objective-c++",
    "objectscript",
    "ocaml",
    "odin",
    "opencl",
    "openscad",
    "org",
    "oz",
    "pascal",
    "perl",
    "php",
    "plain text",
    "powershell",
    "processing",
    "prolog",
    "protocol buffer",
    "public key",
    "pug",
    "puppet",
    "purescript",
    "python",
    "python requirements file",
    "qmake",
    "qml",
    "r",
    "racket",
    "raku",
    "rebol",
    "regex",
    "ren'py",
    "renderscript",
    "restructured text",
    "ruby",
    "rust",
    "sass",
    "scala",
    "scheme",
    "sed",
    "shell",
    "smalltalk",
    "solidity",
    "sql",
    "standard ml",
    "starlark",
    "structured text",
    "supercollider",
    "svelte",
    "svg",
    "swift",
    "systemverilog",
    "tcl",
    "terra",
    "tex",
    "toml",
    "tsv",
    "turing",
    "typescript",
    "typespec",
    "v",
    "vala",
    "verilog",
    "vhdl",
    "vim script",
    "visual basic",
    "vue",
    "webassembly",
    "wolfram",
    "x pixmap",
    "xaml",
    "xml",
    "xsl",
    "yaml",
    "zig",
];

/// Returns the names of the languages whose files have an extension, in lower case.
fn of_extension(extension: &str) -> Vec<&'static str> {
    if let Some(sharing) = contents::sharing(extension) {
        return sharing.collect();
    }
    if let Some(known) = files::by_extension(extension) {
        return vec![known];
    }
    let found = Language::from_extension(extension);
    // The library has R's extension as a capital.
    found.iter().map(Language::name).collect()
}

/// Returns the language of a file, by its path and its beginning. The first line of a script overrides the path. The
/// contents decide where languages share an extension.
pub fn language_of(path: &str, beginning: &[u8]) -> Option<&'static str> {
    let text = match str::from_utf8(beginning) {
        Ok(text) => text,
        Err(error) => str::from_utf8(&beginning[..error.valid_up_to()]).unwrap_or_default(),
    };
    let text = text.trim_start_matches('\u{FEFF}');
    let name = path.rsplit('/').next().unwrap_or(path);
    let plain = name.trim_end_matches(".bak").trim_end_matches(".example").trim_end_matches(".in");
    let name = if plain.is_empty() { name } else { plain };
    let exact = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let extension = exact.to_lowercase();
    if let Some(language) = shebang::language(text) {
        // Node runs TypeScript, too.
        let is_typed = matches!(extension.as_str(), "ts" | "tsx" | "mts" | "cts");
        return Some(if is_typed && language == "JavaScript" { "TypeScript" } else { language });
    }
    if let Some(language) = files::by_name(name) {
        return Some(language);
    }
    let capital = files::CAPITALS.iter().find(|(known, _)| *known == exact);
    if let Some((_, language)) = capital {
        return Some(language);
    }
    let named = || contents::modeline(text).filter(|name| of_extension(&extension).contains(name));
    match contents::language(&extension, text) {
        Told::Language(language) => return named().or(Some(language)),
        Told::Nothing => return named(),
        Told::NotShared => {}
    }
    if let Some(language) = files::by_extension(&extension) {
        return Some(language);
    }
    let picked = Language::pick(path, beginning, beginning.len());
    picked
        .map(|language| language.name())
        .or_else(|| of_extension(&extension).first().copied())
        .or_else(|| contents::modeline(text))
}

/// Returns the name of a language that is written in another way: in other letters, with hyphens for spaces, or shorter;
/// `None` if it is unknown.
pub fn language_named(name: &str) -> Option<String> {
    let spaced = name.trim().replace('-', " ");
    let known = [name.trim(), &spaced].into_iter().find_map(|name| {
        let lower = name.to_lowercase();
        let long = SHORT.iter().find(|(short, _)| *short == lower).map(|(_, long)| *long);
        let at = NAMES.binary_search(&long.unwrap_or(&lower)).ok()?;
        Some((NAMES[at], name))
    });
    let (known, name) = known?;
    let capital = |word: &str| {
        let (first, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
        first.to_uppercase() + rest
    };
    let variant: String = known.split([' ', '-']).map(capital).collect();
    let ours = files::languages().find(|ours| ours.to_lowercase() == known);
    let found = ours.or_else(|| {
        let all = [variant.parse::<Language>().ok()].into_iter().flatten();
        let all = all.chain(Language::from_extension(known));
        all.map(|language| language.name()).find(|found| found.to_lowercase() == known)
    });
    Some(found.map_or_else(
        || if name.to_lowercase() == known { name } else { known }.to_owned(),
        str::to_owned,
    ))
}

/// Checks that a language is known, under any of its names.
///
/// # Errors
/// A sentence without a full stop. It names a similar language if there is one.
pub fn check_language(asked: &str) -> Result<(), String> {
    let lower = asked.trim().to_lowercase();
    let known = NAMES.contains(&lower.as_str())
        || SHORT.iter().any(|(short, _)| *short == lower)
        || !of_extension(&lower).is_empty();
    if known {
        return Ok(());
    }
    Err(match near_language(asked) {
        Some(near) => {
            format!("unknown language \"{asked}\"; did you mean {}?", written("lang", near))
        }
        None => format!(
            "unknown language \"{asked}\"; use a name or an extension of its files, as in lang:rust or lang:rs"
        ),
    })
}

/// Returns the language whose name is closest to a mistyped one, if one is close enough.
pub(crate) fn near_language(asked: &str) -> Option<&'static str> {
    nearest_in_use(asked.trim(), NAMES.iter().copied().chain(SHORT.iter().map(|(short, _)| *short)))
}

/// Returns the lower-case names of the languages that `asked` may mean.
///
/// # Errors
/// The same as [`check_language`].
pub fn languages(asked: &str) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for one in asked.split(',') {
        check_language(one)?;
        all.extend(names(one));
    }
    Ok(all)
}

/// Returns the lower-case names of the languages that `asked` may mean: `asked` itself, the languages whose files have
/// that extension (`rs`, `py`, `cpp`), and the language with that short name.
pub(crate) fn names(asked: &str) -> Vec<String> {
    // No name contains a NUL, and no SQL statement can hold one.
    let asked = asked.trim().replace('\0', "").to_lowercase();
    let short = SHORT.iter().find(|(short, _)| *short == asked).map(|(_, name)| (*name).to_owned());
    let by_extension = of_extension(&asked).into_iter().map(str::to_lowercase);
    let mut names: Vec<String> = by_extension.chain(short).collect();
    names.push(asked);
    names.sort();
    names.dedup();
    names
}

/// Returns the lower-case names of the languages whose files have the extensions that a path pattern requires: `go` for
/// `\.go$`. `None` if the pattern does not fix the extension. Files of other languages may have the same extension.
pub(crate) fn of_paths(pattern: &Pattern) -> Option<Vec<String>> {
    let hir = pattern.hir();
    let ends = hir.properties().look_set_suffix();
    if !(ends.contains(Look::End) || ends.contains(Look::EndLF)) {
        return None;
    }
    let mut extractor = Extractor::new();
    extractor.kind(ExtractKind::Suffix);
    let endings = extractor.extract(hir);
    let mut all = Vec::new();
    for ending in endings.literals()? {
        let (_, extension) = str::from_utf8(ending.as_bytes()).ok()?.rsplit_once('.')?;
        let found = of_extension(&extension.to_lowercase());
        all.extend(found.into_iter().map(str::to_lowercase));
    }
    all.sort();
    all.dedup();
    (!all.is_empty()).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Case;

    #[test]
    fn an_unknown_language_is_an_error_that_names_the_nearest() {
        for known in ["go", "C++", "plain text", "rs", "golang", "TypeScript", "py"] {
            assert_eq!(check_language(known), Ok(()), "{known}");
        }
        assert!(check_language("pyhton").unwrap_err().ends_with("did you mean lang:python?"));
        assert!(!check_language("klingon").unwrap_err().contains("did you mean"));
        assert!(check_language("").is_err() && languages("pyhton").is_err());
        assert!(languages("py").unwrap().contains(&"python".to_owned()));
        // The list has every language of common files.
        for extension in [
            "c", "h", "cpp", "cs", "css", "go", "html", "java", "js", "json", "kt", "lua", "m",
            "md", "php", "pl", "py", "rb", "rs", "scala", "sh", "sql", "swift", "toml", "ts",
            "txt", "vue", "xml", "yml", "zig", "ex", "erl", "hs", "ml", "vim", "tf", "proto",
            "svg", "rst", "r", "jl", "dart", "clj", "tex",
        ] {
            for language in Language::from_extension(extension) {
                assert_eq!(check_language(language.name()), Ok(()));
                assert!(
                    NAMES.contains(&language.name().to_lowercase().as_str()),
                    "{}",
                    language.name()
                );
            }
        }
    }

    #[test]
    fn the_ends_of_paths_tell_languages() {
        let of = |source| of_paths(&Pattern::parse(source, Case::Smart, false).unwrap());
        let some = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(of(r"\.go$"), some(&["go"]));
        assert_eq!(of(r"^src/.*\.(py|rb)$"), some(&["python", "ruby"]));
        assert_eq!(
            of(r"\.TSX?$").map(|names| names.contains(&"typescript".to_owned())),
            Some(true)
        );
        for source in [r"\.go", "go$", r"^\.go", r"\.go$|x", r"\.nosuchending$", "$", r"(\.go)?$"] {
            assert_eq!(of(source), None, "{source}");
        }
    }

    #[test]
    fn files_have_languages_by_extensions_that_the_library_lacks() {
        for (path, language) in [
            ("db/db_impl.cc", Some("C++")),
            ("Source/cmake.CXX", Some("C++")),
            ("lib/ExifTool.pm", Some("Perl")),
            ("typing.pyi", Some("Python")),
            ("main.rs", Some("Rust")),
            ("no.such-ending", None),
            ("cc", None),
        ] {
            assert_eq!(language_of(path, b""), language, "{path}");
        }
        for name in files::languages() {
            assert!(NAMES.contains(&name.to_lowercase().as_str()), "{name}");
        }
    }

    #[test]
    fn a_language_has_one_name_however_it_is_written() {
        assert!(NAMES.is_sorted());
        for (written, name) in [
            ("rust", "Rust"),
            ("C++", "C++"),
            ("cpp", "none"),
            ("golang", "Go"),
            ("objective-c", "Objective-C"),
            ("Vim-script", "Vim Script"),
            ("protobuf", "Protocol Buffer"),
            ("Klingon", "none"),
            ("", "none"),
        ] {
            assert_eq!(language_named(written).as_deref().unwrap_or("none"), name, "{written}");
        }
    }

    #[test]
    fn names_extensions_and_short_names() {
        for (asked, language) in [
            ("Go", "go"),
            ("golang", "go"),
            ("C++", "c++"),
            ("cpp", "c++"),
            ("rs", "rust"),
            ("py", "python"),
            ("ts", "typescript"),
            ("c#", "c#"),
            ("Plain Text", "plain text"),
        ] {
            assert!(names(asked).contains(&language.to_owned()), "{asked}: {:?}", names(asked));
        }
    }
}
