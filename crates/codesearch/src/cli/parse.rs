//! Parses the command line. The error of an invalid one is a single sentence that says what to write.

use std::ffi::OsString;
use std::io::{Write, stdout};
use std::num::ParseIntError;
use std::process::exit;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, Error, FromArgMatches};

use super::arguments::CommandLine;
use super::config::Config;
use super::{Cli, arguments, generate, near};
use request::shell;

/// Names that people mistake for commands, and what to write instead.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("add", "codesearch ingest FOLDER"),
    ("delete", "codesearch remove NAME"),
    ("doc", "codesearch docs WORDS"),
    ("explain", "codesearch search --explain QUERY"),
    ("file", "codesearch files PART"),
    ("find", "codesearch files PART, or codesearch search QUERY"),
    ("index", "codesearch ingest FOLDER"),
    ("list", "codesearch repos, or codesearch search --files"),
    ("ls", "codesearch repos, or codesearch search --files"),
    ("query", "codesearch search QUERY"),
    ("reindex", "codesearch ingest FOLDER"),
    ("rm", "codesearch remove NAME"),
    ("server", "codesearch serve"),
    ("start", "codesearch serve, or codesearch db start"),
    ("status", "codesearch repos, codesearch stats or codesearch db status"),
    ("stop", "codesearch db stop"),
    ("sync", "codesearch ingest FOLDER"),
    ("update", "codesearch ingest FOLDER"),
    ("verify", "codesearch check"),
    ("version", "codesearch --version"),
    ("web", "codesearch serve"),
];

/// Parses the command line of this process, with the options of the configuration file. Exits if it asks for help or is
/// invalid.
pub(crate) fn parse() -> (Cli, CommandLine) {
    let typed: Vec<OsString> = std::env::args_os().collect();
    if let Some(generated) = generate::generated(&typed, &Cli::command()) {
        let _ = stdout().write_all(&generated.unwrap_or_else(|sentence| refuse(&sentence)));
        exit(i32::from(crate::FOUND));
    }
    let mut top = Cli::command();
    top.build();
    let config = Config::read(&typed, &top).unwrap_or_else(|sentence| refuse(&sentence));
    let line = CommandLine { words: typed, configured: 0 };
    let line = match &config {
        Some(config) => config.with_options(line, &top),
        None => line,
    };
    match parse_line(Cli::command(), &line) {
        Ok(cli) => (cli, line),
        Err(Unparsed::Help(error)) => error.exit(),
        Err(Unparsed::Invalid(sentence)) => {
            // The same error without the words that were typed is one of the file.
            let alone = |options: &[String]| {
                let words = ["codesearch", "search"].map(str::to_owned);
                let all = words.iter().chain(options).map(OsString::from);
                let words = all.chain(["--".into(), "x".into()]).collect();
                let option = CommandLine { words, configured: options.len() };
                let own = parse_line(Cli::command(), &option);
                matches!(own, Err(Unparsed::Invalid(own)) if own == sentence)
            };
            match config.and_then(|config| config.invalid(alone)) {
                Some(place) => refuse(&format!("{place}: {sentence}")),
                None => refuse(&sentence),
            }
        }
    }
}

/// A command line that names no command to run.
pub(crate) enum Unparsed<H> {
    /// It asks for help, which this has.
    Help(H),
    /// It is invalid, for the reason in this sentence.
    Invalid(String),
}

/// Parses a command line that a client sent.
pub(crate) fn parse_sent(line: &CommandLine) -> Result<Cli, Unparsed<String>> {
    // The server's own environment is nobody's business.
    let shy = Cli::command().mut_args(|arg| arg.hide_env_values(true));
    parse_line(shy, line).map_err(|unparsed| match unparsed {
        Unparsed::Help(error) => Unparsed::Help(error.to_string()),
        Unparsed::Invalid(sentence) => Unparsed::Invalid(sentence),
    })
}

fn parse_line(mut top: Command, line: &CommandLine) -> Result<Cli, Unparsed<Error>> {
    // Options of a configuration file may be given again.
    if line.configured > 0 {
        let all: Vec<String> = top.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
        top = all.into_iter().fold(top.args_override_self(true), |top, name| {
            top.mut_subcommand(name, |sub| sub.args_override_self(true))
        });
    }
    top.build();
    let words = arguments::sorted(line.words.clone(), &top).map_err(Unparsed::Invalid)?;
    let parsed = top.try_get_matches_from(&words);
    parsed.and_then(|found| Cli::from_arg_matches(&found)).map_err(|error| {
        let is_help = error.kind() == HELP && command(&words).1 == "codesearch";
        if !error.use_stderr() || is_help {
            return Unparsed::Help(error);
        }
        Unparsed::Invalid(sentence(&error, &words))
    })
}

/// Ends the program with a sentence about the command line.
fn refuse(sentence: &str) -> ! {
    note!("codesearch: {sentence}");
    exit(i32::from(crate::FAILED));
}

/// Returns the command of this process with its full name, for messages.
pub(crate) fn typed_command() -> String {
    let typed: Vec<OsString> = std::env::args_os().collect();
    command(&typed).1
}

/// The error of a command without required arguments, which prints its help.
const HELP: ErrorKind = ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;

/// Returns the message for an invalid command line.
fn sentence(error: &Error, typed: &[OsString]) -> String {
    let (command, name) = command(typed);
    match (
        error.kind(),
        context_value(error, ContextKind::InvalidArg),
        context_value(error, ContextKind::PriorArg),
    ) {
        (HELP | ErrorKind::MissingSubcommand, ..) => {
            let commands: Vec<&str> = shown_commands(&command).collect();
            format!("{name} needs a command: {}", commands.join(", "))
        }
        (ErrorKind::UnknownArgument, Some(word), _) if !word.starts_with('-') => {
            format!("{name} takes one argument; to make {word} part of it, put both in quotes")
        }
        (ErrorKind::UnknownArgument, Some(flag), _) => {
            unknown_option(&command, &name, &flag, typed)
        }
        (ErrorKind::InvalidSubcommand, ..) => {
            let wrong = context_value(error, ContextKind::InvalidSubcommand).unwrap_or_default();
            unknown_command(&command, &name, &wrong, typed)
        }
        (ErrorKind::MissingRequiredArgument, Some(missing), _) => {
            format!("{missing} is missing; see {name} --help")
        }
        (ErrorKind::ArgumentConflict, Some(one), Some(other)) if one == other => {
            format!("{} can be given only once", flag_of(&one))
        }
        (ErrorKind::ArgumentConflict, Some(one), Some(other)) => {
            format!("{} and {} cannot be combined; leave one out", flag_of(&one), flag_of(&other))
        }
        (ErrorKind::ValueValidation, Some(flag), _) if is_no_number(error) => {
            let value = context_value(error, ContextKind::InvalidValue).unwrap_or_default();
            let takes_all = name.ends_with(" search") || name.ends_with(" files");
            let all = if takes_all && flag.starts_with("--limit ") { ", 0 for all" } else { "" };
            format!("{}: {value} is not a whole number; give a number{all}", flag_of(&flag))
        }
        _ => first_paragraph(&error.to_string()),
    }
}

/// Returns whether the reason is that a value is not a whole number, or not one without a sign.
fn is_no_number(error: &Error) -> bool {
    std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<ParseIntError>)
}

/// Returns the deepest subcommand on the command line, and its full name.
fn command(typed: &[OsString]) -> (Command, String) {
    let mut command = Cli::command();
    command.build();
    let mut name = "codesearch".to_owned();
    for word in typed.iter().skip(1).filter_map(|word| word.to_str()) {
        let Some(sub) = command.find_subcommand(word) else { continue };
        name = format!("{name} {}", sub.get_name());
        command = sub.clone();
        if !command.has_subcommands() {
            break;
        }
    }
    (command, name)
}

/// Returns the message for an unknown option: a value that looks like one, a query with a minus, or a typing mistake.
fn unknown_option(command: &Command, name: &str, flag: &str, typed: &[OsString]) -> String {
    let words: Vec<&str> = typed.iter().filter_map(|word| word.to_str()).collect();
    let at = words.iter().position(|word| word.starts_with(flag));
    let before = at.and_then(|at| words[at - 1].strip_prefix("--"));
    let takes_value =
        |arg: &&clap::Arg| arg.get_long() == before && arg.get_action().takes_values();
    if before.is_some() && command.get_arguments().any(|arg| takes_value(&arg)) {
        return format!("--{}: {flag} cannot be its value", before.unwrap_or_default());
    }
    if let Some(near) = near::option(command, flag) {
        return format!("unknown option {flag} of {name}; did you mean {near}?");
    }
    let Some(at) = at.filter(|_| command.get_positionals().next().is_some()) else {
        return format!("unknown option {flag} of {name}; see {name} --help");
    };
    let query: Vec<String> =
        words[at..].iter().filter(|word| **word != "--").map(|word| shell::word(word)).collect();
    format!(
        "unknown option {flag} of {name} (see --help); if it belongs to the query, write {name} -- {}",
        query.join(" ")
    )
}

/// Returns the names of the commands that help lists.
fn shown_commands(command: &Command) -> impl Iterator<Item = &str> {
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    shown.map(Command::get_name).filter(|name| *name != "help")
}

fn unknown_command(command: &Command, name: &str, wrong: &str, typed: &[OsString]) -> String {
    let commands = shown_commands(command);
    let top = name == "codesearch";
    let other = OTHER_NAMES.iter().find(|(other, _)| top && *other == wrong);
    if let Some((_, instead)) = other {
        format!("unknown command {wrong}; use {instead}")
    } else if let Some(near) = near::name(commands, wrong) {
        format!("unknown command {wrong}; did you mean {name} {near}?")
    } else if top {
        let words = typed.iter().filter_map(|word| word.to_str()).skip_while(|word| *word != wrong);
        let query: Vec<String> = words.map(shell::word).collect();
        format!(
            "unknown command {wrong}; to search for it, write codesearch search {}",
            query.join(" ")
        )
    } else {
        format!("unknown command {wrong}; see {name} --help")
    }
}

/// Returns a detail of an error.
fn context_value(error: &Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        _ => None,
    }
}

/// Returns the option in `--limit <N>`, without its value.
fn flag_of(shown: &str) -> &str {
    shown.split_whitespace().next().unwrap_or(shown)
}

/// Returns the first paragraph of an error, on one line.
fn first_paragraph(text: &str) -> String {
    let text = text.split("\n\n").next().unwrap_or_default();
    let text = text.trim().trim_start_matches("error: ");
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}
