//! SCIP's symbols: `scheme manager package version descriptors`. The last descriptor names the symbol itself.

use std::borrow::Cow;

use query::SymbolKind;

/// The kind of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suffix {
    /// A namespace, package or module: `name/`.
    Namespace,
    /// A type: `name#`.
    Type,
    /// A variable, constant or field: `name.`.
    Term,
    /// A function or method: `name().`.
    Method,
    /// A type parameter: `[name]`.
    TypeParameter,
    /// A parameter: `(name)`.
    Parameter,
    /// A name for the indexer's own use: `name:`.
    Meta,
    /// A macro: `name!`.
    Macro,
}

impl Suffix {
    /// Returns whether outlines show such symbols: parameters are left out.
    pub fn is_of_outline(self) -> bool {
        !matches!(self, Suffix::Parameter | Suffix::TypeParameter | Suffix::Meta)
    }
}

/// The parts of a symbol that other documents may refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts<'s> {
    /// The package that defines it; empty if none is known.
    pub package: &'s str,
    /// The names, the outermost first.
    pub descriptors: Vec<(Cow<'s, str>, Suffix)>,
}

impl<'s> Parts<'s> {
    /// Parses a symbol; `None` if it is local or has another format.
    pub fn of(symbol: &'s str) -> Option<Self> {
        let (_scheme, rest) = word(symbol)?;
        let (_manager, rest) = word(rest)?;
        let (package, rest) = word(rest)?;
        let (_version, rest) = word(rest)?;
        let descriptors = descriptors(rest).filter(|all| !all.is_empty())?;
        Some(Self { package: if package == "." { "" } else { package }, descriptors })
    }

    /// Returns the symbol's own name, and its kind.
    pub fn name(&self) -> (&str, Suffix) {
        let (name, suffix) = self.descriptors.last().expect("there is one");
        (name, *suffix)
    }

    /// Returns the name and kind of the type or function around it.
    pub fn container(&self) -> Option<(&str, SymbolKind)> {
        let [.., (name, suffix), _] = &*self.descriptors else { return None };
        let kind = match suffix {
            Suffix::Type => SymbolKind::Type,
            Suffix::Method => SymbolKind::Function,
            Suffix::Term => SymbolKind::Variable,
            _ => return None,
        };
        Some((name, kind))
    }

    /// Returns the likely kind of the definition, by the descriptors alone.
    pub fn kind(&self) -> SymbolKind {
        let within_type = matches!(&*self.descriptors, [.., (_, Suffix::Type), _]);
        match (self.name().1, within_type) {
            (Suffix::Namespace | Suffix::Meta, _) => SymbolKind::Module,
            (Suffix::Type | Suffix::TypeParameter, _) => SymbolKind::Type,
            (Suffix::Term, true) => SymbolKind::Field,
            (Suffix::Term, false) | (Suffix::Parameter, _) => SymbolKind::Variable,
            (Suffix::Method, true) => SymbolKind::Method,
            (Suffix::Method, false) => SymbolKind::Function,
            (Suffix::Macro, _) => SymbolKind::Macro,
        }
    }
}

/// Returns the kind for SCIP's number of a kind; `None` if there is no equivalent.
pub fn kind(number: i32) -> Option<SymbolKind> {
    Some(match number {
        7 | 75 => SymbolKind::Class,
        8 => SymbolKind::Constant,
        9 => SymbolKind::Constructor,
        11 => SymbolKind::Enum,
        12 => SymbolKind::EnumMember,
        15 | 77 | 79 => SymbolKind::Field,
        16 | 29 => SymbolKind::Module,
        17 => SymbolKind::Function,
        18 | 26 | 45 | 66..=71 | 74 | 76 | 80 => SymbolKind::Method,
        21 | 42 => SymbolKind::Interface,
        25 => SymbolKind::Macro,
        28 | 49 => SymbolKind::Struct,
        30 => SymbolKind::Namespace,
        35 => SymbolKind::Package,
        41 | 72 | 81 => SymbolKind::Property,
        53 | 56 => SymbolKind::Trait,
        3 | 54 | 55 | 57 | 58 => SymbolKind::Type,
        59 => SymbolKind::Union,
        37 | 44 | 52 | 61 | 82 => SymbolKind::Variable,
        _ => return None,
    })
}

/// Splits off a word and the space after it; two spaces stand for one within a word.
fn word(text: &str) -> Option<(&str, &str)> {
    let mut from = 0;
    loop {
        let at = from + text[from..].find(' ')?;
        if text[at + 1..].starts_with(' ') {
            from = at + 2;
        } else {
            return Some((&text[..at], &text[at + 1..]));
        }
    }
}

fn descriptors(mut rest: &str) -> Option<Vec<(Cow<'_, str>, Suffix)>> {
    let mut all = Vec::new();
    while !rest.is_empty() {
        let one = match rest.as_bytes()[0] {
            open @ (b'[' | b'(') => {
                let (named, after) = name(&rest[1..])?;
                let (close, suffix) = match open {
                    b'[' => (']', Suffix::TypeParameter),
                    _ => (')', Suffix::Parameter),
                };
                rest = after.strip_prefix(close)?;
                (named, suffix)
            }
            _ => {
                let (named, after) = name(rest)?;
                let suffix = match after.as_bytes().first()? {
                    b'/' => Suffix::Namespace,
                    b'#' => Suffix::Type,
                    b'.' => Suffix::Term,
                    b':' => Suffix::Meta,
                    b'!' => Suffix::Macro,
                    b'(' => Suffix::Method,
                    _ => return None,
                };
                rest = match suffix {
                    Suffix::Method => after[after.find(')')? + 1..].strip_prefix('.')?,
                    _ => &after[1..],
                };
                (named, suffix)
            }
        };
        all.push(one);
    }
    Some(all)
}

/// Splits off a name: letters, digits and some signs, or any text in backticks.
fn name(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let Some(quoted) = text.strip_prefix('`') else {
        let is_of_name = |c: char| c.is_alphanumeric() || "_+-$".contains(c);
        let len = text.find(|c| !is_of_name(c)).unwrap_or(text.len());
        return (len > 0).then(|| (Cow::Borrowed(&text[..len]), &text[len..]));
    };
    let mut from = 0;
    loop {
        let at = from + quoted[from..].find('`')?;
        if quoted[at + 1..].starts_with('`') {
            from = at + 2;
            continue;
        }
        let inner = &quoted[..at];
        let inner =
            if inner.contains("``") { inner.replace("``", "`").into() } else { inner.into() };
        return Some((inner, &quoted[at + 1..]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_descriptor_names_what_is_meant() {
        for (symbol, package, name, suffix, kind, container) in [
            ("s npm p 1.0 src/`a b.ts`/f().", "p", "f", Suffix::Method, SymbolKind::Function, None),
            ("s npm p 1.0 a/C#m(+1).", "p", "m", Suffix::Method, SymbolKind::Method, Some("C")),
            ("s npm . . a/C#x.", "", "x", Suffix::Term, SymbolKind::Field, Some("C")),
            (
                "s npm . . a/f().(arg)",
                "",
                "arg",
                Suffix::Parameter,
                SymbolKind::Variable,
                Some("f"),
            ),
            ("s npm p 1 a/C#[T]", "p", "T", Suffix::TypeParameter, SymbolKind::Type, Some("C")),
            ("s  t p  q r 1 `x``y`/", "r", "x`y", Suffix::Namespace, SymbolKind::Module, None),
            ("s p n v m!", "n", "m", Suffix::Macro, SymbolKind::Macro, None),
            (
                "s p n v `pkg.mod`/__init__:",
                "n",
                "__init__",
                Suffix::Meta,
                SymbolKind::Module,
                None,
            ),
        ] {
            let parts = Parts::of(symbol).unwrap_or_else(|| panic!("{symbol}"));
            assert_eq!((parts.package, parts.name()), (package, (name, suffix)), "{symbol}");
            assert_eq!(parts.kind(), kind, "{symbol}");
            assert_eq!(parts.container().map(|(name, _)| name), container, "{symbol}");
        }
        for other in [
            "local 3",
            "",
            "a b c d",
            "a b c d ",
            "a b c d x",
            "a b c d `x",
            "a b c d f(",
            "a b c d (x",
        ] {
            assert_eq!(Parts::of(other), None, "{other}");
        }
    }
}
