//! `--color`, which several commands have.

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal
    Auto,
    #[value(alias = "ansi")]
    Always,
    Never,
}
