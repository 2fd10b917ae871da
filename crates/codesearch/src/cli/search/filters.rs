//! Options that restrict the files to search.

use clap::Args;

#[derive(Args, Debug)]
#[command(next_help_heading = "Files")]
pub(crate) struct FilterArgs {
    /// Only repositories whose name matches (several: any of them)
    #[arg(long, value_name = "REGEX")]
    pub(crate) repo: Vec<String>,
    /// Only files whose path matches (several: any of them)
    #[arg(long, value_name = "REGEX")]
    pub(crate) file: Vec<String>,
    /// Only files in this language: go, rust, c++, ... (several: any of them)
    #[arg(long, value_name = "NAME")]
    pub(crate) lang: Vec<String>,
    /// Only files whose path matches this glob; with ! before it, all others
    ///
    /// As in .gitignore: *.go matches in every folder, src/*.go in the folder src at the root of a repository, and
    /// !vendor/ leaves out what lies in such folders. The last glob that matches decides. A glob without ! that
    /// matches overrides --type.
    #[arg(short = 'g', long, value_name = "GLOB", allow_hyphen_values = true)]
    pub(crate) glob: Vec<String>,
    /// The same as --glob, without regard to case
    #[arg(long, value_name = "GLOB", allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) iglob: Vec<String>,
    /// Match every --glob without regard to case
    #[arg(long, hide_short_help = true)]
    pub(crate) glob_case_insensitive: bool,
    /// Only files of this type: go, py, web, ... (several: any of them)
    ///
    /// Types are names for globs, those of ripgrep; --type-list prints them. --lang knows the language of a file by
    /// its contents, too.
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    pub(crate) types: Vec<String>,
    /// No files of this type
    #[arg(short = 'T', long, value_name = "TYPE")]
    pub(crate) type_not: Vec<String>,
    /// Add a glob to a type, for this search: --type-add 'web:*.vue' -t web
    #[arg(long, value_name = "TYPE:GLOB", hide_short_help = true)]
    pub(crate) type_add: Vec<String>,
    /// Forget the globs of a type, for this search
    #[arg(long, value_name = "TYPE", hide_short_help = true)]
    pub(crate) type_clear: Vec<String>,
    /// Only files at most N folders deep; 1 is the root of a repository
    #[arg(short = 'd', long, value_name = "N", alias = "maxdepth", hide_short_help = true)]
    pub(crate) max_depth: Option<usize>,
}
