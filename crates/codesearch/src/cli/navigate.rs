//! `codesearch def`, `refs` and `outline`: the name or file, and options.

use clap::Args;

pub(super) const DEF_HELP: &str = "\
Prints every definition of the name; with --from, the nearest to that place first. If a SCIP index covers the place \
(codesearch scip), its definition comes first, marked precise; other definitions of the name are marked search. \
Without SCIP, all definitions with that name are listed. The name must match exactly; to find names by a pattern, \
run: codesearch search 'sym:REGEX'

Examples:
  codesearch def ReadFile
  codesearch def Server.Serve                       also Server::Serve
  codesearch def Options --from ~/repos/x/main.rs:12
  codesearch def --from ~/repos/x/main.rs:12:9      the name at line 12, byte 9

Exit status: 0 when something was found, 1 when nothing was found, 2 on an error.";

pub(super) const REFS_HELP: &str = "\
Prints every place where the name occurs as a whole word, except its definitions, and how it is used: call, type, \
use, import, comment or string. The nearest to --from come first, comments and strings last. If a SCIP index covers \
that place (codesearch scip), the references to the same symbol come first, marked precise; other places with that \
name are marked search.

Examples:
  codesearch refs ReadFile --lang go
  codesearch refs Options --from ~/repos/x/main.rs:12
  codesearch refs --from ~/repos/x/main.rs:12:9     the name at line 12, byte 9

Exit status: 0 when something was found, 1 when nothing was found, 2 on an error.";

pub(super) const OUTLINE_HELP: &str = "\
Prints the definitions in a file, in order: line, kind and name, indented by their containers. The path is \
repository/path, or repository@tree/path for another indexed tree of the repository, or the path of a file in an \
ingested folder.

Examples:
  codesearch outline github.com/golang/go/src/os/file.go
  codesearch outline ~/repos/x/main.rs

Exit status: 0 when the file defines something, 1 when it defines nothing, 2 on an error.";

#[derive(Args, Clone, Debug)]
pub(crate) struct NameArgs {
    /// The exact name; with its containers, Foo.bar or Foo::bar [default: the name at --from]
    #[arg(value_name = "NAME", required_unless_present = "from")]
    pub(crate) name: Option<String>,
    /// The place where you see the name, as repository/path:line:column, or with the path of a file on disk
    ///
    /// repository@tree/path:line:column searches another indexed tree of the repository: a worktree, a branch or a tag.
    /// The nearest results come first, and only languages of the same family are searched, such as C, C++ and
    /// Objective-C. If a SCIP index covers the file, the symbol at this place comes first. Columns count bytes from 1,
    /// as in search --column.
    #[arg(long, value_name = "PLACE")]
    pub(crate) from: Option<String>,
    /// Search only repositories whose name matches this pattern
    #[arg(long, value_name = "PATTERN")]
    pub(crate) repo: Option<String>,
    /// Search only this language: go, rust, c++, ...
    #[arg(long, value_name = "NAME")]
    pub(crate) lang: Option<String>,
    /// Print at most N definitions, or references in at most N files
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=500))]
    pub(crate) limit: u16,
    /// Print JSON, one object per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Print absolute paths, in the ingested folders
    #[arg(long)]
    pub(crate) local: bool,
    /// Print a line path:line:column:text for each place, for editors, with paths as for --local
    #[arg(long, conflicts_with = "json")]
    pub(crate) vimgrep: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct OutlineArgs {
    /// The path of the file
    #[arg(value_name = "PATH")]
    pub(crate) path: String,
    /// Print JSON, one object per line
    #[arg(long)]
    pub(crate) json: bool,
}
