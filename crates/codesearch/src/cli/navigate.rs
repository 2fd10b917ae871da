//! `codesearch def`, `refs` and `outline`: what is asked of a name or a file.

use clap::Args;

pub(super) const DEF_HELP: &str = "\
Prints every definition of the name, the nearest first when --from says from where you ask. Where a SCIP index tells of \
that place (codesearch scip), its definition comes first as precise, and others of that name as search. Without one \
nothing is resolved: of several definitions, which one is meant is not told. The name is looked up as it is spelled; \
codesearch search 'sym:REGEX' finds names by a pattern.

Examples:
  codesearch def ReadFile
  codesearch def Server.Serve                       Serve within Server; also Server::Serve
  codesearch def Options --from ~/repos/x/main.rs:12
  codesearch def --from ~/repos/x/main.rs:12:9      the name in line 12 at byte 9

Exit status: 0 when something was found, 1 when nothing was found, 2 on an error.";

pub(super) const REFS_HELP: &str = "\
Prints every place where the name stands as a whole word, but for its definitions, and what it is there: call, type, \
use, import, comment or string. What is near --from comes first, comments and texts last. Where a SCIP index tells of \
that place (codesearch scip), the references to what the name means there come first as precise, and other places with \
that name as search.

Examples:
  codesearch refs ReadFile --lang go
  codesearch refs Options --from ~/repos/x/main.rs:12
  codesearch refs --from ~/repos/x/main.rs:12:9     the name in line 12 at byte 9

Exit status: 0 when something was found, 1 when nothing was found, 2 on an error.";

pub(super) const OUTLINE_HELP: &str = "\
Prints what the file defines, in order: line, kind and name, indented by what contains it. The path begins with the \
name of the repository, or is that of a file in a folder that was indexed.

Examples:
  codesearch outline github.com/golang/go/src/os/file.go
  codesearch outline ~/repos/x/main.rs

Exit status: 0 when the file defines something, 1 when it defines nothing, 2 on an error.";

#[derive(Args, Clone, Debug)]
pub(crate) struct NameArgs {
    /// The name, as it is spelled; with its containers, Foo.bar or Foo::bar [default: the name at --from]
    #[arg(value_name = "NAME", required_unless_present = "from")]
    pub(crate) name: Option<String>,
    /// The place from which you ask, as repository/path:line:column, or with the path of a file on disk
    ///
    /// What is near it comes first, and only languages of its family are searched: C, C++ and Objective-C, say. If a SCIP
    /// index tells of the file, what the name means there comes first. Columns count bytes from 1, as in search --column.
    #[arg(long, value_name = "PLACE")]
    pub(crate) from: Option<String>,
    /// Only in repositories whose name matches this pattern
    #[arg(long, value_name = "PATTERN")]
    pub(crate) repo: Option<String>,
    /// Only in this language: go, rust, c++, ...
    #[arg(long, value_name = "NAME")]
    pub(crate) lang: Option<String>,
    /// Print at most N definitions, or references in at most N files
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=500))]
    pub(crate) limit: u16,
    /// Print JSON, one object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct OutlineArgs {
    /// The path of the file
    #[arg(value_name = "PATH")]
    pub(crate) path: String,
    /// Print JSON, one object a line
    #[arg(long)]
    pub(crate) json: bool,
}
