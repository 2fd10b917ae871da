//! `--sort` and `--sortr`: the order in which files are printed.

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sort {
    /// As they are found
    None,
    /// By path, folder by folder; nothing is printed before all is found
    Path,
}

/// An order by its name; of ripgrep's that are not possible, why.
pub(super) fn order(name: &str) -> Result<Sort, String> {
    if matches!(name, "modified" | "accessed" | "created") {
        return Err("the index does not keep the times of files; write --sort path".to_owned());
    }
    Sort::from_str(name, false).map_err(|_| {
        let names = Sort::value_variants().iter().filter_map(|order| order.to_possible_value());
        let names: Vec<String> = names.map(|name| name.get_name().to_owned()).collect();
        format!("there is no such order; write one of: {}", names.join(", "))
    })
}
