//! What people call languages.

use gengo_language::Language;

/// Short names that are neither a language's name nor the extension of its files.
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
];

/// The names, in small letters, of the languages that someone who says `asked` may mean: a language
/// of that name, those whose files have that extension (`rs`, `py`, `cpp`), and a few short names.
pub(crate) fn names(asked: &str) -> Vec<String> {
    // A NUL is in no name, and no statement can hold one.
    let asked = asked.trim().replace('\0', "").to_lowercase();
    let short = SHORT.iter().find(|(short, _)| *short == asked).map(|(_, name)| (*name).to_owned());
    let by_extension =
        Language::from_extension(&asked).into_iter().map(|language| language.name().to_lowercase());
    let mut names: Vec<String> = by_extension.chain(short).collect();
    names.push(asked);
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

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
