//! `grep`, `compile` and xref in Emacs, beside ripgrep.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::json;

use super::document::setting;
use super::tree::{Place, Tree, has};

#[test]
fn emacs_finds_what_ripgrep_finds() {
    if !has("rg") || !has("emacs") {
        return;
    }
    let tree = Tree::new();
    // What people type after the command, and the same as arguments of ripgrep.
    let queries: &[(&str, &[&str])] = &[
        ("needle", &["needle"]),
        ("-w needle", &["-w", "needle"]),
        ("'needle two'", &["needle two"]),
        (r#"'"needle"'"#, &["\"needle\""]),
        (r#""it's""#, &["it's"]),
        (r"'a\|b|100%|# 1'", &[r"a\|b|100%|# 1"]),
        ("NEEDLE", &["NEEDLE"]),
        ("'some lines'", &["some lines"]),
        ("'nowhere to be found'", &["nowhere to be found"]),
        ("'needle('", &["nowhere to be found"]),
    ];
    let outside = tempfile::tempdir().unwrap();
    let settings = outside.path().join("settings.el");
    fs::write(&settings, setting("Emacs", "elisp")).unwrap();
    fs::write(outside.path().join("outside.c"), "int main(void) { return needle(); }\n").unwrap();
    let typed: Vec<&str> = queries.iter().map(|(typed, _)| *typed).collect();
    let mut editor = tree.editor("emacs");
    editor.args(["--batch", "-Q", "-l"]).arg(&settings).arg("-l");
    editor.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/editors/emacs.el"));
    editor.env("QUERIES", json!(typed).to_string()).env("TREE", &tree.folder);
    editor.env("OUTSIDE", outside.path().join("outside.c"));
    let mut found = tree.places(editor).into_iter();

    let in_characters = |places: Vec<Place>| -> Vec<Place> {
        let mut places: Vec<Place> = places.iter().map(Place::in_characters).collect();
        places.sort();
        places
    };
    for (typed, args) in queries {
        assert_eq!(found.next().unwrap(), in_characters(tree.ripgrep(args)), "grep {typed}");
    }
    // `compile` cannot read every name of a file, and takes the columns for those of the screen.
    let main = tree.folder.join("one/src/main.c").to_str().unwrap().to_owned();
    let lines = |places: Vec<Place>| -> BTreeSet<usize> {
        places.iter().filter(|place| place.file == main).map(|place| place.line).collect()
    };
    assert_eq!(lines(found.next().unwrap()), lines(tree.ripgrep(&["needle"])));

    let definition = [Place { file: main.clone(), line: 3, column: 5 }];
    assert_eq!(found.next().unwrap(), definition);
    // Of each line, the first use. The definition is no use.
    let mut uses = in_characters(tree.ripgrep(&["-w", "needle"]));
    uses.dedup_by(|next, first| (&next.file, next.line) == (&first.file, first.line));
    uses.retain(|place| *place != definition[0]);
    assert_eq!(found.next().unwrap(), uses);
    assert_eq!(found.next().unwrap(), []);
    assert_eq!(found.next().unwrap(), definition, "M-.");
    assert_eq!(found.next().unwrap(), definition, "from a file outside of the index");
    assert_eq!(found.next(), None);
}
