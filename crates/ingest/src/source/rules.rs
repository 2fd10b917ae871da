//! The ignore rules of a repository: those of git for what git does not track, and those of `.ignore` and
//! `.codesearchignore` for everything.
//!
//! Of the rules that match, those in `.codesearchignore` override those in `.ignore`, and these override git's
//! (`.gitignore`, then `info/exclude`, then the user's own). Within a kind, the deepest file counts.
//!
//! Ignore files are read beneath their repository, so that neither a link in place of one nor a link that appears later
//! reveals another file.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use files::SkipReason;
use files::beneath::{self, Folder};
use git::attributes::Attributes;
use git::ignore::{Rules, Verdict};

/// Maximum bytes of an ignore file: those that people write have some KB.
pub(super) const MAX_FILE_BYTES: u64 = 256 << 10;

/// Maximum bytes of all ignore files of a repository. Their rules stay in memory during its walk.
const MAX_BYTES: u64 = 4 << 20;

/// The kinds of ignore files in folders: the first overrides the others.
pub(crate) const NAMES: [&str; 3] = [".codesearchignore", ".ignore", GITIGNORE];

/// The file with attributes of the files in its folder.
pub(crate) const ATTRIBUTES: &str = ".gitattributes";

/// The kind that is git's.
pub(super) const GITIGNORE: &str = ".gitignore";

/// Why something is left out: a rule with its file and line, or an ignore file that cannot be read.
#[derive(Clone, Debug)]
pub(super) struct Cause {
    pub(super) rule: Arc<str>,
    /// The folder that is left out as a whole; `None` if it is the whole of an unreadable file's folder.
    pub(super) folder: Option<Arc<At>>,
}

/// A folder in the repository, and whether the ledger names it.
#[derive(Debug)]
pub(super) struct At {
    pub(super) path: PathBuf,
    pub(super) told: std::sync::atomic::AtomicBool,
}

impl Cause {
    fn of(rule: &str, folder: &Path) -> Self {
        let at = At { path: folder.to_owned(), told: false.into() };
        Self { rule: rule.into(), folder: Some(Arc::new(at)) }
    }
}

/// What applies to a repository as a whole.
pub(super) struct Ruleset {
    texts: Texts,
    /// The rules of git that stand in no folder, the first overriding the others; `None` if git's rules do not apply.
    git: Option<Vec<Arc<Rules>>>,
    folds_case: bool,
    bytes: AtomicU64,
    /// A sum over the rules that give languages to files, in any order.
    languages: AtomicI64,
}

/// The files with rules.
pub(super) enum Texts {
    /// Those in a folder; `None` if it cannot be opened.
    Folder(Option<Folder>),
    /// Those of a commit, by path.
    Commit(HashMap<PathBuf, Result<Vec<u8>, SkipReason>>),
}

impl Ruleset {
    /// Makes the rules of the repository in a folder. `git` are those of git that stand in no folder.
    pub(super) fn new(root: &Path, git: Option<Vec<Arc<Rules>>>, folds_case: bool) -> Self {
        Self { git, ..Self::of(Texts::Folder(Folder::open(root).ok()), folds_case) }
    }

    /// Makes the rules in some files, without those of git.
    pub(super) fn of(texts: Texts, folds_case: bool) -> Self {
        let (bytes, languages) = (AtomicU64::new(0), AtomicI64::new(0));
        Self { texts, git: None, folds_case, bytes, languages }
    }

    /// Returns the rules that give languages to files, among those that were read.
    pub(super) fn languages(&self) -> Vec<u8> {
        match self.languages.load(Ordering::Relaxed) {
            0 => Vec::new(),
            sum => sum.to_be_bytes().to_vec(),
        }
    }

    /// Reads a file; `None` if there is none.
    fn text(&self, path: &Path) -> Result<Option<Vec<u8>>, SkipReason> {
        let text = match &self.texts {
            Texts::Folder(None) => return Ok(None),
            Texts::Folder(Some(root)) => {
                root.file(path).and_then(|file| beneath::read_all(file, MAX_FILE_BYTES))
            }
            Texts::Commit(texts) => texts.get(path).cloned().unwrap_or(Err(SkipReason::Vanished)),
        };
        let text = match text {
            Ok(text) => text,
            Err(SkipReason::Vanished) => return Ok(None),
            Err(reason) => return Err(reason),
        };
        let bytes = text.len() as u64;
        if self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes > MAX_BYTES {
            return Err(SkipReason::TooLarge);
        }
        Ok(Some(text))
    }

    /// Returns whether an ignore file of this name says something.
    pub(super) fn reads(&self, name: &OsStr) -> bool {
        NAMES.iter().any(|kind| *kind == name) && (self.git.is_some() || name != GITIGNORE)
    }

    /// Reads the rules in a file of a folder.
    fn read(&self, folder: &Path, name: &str) -> Result<Option<Rules>, SkipReason> {
        let path = folder.join(name);
        let Some(text) = self.text(&path)? else { return Ok(None) };
        let rules = Rules::parse(&text, &path.to_string_lossy(), bytes_of(folder), self.folds_case);
        Ok(Some(rules).filter(|rules| !rules.is_empty()))
    }
}

/// The rules in a folder, and in those around it.
pub(super) struct Level {
    above: Option<Arc<Level>>,
    /// Path of the folder in the repository.
    folder: PathBuf,
    /// By kind, as in [`NAMES`].
    own: [Option<Rules>; 3],
    attributes: Option<Attributes>,
    /// Whether any attributes that give languages to files are here or above.
    has_languages: bool,
    /// Whether git may have written other contents of the same size to the files in it.
    converts: bool,
    /// Whether any rule that also applies to tracked files is here or above.
    has_others: bool,
    /// Why tracked files are left out, too.
    excluded: Option<Cause>,
    /// What the rules of `.codesearchignore` and `.ignore` say of the folder.
    said: Option<Verdict>,
    /// An ignore file in it cannot be read.
    broken: Option<Cause>,
    /// Why untracked files are left out. Found out when there is one.
    ignored: OnceLock<Option<Cause>>,
}

impl Level {
    /// Makes the rules of the whole repository, without those in its folders.
    pub(super) fn top() -> Self {
        Self {
            above: None,
            folder: PathBuf::new(),
            own: [None, None, None],
            attributes: None,
            has_languages: false,
            converts: false,
            has_others: false,
            excluded: None,
            said: None,
            broken: None,
            ignored: OnceLock::new(),
        }
    }

    /// Makes the rules for a folder inside, of which [`said`](Self::said) is known.
    pub(super) fn below(above: &Arc<Self>, folder: PathBuf, said: Option<Verdict>) -> Self {
        let own = match &said {
            Some(Verdict::LeftOut(rule)) => Some(Cause::of(rule, &folder)),
            _ => None,
        };
        let excluded = above.excluded.clone().or(own);
        Self {
            above: Some(Arc::clone(above)),
            folder,
            has_languages: above.has_languages,
            converts: above.converts,
            has_others: above.has_others,
            excluded,
            said,
            ..Self::top()
        }
    }

    /// Reads the attributes in the folder. If they cannot be read, they may say anything.
    pub(super) fn read_attributes(&mut self, rules: &Ruleset) {
        match rules.text(&self.folder.join(ATTRIBUTES)) {
            Ok(Some(text)) => {
                let folder = bytes_of(&self.folder);
                let found = Attributes::parse(&text, folder, rules.folds_case);
                self.converts |= found.converts();
                if !found.languages().is_empty() {
                    self.has_languages = true;
                    let lines = [folder, b"\n", found.languages()].concat();
                    rules.languages.fetch_add(files::languages_of(&lines), Ordering::Relaxed);
                    self.attributes = Some(found);
                }
            }
            Ok(None) | Err(_) => self.converts = true,
        }
    }

    /// Notes that git may have written other contents of the same size to the files in the folder, and below.
    pub(super) fn convert(&mut self) {
        self.converts = true;
    }

    /// Returns whether git may have written other contents of the same size to the files in the folder.
    pub(super) fn converts(&self) -> bool {
        self.converts
    }

    /// Returns the language that attributes give to a file in this folder.
    pub(super) fn language(&self, path: &Path) -> Option<String> {
        if !self.has_languages {
            return None;
        }
        let levels = std::iter::successors(Some(self), |level| level.above.as_deref());
        let mut attributes = levels.filter_map(|level| level.attributes.as_ref());
        files::language_named(attributes.find_map(|said| said.language(bytes_of(path)))??)
    }

    /// Reads the ignore files in the folder. One that cannot be read may protect a secret, so untracked files are left
    /// out. Returns such files, and why they cannot be read.
    pub(super) fn read(&mut self, rules: &Ruleset, names: &[String]) -> Vec<(PathBuf, SkipReason)> {
        let mut broken = Vec::new();
        for name in names {
            let Some(kind) = NAMES.iter().position(|kind| kind == name) else { continue };
            match rules.read(&self.folder, name) {
                Ok(found) => {
                    self.has_others |= found.is_some() && *name != GITIGNORE;
                    self.own[kind] = found;
                }
                Err(reason) => {
                    let path = self.folder.join(name);
                    let rule = format!("{} cannot be read", path.display()).into();
                    self.broken = Some(Cause { rule, folder: None });
                    broken.push((path, reason));
                }
            }
        }
        broken
    }

    /// Marks the whole repository as one whose rules cannot be read.
    pub(super) fn break_with(&mut self, rule: &str) {
        self.broken = Some(Cause { rule: rule.into(), folder: None });
    }

    /// Returns what `.codesearchignore` and `.ignore` say of a file or folder in this folder.
    pub(super) fn said(&self, path: &Path, is_folder: bool) -> Option<Verdict> {
        if !self.has_others {
            return None;
        }
        (0..2).find_map(|kind| self.of_kind(kind, path, is_folder))
    }

    /// Returns why tracked files in this folder are left out.
    pub(super) fn excluded(&self) -> Option<&Cause> {
        self.excluded.as_ref()
    }

    /// Returns why untracked files in this folder are left out.
    pub(super) fn ignored(&self, rules: &Ruleset) -> Option<&Cause> {
        let find = || {
            let Some(above) = &self.above else { return self.broken.clone() };
            above
                .ignored(rules)
                .or(self.excluded.as_ref())
                .or(self.broken.as_ref())
                .cloned()
                .or_else(|| match self.said {
                    Some(_) => None,
                    None => match above.git_says(rules, &self.folder, true)? {
                        Verdict::LeftOut(rule) => Some(Cause::of(&rule, &self.folder)),
                        Verdict::Taken => None,
                    },
                })
        };
        self.ignored.get_or_init(find).as_ref()
    }

    /// Returns what git's rules say of an untracked file or folder in this folder.
    pub(super) fn git_says(
        &self,
        rules: &Ruleset,
        path: &Path,
        is_folder: bool,
    ) -> Option<Verdict> {
        let of_clone = rules.git.as_ref()?;
        let path_bytes = bytes_of(path);
        self.of_kind(2, path, is_folder)
            .or_else(|| of_clone.iter().find_map(|rules| rules.verdict(path_bytes, is_folder)))
    }

    /// Returns what the rules of a kind say of a file or folder.
    fn of_kind(&self, kind: usize, path: &Path, is_folder: bool) -> Option<Verdict> {
        let levels = std::iter::successors(Some(self), |level| level.above.as_deref());
        let mut rules = levels.filter_map(|level| level.own[kind].as_ref());
        rules.find_map(|rules| rules.verdict(bytes_of(path), is_folder))
    }
}

/// Returns the bytes of a path.
pub(super) fn bytes_of(path: &Path) -> &[u8] {
    std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str())
}
