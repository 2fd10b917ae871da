//! What the file says.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use access::Grants;

use crate::identity::Identity;
use crate::{GitAddress, Patterns, Secret};

/// All of the file. The default is what an empty file says.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The file, absolute; `None` if none was given and the usual one does not exist.
    pub file: Option<PathBuf>,
    /// Folders to index, in the order of the file.
    pub folders: Vec<Folder>,
    /// Hosts to mirror, in the order of the file.
    pub hosts: Vec<Host>,
    /// Lists of git addresses to mirror, in the order of the file.
    pub git: Vec<GitList>,
    /// Webhooks to take, in the order of the file.
    pub hooks: Vec<Hook>,
    /// How mirrors are kept in step.
    pub mirror: Mirror,
    /// How folders are watched.
    pub watch: Watch,
    /// Where monitors may deliver.
    pub monitor: Monitor,
    /// How clients prove who they are.
    pub identity: Identity,
    /// `[access]`: who may see which repositories; `None` if the file does not say.
    pub access: Option<Arc<Grants>>,
}

/// How repositories are indexed. `None` for what a clone's git configuration says, or else an earlier ingest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Indexing {
    /// `branches`: globs of branches and tags, or `newest:N`.
    pub branches: Option<Vec<String>>,
    /// `history`: whether the history of lines is indexed.
    pub history: Option<bool>,
    /// `no_ignore`: whether files are indexed that ignore files name.
    pub no_ignore: Option<bool>,
    /// `secrets = "skip"` or `"keep"`: whether files that look like secrets are left out.
    pub skip_secrets: Option<bool>,
}

/// `[[folder]]`: a folder that has repositories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// `path`, absolute.
    pub path: PathBuf,
    /// `depth`: levels below it at which every folder is a repository; `None` for folders with `.git`.
    pub depth: Option<usize>,
    /// `watch`: whether a server that watches watches it. Default: true.
    pub watch: bool,
    /// `commit`: whether the files are those of a clone's commit instead of those in its folder.
    pub commit: Option<bool>,
    /// `follow_git`: whether git data outside of the folder is read if the user owns it. Default: false.
    pub follow_git: bool,
    /// How its repositories are indexed.
    pub indexing: Indexing,
}

/// What a host runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HostKind {
    /// GitHub, or GitHub Enterprise Server.
    GitHub,
    /// GitLab.
    GitLab,
    /// Gitea.
    Gitea,
    /// Forgejo.
    Forgejo,
}

/// Who sees a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Visibility {
    /// Everybody.
    Public,
    /// Everybody who is signed in to the host.
    Internal,
    /// Its members.
    Private,
}

/// How clones are fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// By HTTP, with the token.
    #[default]
    Https,
    /// By SSH, with the keys and the configuration of the user who runs codesearch.
    Ssh,
}

/// `[host.NAME]`: a host whose repositories are mirrored.
#[derive(Clone, Debug)]
pub struct Host {
    /// NAME.
    pub name: String,
    /// `kind`.
    pub kind: HostKind,
    /// `url`: address of its pages, without a slash at its end. Default: that of github.com or gitlab.com.
    pub url: String,
    /// `api`: address of its API, without a slash at its end. Default: what follows from kind and address.
    pub api: String,
    /// `token`: where the access token is read.
    pub token: Option<Secret>,
    /// `take`: repositories, owners and groups to mirror; at least one glob.
    pub take: Patterns,
    /// `leave`: those of them that are not mirrored.
    pub leave: Patterns,
    /// `topics`: mirror only repositories that have one of these topics; empty for all.
    pub topics: Vec<String>,
    /// `leave_topics`: do not mirror repositories that have one of these.
    pub leave_topics: Vec<String>,
    /// `forks`: whether forks are mirrored. Default: false.
    pub forks: bool,
    /// `archived`: whether archived repositories are mirrored. Default: true.
    pub archived: bool,
    /// `max_size`: bytes above which a repository is not mirrored, by the size that the host gives.
    pub max_size: Option<u64>,
    /// `visibility`: who sees the repositories to mirror; empty for any.
    pub visibility: Vec<Visibility>,
    /// `into`: the folder of the clones, absolute; `None` for the usual one.
    pub into: Option<PathBuf>,
    /// `ca_file`: certificates that are trusted for this host, besides the system's; absolute.
    pub ca_file: Option<PathBuf>,
    /// `clone`: how clones are fetched.
    pub clone: Transport,
    /// `every`: how often the host is listed; `None` for that of `[mirror]`.
    pub every: Option<Duration>,
    /// How its repositories are indexed.
    pub indexing: Indexing,
}

/// `[git.NAME]`: git addresses that are mirrored.
#[derive(Clone, Debug)]
pub struct GitList {
    /// NAME.
    pub name: String,
    /// `urls`, each once.
    pub urls: Vec<GitAddress>,
    /// `user`: the user name that goes with the token. Default: `git`.
    pub user: String,
    /// `token`: where the password or token for HTTP is read.
    pub token: Option<Secret>,
    /// `into`: the folder of the clones, absolute; `None` for the usual one.
    pub into: Option<PathBuf>,
    /// `ca_file`: certificates that are trusted, besides the system's; absolute.
    pub ca_file: Option<PathBuf>,
    /// `every`: how often they are fetched; `None` for that of `[mirror]`.
    pub every: Option<Duration>,
    /// How its repositories are indexed.
    pub indexing: Indexing,
}

/// `[hook.NAME]`: a webhook that a host sends to `/hooks/NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// NAME.
    pub name: String,
    /// `secret`: where the secret is read that proves the sender.
    pub secret: Secret,
    /// `host`: the name of the `[host.NAME]` whose repositories it may name; `None` for all.
    pub host: Option<String>,
}

/// `[mirror]`: how mirrors are kept in step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// `every`: how often hosts are listed. Default: 5 minutes.
    pub every: Duration,
    /// `at_once`: clones and fetches that run at once. Default: 4.
    pub at_once: usize,
    /// `grace`: how long a repository that is gone from its host is kept hidden. Default: 7 days.
    pub grace: Duration,
    /// `timeout`: how long one clone or fetch may take. Default: 1 hour.
    pub timeout: Duration,
    /// `into`: the folder that has a folder of clones for each host and list, absolute; `None` for the usual one.
    pub into: Option<PathBuf>,
}

impl Default for Mirror {
    fn default() -> Self {
        Self {
            every: Duration::from_mins(5),
            at_once: 4,
            grace: Duration::from_hours(7 * 24),
            timeout: Duration::from_hours(1),
            into: None,
        }
    }
}

/// `[watch]`: how folders are watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// `after`: how long a folder must be quiet before its changes are queued. Default: 150 ms.
    pub after: Duration,
    /// `poll`: how often a folder is looked at that cannot be watched, at least. Default: 30 s.
    pub poll: Duration,
    /// `max_folders`: folders to watch at most; `None` for half of the system's limit.
    pub max_folders: Option<usize>,
}

impl Default for Watch {
    fn default() -> Self {
        Self { after: Duration::from_millis(150), poll: Duration::from_secs(30), max_folders: None }
    }
}

/// `[monitor]`: where monitors may deliver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Monitor {
    /// `allow`: networks and hosts inside of the server's network to which webhooks may be sent.
    pub allow: Vec<Allowed>,
    /// `url`: the address of this server for others, for links in feeds and webhooks; without a slash at its end.
    pub url: Option<String>,
}

/// To where a webhook may be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// All addresses whose first bits are those of this one, and the number of the bits.
    Network(IpAddr, u8),
    /// A host, by its name in lowercase.
    Host(String),
}

impl Allowed {
    /// Reads an address, a network (`10.0.0.0/8`) or the name of a host.
    ///
    /// # Errors
    /// A sentence that says what to write, without a full stop.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("\"{text}\" is not a network or host; write 10.0.0.0/8 or host.name");
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().map_err(|_| wrong())?)),
            None => (text, None),
        };
        if let Ok(address) = address.parse::<IpAddr>() {
            let most = if address.is_ipv4() { 32 } else { 128 };
            return match bits.unwrap_or(most) {
                bits if bits <= most => Ok(Self::Network(address, bits)),
                _ => Err(wrong()),
            };
        }
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
        if bits.is_some() || text.is_empty() || !text.chars().all(is_name) {
            return Err(wrong());
        }
        Ok(Self::Host(text.to_lowercase()))
    }

    /// Returns whether an address is in the network.
    pub fn has_address(&self, address: IpAddr) -> bool {
        let Self::Network(network, bits) = self else { return false };
        match (network, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let differs = network.to_bits() ^ address.to_bits();
                differs.checked_shr(32 - u32::from(*bits)).unwrap_or(0) == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let differs = network.to_bits() ^ address.to_bits();
                differs.checked_shr(128 - u32::from(*bits)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }

    /// Returns whether it is the host of this name.
    pub fn is_host(&self, name: &str) -> bool {
        matches!(self, Self::Host(host) if host.eq_ignore_ascii_case(name))
    }
}

impl HostKind {
    /// All kinds and their names.
    pub const ALL: [(&str, Self); 4] = [
        ("github", Self::GitHub),
        ("gitlab", Self::GitLab),
        ("gitea", Self::Gitea),
        ("forgejo", Self::Forgejo),
    ];

    /// Returns its name in the file.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).expect("all kinds are there").0
    }

    /// Returns the address of the host that most people mean.
    pub(crate) fn usual_url(self) -> Option<&'static str> {
        match self {
            Self::GitHub => Some("https://github.com"),
            Self::GitLab => Some("https://gitlab.com"),
            Self::Gitea | Self::Forgejo => None,
        }
    }

    /// Returns the address of the API of a host.
    pub(crate) fn usual_api(self, url: &str) -> String {
        match self {
            Self::GitHub if url == "https://github.com" => "https://api.github.com".to_owned(),
            Self::GitHub => format!("{url}/api/v3"),
            Self::GitLab => format!("{url}/api/v4"),
            Self::Gitea | Self::Forgejo => format!("{url}/api/v1"),
        }
    }
}

impl Visibility {
    /// All values and their names.
    pub const ALL: [(&str, Self); 3] =
        [("public", Self::Public), ("internal", Self::Internal), ("private", Self::Private)];
}

/// Makes a path of the file absolute: `~/` is the user's home, and others begin at the file's folder.
pub(crate) fn absolute(path: &str, folder: &Path) -> Result<PathBuf, String> {
    if path.is_empty() {
        return Err("an empty path names nothing".to_owned());
    }
    let Some(below) = path.strip_prefix('~') else { return Ok(folder.join(path)) };
    match below.strip_prefix('/') {
        None if !below.is_empty() => {
            Err(format!("\"{path}\" is another user's home; write the path that begins with /"))
        }
        below => {
            let home = std::env::home_dir()
                .ok_or("the home folder is unknown; write a path that begins with /")?;
            Ok(home.join(below.unwrap_or_default()))
        }
    }
}
