//! `codesearch scip`: imports a SCIP index that another tool made of a repository.

use clap::Args;

pub(super) const SCIP_HELP: &str = "\
A SCIP index records what each name in a repository means to the compiler. Indexers write it: scip-typescript, \
scip-python, scip-go, scip-java, scip-clang, rust-analyzer and others. With it, definitions and references are \
precise: codesearch def and refs, web pages, HTTP and agents show them first, marked precise, followed by other \
matches of the name.

SCIP data applies to a file until its contents change. After changes, run the indexer and import its output again: \
this replaces the SCIP index of the same repository, folder and tool. A repository can have SCIP indexes of several \
folders and tools; codesearch repos lists them, with the number of files that still match.

Documents that do not match the indexed files are left out and counted. If the SCIP index is truncated, corrupt, or \
of another project, nothing is imported and the previous SCIP index stays.

Examples:
  cd ~/repos/shop && npx @sourcegraph/scip-typescript index
  codesearch ingest ~/repos
  codesearch scip github.com/acme/shop ~/repos/shop/index.scip
  codesearch scip github.com/acme/shop web.scip --root web
  codesearch scip github.com/acme/shop --remove
  codesearch def --from ~/repos/shop/src/cart.ts:12:9    the definition

Exit status: 0 when an index was imported or removed, 1 when there was nothing to remove, 2 on an error.";

#[derive(Args, Clone, Debug)]
pub(crate) struct ScipArgs {
    /// Name of the repository, as codesearch repos lists it
    #[arg(value_name = "REPOSITORY")]
    pub(crate) repo: String,
    /// The indexer's output, usually index.scip; - for standard input
    #[arg(value_name = "FILE", required_unless_present = "remove", conflicts_with = "remove")]
    pub(crate) file: Option<std::path::PathBuf>,
    /// The folder of the repository that was indexed [default: the folder named in the SCIP index, if the repository
    /// was ingested from there]
    #[arg(long, value_name = "FOLDER", conflicts_with = "remove")]
    pub(crate) root: Option<String>,
    /// Remove all SCIP indexes of the repository
    #[arg(long)]
    pub(crate) remove: bool,
}
