//! The settings of `docs/editors.md`, as they stand there.

use std::fs;
use std::path::Path;

/// Returns the code of a section: the block in this language below the heading.
pub(super) fn setting(section: &str, language: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/editors.md");
    let document = fs::read_to_string(path).unwrap();
    let of_section = document
        .split("\n## ")
        .find(|part| part.starts_with(section))
        .unwrap_or_else(|| panic!("docs/editors.md has no section {section}"));
    let mut blocks = of_section.split("\n```");
    let block = blocks.find_map(|block| block.strip_prefix(language)?.strip_prefix('\n'));
    block.unwrap_or_else(|| panic!("{section} has no {language}")).to_owned()
}
