//! `--sort` and `--sortr`: the order in which files are printed.

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sort {
    /// The most relevant first; printing starts when the best are known
    #[value(alias = "rank")]
    Relevance,
    /// By path, folder by folder; printing starts when the search has ended
    Path,
    /// The oldest commit first; only for history:
    Oldest,
    /// As they are found
    None,
}

/// Parses the order of `--sort`. For ripgrep's unsupported orders, the error says why.
pub(super) fn order(name: &str) -> Result<Sort, String> {
    if matches!(name, "modified" | "accessed" | "created") {
        return Err("the index does not store the times of files; use --sort path".to_owned());
    }
    Sort::from_str(name, false).map_err(|_| {
        let names = Sort::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let names: Vec<String> = names.map(|name| name.get_name().to_owned()).collect();
        format!("unknown order; use one of: {}", names.join(", "))
    })
}

/// Parses the order of `--sortr`, which does not support relevance.
pub(super) fn reverse_order(name: &str) -> Result<Sort, String> {
    match order(name)? {
        Sort::Relevance => {
            Err("the least relevant files are not known; use --sort relevance".to_owned())
        }
        Sort::Oldest => Err("the newest commit is the first anyway; leave out --sortr".to_owned()),
        order => Ok(order),
    }
}
