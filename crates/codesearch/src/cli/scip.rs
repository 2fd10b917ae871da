//! `codesearch scip`: an index that another tool made of a repository.

use clap::Args;

pub(super) const SCIP_HELP: &str = "\
A SCIP index says what each name in a repository means, as its compiler sees it. Indexers make one: scip-typescript, \
scip-python, scip-go, scip-java, scip-clang, rust-analyzer and others. With it, definitions and references are precise: \
codesearch def, refs, the pages, HTTP and agents show them first, labelled so, and what a search finds by the name beside \
them.

What is told of a file holds as long as the file has the contents that were indexed. After a change make the index again, \
and import it again: it replaces the one of the same repository, folder and tool. Indexes of several folders or tools are \
kept beside each other; codesearch repos lists them, and how much of each still fits.

What does not fit the files as they are indexed is left out and counted. If the index is cut off, broken, or of another \
project, nothing is imported, and the index of before stays.

Examples:
  cd ~/repos/shop && npx @sourcegraph/scip-typescript index
  codesearch ingest ~/repos
  codesearch scip github.com/acme/shop ~/repos/shop/index.scip
  codesearch scip github.com/acme/shop web.scip --root web
  codesearch scip github.com/acme/shop --remove
  codesearch def --from ~/repos/shop/src/cart.ts:12:9    what is meant there

Exit status: 0 when it was imported or removed, 1 when there was nothing to remove, 2 on an error.";

#[derive(Args, Clone, Debug)]
pub(crate) struct ScipArgs {
    /// The name of the repository, as codesearch repos lists it
    #[arg(value_name = "REPOSITORY")]
    pub(crate) repo: String,
    /// The index, as the indexer wrote it; - for standard input
    #[arg(value_name = "FILE", required_unless_present = "remove", conflicts_with = "remove")]
    pub(crate) file: Option<std::path::PathBuf>,
    /// The folder of the repository for which the index was made [default: what the index says, if the repository was indexed there]
    #[arg(long, value_name = "FOLDER", conflicts_with = "remove")]
    pub(crate) root: Option<String>,
    /// Forget all SCIP indexes of the repository
    #[arg(long)]
    pub(crate) remove: bool,
}
