//! The configuration of a clone.

use std::collections::BTreeMap;
use std::fmt;

use gix_config::File;
use gix_config::Source;
use gix_config::file::Metadata;
use gix_config::file::init::Options;

use super::origin::{self, Origin};
use super::{GitData, Trust, Unread};

/// A configuration, without included files.
pub struct Config(File);

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Config")
    }
}

/// What a configuration says of its repository; `None` and nothing if it does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Whether nobody may change it any more.
    pub archived: Option<bool>,
    /// Whether it began as a copy of another one.
    pub fork: Option<bool>,
    /// Whether everybody may see it on its host.
    pub public: Option<bool>,
    /// Its topics, in lowercase.
    pub topics: Vec<String>,
    /// How many people starred it.
    pub stars: Option<u32>,
    /// What it is about.
    pub description: Option<String>,
    /// Further texts by their names, which have no capitals.
    pub meta: BTreeMap<String, String>,
}

impl Config {
    /// Maximum size of a configuration in bytes. Parsed, it takes 64 times as much memory. A clone with 10,000 branches
    /// has 1 MB.
    pub const MAX_BYTES: u64 = 1 << 20;

    pub(super) fn parse(mut text: Vec<u8>) -> Option<Self> {
        let options = Options { lossy: true, ..Options::default() };
        File::from_bytes_owned(&mut text, Metadata::from(Source::Local), options).ok().map(Self)
    }

    /// Returns the origin of the clone.
    pub fn origin(&self) -> Origin {
        let Some(urls) = self.0.strings("remote.origin.url") else { return Origin::None };
        // Git fetches from the first URL; an empty one cancels those before.
        let after = urls.iter().rposition(|url| url.is_empty()).map_or(0, |empty| empty + 1);
        let Some(url) = urls.get(after) else { return Origin::None };
        match std::str::from_utf8(url) {
            Ok(url) => origin::of_url(&self.instead(url)),
            Err(_) => Origin::Odd,
        }
    }

    /// Replaces the beginning of a URL by the rule `url.NEW.insteadOf` with the longest match.
    fn instead(&self, url: &str) -> String {
        let sections = self.0.sections_by_name("url").into_iter().flatten();
        let rules = sections.flat_map(|section| {
            let new =
                section.header().subsection_name().map(ToString::to_string).unwrap_or_default();
            section
                .body()
                .values("insteadOf")
                .into_iter()
                .map(move |old| (new.clone(), old.to_string()))
        });
        let fits = rules.filter(|(_, old)| !old.is_empty() && url.starts_with(old.as_str()));
        match fits.max_by_key(|(_, old)| old.len()) {
            Some((new, old)) => format!("{new}{}", &url[old.len()..]),
            None => url.to_owned(),
        }
    }

    /// Returns the rank: `codesearch.rank`, or else Zoekt's priority, which may be a fraction or out of bounds. 0 if neither
    /// is set; `None` if it is not a number.
    pub fn rank(&self) -> Option<u16> {
        if let Some(rank) = self.0.string("codesearch.rank") {
            return String::from_utf8_lossy(&rank).trim().parse().ok();
        }
        let Some(priority) = self.0.string("zoekt.priority") else { return Some(0) };
        let priority: f64 = String::from_utf8_lossy(&priority).trim().parse().ok()?;
        (!priority.is_nan()).then_some(priority as u16)
    }

    /// Returns what it says of the repository: `codesearch.archived`, `fork`, `public`, `topics`, `stars`, `description`,
    /// and the texts of `codesearch.meta`; or else what Zoekt's commands that mirror hosts write.
    pub fn facts(&self) -> Facts {
        let switch = |name: &str| {
            let said = |section: &str| self.0.boolean(format!("{section}.{name}").as_str()).ok()?;
            said("codesearch").or_else(|| said("zoekt"))
        };
        let text = |key: &str| {
            let text = String::from_utf8_lossy(&self.0.string(key)?).trim().to_owned();
            (!text.is_empty()).then_some(text)
        };
        let stars =
            ["codesearch.stars", "zoekt.github-stars", "zoekt.gitlab-stars", "zoekt.gitea-stars"];
        let topics = self.0.strings("codesearch.topics").unwrap_or_default();
        let topics = topics.iter().map(|list| String::from_utf8_lossy(list).into_owned());
        let mut topics: Vec<String> = topics
            .flat_map(|list| {
                list.split(',').map(|topic| topic.trim().to_lowercase()).collect::<Vec<_>>()
            })
            .filter(|topic| !topic.is_empty())
            .collect();
        topics.sort_unstable();
        topics.dedup();
        let sections = self.0.sections_by_name("codesearch").into_iter().flatten();
        let of_meta = sections.filter(|section| {
            section.header().subsection_name().is_some_and(|name| name == "meta")
        });
        let meta = of_meta.flat_map(|section| {
            let body = section.body();
            let texts = body.value_names().filter_map(|name| {
                let text = body.value(&name)?;
                Some((name.to_lowercase(), String::from_utf8_lossy(&text).into_owned()))
            });
            texts.collect::<Vec<_>>()
        });
        Facts {
            archived: switch("archived"),
            fork: switch("fork"),
            public: switch("public"),
            topics,
            stars: stars.into_iter().find_map(|key| text(key)?.parse().ok()),
            description: text("codesearch.description"),
            meta: meta.collect(),
        }
    }

    /// Returns whether the clone's files are those of its commit (`codesearch.source = commit`) or those in its folder
    /// (`folder`); `None` if it does not say.
    pub fn from_commit(&self) -> Option<bool> {
        match &**self.0.string("codesearch.source")? {
            b"commit" => Some(true),
            b"folder" => Some(false),
            _ => None,
        }
    }

    /// Returns whether the clone has no main checkout (`core.bare`).
    pub fn is_bare(&self) -> bool {
        self.0.boolean("core.bare").ok().flatten().unwrap_or(false)
    }

    /// Returns the globs of the branches and tags to index, as `ingest --branches` takes them (`codesearch.branches`).
    pub fn branches(&self) -> Option<String> {
        let said = self.0.strings("codesearch.branches")?;
        let said: Vec<_> = said.iter().map(|globs| String::from_utf8_lossy(globs)).collect();
        Some(said.join(","))
    }

    /// Returns whether the history of lines is to be indexed: `codesearch.history`. `None` if it is not set, or no boolean.
    pub fn history(&self) -> Option<bool> {
        self.0.boolean("codesearch.history").ok().flatten()
    }

    /// Returns the number of bytes of a hash in the clone's index.
    pub(crate) fn hash_bytes(&self) -> usize {
        let format = self.0.string("extensions.objectFormat");
        if format.is_some_and(|format| format.eq_ignore_ascii_case(b"sha256")) { 32 } else { 20 }
    }

    /// Returns whether the clone may lack objects that its origin has (`git clone --filter`).
    pub(crate) fn is_partial(&self) -> bool {
        let remotes = self.0.sections_by_name("remote").into_iter().flatten();
        let is_promisor = |value: &[u8]| !matches!(value, b"false" | b"no" | b"off" | b"0");
        let mut promisors = remotes.filter_map(|remote| remote.body().value("promisor"));
        self.0.string("extensions.partialClone").is_some()
            || promisors.any(|value| is_promisor(&value))
    }

    /// Returns whether branches and tags are kept in a table (`git init --ref-format=reftable`), and not in files.
    pub(crate) fn has_reftable(&self) -> bool {
        self.0
            .string("extensions.refStorage")
            .is_some_and(|format| format.to_ascii_lowercase().starts_with(b"reftable"))
    }

    /// Returns whether capitals and lowercase letters are the same in the names of files (`core.ignoreCase`).
    pub fn folds_case(&self) -> bool {
        self.0.boolean("core.ignoreCase").ok().flatten().unwrap_or(false)
    }

    /// Returns the work tree that a submodule's data belong to.
    pub(super) fn work_tree(&self) -> Option<Vec<u8>> {
        self.0.string("core.worktree").map(|path| path.to_vec())
    }
}

impl GitData {
    /// Reads the configuration; `None` if there is none.
    ///
    /// # Errors
    /// Reading it is not allowed, or fails.
    pub fn config(&self, trust: &mut Trust) -> Result<Option<Config>, Unread> {
        let text = self.read(&self.common, "config", Config::MAX_BYTES, trust)?;
        Ok(text.and_then(Config::parse))
    }
}
