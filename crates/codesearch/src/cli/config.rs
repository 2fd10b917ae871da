//! The configuration file, with ripgrep's syntax: each line is an argument, empty lines and those that begin with `#`
//! are not. Its options come before those of the command line, which override them.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Command;

use super::arguments::{self, CommandLine, Reading};
use super::near;

/// The variable that names the file. If it is empty, there is none.
const VARIABLE: &str = "CODESEARCH_CONFIG_PATH";

/// The options of `search` that the other commands take, too, if they have them.
const SHARED: [&str; 2] = ["color", "local"];

/// The options of the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Config {
    file: PathBuf,
    options: Vec<ConfigOption>,
}

/// An option, in one argument or in two.
#[derive(Debug, PartialEq, Eq)]
struct ConfigOption {
    /// Its line, from 1.
    line: usize,
    arguments: Vec<String>,
}

impl Config {
    /// Reads the file that the environment names, or else the one in the folder for configuration, if it exists. `None`
    /// if there is none, or `--no-config` is among the arguments.
    ///
    /// # Errors
    /// A sentence about the file or one of its lines.
    pub(super) fn read(typed: &[OsString], top: &Command) -> Result<Option<Self>, String> {
        let mut options = typed.iter().take_while(|arg| *arg != "--");
        if options.any(|arg| arg == "--no-config") {
            return Ok(None);
        }
        let named = std::env::var_os(VARIABLE).map(PathBuf::from);
        let Some(file) = named.clone().or_else(usual) else { return Ok(None) };
        if file.as_os_str().is_empty() {
            return Ok(None);
        }
        match std::fs::read_to_string(&file) {
            Ok(text) => Self::parse(file, &text, top).map(Some),
            Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
                Ok(None)
            }
            Err(error) => Err(format!(
                "cannot read the configuration file {}: {error}; run with --no-config to do without it",
                file.display()
            )),
        }
    }

    fn parse(file: PathBuf, text: &str, top: &Command) -> Result<Self, String> {
        let search = top.find_subcommand("search").expect("it is a command");
        let lines = text.trim_start_matches('\u{feff}').lines().enumerate();
        let lines = lines.map(|(at, line)| (at + 1, line.trim()));
        let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let mut options = Vec::new();
        while let Some((line, argument)) = lines.next() {
            let wrong = |why: String| Err(format!("{}:{line}: {why}", file.display()));
            let mut arguments = vec![argument.to_owned()];
            match arguments::reading(argument, search) {
                Reading::Option { takes_next: false } => {}
                Reading::Option { takes_next: true } => match lines.next() {
                    Some((_, value)) => arguments.push(value.to_owned()),
                    None => return wrong(format!("{argument} needs a value")),
                },
                Reading::Unknown => {
                    let name = argument.split(['=', ' ']).next().unwrap_or(argument);
                    // `--context 3` is one argument; rg would not know it either.
                    if argument.contains(' ') && arguments::reading(name, search).is_option() {
                        return wrong(format!(
                            "a line is one argument; write {}",
                            argument.replacen(' ', "=", 1)
                        ));
                    }
                    let near = near::option(search, name);
                    let near = near.map(|near| format!("; did you mean {near}?"));
                    return wrong(format!(
                        "unknown option {name} of codesearch search{}",
                        near.unwrap_or_default()
                    ));
                }
                Reading::Word => {
                    return wrong(format!(
                        "{argument} is not an option; write one option on each line, as in --smart-case"
                    ));
                }
            }
            options.push(ConfigOption { line, arguments });
        }
        Ok(Self { file, options })
    }

    /// Adds the options of the file that the command has before its own.
    pub(super) fn with_options(&self, line: CommandLine, top: &Command) -> CommandLine {
        let Some((command, first)) = arguments::subcommand(&line.words, top) else { return line };
        let options = self.options.iter().filter(|option| option.is_of(command));
        let options: Vec<&String> = options.flat_map(|option| &option.arguments).collect();
        let configured = options.len();
        let mut words = line.words;
        words.splice(first..first, options.into_iter().map(OsString::from));
        CommandLine { words, configured }
    }

    /// Returns the place of the first option that is invalid by itself, according to `is_invalid`.
    pub(super) fn invalid(&self, is_invalid: impl Fn(&[String]) -> bool) -> Option<String> {
        let wrong = self.options.iter().find(|option| is_invalid(&option.arguments))?;
        Some(format!("{}:{}", self.file.display(), wrong.line))
    }
}

impl ConfigOption {
    /// Whether a command takes this option from the file.
    fn is_of(&self, command: &Command) -> bool {
        let name = self.arguments[0].trim_start_matches("--");
        let name = name.split('=').next().unwrap_or(name);
        let Some(arg) = arguments::option(command, |arg| arguments::has_long(arg, name)) else {
            return command.get_name() == "search";
        };
        // A variable of the environment overrides the file.
        let is_set = arg.get_env().and_then(std::env::var_os).is_some_and(|v| !v.is_empty());
        let is_shared = arg.is_global_set() || SHARED.contains(&name);
        !is_set && (is_shared || command.get_name() == "search")
    }
}

/// Returns the file in the user's folder for configuration.
fn usual() -> Option<PathBuf> {
    let folder = std::env::var_os("XDG_CONFIG_HOME").filter(|v| !v.is_empty()).map(PathBuf::from);
    let folder = folder.or_else(|| Some(std::env::home_dir()?.join(".config")))?;
    Some(folder.join("codesearch/config"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    fn top() -> Command {
        let mut top = Cli::command();
        top.build();
        top
    }

    fn parsed(text: &str) -> Result<Config, String> {
        Config::parse(PathBuf::from("config"), text, &top())
    }

    fn merged(text: &str, typed: &[&str]) -> Vec<String> {
        let words = ["codesearch"].iter().chain(typed).map(OsString::from).collect();
        let line = CommandLine { words, configured: 0 };
        parsed(text)
            .unwrap()
            .with_options(line, &top())
            .words
            .into_iter()
            .skip(1)
            .map(|word| word.into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_line_is_an_argument_as_in_ripgrep() {
        let text = "# mine\n\n  --smart-case\n--context=3\n--glob\n# theirs\n!vendor/\n-i\n-A2\n--color=never\n--home=/x\n";
        assert_eq!(
            merged(text, &["search", "-l", "x"]),
            [
                "search",
                "--smart-case",
                "--context=3",
                "--glob",
                "!vendor/",
                "-i",
                "-A2",
                "--color=never",
                "--home=/x",
                "-l",
                "x"
            ]
        );
        assert_eq!(merged(text, &["rg", "x"]).len(), 10);
        // Other commands take what is theirs by meaning, not only by name.
        assert_eq!(merged(text, &["docs", "x"]), ["docs", "--color=never", "--home=/x", "x"]);
        assert_eq!(merged("--limit=3\n", &["files", "x"]), ["files", "x"]);
        assert_eq!(merged(text, &["--help"]), ["--help"]);
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, expected) in [
            (
                "--smart-case\n\n--smrt-case\n",
                "config:3: unknown option --smrt-case of codesearch search; did you mean --smart-case?",
            ),
            ("--glob\n", "config:1: --glob needs a value"),
            ("--context 3\n", "config:1: a line is one argument; write --context=3"),
            (
                "needle\n",
                "config:1: needle is not an option; write one option on each line, as in --smart-case",
            ),
        ] {
            assert_eq!(parsed(text).unwrap_err(), expected);
        }
    }
}
