//! `--sort`: the order in which files are printed.

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sort {
    /// What is likely to be wanted first; nothing is printed before the best are known
    #[value(alias = "rank")]
    Relevance,
    /// As they are found
    None,
}
