//! A tree with names and lines that editors may read wrongly, and what ripgrep finds in it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::harness::Fixture;

/// A place in a file, as an editor shows it.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Place {
    pub(super) file: String,
    pub(super) line: usize,
    /// In bytes or characters from 1.
    pub(super) column: usize,
}

impl Place {
    /// Returns the place with its column in characters instead of bytes.
    pub(super) fn in_characters(&self) -> Self {
        let text = fs::read_to_string(&self.file).unwrap();
        let line = text.split('\n').nth(self.line - 1).unwrap();
        let column = line[..self.column - 1].chars().count() + 1;
        Self { column, ..self.clone() }
    }
}

/// An indexed tree.
pub(super) struct Tree {
    pub(super) fixture: Fixture,
    /// Its folder, with symbolic links resolved.
    pub(super) folder: PathBuf,
}

impl Tree {
    pub(super) fn new() -> Self {
        let fixture = Fixture::new();
        for (path, text) in [
            (
                "one/src/main.c",
                "int needle(void);\n\tint\tx = needle() + needle();\nint needle(void) {\n\treturn 1;\n}\n",
            ),
            ("one/é ü/naïve.txt", "naïve é needle é needle\r\nlast needle"),
            (
                "one/with space.txt",
                "needle two\nneedletwo\n\"needle\" it's a[i] x*y # 100% a|b\nNEEDLE\n",
            ),
            ("one/co:lon.txt", "needle: colon\n:1:2: needle\n"),
            ("one/quo\"te's.txt", "say \"needle\"\n"),
            ("two/per%cent #1 [x].txt", "needle\n"),
            ("two/needle_path.txt", "hay\n"),
            ("two/long.txt", &format!("{}needle\n", "é ".repeat(2000))),
            // More files than a terminal shows, and more lines of one.
            ("two/many.txt", &"some lines\n".repeat(40)),
        ] {
            fixture.write(path, text);
        }
        for n in 0..120 {
            fixture.write(&format!("two/many/{n}.txt"), "some lines\n");
        }
        fixture.ingest();
        fixture.run(&["symbols"]).code(0);
        let folder = fixture.path().canonicalize().unwrap();
        Self { fixture, folder }
    }

    /// Returns an editor as a command in the tree, in which `codesearch` is this program with this index.
    pub(super) fn editor(&self, program: &str) -> Command {
        let mut command = self.fixture.program(program);
        command.current_dir(&self.folder).stdin(Stdio::null()).env("LC_ALL", "C.UTF-8");
        // No settings of whoever runs the tests.
        command.env("HOME", &self.folder).env("XDG_CONFIG_HOME", &self.folder);
        command
    }

    /// Runs an editor that writes places to a file: `[[file, line, column], ...]` for each query.
    pub(super) fn places(&self, mut editor: Command) -> Vec<Vec<Place>> {
        let out = self.folder.join("../").join(format!("{}.json", self.fixture.index));
        let ran = editor.env("OUT", &out).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        let last = &said[said.floor_char_boundary(said.len().saturating_sub(2000))..];
        let read = fs::read_to_string(&out).unwrap_or_else(|error| panic!("{error}: {last}"));
        fs::remove_file(&out).unwrap();
        let lists: Vec<Vec<(String, usize, usize)>> =
            serde_json::from_str(&read).unwrap_or_else(|error| panic!("{error}: {read}\n{last}"));
        let place = |(file, line, column)| Place { file, line, column };
        let sorted = |list: Vec<_>| {
            let mut places: Vec<Place> = list.into_iter().map(place).collect();
            places.sort();
            places
        };
        lists.into_iter().map(sorted).collect()
    }

    /// Returns the places that ripgrep finds.
    pub(super) fn ripgrep(&self, args: &[&str]) -> Vec<Place> {
        let mut command = Command::new("rg");
        command.args(["--no-config", "--vimgrep", "-0"]).args(args).arg(&self.folder);
        let out = command.stdin(Stdio::null()).output().unwrap();
        let mut places: Vec<Place> = String::from_utf8(out.stdout)
            .unwrap()
            .lines()
            .map(|line| {
                let (file, rest) = line.split_once('\0').unwrap();
                let mut numbers = rest.splitn(3, ':').map(str::parse);
                let mut number = || numbers.next().unwrap().unwrap();
                Place { file: file.to_owned(), line: number(), column: number() }
            })
            .collect();
        places.sort();
        places
    }
}

/// Returns whether a program is installed. In CI it must be.
pub(super) fn has(program: &str) -> bool {
    let there = Command::new(program).arg("--version").stdin(Stdio::null()).output().is_ok();
    let required = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(there || !required, "there is no {program} in PATH");
    if !there {
        eprintln!("left out: there is no {program} in PATH");
    }
    there
}
