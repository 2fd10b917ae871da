//! A host or a list of addresses of the configuration file, ready to be asked: its API, its git, its folder.

use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::time::Duration;

use settings::{GitAddress, GitList, Hidden, Host, Indexing, Secret, Settings, Transport};
use siphasher::sip::SipHasher13;
use store::MirrorIndexing;

use crate::git::{Git, Source};
use crate::host::{Api, api};
use crate::http::Http;
use crate::listed::Listed;

/// The user name that goes with a token of a host. GitHub, GitLab and Gitea take any.
const USER: &str = "x-access-token";

/// Most bytes of a folder's name.
const MAX_NAME: usize = 200;

/// What repositories are mirrored from.
#[derive(Debug)]
pub(crate) struct Group {
    /// Its name in the configuration file.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) git: Git,
    /// The folder of its clones.
    pub(crate) into: PathBuf,
    pub(crate) indexing: MirrorIndexing,
    pub(crate) max_size: Option<u64>,
}

/// What a group is.
#[derive(Debug)]
pub(crate) enum Kind {
    Host { host: Box<Host>, api: Box<dyn Api>, http: Http },
    List(GitList),
}

/// What is the same for all groups.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    /// The folder for clones if the configuration file names none.
    pub(crate) usual: PathBuf,
    /// Longest time that a host may be silent.
    pub(crate) patience: Duration,
}

impl Group {
    /// Prepares a host.
    ///
    /// # Errors
    /// A sentence: the token cannot be read, or the host cannot be asked.
    pub(crate) fn of_host(
        host: &Host,
        settings: &Settings,
        common: &Common,
    ) -> Result<Self, String> {
        let token = read(host.token.as_ref())?;
        let ca_file = host.ca_file.as_deref();
        let api = api(host.kind, &host.api, token.is_some());
        let http = Http::new(&*api, &host.api, token.as_ref(), ca_file, common.patience)?;
        // Plain HTTP only where the configuration file says so.
        let allowed = match host.url.split_once("://") {
            Some(("http", _)) => "http:https:ssh",
            _ => "https:ssh",
        };
        let mut git = Git::new(allowed, ca_file, settings.mirror.timeout);
        if let Some(token) = &token {
            let origin = origin(&host.url)
                .ok_or_else(|| format!("invalid address of a host: {}", host.url))?;
            git = git.with_token(&origin, USER, token.reveal());
        }
        let kind = Kind::Host { host: Box::new(host.clone()), api, http };
        Ok(Self {
            name: host.name.clone(),
            kind,
            git,
            into: folder(host.into.as_deref(), &host.name, settings, common),
            indexing: indexing(&host.indexing),
            max_size: host.max_size,
        })
    }

    /// Prepares a list of addresses.
    ///
    /// # Errors
    /// A sentence: the token cannot be read.
    pub(crate) fn of_list(
        list: &GitList,
        settings: &Settings,
        common: &Common,
    ) -> Result<Self, String> {
        let token = read(list.token.as_ref())?;
        let mut git =
            Git::new("https:ssh:http:git:file", list.ca_file.as_deref(), settings.mirror.timeout);
        if let Some(token) = &token {
            let mut origins: Vec<String> =
                list.urls.iter().filter_map(|url| origin(url.as_str())).collect();
            origins.sort();
            origins.dedup();
            for origin in origins {
                git = git.with_token(&origin, &list.user, token.reveal());
            }
        }
        Ok(Self {
            name: list.name.clone(),
            kind: Kind::List(list.clone()),
            git,
            into: folder(list.into.as_deref(), &list.name, settings, common),
            indexing: indexing(&list.indexing),
            max_size: None,
        })
    }

    /// Returns the word for its kind, and the address of its API.
    pub(crate) fn words(&self) -> (&'static str, &str) {
        match &self.kind {
            Kind::Host { host, .. } => (host.kind.word(), &host.api),
            Kind::List(_) => ("git", ""),
        }
    }

    /// Returns from where a repository is cloned.
    ///
    /// # Errors
    /// A sentence: the host gives no address that can be used.
    pub(crate) fn source(&self, listed: &Listed) -> Result<Source, String> {
        let address = match &self.kind {
            Kind::List(_) => listed.id.clone(),
            // Not what the host says: that could be another host's, and named otherwise.
            Kind::Host { host, .. } if host.clone == Transport::Https => {
                format!("{}/{}.git", host.url, listed.path)
            }
            Kind::Host { .. } => {
                let given = listed.ssh.as_deref().unwrap_or_default();
                let address = GitAddress::parse(given).map_err(|_| {
                    format!("the host gives no SSH address that can be used: {given:?}")
                })?;
                let is_ssh = address.as_str().starts_with("ssh://")
                    || (!address.as_str().contains("://") && !address.as_str().starts_with('/'));
                if !is_ssh {
                    return Err(format!("the host gives an SSH address that is none: {given:?}"));
                }
                address.as_str().to_owned()
            }
        };
        let (default_branch, max_size) = (listed.default_branch.clone(), self.max_size);
        Ok(Source { address, default_branch, max_size })
    }

    /// Returns the folder of a repository's clone, which it keeps when it is renamed.
    ///
    /// # Errors
    /// A sentence: its id is no name of a folder.
    pub(crate) fn folder(&self, listed: &Listed) -> Result<PathBuf, String> {
        let name = match &self.kind {
            Kind::List(_) => named(&listed.id),
            Kind::Host { .. } => {
                let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
                if listed.id.is_empty() || listed.id.len() > 40 || !listed.id.chars().all(is_plain)
                {
                    return Err(format!("the host gives an odd id: {:?}", listed.id));
                }
                listed.id.clone()
            }
        };
        // As an ingest names it: without links.
        let into = std::fs::canonicalize(&self.into).unwrap_or_else(|_| self.into.clone());
        Ok(into.join(format!("{name}.git")))
    }

    /// Returns the repositories of a list, as if a host had listed them.
    pub(crate) fn listed(list: &GitList) -> Vec<Listed> {
        let listed = |url: &GitAddress| Listed {
            id: url.as_str().to_owned(),
            path: url.as_str().to_owned(),
            ..Listed::default()
        };
        list.urls.iter().map(listed).collect()
    }
}

/// Returns the names of the hosts and lists in the configuration file.
pub(crate) fn names(settings: &Settings) -> impl Iterator<Item = String> {
    let hosts = settings.hosts.iter().map(|host| host.name.clone());
    hosts.chain(settings.git.iter().map(|list| list.name.clone()))
}

/// Returns the folders of the clones of each host and list, and how these are indexed. `usual` is the folder that has a folder
/// for each of them if the configuration file names none.
pub fn folders(settings: &Settings, usual: &Path) -> Vec<(PathBuf, Indexing)> {
    let common = Common { usual: usual.to_owned(), patience: Duration::ZERO };
    let hosts = settings.hosts.iter().map(|host| (&host.name, &host.into, &host.indexing));
    let lists = settings.git.iter().map(|list| (&list.name, &list.into, &list.indexing));
    hosts
        .chain(lists)
        .map(|(name, into, of)| (folder(into.as_deref(), name, settings, &common), of.clone()))
        .collect()
}

fn read(secret: Option<&Secret>) -> Result<Option<Hidden>, String> {
    secret.map(Secret::read).transpose().map_err(|error| error.to_string())
}

fn folder(own: Option<&Path>, name: &str, settings: &Settings, common: &Common) -> PathBuf {
    match own {
        Some(own) => own.to_owned(),
        None => settings.mirror.into.as_deref().unwrap_or(&common.usual).join(name),
    }
}

fn indexing(of: &Indexing) -> MirrorIndexing {
    let Indexing { branches, history, no_ignore, skip_secrets } = of.clone();
    MirrorIndexing { branches, history, no_ignore, skip_secrets }
}

/// Returns scheme, host and port of an address for HTTP.
fn origin(address: &str) -> Option<String> {
    let url = reqwest::Url::parse(address).ok()?;
    matches!(url.scheme(), "http" | "https").then(|| url.origin().ascii_serialization())
}

/// Returns the name of a folder for an address: readable, and another one for each address.
fn named(address: &str) -> String {
    let mut hasher = SipHasher13::new();
    hasher.write(address.as_bytes());
    let hash = hasher.finish();
    let after = address.split_once("://").map_or(address, |(_, after)| after);
    let after = after.rsplit_once('@').map_or(after, |(_, after)| after);
    let after = after.trim_end_matches('/').trim_end_matches(".git");
    let plain: String = after
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '.' || c == '_' { c } else { '-' })
        .collect();
    let plain = plain.trim_matches(|c| c == '.' || c == '-');
    format!("{}-{hash:016x}", &plain[..plain.len().min(MAX_NAME)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_addresses_are_readable_and_differ() {
        let of = |address: &str| named(address).rsplit_once('-').unwrap().0.to_owned();
        assert_eq!(of("https://github.com/golang/go.git"), "github.com-golang-go");
        assert_eq!(of("git@github.com:golang/go"), "github.com-golang-go");
        assert_eq!(of("file:///srv/../x/"), "srv-..-x");
        assert_ne!(named("https://h/a/b"), named("https://h/a-b"));
        assert!(named(&format!("https://h/{}", "x".repeat(999))).len() < 250);
        assert!(!named("https://h/é/ü").contains('/'));
    }
}
