//! The kinds of symbols.

/// What a symbol defines. Its byte is stored in the index and never changes its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum SymbolKind {
    /// A class.
    Class = 0,
    /// A struct or record.
    Struct = 1,
    /// An enumeration.
    Enum = 2,
    /// An interface or protocol.
    Interface = 3,
    /// A trait, mixin or type class.
    Trait = 4,
    /// A union.
    Union = 5,
    /// An alias of a type, or any other type.
    Type = 6,
    /// A macro.
    Macro = 7,
    /// A function that belongs to no type.
    Function = 8,
    /// A function of a type, or its declaration.
    Method = 9,
    /// A constructor.
    Constructor = 10,
    /// A field of a type.
    Field = 11,
    /// A constant.
    Constant = 12,
    /// A variable outside functions.
    Variable = 13,
    /// A value of an enumeration.
    EnumMember = 14,
    /// A module.
    Module = 15,
    /// A namespace.
    Namespace = 16,
    /// A package.
    Package = 17,
    /// A heading of a document.
    Heading = 18,
    /// A property: a field with code behind it.
    Property = 19,
    /// A place where members of a type are defined outside of it: an `impl`, an extension, the receiver type of a
    /// method. It contains the members, and does not define its name.
    Implementation = 20,
}

impl SymbolKind {
    /// All kinds, each at the index of its byte.
    pub const ALL: [Self; 21] = [
        Self::Class,
        Self::Struct,
        Self::Enum,
        Self::Interface,
        Self::Trait,
        Self::Union,
        Self::Type,
        Self::Macro,
        Self::Function,
        Self::Method,
        Self::Constructor,
        Self::Field,
        Self::Constant,
        Self::Variable,
        Self::EnumMember,
        Self::Module,
        Self::Namespace,
        Self::Package,
        Self::Heading,
        Self::Property,
        Self::Implementation,
    ];

    /// Returns the byte of the kind in the index.
    pub fn byte(self) -> u8 {
        self as u8
    }

    /// Returns the kind that a byte stands for; `None` if a newer program wrote it.
    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.get(usize::from(byte)).copied()
    }

    /// Returns the name of the kind in `kind:`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Class => "class",
            Self::Struct => "struct",
            Self::Enum => "enum",
            Self::Interface => "interface",
            Self::Trait => "trait",
            Self::Union => "union",
            Self::Type => "type",
            Self::Macro => "macro",
            Self::Function => "function",
            Self::Method => "method",
            Self::Constructor => "constructor",
            Self::Field => "field",
            Self::Constant => "constant",
            Self::Variable => "variable",
            Self::EnumMember => "enum-member",
            Self::Module => "module",
            Self::Namespace => "namespace",
            Self::Package => "package",
            Self::Heading => "heading",
            Self::Property => "property",
            Self::Implementation => "implementation",
        }
    }

    /// Returns whether a symbol of this kind defines its name.
    pub fn defines(self) -> bool {
        self != Self::Implementation
    }

    /// Returns the kind with a name.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_byte_and_by_its_word() {
        for (byte, kind) in (0..).zip(SymbolKind::ALL) {
            assert_eq!((kind.byte(), SymbolKind::from_byte(byte)), (byte, Some(kind)));
            assert_eq!(SymbolKind::from_word(kind.word()), Some(kind));
        }
        assert_eq!(SymbolKind::from_byte(SymbolKind::ALL.len() as u8), None);
        assert_eq!(SymbolKind::from_word("goto"), None);
    }
}
