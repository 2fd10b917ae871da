//! `codesearch config`: the configuration file, and what it means. Also what other commands take from it.

use std::fmt::Write as _;
use std::path::Path;

use ::settings::{
    Allowed, Folder, GitList, Host, Indexing, Secret, Settings, Transport, VARIABLE, Visibility,
    Watched, usual_file, written_duration, written_size,
};
use anyhow::{Context, Result};
use ingest::Configured;
use request::human::count;

use crate::cli::{ConfigArgs, ConfigCommand, DatabaseArgs, SettingsArgs};
use crate::database::{Database, check_made};

pub(crate) fn run(database: &DatabaseArgs, args: &ConfigArgs) -> Result<u8> {
    match &args.what {
        ConfigCommand::Check { file } => check(database, file.as_deref()),
        ConfigCommand::Path => path(),
    }
}

/// Opens the configuration file of a command that runs long.
///
/// # Errors
/// It cannot be read, or has mistakes.
pub(crate) fn open(args: &SettingsArgs) -> Result<Watched> {
    Ok(Watched::open(args.settings.as_deref())?)
}

/// Returns what the file says of folders, for an ingest.
pub(crate) fn configured(settings: &Settings) -> Vec<Configured> {
    let folder = |folder: &Folder| Configured {
        depth: folder.depth,
        follow_git: folder.follow_git,
        commit: folder.commit,
        ..of_indexing(&folder.path, &folder.indexing)
    };
    settings.folders.iter().map(folder).collect()
}

/// Returns what is said of the repositories in a folder.
pub(crate) fn of_indexing(path: &Path, indexing: &Indexing) -> Configured {
    let Indexing { branches, history, no_ignore, skip_secrets } = indexing.clone();
    let path = path.to_path_buf();
    Configured { path, branches, history, no_ignore, skip_secrets, ..Configured::default() }
}

fn path() -> Result<u8> {
    let given = std::env::var_os(VARIABLE).map(std::path::PathBuf::from);
    let given = given.filter(|file| !file.as_os_str().is_empty());
    let file = given.or_else(usual_file).context(
        "there is no folder for configuration, since HOME is not set; name the file with --settings",
    )?;
    say!("{}", file.display());
    Ok(if file.exists() { crate::FOUND } else { crate::NOTHING })
}

fn check(database: &DatabaseArgs, file: Option<&Path>) -> Result<u8> {
    let settings = Settings::find(file)?;
    let Some(file) = &settings.file else {
        let usual = usual_file().map_or_else(String::new, |file| format!(": {}", file.display()));
        say!("no configuration file; the usual one does not exist{usual}");
        return Ok(crate::FOUND);
    };
    say!("{}", file.display());
    for folder in &settings.folders {
        say!("{}", of_folder(folder));
    }
    for host in &settings.hosts {
        say!("{}", of_host(host));
    }
    for list in &settings.git {
        say!("{}", of_list(list));
    }
    for hook in &settings.hooks {
        let of = match &hook.host {
            Some(host) => format!("repositories of host {host}"),
            None => "any mirrored repository".to_owned(),
        };
        say!(
            "hook {}: POST /hooks/{} for {of}; its secret is in {}",
            hook.name,
            hook.name,
            hook.secret
        );
    }
    let mirror = &settings.mirror;
    if !settings.hosts.is_empty() || !settings.git.is_empty() {
        let mut line = format!(
            "mirror: every {}, {} at once, each up to {}; what is gone from its host is kept for {}",
            written_duration(mirror.every),
            mirror.at_once,
            written_duration(mirror.timeout),
            written_duration(mirror.grace)
        );
        if let Some(into) = &mirror.into {
            let _ = write!(line, "; into {}", into.display());
        }
        say!("{line}");
    }
    let watch = &settings.watch;
    say!(
        "watch: {} after the last change; {}; others are polled every {}",
        written_duration(watch.after),
        match watch.max_folders {
            Some(most) => format!("up to {}", count(most, "folder")),
            None => "up to half of the folders that the system allows".to_owned(),
        },
        written_duration(watch.poll)
    );
    let monitor = &settings.monitor;
    if !monitor.allow.is_empty() || monitor.url.is_some() {
        let allow = monitor.allow.iter().map(|allowed| match allowed {
            Allowed::Network(address, bits) => format!("{address}/{bits}"),
            Allowed::Host(host) => host.clone(),
        });
        let allow: Vec<String> = allow.collect();
        let inside = if allow.is_empty() { "nowhere".to_owned() } else { allow.join(", ") };
        let url = monitor.url.as_ref().map(|url| format!("; links begin with {url}"));
        say!("monitor: webhooks inside the network to {inside}{}", url.unwrap_or_default());
    }
    for line in of_identity(&settings.identity) {
        say!("{line}");
    }
    if let Some(grants) = &settings.access {
        say!("access: only what is granted is seen, here or by codesearch grant");
        for (who, globs) in grants.all() {
            say!("  {who}: {}", globs.join(", "));
        }
        for wrong in unmatched(database, grants) {
            note!("codesearch: {}: {wrong}", file.display());
        }
    }
    for wrong in missing(&settings) {
        note!("codesearch: {}: {wrong}", file.display());
    }
    Ok(crate::FOUND)
}

/// Returns a sentence for each glob that matches no repository of the index, if there is one.
fn unmatched(database: &DatabaseArgs, grants: &::access::Grants) -> Vec<String> {
    let mut names = Vec::new();
    let read = check_made(database).and_then(|()| {
        Database::open_index(database, 1)?.run(async |store| {
            names = store.repos().await?.into_iter().map(|repo| repo.name).collect();
            Ok(crate::FOUND)
        })
    });
    match read {
        Ok(_) => super::access::unmatched(grants, &names),
        Err(error) => vec![format!("access: globs were not compared with repositories: {error:#}")],
    }
}

fn of_folder(folder: &Folder) -> String {
    let what = match folder.depth {
        None => "clones below it".to_owned(),
        Some(0) => "one repository".to_owned(),
        Some(depth) => format!("the folders {} below it", count(depth, "level")),
    };
    let mut parts = vec![what];
    if !folder.watch {
        parts.push("not watched".to_owned());
    }
    parts.extend(folder.commit.map(|commit| {
        if commit { "files of the commit of HEAD" } else { "files in the folder" }.to_owned()
    }));
    if folder.follow_git {
        parts.push("git data outside of it are read".to_owned());
    }
    parts.extend(of_repositories(&folder.indexing));
    format!("folder {}: {}", folder.path.display(), parts.join("; "))
}

fn of_host(host: &Host) -> String {
    let list = |name: &str, texts: &[String]| {
        (!texts.is_empty()).then(|| format!("{name} {}", texts.join(", ")))
    };
    let globs = |patterns: &::settings::Patterns| -> Vec<String> {
        patterns.written().map(str::to_owned).collect()
    };
    let visible: Vec<String> = Visibility::ALL
        .iter()
        .filter(|(_, one)| host.visibility.contains(one))
        .map(|(word, _)| (*word).to_owned())
        .collect();
    let mut parts = vec![format!("{} at {}", host.kind.word(), host.url)];
    parts.push(match &host.token {
        Some(token) => format!("with the token in {token}"),
        None => "without a token".to_owned(),
    });
    parts.extend(list("takes", &globs(&host.take)));
    parts.extend(list("leaves", &globs(&host.leave)));
    parts.extend(list("with a topic of", &host.topics));
    parts.extend(list("without the topics", &host.leave_topics));
    parts.extend(list("only", &visible));
    parts.push(if host.forks { "with forks" } else { "without forks" }.to_owned());
    if !host.archived {
        parts.push("without archived ones".to_owned());
    }
    parts.extend(host.max_size.map(|most| format!("up to {}", written_size(most))));
    if host.clone == Transport::Ssh {
        parts.push("cloned by SSH".to_owned());
    }
    parts.extend(host.into.as_ref().map(|into| format!("into {}", into.display())));
    parts.extend(host.ca_file.as_ref().map(|file| format!("trusting {}", file.display())));
    parts.extend(host.every.map(|every| format!("every {}", written_duration(every))));
    parts.extend(of_repositories(&host.indexing));
    format!("host {}: {}", host.name, parts.join("; "))
}

fn of_list(list: &GitList) -> String {
    let mut parts = vec![count(list.urls.len(), "git address")];
    parts.extend(
        list.token.as_ref().map(|token| format!("as {} with the token in {token}", list.user)),
    );
    parts.extend(list.into.as_ref().map(|into| format!("into {}", into.display())));
    parts.extend(list.ca_file.as_ref().map(|file| format!("trusting {}", file.display())));
    parts.extend(list.every.map(|every| format!("every {}", written_duration(every))));
    parts.extend(of_repositories(&list.indexing));
    format!("git {}: {}", list.name, parts.join("; "))
}

fn of_identity(identity: &::settings::Identity) -> Vec<String> {
    let jwt = identity.jwt.as_ref().map(|jwt| {
        format!(
            "identity: JWTs of {} for {}, by the keys in {}; user in {}, groups in {}",
            jwt.issuer,
            jwt.audience.join(" or "),
            jwt.keys,
            jwt.user,
            jwt.groups
        )
    });
    let rights = [("admin", &identity.admin_groups), ("ingest", &identity.ingest_groups)];
    let rights = rights.into_iter().filter(|(_, groups)| !groups.is_empty());
    let rights = rights.map(|(right, groups)| {
        format!("identity: the right {right} for the groups {}", groups.join(", "))
    });
    jwt.into_iter().chain(rights).collect()
}

/// Says how repositories are indexed, where the file says so.
fn of_repositories(indexing: &Indexing) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(branches) = &indexing.branches {
        let all = branches.join(", ");
        parts.push(if all.is_empty() {
            "no branches".to_owned()
        } else {
            format!("branches {all}")
        });
    }
    let switches = [
        (indexing.history, "with history", "without history"),
        (indexing.no_ignore, "with ignored files", "without ignored files"),
        (indexing.skip_secrets, "without secrets", "with secrets"),
    ];
    let said =
        switches.into_iter().filter_map(|(said, yes, no)| Some(if said? { yes } else { no }));
    parts.extend(said.map(str::to_owned));
    parts
}

/// Returns a sentence for each folder, file and variable that is not there now.
fn missing(settings: &Settings) -> Vec<String> {
    let mut wrong = Vec::new();
    for folder in &settings.folders {
        if !folder.path.is_dir() {
            wrong.push(format!("the folder {} does not exist", folder.path.display()));
        }
    }
    let secrets = settings
        .hosts
        .iter()
        .filter_map(|host| Some((format!("host {}", host.name), host.token.as_ref()?)))
        .chain(
            settings
                .git
                .iter()
                .filter_map(|list| Some((format!("git {}", list.name), list.token.as_ref()?))),
        )
        .chain(settings.hooks.iter().map(|hook| (format!("hook {}", hook.name), &hook.secret)));
    for (of, secret) in secrets {
        // Commands may ask something, or cost something.
        if !matches!(secret, Secret::Command(_))
            && let Err(error) = secret.read()
        {
            wrong.push(format!("{of}: {error}"));
        }
    }
    if let Some(jwt) = &settings.identity.jwt {
        let keys = match &jwt.keys {
            ::settings::KeySource::File(file) => Some(file),
            ::settings::KeySource::Url(_) => None,
        };
        for file in keys.into_iter().chain(&jwt.ca_file).filter(|file| !file.is_file()) {
            wrong.push(format!("identity: the file {} does not exist", file.display()));
        }
    }
    let files = settings.hosts.iter().map(|host| (&host.name, &host.ca_file));
    let files = files.chain(settings.git.iter().map(|list| (&list.name, &list.ca_file)));
    for (of, file) in files {
        if let Some(file) = file.as_ref().filter(|file| !file.is_file()) {
            wrong.push(format!("{of}: the file {} does not exist", file.display()));
        }
    }
    wrong
}
