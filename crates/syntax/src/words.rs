//! Lookup tables for the words of each language.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::languages::Syntax;
use crate::table;

/// The meaning of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Keyword,
    Constant,
    /// A keyword before the name of a function.
    Function,
    /// A keyword before the name of a type.
    Type,
}

/// The words of one language.
pub(crate) type Words = HashMap<&'static str, Word>;

/// The words of all languages, in the order of the table.
static WORDS: LazyLock<Vec<Words>> = LazyLock::new(|| table::all().map(words).collect());

fn words(syntax: &Syntax) -> Words {
    let all = |lists: &'static [&'static str], word| {
        lists.iter().flat_map(|list| list.split_ascii_whitespace()).map(move |name| (name, word))
    };
    all(syntax.keywords, Word::Keyword)
        .chain(all(syntax.constants, Word::Constant))
        .chain(all(syntax.functions, Word::Function))
        .chain(all(syntax.types, Word::Type))
        .collect()
}

/// Returns the words of a language.
pub(crate) fn of(syntax: &'static Syntax) -> &'static Words {
    let at = table::all().position(|one| std::ptr::eq(one, syntax)).expect("it is one of them");
    &WORDS[at]
}
