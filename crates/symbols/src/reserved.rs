//! The words of each language that are never names. If an error in a text makes the parser take one for a name, its
//! definition is left out; only this module decides that.
//!
//! A word that is a keyword in some places only (`match` of Python), or only since a late version of a language, may be
//! a name, and is not listed.

use query::SymbolKind;
use query::SymbolKind::{
    Constant, Constructor, EnumMember, Field, Function, Macro, Method, Property, Variable,
};

/// Length of the longest word in bytes.
const LONGEST: usize = "reinterpret_cast".len();

/// The reserved words of a language.
pub(crate) struct Reserved {
    /// The words, separated by spaces.
    words: &'static str,
    /// Whether case is ignored.
    caseless: bool,
    /// Kinds of symbols that may still have such names.
    kinds: &'static [SymbolKind],
    /// Kinds of nodes that may.
    nodes: &'static [&'static str],
}

impl Reserved {
    const fn words(words: &'static str) -> Self {
        Self { words, caseless: false, kinds: &[], nodes: &[] }
    }

    /// Returns whether a name that was found is not a name.
    pub(crate) fn forbids<'n>(
        &self,
        name: &str,
        kind: SymbolKind,
        node: impl Fn() -> &'n str,
    ) -> bool {
        let is_word = |word: &str| {
            if self.caseless { word.eq_ignore_ascii_case(name) } else { word == name }
        };
        // A macro may take the place of any word: #define inline.
        kind != Macro
            && name.len() <= LONGEST
            && self.words.split(' ').any(is_word)
            && !self.kinds.contains(&kind)
            && !self.nodes.contains(&node())
    }
}

/// No words.
pub(crate) static NONE: Reserved = Reserved::words("");

pub(crate) static C: Reserved = Reserved::words(
    "\
        asm auto break case char const continue default do double else enum extern float for goto if inline int long \
        register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while \
        _Bool _Generic _Static_assert __attribute__",
);

pub(crate) static CPP: Reserved = Reserved::words(
    "\
        alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const \
        const_cast consteval constexpr constinit continue co_await co_return co_yield decltype default delete do \
        double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable \
        namespace new noexcept not not_eq nullptr operator or or_eq private protected public register \
        reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template \
        this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile while \
        xor xor_eq __attribute__",
);

/// `@class` is a name.
pub(crate) static C_SHARP: Reserved = Reserved::words(
    "\
        abstract as base bool break byte case catch char checked class const continue decimal default delegate do \
        double else enum event explicit extern false finally fixed float for foreach goto if implicit in int \
        interface internal is lock long namespace new null object operator out override params private protected \
        public readonly ref return sbyte sealed short sizeof stackalloc static string struct switch this throw true \
        try typeof uint ulong unchecked unsafe ushort using virtual void volatile while",
);

/// Kernel defines `and`, `in`, `not` and `or`.
#[cfg(feature = "all-languages")]
pub(crate) static ELIXIR: Reserved = Reserved::words(
    "\
        after catch do else end false fn nil rescue true when",
);

/// `'end'` is a name.
#[cfg(feature = "all-languages")]
pub(crate) static ERLANG: Reserved = Reserved::words(
    "\
        after and andalso band begin bnot bor bsl bsr bxor case catch div end fun if not of or orelse receive rem \
        try when xor",
);

/// Go's predeclared names, such as `len`, may be redeclared.
pub(crate) static GO: Reserved = Reserved::words(
    "\
        break case chan const continue default defer else fallthrough for func go goto if import interface map \
        package range return select struct switch type var",
);

#[cfg(feature = "all-languages")]
pub(crate) static HASKELL: Reserved = Reserved::words(
    "\
        case class data default deriving do else if import in infix infixl infixr instance let module newtype of \
        then type where",
);

pub(crate) static JAVA: Reserved = Reserved::words(
    "\
        abstract assert boolean break byte case catch char class const continue default do double else enum extends \
        false final finally float for goto if implements import instanceof int interface long native new null \
        package private protected public return short static strictfp super switch synchronized this throw throws \
        transient true try void volatile while",
);

/// Members may have any name: `class A { delete() {} }`, `exports.default = ...`.
pub(crate) static JAVASCRIPT: Reserved = Reserved {
    words: "\
        break case catch class const continue debugger default delete do else enum export extends false finally for \
        function if import in instanceof new null return super switch this throw true try typeof var void while with",
    caseless: false,
    kinds: &[Constructor, EnumMember, Field, Method, Property],
    nodes: &["private_property_identifier", "property_identifier", "string_fragment"],
};

/// `` `class` `` is a name.
pub(crate) static KOTLIN: Reserved = Reserved::words(
    "\
        as break class continue do else false for fun if in interface is null object package return super this throw \
        true try typealias typeof val var when while",
);

pub(crate) static LUA: Reserved = Reserved {
    words: "\
        and break do else elseif end false for function if in local nil not or repeat return then true until while",
    caseless: false,
    kinds: &[],
    nodes: &["string_content"],
};

/// The constructors `true` and `false` are defined somewhere, too.
#[cfg(feature = "all-languages")]
pub(crate) static OCAML: Reserved = Reserved::words(
    "\
        and as assert begin class constraint do done downto else end exception external for fun function functor if \
        in include inherit initializer lazy let match method module mutable new nonrec object of open or private rec \
        sig struct then to try type val virtual when while with",
);

/// Members, and parts of namespaces, may have nearly any name.
pub(crate) static PHP: Reserved = Reserved {
    words: "\
        abstract and array as break callable case catch class clone const continue declare default do echo else \
        elseif empty endfor endforeach endif endswitch endwhile eval exit extends final finally for foreach function \
        global goto if implements include include_once instanceof insteadof interface isset list new or print \
        private protected public require require_once return static switch throw trait try unset use var while xor \
        yield",
    caseless: true,
    kinds: &[Constant, Constructor, EnumMember, Field, Method, SymbolKind::Namespace],
    nodes: &[],
};

pub(crate) static PYTHON: Reserved = Reserved::words(
    "\
        False None True and as assert async await break class continue def del elif else except finally for from \
        global if import in is lambda nonlocal not or pass raise return try while with yield",
);

/// Methods may have any name: `def class`.
pub(crate) static RUBY: Reserved = Reserved {
    words: "\
        BEGIN END alias and begin break case class def do else elsif end ensure false for if in module next nil not \
        or redo rescue retry return self super then true undef unless until when while yield",
    caseless: false,
    kinds: &[Constructor, Function, Method, Property],
    nodes: &[],
};

/// `r#type` is a name.
pub(crate) static RUST: Reserved = Reserved::words(
    "\
        as break const continue crate else enum extern false fn for if impl in let loop match mod move mut pub ref \
        return self Self static struct super trait true type unsafe use where while",
);

/// Constructors are called `this`.
pub(crate) static SCALA: Reserved = Reserved::words(
    "\
        abstract case catch class def do else extends false final finally for forSome if implicit import lazy match \
        new null object override package private protected return sealed super throw trait true try type val var \
        while with yield",
);

/// Variables may have any name: `done=1`.
pub(crate) static SHELL: Reserved = Reserved {
    words: "\
        case do done elif else esac fi for if then until while { } ! [[ ]]",
    caseless: false,
    kinds: &[Constant, Variable],
    nodes: &[],
};

/// Reserved words of the standard and of Postgres.
#[cfg(feature = "all-languages")]
pub(crate) static SQL: Reserved = Reserved {
    words: "\
        all and any as asc case check constraint create default desc distinct else end except foreign from grant \
        group having in into not null on or order primary references select table then to union unique using when \
        where with",
    caseless: true,
    kinds: &[],
    nodes: &[],
};

/// `` `class` `` is a name, and so is `init` of an initializer.
pub(crate) static SWIFT: Reserved = Reserved {
    words: "\
        as associatedtype break case catch class continue default defer deinit do else enum extension fallthrough \
        false fileprivate for func guard if import in inout internal is let nil private public repeat rethrows \
        return self static struct subscript super switch throw throws true try typealias var where while",
    caseless: false,
    kinds: &[Constructor],
    nodes: &[],
};

/// `@"while"` is a name.
#[cfg(feature = "all-languages")]
pub(crate) static ZIG: Reserved = Reserved::words(
    "\
        and asm break catch comptime const continue defer else enum errdefer error export extern fn for if inline \
        noalias opaque or orelse packed pub resume return struct suspend switch test threadlocal try union \
        unreachable usingnamespace var volatile while",
);
