//! The options and commands that mistyped ones were probably meant to be.

use clap::Command;
use query::distance;

/// Returns the option most similar to the typed one, if one is similar.
pub(super) fn option(command: &Command, flag: &str) -> Option<String> {
    let typed = flag.strip_prefix("--")?;
    let options = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let longs = options.filter_map(|arg| arg.get_long());
    name(longs, typed).map(|long| format!("--{long}"))
}

/// Returns the most similar name: within two wrong letters, or one in a short word.
pub(super) fn name<'a>(names: impl Iterator<Item = &'a str>, typed: &str) -> Option<&'a str> {
    let near = names.map(|name| (distance(name, typed), name));
    let most = if typed.len() < 5 { 1 } else { 2 };
    near.filter(|(distance, _)| *distance <= most).min().map(|(_, name)| name)
}
