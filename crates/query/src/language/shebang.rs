//! The language that the first line of a script names: `#!/usr/bin/env -S python3.11 -u`.

/// Interpreters without their versions, and the languages that they run.
const INTERPRETERS: &[(&str, &str)] = &[
    ("ash", "Shell"),
    ("awk", "Awk"),
    ("babashka", "Clojure"),
    ("bash", "Shell"),
    ("bb", "Clojure"),
    ("bun", "TypeScript"),
    ("cargo", "Rust"),
    ("clojure", "Clojure"),
    ("coffee", "CoffeeScript"),
    ("crystal", "Crystal"),
    ("csharp", "C#"),
    ("csi", "C#"),
    ("dart", "Dart"),
    ("dash", "Shell"),
    ("deno", "TypeScript"),
    ("dotnet", "C#"),
    ("dotnet-script", "C#"),
    ("elixir", "Elixir"),
    ("emacs", "Emacs Lisp"),
    ("escript", "Erlang"),
    ("expect", "Tcl"),
    ("fish", "Fish"),
    ("fsharpi", "F#"),
    ("fsi", "F#"),
    ("gawk", "Awk"),
    ("gjs", "JavaScript"),
    ("gmake", "Makefile"),
    ("go", "Go"),
    ("gorun", "Go"),
    ("groovy", "Groovy"),
    ("gsed", "Sed"),
    ("guile", "Scheme"),
    ("ipython", "Python"),
    ("java", "Java"),
    ("jbang", "Java"),
    ("jruby", "Ruby"),
    ("jsc", "JavaScript"),
    ("julia", "Julia"),
    ("just", "Just"),
    ("kotlin", "Kotlin"),
    ("kotlinc", "Kotlin"),
    ("kscript", "Kotlin"),
    ("ksh", "Shell"),
    ("lua", "Lua"),
    ("luajit", "Lua"),
    ("make", "Makefile"),
    ("mawk", "Awk"),
    ("mksh", "Shell"),
    ("nawk", "Awk"),
    ("node", "JavaScript"),
    ("nodejs", "JavaScript"),
    ("nu", "Nushell"),
    ("ocaml", "OCaml"),
    ("ocamlrun", "OCaml"),
    ("octave", "MATLAB"),
    ("openrc-run", "Shell"),
    ("pdksh", "Shell"),
    ("perl", "Perl"),
    ("perl6", "Raku"),
    ("php", "PHP"),
    ("php-cgi", "PHP"),
    ("posh", "Shell"),
    ("powershell", "PowerShell"),
    ("pwsh", "PowerShell"),
    ("pypy", "Python"),
    ("python", "Python"),
    ("pythonw", "Python"),
    ("qjs", "JavaScript"),
    ("racket", "Racket"),
    ("raku", "Raku"),
    ("rakudo", "Raku"),
    ("rbx", "Ruby"),
    ("rc.common", "Shell"),
    ("rscript", "R"),
    ("ruby", "Ruby"),
    ("runghc", "Haskell"),
    ("runhaskell", "Haskell"),
    ("runhugs", "Haskell"),
    ("runscript", "Shell"),
    ("rust-script", "Rust"),
    ("sbcl", "Common Lisp"),
    ("scala", "Scala"),
    ("scala-cli", "Scala"),
    ("scheme", "Scheme"),
    ("sed", "Sed"),
    ("sh", "Shell"),
    ("stack", "Haskell"),
    ("swift", "Swift"),
    ("swipl", "Prolog"),
    ("tclsh", "Tcl"),
    ("ts-node", "TypeScript"),
    ("tsx", "TypeScript"),
    ("uv", "Python"),
    ("wish", "Tcl"),
    ("xonsh", "Python"),
    ("yash", "Shell"),
    ("zig", "Zig"),
    ("zsh", "Shell"),
];

/// Programs that run the program after them.
const RUNNERS: &[&str] = &[
    "bundle", "busybox", "command", "doas", "env", "exec", "ionice", "nice", "nohup", "npx",
    "pipenv", "pipx", "poetry", "run", "sudo", "time", "toybox", "xargs",
];

/// Maximum number of lines in which a shell may hand over to another interpreter.
const LINES: usize = 12;

/// Returns the language that the first line of a text names; `None` if it names no known one.
pub(super) fn language(text: &str) -> Option<&'static str> {
    let first = text.strip_prefix("#!")?.lines().next()?;
    let words = || first.split_whitespace();
    let named = interpreter(words())?;
    if named == "nix-shell" {
        // #! nix-shell -i python3
        let other = text.lines().skip(1).take(LINES).find_map(|line| {
            let mut words = line.strip_prefix("#!")?.split_whitespace();
            words.find(|word| *word == "-i")?;
            interpreter(words)
        });
        return other.and_then(known).or(Some("Shell"));
    }
    let language = known(named)?;
    if language == "Shell"
        && let Some(other) = text.lines().skip(1).take(LINES).find_map(handed_over)
    {
        return Some(other);
    }
    Some(language)
}

/// Returns the program that a command line runs, past `env` and the like with their options.
fn interpreter<'t>(words: impl Iterator<Item = &'t str>) -> Option<&'t str> {
    let mut is_runner = false;
    let mut value_follows = false;
    for word in words {
        let word = word.trim_matches(['"', '\'']);
        if std::mem::take(&mut value_follows) {
            continue;
        }
        if is_runner {
            // -S prog, -Sprog, --split-string=prog, -u NAME, VAR=x
            let split = word
                .strip_prefix("--split-string=")
                .or_else(|| word.strip_prefix("-S"))
                .or_else(|| word.strip_prefix("-vS"));
            if let Some(rest) = split {
                if rest.is_empty() {
                    continue;
                }
                return Some(base(rest));
            }
            value_follows = matches!(word, "-u" | "-C" | "-n" | "--unset" | "--chdir");
            if word.starts_with('-') || word.contains('=') {
                continue;
            }
        }
        let name = base(word);
        if RUNNERS.contains(&name) {
            is_runner = true;
            continue;
        }
        return Some(name);
    }
    None
}

/// Returns the name of a program without its folder.
fn base(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    name.strip_suffix(".exe").unwrap_or(name)
}

/// Returns the language that a program runs, in any version: `python3.11`, `lua5.4`, `ruby-2.7`.
fn known(program: &str) -> Option<&'static str> {
    let lower = program.to_ascii_lowercase();
    let find = |name: &str| {
        let at = INTERPRETERS.binary_search_by_key(&name, |(known, _)| known).ok()?;
        Some(INTERPRETERS[at].1)
    };
    let plain =
        lower.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '_'));
    // python3.13t
    let free = || {
        plain
            .strip_suffix('t')
            .map(|rest| rest.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
    };
    find(&lower).or_else(|| find(plain)).or_else(|| find(free()?))
}

/// Returns the language of the interpreter to which a line of a shell script hands over: `exec tclsh "$0" "$@"`,
/// `''''exec python`, `":" //; exec node`, `exec scala "$0" "$@"`.
fn handed_over(line: &str) -> Option<&'static str> {
    let at = line.find("exec ")?;
    let before = &line[..at];
    let is_whole = before.chars().all(|c| !c.is_alphanumeric() && c != '$' || c.is_whitespace());
    if !is_whole || !line.contains("$0") && !line.contains("${0}") {
        return None;
    }
    let program = interpreter(line[at + "exec ".len()..].split_whitespace())?;
    known(program).filter(|language| *language != "Shell")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_names_an_interpreter() {
        assert!(INTERPRETERS.is_sorted_by_key(|(name, _)| name));
        for (text, expected) in [
            ("#!/bin/bash\n", Some("Shell")),
            ("#! /bin/sh -e\n", Some("Shell")),
            ("#!/usr/bin/env bash\r\n", Some("Shell")),
            ("#!\t/bin/dash\n", Some("Shell")),
            ("#!/bin/busybox ash\n", Some("Shell")),
            ("#!/usr/bin/ksh93\n", Some("Shell")),
            ("#!/usr/local/bin/zsh -f", Some("Shell")),
            ("#!/usr/bin/python3.11\n", Some("Python")),
            ("#!/usr/bin/python3.13t\n", Some("Python")),
            ("#!/usr/bin/env -S python3 -u\n", Some("Python")),
            ("#!/usr/bin/env -Spython3 -u\n", Some("Python")),
            ("#!/usr/bin/env --split-string=python3 -u\n", Some("Python")),
            ("#!/usr/bin/env -i A=b PATH=/x perl -w\n", Some("Perl")),
            ("#!/usr/bin/env -u HOME -S ruby2.7\n", Some("Ruby")),
            ("#!/opt/perl5/bin/perl5.36.0 -T\n", Some("Perl")),
            ("#!perl\n", Some("Perl")),
            ("#!/usr/bin/env -S uv run --script\n", Some("Python")),
            ("#!/usr/bin/env node20\n", Some("JavaScript")),
            ("#!/usr/bin/env -S deno run --allow-net\n", Some("TypeScript")),
            ("#!/usr/bin/env bun\n", Some("TypeScript")),
            ("#!/usr/bin/make -f\n", Some("Makefile")),
            ("#!/usr/bin/awk -f\n", Some("Awk")),
            ("#!/bin/sed -nf\n", Some("Sed")),
            ("#!/usr/bin/Rscript --vanilla\n", Some("R")),
            ("#!/usr/bin/env lua5.4\n", Some("Lua")),
            ("#!/usr/bin/luajit\n", Some("Lua")),
            ("#!/usr/bin/tclsh8.6\n", Some("Tcl")),
            ("#!/usr/bin/wish -f\n", Some("Tcl")),
            ("#!/usr/bin/pwsh\n", Some("PowerShell")),
            ("#!/usr/bin/env groovy\n", Some("Groovy")),
            ("#!/usr/bin/env elixir\n", Some("Elixir")),
            ("#!/usr/bin/env escript\n%%! -smp\n", Some("Erlang")),
            ("#!/usr/bin/env julia\n", Some("Julia")),
            ("#!/usr/bin/swift sh\n", Some("Swift")),
            ("#!/usr/bin/env -S cargo +nightly -Zscript\n", Some("Rust")),
            ("#!/usr/bin/env php8.2\n", Some("PHP")),
            ("#!/usr/bin/env nix-shell\n#! nix-shell -i python3 -p python3\n", Some("Python")),
            ("#! /usr/bin/env nix-shell\n#! nix-shell -p x\n", Some("Shell")),
            ("#!/bin/sh\n# \\\nexec tclsh \"$0\" ${1+\"$@\"}\n", Some("Tcl")),
            ("#!/bin/sh\n''''exec python3 -u \"$0\" \"$@\" #'''\n", Some("Python")),
            ("#!/bin/sh\n\":\" //; exec /usr/bin/env node \"$0\" \"$@\"\n", Some("JavaScript")),
            ("#!/bin/sh\nexec java -jar app.jar\n", Some("Shell")),
            ("#!/bin/sh\nif x; then exec perl \"$0\"; fi\n", Some("Shell")),
            ("#!/usr/bin/env fish\n", Some("Fish")),
            ("#!C:\\Python\\python.exe\n", Some("Python")),
            ("#!/usr/bin/env\n", None),
            ("#!\n", None),
            ("#![allow(x)]\nfn main() {}\n", None),
            ("#!/opt/own-thing\n", None),
            ("text", None),
            ("", None),
        ] {
            assert_eq!(language(text), expected, "{text:?}");
        }
    }
}
