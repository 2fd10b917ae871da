//! Options that restrict the files to search.

use clap::Args;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Files")]
pub(crate) struct FilterArgs {
    /// Search only the repository of the current folder, or the repositories below it
    #[arg(long, overrides_with = "no_here")]
    pub(crate) here: bool,
    /// Search all repositories, even if the configuration file has --here
    #[arg(long, overrides_with = "here", hide_short_help = true)]
    pub(crate) no_here: bool,
    /// Search only repositories whose name matches (repeatable: any of them)
    #[arg(long, value_name = "REGEX")]
    pub(crate) repo: Vec<String>,
    /// Search only files whose path matches (repeatable: any of them)
    #[arg(long, value_name = "REGEX")]
    pub(crate) file: Vec<String>,
    /// Search only files in this language: go, rust, c++, ... (repeatable: any of them)
    #[arg(long, value_name = "NAME")]
    pub(crate) lang: Vec<String>,
    /// Search only files whose path matches this glob; with !, only files that do not
    ///
    /// As in .gitignore, *.go matches in every folder, src/*.go in the folder src at the root of a repository, and
    /// !vendor/ excludes all folders named vendor. The last glob that matches a path decides. A matching glob without !
    /// overrides --type.
    #[arg(short = 'g', long, value_name = "GLOB", allow_hyphen_values = true)]
    pub(crate) glob: Vec<String>,
    /// Like --glob, but ignore case
    #[arg(long, value_name = "GLOB", allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) iglob: Vec<String>,
    /// Ignore case in every --glob
    #[arg(long, hide_short_help = true)]
    pub(crate) glob_case_insensitive: bool,
    /// Search only files of this type: go, py, web, ... (repeatable: any of them)
    ///
    /// A type is a name for some globs; codesearch has ripgrep's types, which --type-list prints. --lang also considers
    /// the contents of a file.
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    pub(crate) types: Vec<String>,
    /// Search no files of this type
    #[arg(short = 'T', long, value_name = "TYPE")]
    pub(crate) type_not: Vec<String>,
    /// Add a glob to a type, for this search only: --type-add 'web:*.vue' -t web
    #[arg(long, value_name = "TYPE:GLOB", hide_short_help = true)]
    pub(crate) type_add: Vec<String>,
    /// Clear the globs of a type, for this search only
    #[arg(long, value_name = "TYPE", hide_short_help = true)]
    pub(crate) type_clear: Vec<String>,
    /// Search only files at most N levels deep; 1 is the root of a repository
    #[arg(short = 'd', long, value_name = "N", alias = "maxdepth", hide_short_help = true)]
    pub(crate) max_depth: Option<usize>,
}
