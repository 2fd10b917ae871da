//! `:grep` in Vim and Neovim, beside ripgrep.

use std::fs;
use std::process::Command;

use super::document::setting;
use super::tree::{Place, Tree, has};

/// What people type after `:grep`, and the same as arguments of ripgrep.
const QUERIES: &[(&str, &[&str])] = &[
    ("needle", &["needle"]),
    ("-w needle", &["-w", "needle"]),
    ("needle -w", &["-w", "needle"]),
    ("'needle two'", &["needle two"]),
    (r#""needle two""#, &["needle two"]),
    ("int needle", &["int needle"]),
    (r#"'"needle"'"#, &["\"needle\""]),
    (r#""it's""#, &["it's"]),
    (r"'two\|last'", &["two|last"]),
    (r"'a\\|b'", &[r"a\|b"]),
    (r"'100\%'", &["100%"]),
    (r"'\# 100'", &["# 100"]),
    (r"'x\*y'", &[r"x\*y"]),
    ("'need*le'", &["need*le"]),
    ("-F 'a[i]'", &["-F", "a[i]"]),
    ("-i NEEDLE", &["-i", "NEEDLE"]),
    ("NEEDLE", &["NEEDLE"]),
    ("'é'", &["é"]),
    ("'some lines'", &["some lines"]),
    ("-e last -e NEEDLE", &["-e", "last", "-e", "NEEDLE"]),
    ("'nowhere to be found'", &["nowhere to be found"]),
];

/// Returns the places of the quickfix list after each command. The places are where the cursor is in each entry.
fn lists(tree: &Tree, program: &str, setting: &str, commands: &[String]) -> Vec<Vec<Place>> {
    let script = tree.folder.join("../").join(format!("{}.vim", tree.fixture.index));
    let mut lines = vec![
        "let g:lists = []".to_owned(),
        "function! Visit()".to_owned(),
        "  let places = []".to_owned(),
        "  for n in range(1, len(getqflist()))".to_owned(),
        "    if getqflist()[n - 1].valid".to_owned(),
        "      execute 'silent cc' n".to_owned(),
        "      call add(places, [expand('%:p'), line('.'), col('.')])".to_owned(),
        "    endif".to_owned(),
        "  endfor".to_owned(),
        "  call add(g:lists, places)".to_owned(),
        "endfunction".to_owned(),
        setting.to_owned(),
    ];
    for command in commands {
        lines.push(format!("silent {command}"));
        lines.push("call Visit()".to_owned());
    }
    lines.push("call writefile([json_encode(g:lists)], $OUT)".to_owned());
    lines.push("qall!".to_owned());
    fs::write(&script, lines.join("\n")).unwrap();
    let mut editor = tree.editor(program);
    match program {
        "vim" => editor.args(["-N", "-u", "NONE", "-i", "NONE", "-n", "-es", "-S"]),
        _ => editor.args(["--headless", "-u", "NONE", "-i", "NONE", "-n", "-S"]),
    };
    editor.arg(&script);
    let lists = tree.places(editor);
    fs::remove_file(&script).unwrap();
    assert_eq!(lists.len(), commands.len());
    lists
}

/// Checks that the documented setting fills the list with what ripgrep finds.
fn check(program: &str) {
    let tree = Tree::new();
    let setting = setting("Vim", "vim");
    let commands: Vec<String> = QUERIES.iter().map(|(typed, _)| format!("grep! {typed}")).collect();
    let found = lists(&tree, program, &setting, &commands);
    for ((typed, args), found) in QUERIES.iter().zip(&found) {
        assert_eq!(*found, tree.ripgrep(args), "{program}: grep {typed}");
    }
    // A wrong pattern says what is wrong, and is no place.
    let wrong = "grep! 'needle('".to_owned();
    assert_eq!(lists(&tree, program, &setting, &[wrong]), [vec![]]);
    // With the query language, a file can be found by its path, and opens at its start.
    let language = setting.replace("\\ --regex", "");
    assert_ne!(language, setting);
    let by_path = "grep! needle_path".to_owned();
    let file = tree.folder.join("two/needle_path.txt").to_str().unwrap().to_owned();
    assert_eq!(
        lists(&tree, program, &language, &[by_path]),
        [vec![Place { file, line: 1, column: 1 }]]
    );
}

#[test]
fn vim_finds_with_grep_what_ripgrep_finds() {
    if has("rg") && has("vim") {
        check("vim");
    }
}

#[test]
fn neovim_finds_with_grep_what_ripgrep_finds() {
    // CI has Vim alone, whose `:grep` this is.
    if has("rg") && Command::new("nvim").arg("--version").output().is_ok() {
        check("nvim");
    }
}
