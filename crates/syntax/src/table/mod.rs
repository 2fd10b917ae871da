//! The table of languages.

mod braces;
mod others;
mod scripts;

use crate::languages::Escape::{Backslash, Doubled, None};
use crate::languages::trait_bits::SPACED;
use crate::languages::{Escape, Form, Quote, Syntax};

const fn quote(open: &'static str, close: &'static str, escape: Escape, lines: bool) -> Quote {
    Quote { open, close, escape, lines }
}

const DOUBLE: Quote = quote("\"", "\"", Backslash, false);
const SINGLE: Quote = quote("'", "'", Backslash, false);
const BACK: Quote = quote("`", "`", Backslash, true);
const RAW_BACK: Quote = quote("`", "`", None, true);
const THREE: Quote = quote("\"\"\"", "\"\"\"", Backslash, true);
const THREE_SINGLE: Quote = quote("'''", "'''", Backslash, true);
const DOUBLE_LINES: Quote = quote("\"", "\"", Backslash, true);
const SINGLE_LINES: Quote = quote("'", "'", None, true);
const SQL_STRING: Quote = quote("'", "'", Doubled, true);

const SLASHES: &[&str] = &["//"];
const HASH: &[&str] = &["#"];
const STARS: &[(&str, &str)] = &[("/*", "*/")];

/// Words that most languages with braces have.
const BRACES: &str = "break case continue default do else for if return switch while";
const OBJECTS: &str = "abstract catch class enum extends final finally implements import instanceof interface new \
     override package private protected public static super this throw throws try void volatile";
const C_WORDS: &str = "auto char const double extern float goto inline int long register restrict \
     short signed sizeof static struct typedef union unsigned void volatile enum bool _Bool \
     _Static_assert _Generic _Noreturn _Alignas _Alignof _Atomic _Thread_local typeof asm __asm__";
const CPP_WORDS: &str = "alignas alignof and bitand bitor catch class co_await co_return co_yield \
     concept consteval constexpr constinit const_cast decltype delete dynamic_cast explicit export \
     final friend mutable namespace new noexcept not operator or override private protected public \
     reinterpret_cast requires static_assert static_cast template this thread_local throw try \
     typeid typename using virtual wchar_t char8_t char16_t char32_t module import";
const NOTHING: &str = "true false null";

/// The base of most tables.
const CODE: Syntax = Syntax {
    names: &[],
    form: Form::Code,
    lines: SLASHES,
    blocks: STARS,
    quotes: &[DOUBLE, SINGLE],
    keywords: &[BRACES],
    constants: &[NOTHING],
    functions: &[],
    types: &[],
    traits: 0,
};

/// The base of tables of languages whose comments begin with `#`.
const SCRIPT: Syntax = Syntax { lines: HASH, blocks: &[], traits: SPACED, ..CODE };

const XML: Syntax = Syntax {
    form: Form::Markup,
    lines: &[],
    blocks: &[("<!--", "-->")],
    quotes: &[DOUBLE_LINES, SINGLE_LINES],
    keywords: &[],
    constants: &[],
    ..CODE
};

/// Returns all languages; similar ones share an entry.
pub(crate) fn all() -> impl Iterator<Item = &'static Syntax> {
    [braces::BRACED, scripts::SCRIPTS, others::OTHERS].into_iter().flatten()
}

impl Syntax {
    /// Returns the table of a language; `None` if there is none.
    pub fn of(language: &str) -> Option<&'static Self> {
        let lower = language.to_lowercase();
        all().find(|syntax| syntax.names.contains(&lower.as_str()))
    }
}
