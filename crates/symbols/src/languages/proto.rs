//! Protocol Buffers.

use query::SymbolKind::{Enum, EnumMember, Field, Interface, Method, Package, Struct};

use crate::grammar::{Grammar, define_by};

pub(crate) static PROTO: Grammar = Grammar {
    names: &["protocol buffer"],
    language: &grammars::PROTO,
    rules: &[
        define_by("package", Package, "full_ident"),
        define_by("message", Struct, "message_name"),
        define_by("group", Struct, "message_name"),
        define_by("enum", Enum, "enum_name"),
        define_by("enum_field", EnumMember, "identifier"),
        define_by("field", Field, "identifier"),
        define_by("map_field", Field, "identifier"),
        define_by("oneof", Field, "identifier"),
        define_by("oneof_field", Field, "identifier"),
        define_by("service", Interface, "service_name"),
        define_by("rpc", Method, "rpc_name"),
    ],
    skip: &["option", "field_options"],
    neighbour: None,
    blank: None,
};
