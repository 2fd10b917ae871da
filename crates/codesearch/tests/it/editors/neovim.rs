//! Telescope and fzf-lua in Neovim, beside ripgrep.
//!
//! This is not for CI, which has neither: it runs if `CODESEARCH_NVIM_PLUGINS` names a folder with clones of
//! `plenary.nvim`, `telescope.nvim` and `fzf-lua`. `nvim` and `fzf` must be in PATH.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::document::setting;
use super::tree::Tree;

fn plugins() -> Option<PathBuf> {
    let folder = std::env::var_os("CODESEARCH_NVIM_PLUGINS").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("left out: CODESEARCH_NVIM_PLUGINS names no folder with plugins of Neovim");
    }
    folder
}

/// Compares what a plugin shows for queries with what ripgrep finds: a picker, what is typed, and ripgrep's arguments.
fn check(section: &str, script: &str, plugins: &[PathBuf], queries: &[(&str, &str, &[&str])]) {
    let tree = Tree::new();
    let settings = tree.folder.join("../").join(format!("{}.lua", tree.fixture.index));
    fs::write(&settings, setting(section, "lua")).unwrap();
    let expected: Vec<_> = queries.iter().map(|(_, _, args)| tree.ripgrep(args)).collect();
    let asked: Vec<_> = queries
        .iter()
        .zip(&expected)
        .map(|((picker, typed, _), expected)| {
            json!({ "picker": picker, "typed": typed, "expected": expected.len() })
        })
        .collect();
    let mut editor = tree.editor("nvim");
    editor.args(["--headless", "-u", "NONE", "-i", "NONE", "-n"]);
    let sources = [
        settings.clone(),
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/editors").join(script),
    ];
    for plugin in plugins {
        let mut line = OsString::from("set runtimepath+=");
        line.push(plugin);
        editor.arg("--cmd").arg(line);
    }
    for source in sources {
        let mut line = OsString::from("luafile ");
        line.push(source);
        editor.arg("-c").arg(line);
    }
    editor.env("QUERIES", json!(asked).to_string());
    let found = tree.places(editor);
    fs::remove_file(&settings).unwrap();
    for ((query, expected), found) in queries.iter().zip(&expected).zip(&found) {
        assert_eq!(found, expected, "{query:?}");
    }
    assert_eq!(found.len(), queries.len());
}

#[test]
fn telescope_shows_what_ripgrep_finds() {
    let Some(folder) = plugins() else { return };
    let plugins = [folder.join("plenary.nvim"), folder.join("telescope.nvim")];
    check(
        "Telescope",
        "telescope.lua",
        &plugins,
        &[
            ("live_grep", "needle", &["-S", "needle"]),
            ("live_grep", "needle two", &["-S", "needle two"]),
            ("live_grep", "\"needle\" it's", &["\"needle\" it's"]),
            ("live_grep", r"a\|b|100%", &[r"a\|b|100%"]),
            ("live_grep", "some lines", &["some lines"]),
            ("live_grep", "NEEDLE", &["NEEDLE"]),
            ("grep_string", "a[i]", &["-F", "a[i]"]),
        ],
    );
}

#[test]
fn fzf_lua_shows_what_ripgrep_finds() {
    let Some(folder) = plugins() else { return };
    check(
        "fzf-lua",
        "fzf.lua",
        &[folder.join("fzf-lua")],
        &[
            ("live_grep", "needle", &["-S", "needle"]),
            ("live_grep", "needle two", &["-S", "needle two"]),
            ("grep", "\"needle\" it's", &["\"needle\" it's"]),
            ("grep", r"a\|b|100%", &[r"a\|b|100%"]),
            ("grep", "some lines", &["some lines"]),
            ("grep", "NEEDLE", &["NEEDLE"]),
        ],
    );
}
