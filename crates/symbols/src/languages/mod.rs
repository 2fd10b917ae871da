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

#[cfg(test)]
mod tests {
    use super::ALL;
    use crate::grammar::Action;

    #[test]
    fn every_node_and_name_of_the_tables_is_in_the_grammar() {
        for grammar in ALL {
            let language = grammar.language();
            let known = |kind: &str| language.id_for_node_kind(kind, true) != 0;
            for kind in grammar.skip.iter().chain(grammar.rules.iter().map(|rule| &rule.node)) {
                assert!(known(kind), "{:?} has no {kind}", grammar.names);
            }
            for rule in grammar.rules {
                if let Action::Define { name, .. } = rule.action {
                    let is_field = language.field_id_for_name(name).is_some();
                    let is_token = language.id_for_node_kind(name, false) != 0;
                    assert!(
                        is_field || is_token || known(name),
                        "{:?} has no {name}",
                        grammar.names
                    );
                }
            }
        }
    }

    #[test]
    fn files_are_said_to_be_in_the_languages_of_the_tables() {
        for name in crate::languages() {
            assert_eq!(query::check_language(name), Ok(()));
        }
    }
}
