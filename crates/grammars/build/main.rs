//! Compiles the grammars without their two large tables, and stores these compressed.
//!
//! tree-sitter generates a grammar as C (`parser.c`), with its tables as initialised arrays: for each state of the
//! parser and each symbol what to do next. States with many symbols have rows in one table, the *large* states. The
//! others are lists in the second table, which are read from their beginning at each step. Both are read from the source,
//! and cut out of what is compiled. A function at its end puts the unpacked tables back. Where the first table stays
//! small enough, all states get rows in it.

mod tables;

use std::collections::HashMap;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use lzzzz::lz4_hc;

use tables::{Tables, without_tables};

/// A crate, and the folders in it that have a `parser.c`.
type Source = (&'static str, &'static [&'static str]);

const COMMON: &[Source] = &[
    ("tree-sitter-bash", &["src"]),
    ("tree-sitter-c", &["src"]),
    ("tree-sitter-c-sharp", &["src"]),
    ("tree-sitter-cpp", &["src"]),
    ("tree-sitter-go", &["src"]),
    ("tree-sitter-java", &["src"]),
    ("tree-sitter-javascript", &["src"]),
    ("tree-sitter-kotlin-ng", &["src"]),
    ("tree-sitter-lua", &["src"]),
    ("tree-sitter-php", &["php/src"]),
    ("tree-sitter-python", &["src"]),
    ("tree-sitter-ruby", &["src"]),
    ("tree-sitter-rust", &["src"]),
    ("tree-sitter-scala", &["src"]),
    ("tree-sitter-swift", &["src"]),
    ("tree-sitter-typescript", &["typescript/src", "tsx/src"]),
];

const RARER: &[Source] = &[
    ("tree-sitter-elixir", &["src"]),
    ("tree-sitter-erlang", &["src"]),
    ("tree-sitter-haskell", &["src"]),
    ("tree-sitter-ocaml", &["grammars/ocaml/src", "grammars/interface/src"]),
    ("tree-sitter-proto", &["src"]),
    ("tree-sitter-sequel", &["src"]),
    ("tree-sitter-zig", &["src"]),
];

fn main() {
    println!("cargo:rerun-if-changed=build");
    let crates = folders_of_crates();
    let mut folders = Vec::new();
    for (name, sources) in COMMON.iter().chain(RARER.iter().filter(|_| rarer())) {
        let folder = crates.get(*name).unwrap_or_else(|| panic!("cargo metadata has no {name}"));
        folders.extend(sources.iter().map(|source| folder.join(source)));
    }

    let jobs = env::var("NUM_JOBS").ok().and_then(|jobs| jobs.parse().ok()).unwrap_or(1);
    let waiting = Mutex::new(folders);
    let made = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap().pop();
                    let Some(folder) = next else { break };
                    let grammar = pack(&folder);
                    made.lock().unwrap().push(grammar);
                }
            });
        }
    });
    let mut made = made.into_inner().unwrap();
    made.sort();
    fs::write(out().join("grammars.rs"), made.concat()).unwrap();
}

/// Whether the languages of [`RARER`] are wanted.
fn rarer() -> bool {
    env::var_os("CARGO_FEATURE_ALL_LANGUAGES").is_some()
}

fn out() -> PathBuf {
    env::var_os("OUT_DIR").unwrap().into()
}

/// Returns the folder of each package of the workspace and of what it depends on. Cargo tells a build script nothing of
/// where the sources of its dependencies are.
fn folders_of_crates() -> HashMap<String, PathBuf> {
    let output = Command::new(env::var_os("CARGO").unwrap())
        .args(["metadata", "--format-version=1", "--filter-platform"])
        .arg(env::var_os("TARGET").unwrap())
        .args(rarer().then_some("--features=all-languages"))
        .current_dir(env::var_os("CARGO_MANIFEST_DIR").unwrap())
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "cargo metadata failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .map(|package| {
            let manifest = Path::new(package["manifest_path"].as_str().unwrap());
            (package["name"].as_str().unwrap().to_owned(), manifest.parent().unwrap().to_owned())
        })
        .collect()
}

/// Compiles the grammar in a folder, writes its tables, and returns the Rust that makes one of both.
fn pack(folder: &Path) -> String {
    let source = fs::read_to_string(folder.join("parser.c")).unwrap();
    let declaration = "TS_PUBLIC const TSLanguage *tree_sitter_";
    let after = source.split_once(declaration).expect("a grammar has one public function").1;
    let name = after.split_once('(').unwrap().0;

    let tables = Tables::read(&source).expanded();
    let both = tables.large.iter().chain(&tables.small);
    let bytes: Vec<u8> = both.flat_map(|number| number.to_le_bytes()).collect();
    let mut packed = Vec::new();
    lz4_hc::compress_to_vec(&bytes, &mut packed, lz4_hc::CLEVEL_DEFAULT).unwrap();
    fs::write(out().join(format!("{name}.tables")), packed).unwrap();

    let mut source = without_tables(&source);
    write!(
        source,
        "
const TSLanguage *packed_{name}(const uint16_t *parse_table, const uint16_t *small_parse_table) {{
  static TSLanguage language;
  language = *tree_sitter_{name}();
  language.large_state_count = {};
  language.parse_table = parse_table;
  language.small_parse_table = small_parse_table;
  return &language;
}}
",
        tables.large_states
    )
    .unwrap();
    let parser = out().join(format!("{name}.c"));
    fs::write(&parser, source).unwrap();
    let mut build = compiler(folder);
    build.file(&parser);
    let scanner = folder.join("scanner.c");
    if scanner.exists() {
        build.file(&scanner);
    }
    build.compile(&format!("packed_{name}"));

    format!(
        r#"
/// The grammar `{name}`.
pub static {constant}: Packed = {{
    unsafe extern "C" {{
        fn packed_{name}(large: *const u16, small: *const u16) -> *const TSLanguage;
    }}
    Packed {{
        with_tables: packed_{name},
        lengths: [{}, {}],
        tables: include_bytes!(concat!(env!("OUT_DIR"), "/{name}.tables")),
        language: OnceLock::new(),
    }}
}};
"#,
        tables.large.len(),
        tables.small.len(),
        constant = name.to_uppercase(),
    )
}

fn compiler(folder: &Path) -> cc::Build {
    let mut build = cc::Build::new();
    build.std("c11").include(folder).warnings(false);
    // What asserts names its file: the program is the same wherever it is built.
    build.flag_if_supported(format!("-ffile-prefix-map={}=grammar", folder.display()));
    build
}
