//! tree-sitter's grammars. Their parse tables would be half of the program, and are mostly zeros: they are stored
//! compressed by LZ4, in less than a tenth of the room, and unpacked when a grammar is used first.
//!
//! `build/main.rs` makes what is included here from the crates of the grammars.

#![allow(unsafe_code, reason = "a grammar is a structure of C with pointers to its tables")]

use std::sync::OnceLock;

use tree_sitter::Language;
use tree_sitter::ffi::TSLanguage;

include!(concat!(env!("OUT_DIR"), "/grammars.rs"));

/// A grammar whose tables are compressed.
pub struct Packed {
    /// Returns the grammar with these tables: first the rows, then the lists (see `build/main.rs`).
    with_tables: unsafe extern "C" fn(*const u16, *const u16) -> *const TSLanguage,
    /// How many numbers each of the tables has.
    lengths: [usize; 2],
    /// Both tables, one after the other, compressed by LZ4.
    tables: &'static [u8],
    language: OnceLock<Language>,
}

impl Packed {
    /// Returns the grammar. The first call unpacks its tables: some milliseconds, and up to 10 MB that stay.
    pub fn language(&self) -> &Language {
        self.language.get_or_init(|| {
            let tables: &'static [u16] = Vec::leak(self.unpack());
            let (large, small) = tables.split_at(self.lengths[0]);
            // SAFETY: the function is C that the build script made for this grammar. It stores the two pointers, of tables that
            // are never freed and as long as those that the grammar had, in a copy of its structure, and returns that.
            // `OnceLock` calls it once.
            unsafe { Language::from_raw((self.with_tables)(large.as_ptr(), small.as_ptr())) }
        })
    }

    fn unpack(&self) -> Vec<u16> {
        let mut bytes = vec![0; self.lengths.iter().sum::<usize>() * size_of::<u16>()];
        let unpacked = lzzzz::lz4::decompress(self.tables, &mut bytes);
        assert_eq!(unpacked.ok(), Some(bytes.len()), "the tables are as the build made them");
        let number = |pair: &[u8]| u16::from_le_bytes([pair[0], pair[1]]);
        bytes.chunks_exact(size_of::<u16>()).map(number).collect()
    }
}

#[cfg(test)]
mod tests {
    use tree_sitter::Parser;

    use super::{GO, Packed, SCALA, TSX};

    fn parsed(grammar: &Packed, text: &str) -> String {
        let mut parser = Parser::new();
        parser.set_language(grammar.language()).unwrap();
        parser.parse(text, None).unwrap().root_node().to_sexp()
    }

    #[test]
    fn a_grammar_parses_with_its_unpacked_tables() {
        assert_eq!(
            parsed(&GO, "package a\nfunc F() int { return 1 }\n"),
            "(source_file (package_clause (package_identifier)) (function_declaration name: (identifier) \
             parameters: (parameter_list) result: (type_identifier) body: (block (statement_list \
             (return_statement (expression_list (int_literal)))))))"
        );
    }

    #[test]
    fn a_grammar_whose_states_do_not_all_have_rows_parses() {
        assert!(GO.lengths[1] == 0 && SCALA.lengths[1] > 0);
        let tree = parsed(&SCALA, "object A { def f(x: Int) = x + 1 }");
        assert!(tree.contains("function_definition") && !tree.contains("ERROR"), "{tree}");
    }

    #[test]
    fn the_second_grammar_of_a_crate_has_its_own_tables() {
        let tree = parsed(&TSX, "const a = <b>c</b>;");
        assert!(tree.contains("jsx_element"), "{tree}");
    }
}
