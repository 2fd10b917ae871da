//! Parses the command line. The error of an invalid one is a single sentence that says what to write.

use std::ffi::OsString;
use std::num::ParseIntError;
use std::process::exit;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, Error, FromArgMatches};
use query::distance;

use super::{Cli, arguments};
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

/// Parses the command line of this process. Exits if it asks for help or is invalid.
pub(crate) fn parse() -> Cli {
    let typed: Vec<OsString> = std::env::args_os().collect();
    try_parse(Cli::command(), &typed).unwrap_or_else(|unparsed| match unparsed {
        Unparsed::Help(error) => error.exit(),
        Unparsed::Invalid(sentence) => {
            note!("codesearch: {sentence}");
            exit(i32::from(crate::FAILED));
        }
    })
}

/// A command line that names no command to run.
pub(crate) enum Unparsed<H> {
    /// It asks for help, which this has.
    Help(H),
    /// It is invalid, for the reason in this sentence.
    Invalid(String),
}

/// Parses a command line that a client sent.
pub(crate) fn parse_words(typed: &[OsString]) -> Result<Cli, Unparsed<String>> {
    // The server's own environment is nobody's business.
    let shy = Cli::command().mut_args(|arg| arg.hide_env_values(true));
    try_parse(shy, typed).map_err(|unparsed| match unparsed {
        Unparsed::Help(error) => Unparsed::Help(error.to_string()),
        Unparsed::Invalid(sentence) => Unparsed::Invalid(sentence),
    })
}

fn try_parse(mut top: Command, typed: &[OsString]) -> Result<Cli, Unparsed<Error>> {
    top.build();
    let typed = arguments::sorted(typed.to_vec(), &top).map_err(Unparsed::Invalid)?;
    let parsed = top.try_get_matches_from(&typed);
    parsed.and_then(|found| Cli::from_arg_matches(&found)).map_err(|error| {
        let is_help = error.kind() == HELP && command(&typed).1 == "codesearch";
        if !error.use_stderr() || is_help {
            return Unparsed::Help(error);
        }
        Unparsed::Invalid(sentence(&error, &typed))
    })
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
    if let Some(near) = near(command, flag) {
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

/// Returns the option most similar to the typed one, if one is similar.
fn near(command: &Command, flag: &str) -> Option<String> {
    let typed = flag.strip_prefix("--")?;
    let options = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let longs = options.filter_map(|arg| arg.get_long());
    nearest(longs, typed).map(|long| format!("--{long}"))
}

/// Returns the most similar name: within two wrong letters, or one in a short word.
fn nearest<'a>(names: impl Iterator<Item = &'a str>, typed: &str) -> Option<&'a str> {
    let near = names.map(|name| (distance(name, typed), name));
    let most = if typed.len() < 5 { 1 } else { 2 };
    near.filter(|(distance, _)| *distance <= most).min().map(|(_, name)| name)
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
    } else if let Some(near) = nearest(commands, wrong) {
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
