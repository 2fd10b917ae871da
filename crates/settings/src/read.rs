//! Makes [`Settings`] of the text of a file.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use query::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use access::{Grants, Who, check_glob};

use crate::identity;
use crate::table::{Problems, Table, one_of, required};
use crate::types::absolute;
use crate::value::web_address;
use crate::{
    Allowed, Error, Folder, GitAddress, GitList, Hook, Host, HostKind, Indexing, Mirror, Monitor,
    Patterns, Problem, Secret, Settings, Transport, Visibility, Watch, duration, interval,
    patterns, size,
};

/// The sections of the file.
const SECTIONS: [(&str, &str); 9] = [
    ("folder", "[[folder]]"),
    ("host", "[host.NAME]"),
    ("git", "[git.NAME]"),
    ("hook", "[hook.NAME]"),
    ("mirror", "[mirror]"),
    ("watch", "[watch]"),
    ("monitor", "[monitor]"),
    ("identity", "[identity]"),
    ("access", "[access]"),
];

/// Bytes of a file that is surely none of ours.
const MAX_BYTES: u64 = 16 << 20;

impl Settings {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or has mistakes, all of which are told.
    pub fn read(file: &Path) -> Result<Self, Error> {
        let unreadable = |cause: String| Error::Unreadable { file: file.to_path_buf(), cause };
        let absolute = std::path::absolute(file).map_err(|error| unreadable(error.to_string()))?;
        let about = std::fs::metadata(&absolute).map_err(|error| unreadable(error.to_string()))?;
        if about.len() > MAX_BYTES {
            return Err(unreadable(format!("it has {} bytes", about.len())));
        }
        let text =
            std::fs::read_to_string(&absolute).map_err(|error| unreadable(error.to_string()))?;
        Self::parse(&absolute, &text)
    }

    /// Reads the file of an option or variable; or else the usual one, if it exists; or else none.
    ///
    /// # Errors
    /// The file cannot be read, or has mistakes.
    pub fn find(given: Option<&Path>) -> Result<Self, Error> {
        match Self::file_of(given) {
            Some(file) => Self::read(&file),
            None => Ok(Self::default()),
        }
    }

    /// Returns the file of an option or variable; or else the usual one, if it exists. An empty path means none.
    pub fn file_of(given: Option<&Path>) -> Option<PathBuf> {
        match given {
            Some(file) if file.as_os_str().is_empty() => None,
            Some(file) => Some(file.to_path_buf()),
            None => crate::usual_file().filter(|file| file.exists()),
        }
    }

    /// Reads the text of a file, whose path must be absolute.
    ///
    /// # Errors
    /// It has mistakes, all of which are told.
    pub fn parse(file: &Path, text: &str) -> Result<Self, Error> {
        let wrong = |problems: Vec<Problem>| Error::Wrong { file: file.to_path_buf(), problems };
        let problems = Problems::new(text);
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            for error in errors {
                let place = error.span().unwrap_or(0..0);
                problems.note(&place, error.message().replace('\n', ", "));
            }
            return Err(wrong(problems.into_all()));
        }
        let folder = file.parent().unwrap_or(Path::new("/")).to_path_buf();
        let reader = Reader { problems: &problems, folder };
        let mut settings = reader.settings(table.get_ref());
        settings.file = Some(file.to_path_buf());
        let problems = problems.into_all();
        if problems.is_empty() { Ok(settings) } else { Err(wrong(problems)) }
    }
}

/// What reading shares.
struct Reader<'p, 't> {
    problems: &'p Problems<'t>,
    /// The folder of the file.
    folder: PathBuf,
}

impl<'p, 't> Reader<'p, 't> {
    fn settings(&self, file: &'p DeTable<'t>) -> Settings {
        for (key, _) in file {
            let name: &str = key.get_ref();
            if SECTIONS.iter().any(|(section, _)| *section == name) {
                continue;
            }
            let all: Vec<&str> = SECTIONS.iter().map(|(_, shown)| *shown).collect();
            let what = match nearest(name, SECTIONS.iter().map(|(section, _)| *section)) {
                Some(near) => format!("unknown section {name}; did you mean {near}?"),
                None => format!("unknown section {name}; the file has {}", all.join(", ")),
            };
            self.problems.note(&key.span(), what);
        }
        let settings = Settings {
            file: None,
            folders: self.folders(file.get("folder")),
            hosts: self.named(file, "host", |name, table| self.host(name, table)),
            git: self.named(file, "git", |name, table| self.git_list(name, table)),
            hooks: self.named(file, "hook", |name, table| self.hook(name, table)),
            mirror: self.section(file, "mirror", |table| self.mirror(table)),
            watch: self.section(file, "watch", watch),
            monitor: self.section(file, "monitor", monitor),
            identity: self
                .section(file, "identity", |table| identity::read(table, &|path| self.path(path))),
            access: file.get("access").map(|value| Arc::new(grants(value, self.problems))),
        };
        self.check_names(&settings, file);
        settings
    }

    /// Reads the tables of a section, such as `[host.NAME]`, in their order.
    fn named<T>(
        &self,
        file: &'p DeTable<'t>,
        section: &'static str,
        read: impl Fn(&str, &Table<'p, 't>) -> Option<T>,
    ) -> Vec<T> {
        let Some(value) = file.get(section) else { return Vec::new() };
        let Some(tables) = value.get_ref().as_table() else {
            self.problems
                .note(&value.span(), format!("{section} needs a name; write [{section}.NAME]"));
            return Vec::new();
        };
        let mut tables: Vec<_> = tables.iter().collect();
        tables.sort_by_key(|(key, _)| key.span().start);
        let mut all = Vec::new();
        for (key, value) in tables {
            let name: &str = key.get_ref();
            let Some(table) = value.get_ref().as_table() else {
                let what =
                    format!("{section} needs a name; write [{section}.NAME], and {name} below it");
                self.problems.note(&key.span(), what);
                continue;
            };
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
                let what = format!(
                    "\"{name}\" cannot be a name; use letters, digits, hyphens, underscores and dots"
                );
                self.problems.note(&key.span(), what);
            }
            let title = format!("[{section}.{name}]");
            let table = Table::new(title, key.span(), table, self.problems);
            all.extend(read(name, &table));
            table.finish();
        }
        all
    }

    /// Reads a section that stands once.
    fn section<T: Default>(
        &self,
        file: &'p DeTable<'t>,
        section: &str,
        read: impl Fn(&Table<'p, 't>) -> T,
    ) -> T {
        let Some(value) = file.get(section) else { return T::default() };
        let Some(table) = value.get_ref().as_table() else {
            self.problems.note(&value.span(), format!("{section} is a section; write [{section}]"));
            return T::default();
        };
        let table = Table::new(format!("[{section}]"), value.span(), table, self.problems);
        let done = read(&table);
        table.finish();
        done
    }

    fn folders(&self, value: Option<&'p Spanned<DeValue<'t>>>) -> Vec<Folder> {
        let Some(value) = value else { return Vec::new() };
        let Some(list) = value.get_ref().as_array() else {
            self.problems.note(&value.span(), "a folder has two brackets; write [[folder]]");
            return Vec::new();
        };
        let mut all = Vec::new();
        for item in list {
            let Some(table) = item.get_ref().as_table() else {
                let what = "a folder is a section; write [[folder]], and path = \"...\" below it";
                self.problems.note(&item.span(), what);
                continue;
            };
            let table = Table::new("[[folder]]".to_owned(), item.span(), table, self.problems);
            all.extend(self.folder(&table));
            table.finish();
        }
        all
    }

    fn folder(&self, table: &Table<'p, 't>) -> Option<Folder> {
        let path = required(table, "path", "write path = \"FOLDER\"", |path| self.path(path));
        let depth = table.number("depth", 0..100);
        let watch = table.flag("watch").unwrap_or(true);
        let commit = table.flag("commit");
        let follow_git = table.flag("follow_git").unwrap_or(false);
        let indexing = indexing(table);
        Some(Folder { path: path?, depth, watch, commit, follow_git, indexing })
    }

    fn host(&self, name: &str, table: &Table<'p, 't>) -> Option<Host> {
        let kinds = HostKind::ALL;
        let hint = "write kind = \"github\", \"gitlab\", \"gitea\" or \"forgejo\"";
        let kind = required(table, "kind", hint, |text| one_of(&kinds, text));
        let mut url = table.text("url", web_address);
        if let Some(kind) = kind
            && url.is_none()
            && table.place_of("url").is_none()
        {
            url = kind.usual_url().map(str::to_owned);
            if url.is_none() {
                let what = format!(
                    "a {} host needs its address; write url = \"https://...\"",
                    kind.word()
                );
                table.note(None, what);
            }
        }
        let api = table.text("api", web_address);
        let token = self.secret(table, "token");
        let take = table.texts("take", patterns::compiled);
        if table.lacks("take") {
            let what = "take says what to mirror; write take = [\"OWNER\"], or [\"**\"] for all that the token sees";
            table.note(table.place_of("take").as_ref(), what);
        }
        let leave = table.texts("leave", patterns::compiled).unwrap_or_default();
        let topics = table.texts("topics", topic).unwrap_or_default();
        let leave_topics = table.texts("leave_topics", topic).unwrap_or_default();
        let forks = table.flag("forks").unwrap_or(false);
        let archived = table.flag("archived").unwrap_or(true);
        let max_size = table.text("max_size", size);
        let words = Visibility::ALL;
        let visibility = table.texts("visibility", |text| one_of(&words, text)).unwrap_or_default();
        let into = table.text("into", |path| self.path(path));
        let ca_file = table.text("ca_file", |path| self.path(path));
        let transports = [("https", Transport::Https), ("ssh", Transport::Ssh)];
        let clone = table.word("clone", &transports).unwrap_or_default();
        let every = table.text("every", interval);
        let indexing = indexing(table);
        let (kind, url) = (kind?, url?);
        Some(Host {
            name: name.to_owned(),
            kind,
            api: api.unwrap_or_else(|| kind.usual_api(&url)),
            url,
            token,
            take: Patterns::of(take?),
            leave: Patterns::of(leave),
            topics,
            leave_topics,
            forks,
            archived,
            max_size,
            visibility,
            into,
            ca_file,
            clone,
            every,
            indexing,
        })
    }

    fn git_list(&self, name: &str, table: &Table<'p, 't>) -> Option<GitList> {
        let urls = table.texts("urls", GitAddress::parse);
        if table.lacks("urls") {
            let what = "urls has the git addresses; write urls = [\"https://HOST/PATH\"]";
            table.note(table.place_of("urls").as_ref(), what);
        }
        let user = table.text("user", |user| Ok(user.to_owned()));
        let token = self.secret(table, "token");
        let into = table.text("into", |path| self.path(path));
        let ca_file = table.text("ca_file", |path| self.path(path));
        let every = table.text("every", interval);
        let indexing = indexing(table);
        let (mut urls, mut seen) = (urls?, HashSet::new());
        urls.retain(|url| seen.insert(url.clone()));
        let user = user.unwrap_or_else(|| "git".to_owned());
        Some(GitList { name: name.to_owned(), urls, user, token, into, ca_file, every, indexing })
    }

    fn hook(&self, name: &str, table: &Table<'p, 't>) -> Option<Hook> {
        let hint = "write secret = \"file:PATH\", \"env:NAME\" or \"cmd:COMMAND\"";
        let secret = required(table, "secret", hint, |text| Secret::parse(text, &self.folder));
        let host = table.text("host", |host| Ok(host.to_owned()));
        Some(Hook { name: name.to_owned(), secret: secret?, host })
    }

    fn mirror(&self, table: &Table<'p, 't>) -> Mirror {
        let usual = Mirror::default();
        Mirror {
            every: table.text("every", interval).unwrap_or(usual.every),
            at_once: table.number("at_once", 1..65).unwrap_or(usual.at_once),
            grace: table.text("grace", duration).unwrap_or(usual.grace),
            timeout: table.text("timeout", interval).unwrap_or(usual.timeout),
            into: table.text("into", |path| self.path(path)),
        }
    }

    /// Notes names that stand for two things, or for none.
    fn check_names(&self, settings: &Settings, file: &DeTable<'t>) {
        let place = |section: &str, name: &str, key: Option<&str>| {
            let tables = file.get(section).and_then(|tables| tables.get_ref().as_table());
            let (title, table) = tables?.get_key_value(name)?;
            let value = key.and_then(|key| table.get_ref().as_table()?.get(key));
            Some(value.map_or(title.span(), Spanned::span))
        };
        for list in &settings.git {
            // Their clones would lie in the same folder.
            if settings.hosts.iter().any(|host| host.name == list.name)
                && let Some(place) = place("git", &list.name, None)
            {
                let name = &list.name;
                let what = format!("[host.{name}] has the same name; use another one");
                self.problems.note(&place, what);
            }
        }
        for hook in &settings.hooks {
            let Some(host) = &hook.host else { continue };
            // Of a host that is wrong itself, the name is there.
            let names = file.get("host").and_then(|hosts| hosts.get_ref().as_table());
            let names = names.into_iter().flatten().map(|(name, _)| &**name.get_ref());
            let names: Vec<&str> = names.collect();
            if !names.contains(&&**host)
                && let Some(place) = place("hook", &hook.name, Some("host"))
            {
                let what = match nearest(host, names) {
                    Some(near) => format!("unknown host {host}; did you mean {near}?"),
                    None => format!("unknown host {host}; add [host.{host}], or take host away"),
                };
                self.problems.note(&place, what);
            }
        }
        let mut seen = HashSet::new();
        let folders = file.get("folder").and_then(|folders| folders.get_ref().as_array());
        for folder in folders.into_iter().flatten() {
            let path = folder.get_ref().get("path");
            let Some((path, text)) = path.and_then(|path| Some((path, path.get_ref().as_str()?)))
            else {
                continue;
            };
            if !seen.insert(text.trim_end_matches('/')) {
                let what = format!("{text} stands twice; keep one of the two");
                self.problems.note(&path.span(), what);
            }
        }
    }

    fn secret(&self, table: &Table<'p, 't>, key: &'static str) -> Option<Secret> {
        table.text(key, |text| Secret::parse(text, &self.folder))
    }

    fn path(&self, path: &str) -> Result<PathBuf, String> {
        absolute(path, &self.folder)
    }
}

/// Reads `[access]`: to each user, group or everybody, a list of globs.
fn grants<'t>(value: &Spanned<DeValue<'t>>, problems: &Problems<'t>) -> Grants {
    let Some(table) = value.get_ref().as_table() else {
        problems.note(&value.span(), "access is a section; write [access]");
        return Grants::default();
    };
    let mut all: Vec<(Who, &str)> = Vec::new();
    for (key, value) in table {
        let who: Option<Who> = match key.get_ref().parse() {
            Ok(who) => Some(who),
            Err(why) => {
                problems.note(&key.span(), why);
                None
            }
        };
        let name = key.get_ref();
        let Some(globs) = value.get_ref().as_array() else {
            let what = format!("a list of globs; write \"{name}\" = [\"OWNER/**\"]");
            problems.note(&value.span(), what);
            continue;
        };
        for glob in globs {
            let Some(text) = glob.get_ref().as_str() else {
                problems.note(&glob.span(), "a glob is text; write \"OWNER/**\"");
                continue;
            };
            match check_glob(text) {
                Err(why) => problems.note(&glob.span(), why),
                Ok(()) => all.extend(who.clone().map(|who| (who, text))),
            }
        }
    }
    Grants::new(all)
}

fn watch(table: &Table<'_, '_>) -> Watch {
    let usual = Watch::default();
    Watch {
        after: table.text("after", duration).unwrap_or(usual.after),
        poll: table.text("poll", duration).unwrap_or(usual.poll),
        max_folders: table.number("max_folders", 0..u32::MAX),
    }
}

fn monitor(table: &Table<'_, '_>) -> Monitor {
    Monitor {
        allow: table.texts("allow", Allowed::parse).unwrap_or_default(),
        url: table.text("url", web_address),
    }
}

fn indexing(table: &Table<'_, '_>) -> Indexing {
    Indexing {
        branches: table.texts("branches", branch),
        history: table.flag("history"),
        no_ignore: table.flag("no_ignore"),
        skip_secrets: table.word("secrets", &[("keep", false), ("skip", true)]),
    }
}

/// Reads a glob of branches and tags.
fn branch(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("an empty glob matches nothing; write branches = [] for none".to_owned());
    }
    if text.contains(',') {
        return Err(format!("\"{text}\" has a comma; write each glob for itself, in quotes"));
    }
    Ok(text.trim().to_owned())
}

/// Reads a topic. Hosts write them in lowercase.
fn topic(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("an empty topic matches nothing".to_owned());
    }
    Ok(text.trim().to_lowercase())
}
