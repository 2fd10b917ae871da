//! The tables of the languages, one file each.

mod bash;
mod c;
mod c_sharp;
mod go;
mod java;
mod javascript;
mod kotlin;
mod lua;
mod php;
mod python;
mod ruby;
mod rust;
mod scala;
mod swift;

#[cfg(feature = "all-languages")]
mod elixir;
#[cfg(feature = "all-languages")]
mod erlang;
#[cfg(feature = "all-languages")]
mod haskell;
#[cfg(feature = "all-languages")]
mod ocaml;
#[cfg(feature = "all-languages")]
mod proto;
#[cfg(feature = "all-languages")]
mod sql;
#[cfg(feature = "all-languages")]
mod zig;

use crate::grammar::Grammar;

/// All tables.
pub(crate) static ALL: &[&Grammar] = &[
    &bash::BASH,
    &c::C,
    &c::CPP,
    &c_sharp::C_SHARP,
    &go::GO,
    &java::JAVA,
    &javascript::JAVASCRIPT,
    &javascript::TYPESCRIPT,
    &javascript::TSX,
    &kotlin::KOTLIN,
    &lua::LUA,
    &php::PHP,
    &python::PYTHON,
    &ruby::RUBY,
    &rust::RUST,
    &scala::SCALA,
    &swift::SWIFT,
    #[cfg(feature = "all-languages")]
    &elixir::ELIXIR,
    #[cfg(feature = "all-languages")]
    &erlang::ERLANG,
    #[cfg(feature = "all-languages")]
    &haskell::HASKELL,
    #[cfg(feature = "all-languages")]
    &ocaml::OCAML,
    #[cfg(feature = "all-languages")]
    &ocaml::INTERFACE,
    #[cfg(feature = "all-languages")]
    &proto::PROTO,
    #[cfg(feature = "all-languages")]
    &sql::SQL,
    #[cfg(feature = "all-languages")]
    &zig::ZIG,
];
