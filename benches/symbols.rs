//! How many of universal-ctags' symbols codesearch finds, and how fast, language by language:
//!
//!     cargo bench -p symbols --bench symbols -- [--most BYTES] [--misses N] [--only LANGUAGE] [--without PART] FOLDER...
//!
//! Both get the same texts. The tags that count are those for functions, types, macros, constants and methods (column
//! `kinds`), with a name of their own. A tag is found if a symbol has its name, at most one line away. ctags handles
//! texts that do not parse in its own way, so 100 % is not a goal.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gengo_language::Language;

/// Languages by their names in files and in ctags, and the kinds of tags that count.
const LANGUAGES: &[(&str, &str, &str)] = &[
    ("go", "Go", "cfinsta"),
    ("rust", "Rust", "nsigtfMPC"),
    ("c", "C", "dfgstu"),
    ("c++", "C++", "dfgstucn"),
    ("python", "Python", "cfm"),
    ("javascript", "JavaScript", "fcmCgGS"),
    ("typescript", "TypeScript", "fcigmnCGa"),
    ("java", "Java", "acegimp"),
    ("c#", "C#", "cgimnst"),
    ("ruby", "Ruby", "cfmSC"),
    ("php", "PHP", "cdfitn"),
    ("kotlin", "Kotlin", "picomTC"),
    ("shell", "Sh", "f"),
    ("lua", "Lua", "f"),
    ("markdown", "Markdown", "csStTu"),
    ("elixir", "Elixir", "pmfcdegiary"),
    ("erlang", "Erlang", "dfmrt"),
    ("haskell", "Haskell", "tcfm"),
    ("ocaml", "OCaml", "cmMtfCe"),
    ("protocol buffer", "Protobuf", "pmegsr"),
    ("sql", "SQL", "fpPtTViv"),
    // ctags does not support these.
    ("swift", "", ""),
    ("scala", "", ""),
    ("zig", "", ""),
];

struct Args {
    /// Maximum number of bytes for each language.
    most: usize,
    /// Number of missed tags to print.
    misses: usize,
    only: Option<String>,
    /// Parts of paths to leave out: tests of compilers, which do not parse, and of editors, whose code is in strings.
    without: Vec<String>,
    folders: Vec<PathBuf>,
}

#[derive(Default)]
struct Files {
    paths: Vec<(PathBuf, String)>,
    bytes: usize,
}

fn main() {
    let args = args();
    let mut languages: BTreeMap<&str, Files> = BTreeMap::new();
    for (path, text, name) in files(&args) {
        let files = languages.entry(name).or_default();
        if files.bytes + text.len() <= args.most {
            files.bytes += text.len();
            files.paths.push((path, text));
        }
    }
    println!(
        "{:<16} {:>6} {:>7} {:>6} {:>6} {:>8} {:>8} {:>7} {:>7}  given up",
        "language", "files", "MB", "MB/s", "worst", "symbols", "in a MB", "tags", "found"
    );
    for (name, ctags, kinds) in LANGUAGES {
        if let Some(files) = languages.get(name) {
            measure(&args, name, ctags, kinds, files);
        }
    }
}

fn args() -> Args {
    let mut args =
        Args { most: usize::MAX, misses: 0, only: None, without: Vec::new(), folders: Vec::new() };
    let mut given = std::env::args().skip(1).filter(|arg| arg != "--bench");
    while let Some(arg) = given.next() {
        let mut number = || given.next().and_then(|n| n.parse().ok()).expect("a number follows");
        match &*arg {
            "--most" => args.most = number(),
            "--misses" => args.misses = number(),
            "--only" => args.only = given.next(),
            "--without" => args.without.extend(given.next()),
            _ => args.folders.push(arg.into()),
        }
    }
    args
}

/// Returns the files in the requested languages, in an arbitrary but fixed order.
fn files(args: &Args) -> Vec<(PathBuf, String, &'static str)> {
    let mut files = Vec::new();
    for folder in &args.folders {
        for entry in ignore::WalkBuilder::new(folder).standard_filters(false).build().flatten() {
            if !entry.file_type().is_some_and(|of| of.is_file()) {
                continue;
            }
            let path = entry.path().to_string_lossy();
            if args.without.iter().any(|part| path.contains(part)) {
                continue;
            }
            let Ok(text) = std::fs::read_to_string(entry.path()) else { continue };
            let mut end = text.len().min(4096);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            let language = Language::pick(entry.path(), &text.as_bytes()[..end], 4096);
            let Some(language) = language.map(|of| of.name().to_lowercase()) else { continue };
            if args.only.as_ref().is_some_and(|only| *only != language) {
                continue;
            }
            if let Some((name, ..)) = LANGUAGES.iter().find(|(name, ..)| *name == language) {
                files.push((entry.path().to_owned(), text, *name));
            }
        }
    }
    files.sort_by_cached_key(|(path, ..)| {
        let mut hash = DefaultHasher::new();
        path.hash(&mut hash);
        hash.finish()
    });
    files
}

fn measure(args: &Args, name: &str, ctags: &str, kinds: &str, files: &Files) {
    let mut found: HashMap<String, HashMap<String, HashSet<usize>>> = HashMap::new();
    let mut given_up: BTreeMap<symbols::Reason, usize> = BTreeMap::new();
    let (mut count, mut parsed, mut worst, mut spent) = (0, 0, Duration::ZERO, Duration::ZERO);
    for (path, text) in &files.paths {
        let begun = Instant::now();
        let Some(taken) = symbols::take(name, text) else { return };
        spent += begun.elapsed();
        worst = worst.max(begun.elapsed());
        if let Some(reason) = taken.given_up {
            *given_up.entry(reason).or_default() += 1;
        }
        if taken.given_up.is_some() && taken.symbols.is_empty() {
            continue;
        }
        parsed += text.len();
        count += taken.symbols.len();
        let of_file = found.entry(path.to_string_lossy().into_owned()).or_default();
        for symbol in &taken.symbols {
            of_file.entry(plain(&text[symbol.name.clone()])).or_default().insert(symbol.line);
        }
    }
    let (mut tags, mut hits, mut missed) = (0_usize, 0, Vec::new());
    for tag in if ctags.is_empty() { Vec::new() } else { ask(ctags, kinds, found.keys()) } {
        let Some(of_file) = found.get(&tag.path) else { continue };
        tags += 1;
        let lines = of_file.get(&plain(&tag.name));
        if lines.is_some_and(|lines| lines.iter().any(|line| line.abs_diff(tag.line) <= 1)) {
            hits += 1;
        } else {
            missed.push(tag);
        }
    }
    let megabytes = |bytes: usize| bytes as f64 / 1e6;
    println!(
        "{name:<16} {:>6} {:>7.1} {:>6.1} {:>6.3} {count:>8} {:>8.0} {tags:>7} {:>6.2}%  {}",
        files.paths.len(),
        megabytes(files.bytes),
        megabytes(parsed) / spent.as_secs_f64(),
        worst.as_secs_f64(),
        count as f64 / megabytes(parsed),
        100.0 * f64::from(hits) / (tags.max(1) as f64),
        given_up.iter().map(|(reason, n)| format!("{reason} {n}")).collect::<Vec<_>>().join(", "),
    );
    let step = (missed.len() / args.misses.max(1)).max(1);
    for tag in missed.iter().step_by(step).take(args.misses) {
        println!("    {} {} {}:{}", tag.kind, tag.name, tag.path, tag.line);
    }
}

/// Returns the last part of a qualified name, without spaces: `M.name`, `A\B`, `operator ==`.
fn plain(name: &str) -> String {
    let last = name.rsplit(['.', ':', '#', '\\']).find(|part| !part.is_empty()).unwrap_or(name);
    last.chars().filter(|c| !c.is_whitespace()).collect()
}

struct Tag {
    path: String,
    name: String,
    kind: String,
    line: usize,
}

/// Returns the tags of some files.
fn ask<'a>(language: &str, kinds: &str, paths: impl Iterator<Item = &'a String>) -> Vec<Tag> {
    let mut list = tempfile::tempfile().expect("a file can be made");
    for path in paths {
        writeln!(list, "{path}").expect("it can be written");
    }
    std::io::Seek::rewind(&mut list).expect("it can be read");
    let ran = Command::new("ctags")
        .args([
            "--options=NONE",
            "--output-format=json",
            "--fields=+nKsZ",
            "--sort=no",
            "-L",
            "-",
            "-f",
            "-",
        ])
        .arg(format!("--language-force={language}"))
        .arg(format!("--kinds-{language}={kinds}"))
        .stdin(list)
        .stderr(Stdio::null())
        .output()
        .expect("universal-ctags is on PATH");
    let text = String::from_utf8_lossy(&ran.stdout);
    let tags = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    tags.filter_map(|tag| {
        let (path, name) = (tag["path"].as_str()?.to_owned(), tag["name"].as_str()?.to_owned());
        let (kind, line) = (tag["kind"].as_str()?.to_owned(), tag["line"].as_u64()? as usize);
        // Names invented by ctags.
        let made_up = name.contains("__anon")
            || name.to_lowercase().starts_with("anonymous")
            || name.starts_with('<');
        // Constants in functions are local variables.
        let within = tag["scopeKind"].as_str().unwrap_or_default();
        let is_local = kind == "constant" && matches!(within, "function" | "method" | "generator");
        // So are constants in blocks, where its parser does not say so.
        let is_indented = tag["pattern"]
            .as_str()
            .is_some_and(|line| line.starts_with("/^ ") || line.starts_with("/^\t"));
        let is_local =
            is_local || kind == "constant" && is_indented && language.ends_with("Script");
        // Other things that it takes for names in shell and Lua.
        let is_name = !matches!(language, "Sh" | "Lua")
            || name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':'));
        // Other things that it takes for a class or a function because of a word nearby.
        let pattern = tag["pattern"].as_str().unwrap_or_default();
        let is_said = match language {
            "JavaScript" if kind == "class" => {
                pattern.contains("class") || pattern.contains("function")
            }
            "Lua" => {
                pattern.contains(&format!("function {name}"))
                    || pattern.replace(' ', "").contains(&format!("{name}=function"))
            }
            "TypeScript" if kind == "alias" => pattern.contains(&format!("type {name}")),
            "TypeScript" if kind == "constant" => pattern.contains(&format!("const {name}")),
            _ => true,
        };
        (!made_up && !is_local && is_name && is_said).then_some(Tag { path, name, kind, line })
    })
    .collect()
}
