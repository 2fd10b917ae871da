//! The ignore rules of the user who runs the program, in their own git configuration.

use std::path::PathBuf;

use gix_config::file::{Metadata, includes, init};
use gix_config::path::interpolate;
use gix_config::{File, source};

use files::SkipReason;
use files::beneath;

/// Maximum bytes of the file.
const MAX_BYTES: u64 = 256 << 10;

/// The user's ignore file and its text, if there is one.
pub type Excludes = Option<(PathBuf, Vec<u8>)>;

/// Reads the user's ignore file: the one that `core.excludesFile` names, or else `git/ignore` in the folder of
/// configurations. The configuration of a clone is not asked, since anybody may have written that.
///
/// # Errors
/// The path of the file, and why it cannot be read.
pub fn excludes() -> Result<Excludes, (PathBuf, SkipReason)> {
    let Some(path) = path("core.excludesFile", "git/ignore") else { return Ok(None) };
    // It may be a link: this user made it.
    let read = match path.canonicalize() {
        Ok(target) => beneath::read(&target, MAX_BYTES),
        Err(error) => Err(beneath::reason(&error)),
    };
    match read {
        Ok(text) => Ok(Some((path, text))),
        Err(SkipReason::Vanished) => Ok(None),
        Err(reason) => Err((path, reason)),
    }
}

/// Returns whether the attributes of the user or of the machine may have git write other contents of the same size to a
/// file; it is so if they cannot be read.
pub fn converts() -> bool {
    let own = path("core.attributesFile", "git/attributes");
    own.into_iter().chain([PathBuf::from("/etc/gitattributes")]).any(|path| {
        let read = match path.canonicalize() {
            Ok(target) => beneath::read(&target, MAX_BYTES),
            Err(error) => Err(beneath::reason(&error)),
        };
        match read {
            Ok(text) => crate::attributes::converts(&text),
            Err(reason) => reason != SkipReason::Vanished,
        }
    })
}

/// Returns the path that a setting names, or else a file in the user's folder of configurations.
fn path(setting: &str, default: &str) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    if let Some(named) = configuration(home.as_ref()).and_then(|config| config.path(setting)) {
        let context = interpolate::Context {
            git_install_dir: None,
            home_dir: home.as_deref(),
            home_for_user: Some(interpolate::home_for_user),
        };
        return named.interpolate(context).ok().filter(|path| path.is_absolute());
    }
    let folder = std::env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty());
    let folder = folder.map(PathBuf::from).or_else(|| Some(home?.join(".config")))?;
    Some(folder.join(default))
}

/// Reads the configurations of the machine and of the user. Conditional includes are left out: they depend on a clone.
fn configuration(home: Option<&PathBuf>) -> Option<File> {
    let kinds = [source::Kind::System, source::Kind::Global];
    let sources = kinds.iter().flat_map(|kind| kind.sources());
    let files: Vec<Metadata> = sources
        .filter_map(|source| {
            let path = source.storage_location(&mut |name| std::env::var_os(name))?;
            path.is_file().then(|| Metadata { path: Some(path), ..Metadata::from(*source) })
        })
        .collect();
    let read = |includes| {
        let options = init::Options { includes, lossy: true, ..init::Options::default() };
        File::from_paths_metadata(files.clone(), options)
    };
    let includes = includes::Options::follow_without_conditional(home.map(PathBuf::as_path));
    read(includes).or_else(|_| read(includes::Options::no_follow())).ok().flatten()
}
