//! `--generate KIND`, as in ripgrep: prints a manual page, or the completions of a shell, made from the declarations.

use std::ffi::OsString;
use std::io::Write;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use query::nearest;

/// ripgrep's names of what can be generated.
const KINDS: [&str; 5] =
    ["man", "complete-bash", "complete-zsh", "complete-fish", "complete-powershell"];

/// Returns what `codesearch [COMMAND] --generate KIND` prints; `None` if the arguments are not of this form. The manual
/// page is that of the command; completions are those of the program.
///
/// # Errors
/// A sentence about the kind.
pub(super) fn generated(typed: &[OsString], unbuilt: &Command) -> Option<Result<Vec<u8>, String>> {
    let mut words = typed.iter().skip(1).map(|word| word.to_str().unwrap_or_default()).peekable();
    let top = visible(unbuilt);
    let (mut built, mut path) = (top.clone(), Vec::new());
    built.build();
    let mut command = &built;
    while let Some(sub) = words.peek().and_then(|word| command.find_subcommand(word)) {
        command = sub;
        path.extend(words.next());
    }
    let kind = match words.next()?.strip_prefix("--generate")? {
        "" => words.next().unwrap_or_default(),
        with => with.strip_prefix('=')?,
    };
    let rest: Vec<&str> = words.collect();
    if !rest.is_empty() {
        return Some(Err(format!(
            "--generate {kind} takes no other arguments: {}",
            rest.join(" ")
        )));
    }
    let shell = match kind {
        "man" => return Some(Ok(page(command))),
        "complete-bash" => Shell::Bash,
        "complete-zsh" => Shell::Zsh,
        "complete-fish" => Shell::Fish,
        "complete-powershell" => Shell::PowerShell,
        "" => return Some(Err(format!("--generate: name what: {}", KINDS.join(", ")))),
        other => {
            let near = nearest(other, KINDS).map(|near| format!("; did you mean {near}?"));
            let near = near.unwrap_or_else(|| format!("; use one of {}", KINDS.join(", ")));
            return Some(Err(format!("--generate: unknown value {other}{near}")));
        }
    };
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut top.clone(), "codesearch", &mut out);
    Some(Ok(out))
}

/// Copies a command without its hidden options and commands. The generators would show them: most of them are flags of
/// ripgrep that are refused.
fn visible(command: &Command) -> Command {
    // clap takes static texts only; the process ends after this.
    let kept = |text: &str| -> &'static str { text.to_owned().leak() };
    let args = command.get_arguments().filter(|arg| !arg.is_hide_set());
    // The page has the text that `--help` shows.
    let args = args.map(|arg| arg.clone().hide_short_help(false));
    let mut copy = Command::new(kept(command.get_name())).args(args);
    if let Some(about) = command.get_about() {
        copy = copy.about(about.clone());
    }
    if let Some(about) = command.get_long_about() {
        copy = copy.long_about(about.clone());
    }
    if let Some(text) = command.get_after_help() {
        copy = copy.after_help(text.clone());
    }
    if let Some(version) = command.get_version() {
        copy = copy.version(kept(version));
    }
    let aliases: Vec<&'static str> = command.get_all_aliases().map(kept).collect();
    let subcommands = command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(visible);
    copy.aliases(aliases).subcommands(subcommands)
}

/// Renders the manual page of a command.
fn page(command: &Command) -> Vec<u8> {
    let mut out = Vec::new();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    let source = format!("codesearch {}", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone().override_usage(usage)).source(source);
    let written = man
        .render_title(&mut out)
        .and_then(|()| man.render_name_section(&mut out))
        .and_then(|()| man.render_synopsis_section(&mut out))
        .and_then(|()| man.render_description_section(&mut out))
        .and_then(|()| man.render_options_section(&mut out))
        .and_then(|()| match command.get_subcommands().next() {
            Some(_) => man.render_subcommands_section(&mut out),
            None => Ok(()),
        })
        .and_then(|()| match command.get_after_help() {
            Some(text) => out.write_all(notes(&text.to_string()).as_bytes()),
            None => Ok(()),
        });
    debug_assert!(written.is_ok(), "memory takes every byte");
    out
}

/// Renders the text after the options: paragraphs, and examples line by line.
fn notes(text: &str) -> String {
    let mut roff = Roff::new();
    roff.control("SH", ["NOTES"]);
    for paragraph in text.split("\n\n") {
        roff.control("PP", []);
        for line in paragraph.lines() {
            if line.starts_with("  ") {
                roff.control("nf", []);
                roff.text([roman(line)]);
                roff.control("fi", []);
            } else {
                roff.text([roman(line)]);
            }
        }
    }
    roff.to_roff()
}
