//! A host that exists for one test: it answers as the hosts' published API documents say, and serves clones by
//! `git http-backend`. The pages of the documents stand in `crates/mirror/src/host/`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::backend;

/// The API that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    GitHub,
    GitLab,
    Gitea,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::GitHub, Self::GitLab, Self::Gitea];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::GitHub => "github",
            Self::GitLab => "gitlab",
            Self::Gitea => "gitea",
        }
    }

    fn api(self) -> &'static str {
        match self {
            Self::GitHub => "/api/v3",
            Self::GitLab => "/api/v4",
            Self::Gitea => "/api/v1",
        }
    }
}

/// A repository of the host.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "a host tells each by itself")]
pub(super) struct Repo {
    pub(super) id: u64,
    pub(super) owner: String,
    pub(super) name: String,
    pub(super) private: bool,
    /// Whether everybody with an account sees it; then it is not private.
    pub(super) internal: bool,
    pub(super) fork: bool,
    pub(super) archived: bool,
    pub(super) topics: Vec<String>,
    pub(super) stars: u32,
    pub(super) kilobytes: u64,
    pub(super) pushed_at: i64,
    pub(super) default_branch: String,
}

impl Repo {
    fn path(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    fn visibility(&self) -> &'static str {
        match (self.private, self.internal) {
            (true, _) => "private",
            (_, true) => "internal",
            _ => "public",
        }
    }
}

/// What goes wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// This status, with these headers.
    Status(u16, Vec<(&'static str, String)>),
    /// No answer.
    Hang,
    /// Half of an answer.
    Cut,
    /// Half of the objects that git asks for, and then nothing.
    HalfPack,
    /// An answer that is not JSON of the API.
    Odd,
    /// A next page on another host.
    Elsewhere,
}

/// A request that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) path: String,
    pub(super) status: u16,
}

#[derive(Debug, Default)]
pub(super) struct World {
    pub(super) repos: Vec<Repo>,
    pub(super) page: usize,
    /// The token that the host requires, if any.
    pub(super) token: Option<String>,
    /// Faults of requests to the API whose path contains a text, until they are taken out.
    pub(super) faults: BTreeMap<String, Fault>,
    /// Faults of that kind that happen once.
    pub(super) once: BTreeMap<String, Fault>,
    pub(super) made: Vec<Made>,
    /// Most requests to the API at one time.
    pub(super) most: usize,
    running: usize,
    next: u64,
}

/// A running host.
pub(super) struct FakeHost {
    pub(super) url: String,
    pub(super) kind: Kind,
    root: PathBuf,
    world: Arc<Mutex<World>>,
    _runtime: tokio::runtime::Runtime,
}

#[derive(Clone)]
struct Shared {
    url: String,
    kind: Kind,
    root: PathBuf,
    world: Arc<Mutex<World>>,
}

impl FakeHost {
    /// Starts a host whose clones are in a folder.
    pub(super) fn start(kind: Kind, root: &Path) -> Self {
        std::fs::create_dir_all(root).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let world = Arc::new(Mutex::new(World { page: 100, next: 1, ..World::default() }));
        let shared =
            Shared { url: url.clone(), kind, root: root.to_owned(), world: Arc::clone(&world) };
        let router = Router::new().fallback(answer).with_state(shared);
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self { url, kind, root: root.to_owned(), world, _runtime: runtime }
    }

    pub(super) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    /// Returns the folder of a repository on the host.
    pub(super) fn folder(&self, id: u64) -> PathBuf {
        self.root.join(format!("{id}.git"))
    }

    /// Makes a repository with a commit that has a file.
    pub(super) fn add(&self, owner: &str, name: &str, file: &str, text: &str) -> u64 {
        let id = {
            let mut world = self.world();
            world.next += 1;
            world.next
        };
        let folder = self.folder(id);
        git(&self.root, &["init", "--bare", "--quiet", "-b", "main", folder.to_str().unwrap()]);
        let repo = Repo {
            id,
            owner: owner.to_owned(),
            name: name.to_owned(),
            private: false,
            internal: false,
            fork: false,
            archived: false,
            topics: Vec::new(),
            stars: 0,
            kilobytes: 10,
            // Long ago, so that nothing is fetched again only because its push is new.
            pushed_at: 1_700_000_000,
            default_branch: "main".to_owned(),
        };
        self.world().repos.push(repo);
        self.commit(id, "main", file, text);
        id
    }

    /// Pushes a commit with a file to a branch.
    pub(super) fn push(&self, id: u64, branch: &str, file: &str, text: &str) {
        self.commit(id, branch, file, text);
        self.change(id, |repo| repo.pushed_at += 60);
    }

    /// Changes a repository.
    pub(super) fn change(&self, id: u64, change: impl FnOnce(&mut Repo)) {
        change(self.world().repos.iter_mut().find(|repo| repo.id == id).unwrap());
    }

    /// Deletes a repository.
    pub(super) fn delete(&self, id: u64) {
        self.world().repos.retain(|repo| repo.id != id);
        std::fs::remove_dir_all(self.folder(id)).unwrap();
    }

    /// Returns the requests to the API since the last call.
    pub(super) fn requests(&self) -> Vec<Made> {
        let made = std::mem::take(&mut self.world().made);
        made.into_iter().filter(|made| made.path.starts_with("/api/")).collect()
    }

    fn commit(&self, id: u64, branch: &str, file: &str, text: &str) {
        let work = tempfile::tempdir().unwrap();
        let at = work.path();
        let origin = self.folder(id);
        git(at, &["clone", "--quiet", origin.to_str().unwrap(), "."]);
        let is_there = std::process::Command::new("git")
            .args(["rev-parse", "--verify", "--quiet", &format!("origin/{branch}")])
            .current_dir(at)
            .output()
            .unwrap()
            .status
            .success();
        if is_there {
            git(at, &["checkout", "--quiet", "-B", branch, &format!("origin/{branch}")]);
        } else {
            git(at, &["checkout", "--quiet", "-B", branch]);
        }
        std::fs::write(at.join(file), text).unwrap();
        git(at, &["add", "--all"]);
        git(at, &["commit", "--quiet", "--allow-empty", "--message", file]);
        git(at, &["push", "--quiet", "origin", branch]);
    }
}

/// Runs git in a folder.
pub(super) fn git(folder: &Path, args: &[&str]) {
    let done = std::process::Command::new("git")
        .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org"])
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Counts the requests that run.
struct Running(Arc<Mutex<World>>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.lock().unwrap().running -= 1;
    }
}

async fn answer(State(shared): State<Shared>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let full = request.uri().path_and_query().map_or_else(|| path.clone(), ToString::to_string);
    let is_api = path.starts_with("/api/");
    let _running = is_api.then(|| {
        let mut world = shared.world.lock().unwrap();
        world.running += 1;
        world.most = world.most.max(world.running);
        Running(Arc::clone(&shared.world))
    });
    let fault = {
        let mut world = shared.world.lock().unwrap();
        let of = |faults: &BTreeMap<String, Fault>| {
            faults
                .iter()
                .find(|(part, _)| full.contains(&***part))
                .map(|(part, fault)| (part.clone(), fault.clone()))
        };
        match of(&world.once) {
            Some((part, fault)) => {
                world.once.remove(&part);
                Some(fault)
            }
            None => of(&world.faults).map(|(_, fault)| fault),
        }
    };
    if fault == Some(Fault::Hang) {
        note(&shared, &full, 0);
        tokio::time::sleep(Duration::from_hours(1)).await;
    }
    let response = match fault {
        Some(Fault::Status(status, headers)) => {
            let mut response = StatusCode::from_u16(status).unwrap().into_response();
            for (name, value) in headers {
                response.headers_mut().insert(name, value.parse().unwrap());
            }
            response
        }
        Some(Fault::Odd) => "<html>".into_response(),
        fault if is_api => api(&shared, &full, request.headers(), fault.as_ref()),
        fault => {
            let (response, pack) = clone(&shared, &path, request).await;
            if fault == Some(Fault::HalfPack) && pack {
                note(&shared, &full, 0);
                return half(response).await;
            }
            response
        }
    };
    note(&shared, &full, response.status().as_u16());
    response
}

fn note(shared: &Shared, path: &str, status: u16) {
    shared.world.lock().unwrap().made.push(Made { path: path.to_owned(), status });
}

/// Answers a request to the API.
fn api(shared: &Shared, full: &str, headers: &HeaderMap, fault: Option<&Fault>) -> Response {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let world = shared.world.lock().unwrap();
    if let Some(token) = &world.token {
        let expected = match shared.kind {
            Kind::GitHub => text("authorization") == Some(&format!("Bearer {token}")),
            Kind::GitLab => text("private-token") == Some(token),
            Kind::Gitea => text("authorization") == Some(&format!("token {token}")),
        };
        if !expected {
            return StatusCode::UNAUTHORIZED.into_response();
        }
    }
    let (path, query) = full.split_once('?').unwrap_or((full, ""));
    let path = path.strip_prefix(shared.kind.api()).unwrap_or_default();
    let path = percent_decode(path);
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let shape = |repo: &&Repo| shape(shared, repo);
    let one = |repo: Option<&Repo>| match repo {
        Some(repo) => named(shared.kind, headers, &self::shape(shared, repo), &[]),
        None => StatusCode::NOT_FOUND.into_response(),
    };
    let by_id = |id: &str| world.repos.iter().find(|repo| repo.id.to_string() == id);
    let by_path =
        |path: &str| world.repos.iter().find(|repo| repo.path().eq_ignore_ascii_case(path));
    let of_owner: Vec<&Repo> = match (shared.kind, &parts[..]) {
        (Kind::GitHub | Kind::Gitea, ["repositories", id]) | (Kind::GitLab, ["projects", id]) => {
            return one(by_id(id));
        }
        (Kind::GitHub | Kind::Gitea, ["repos", owner, name]) => {
            return one(by_path(&format!("{owner}/{name}")));
        }
        (Kind::GitLab, ["projects", path @ ..]) if path.len() > 1 => {
            return one(by_path(&path.join("/")));
        }
        (Kind::GitHub | Kind::Gitea, ["orgs", owner, "repos"]) if !owner.starts_with("user-") => {
            world.repos.iter().filter(|repo| repo.owner.eq_ignore_ascii_case(owner)).collect()
        }
        (_, ["users", owner, "repos" | "projects"]) if owner.starts_with("user-") => {
            world.repos.iter().filter(|repo| repo.owner.eq_ignore_ascii_case(owner)).collect()
        }
        (Kind::GitLab, ["groups", group @ .., "projects"])
            if !group.join("/").starts_with("user-") =>
        {
            let group = group.join("/");
            let within = |repo: &&Repo| {
                let owner = repo.owner.to_lowercase();
                owner == group || owner.starts_with(&format!("{group}/"))
            };
            world.repos.iter().filter(within).collect()
        }
        (Kind::GitHub, ["user", "repos"]) => Vec::new(),
        (Kind::GitLab, ["projects"]) | (Kind::Gitea, ["repos", "search"]) => {
            world.repos.iter().collect()
        }
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    let is_listing_known = !of_owner.is_empty() || path.contains("user") || path.contains("empty");
    if !is_listing_known && !path.ends_with("/search") && path != "/projects" {
        return StatusCode::NOT_FOUND.into_response();
    }
    let number = query
        .split('&')
        .find_map(|part| part.strip_prefix("page="))
        .map_or(1, |n| n.parse::<usize>().unwrap());
    let pages: Vec<&[&Repo]> = of_owner.chunks(world.page.max(1)).collect();
    let page = pages.get(number - 1).copied().unwrap_or_default();
    let all: Vec<Value> = page.iter().map(shape).collect();
    let body =
        if path.ends_with("/search") { json!({ "ok": true, "data": all }) } else { json!(all) };
    let plain: String =
        query.split('&').filter(|part| !part.starts_with("page=")).collect::<Vec<_>>().join("&");
    let (start, _) = full.split_once('?').unwrap_or((full, ""));
    let host = if fault == Some(&Fault::Elsewhere) { "http://127.0.0.1:1" } else { &shared.url };
    let to = |number: usize| format!("<{host}{start}?{plain}&page={number}>");
    let mut link = Vec::new();
    if number > 1 {
        link.push(format!("{}; rel=\"prev\"", to(number - 1)));
    }
    if number < pages.len() {
        link.push(format!("{}; rel=\"next\"", to(number + 1)));
    }
    link.push(format!("{}; rel=\"last\"", to(pages.len().max(1))));
    let response = named(shared.kind, headers, &body, &[("link", link.join(", "))]);
    if fault == Some(&Fault::Cut) {
        let (mut parts, _) = response.into_parts();
        parts.headers.insert("content-length", "100000".parse().unwrap());
        return Response::from_parts(parts, Body::from("[{\"id\":"));
    }
    response
}

/// Makes an answer with a name of its contents; those of the same name are not sent again. Gitea names none.
fn named(
    kind: Kind,
    headers: &HeaderMap,
    body: &Value,
    more: &[(&'static str, String)],
) -> Response {
    let text = body.to_string();
    if kind == Kind::Gitea {
        let mut response = ([("content-type", "application/json")], text).into_response();
        for (name, value) in more {
            response.headers_mut().insert(*name, value.parse().unwrap());
        }
        return response;
    }
    let hash =
        text.bytes().fold(0_u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let etag = format!("W/\"{hash:x}\"");
    let is_known =
        headers.get("if-none-match").is_some_and(|known| known.as_bytes() == etag.as_bytes());
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([("content-type", "application/json")], text).into_response()
    };
    let own = response.headers_mut();
    if !is_known {
        for (name, value) in more {
            own.insert(*name, value.parse().unwrap());
        }
    }
    own.insert("etag", etag.parse().unwrap());
    response
}

/// Returns a repository as the host shows it.
fn shape(shared: &Shared, repo: &Repo) -> Value {
    let (path, url) = (repo.path(), &shared.url);
    let time = rfc3339(repo.pushed_at);
    match shared.kind {
        Kind::GitHub => json!({
            "id": repo.id, "node_id": "MDEwOlJlcG9zaXRvcnkxMjk2MjY5", "name": repo.name, "full_name": path,
            "owner": { "login": repo.owner, "id": 1, "type": "Organization" },
            "private": repo.private || repo.internal, "visibility": repo.visibility(),
            "html_url": format!("{url}/{path}"), "description": null, "fork": repo.fork,
            "clone_url": format!("{url}/{path}.git"), "ssh_url": format!("git@host:{path}.git"),
            "archived": repo.archived, "disabled": false, "topics": repo.topics,
            "stargazers_count": repo.stars, "size": repo.kilobytes, "default_branch": repo.default_branch,
            "pushed_at": time, "created_at": "2011-01-26T19:01:12Z", "updated_at": "2011-01-26T19:14:43Z",
            "permissions": { "admin": false, "push": false, "pull": true },
        }),
        Kind::GitLab => json!({
            "id": repo.id, "description": "", "name": repo.name, "path": repo.name, "path_with_namespace": path,
            "created_at": "2013-09-30T13:46:02Z", "default_branch": repo.default_branch,
            "topics": repo.topics, "tag_list": repo.topics, "archived": repo.archived,
            "visibility": repo.visibility(),
            "ssh_url_to_repo": format!("git@host:{path}.git"), "http_url_to_repo": format!("{url}/{path}.git"),
            "web_url": format!("{url}/{path}"), "star_count": repo.stars, "last_activity_at": time,
            "forked_from_project": repo.fork.then(|| json!({ "id": 1 })), "empty_repo": false,
            "statistics": { "commit_count": 37, "repository_size": repo.kilobytes * 1024 },
        }),
        Kind::Gitea => json!({
            "id": repo.id, "owner": { "id": 1, "login": repo.owner }, "name": repo.name, "full_name": path,
            "description": "", "empty": false, "private": repo.private, "internal": repo.internal, "fork": repo.fork,
            "template": false, "mirror": false, "size": repo.kilobytes, "html_url": format!("{url}/{path}"),
            "ssh_url": format!("git@host:{path}.git"), "clone_url": format!("{url}/{path}.git"),
            "stars_count": repo.stars, "default_branch": repo.default_branch, "archived": repo.archived,
            "created_at": "2020-01-01T00:00:00Z", "updated_at": time, "topics": repo.topics,
        }),
    }
}

fn rfc3339(seconds: i64) -> String {
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Days since 1970 as a date of the civil calendar.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let (day, month) = (doy - (153 * mp + 2) / 5 + 1, if mp < 10 { mp + 3 } else { mp - 9 });
    let year = yoe + era * 400 + i64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

fn percent_decode(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8().unwrap().into_owned()
}

/// Has an answer stop in its middle, and never end.
async fn half(response: Response) -> Response {
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, 64 << 20).await.unwrap();
    let half = body.slice(..body.len() / 2);
    let rest = futures_util::stream::pending();
    let sent = futures_util::stream::iter([Ok::<_, std::io::Error>(half)]);
    Response::from_parts(parts, Body::from_stream(futures_util::StreamExt::chain(sent, rest)))
}

/// Serves a clone. Also returns whether the answer has objects.
async fn clone(shared: &Shared, path: &str, request: Request) -> (Response, bool) {
    let found = {
        let world = shared.world.lock().unwrap();
        if let Some(token) = &world.token {
            use base64::Engine as _;
            let basic =
                base64::engine::general_purpose::STANDARD.encode(format!("x-access-token:{token}"));
            let given =
                request.headers().get("authorization").and_then(|value| value.to_str().ok());
            if given != Some(&format!("Basic {basic}")) {
                let refusal =
                    (StatusCode::UNAUTHORIZED, [("www-authenticate", "Basic realm=\"host\"")]);
                return (refusal.into_response(), false);
            }
        }
        let within = |repo: &&Repo| path.starts_with(&format!("/{}.git/", repo.path()));
        world.repos.iter().find(within).map(|repo| (repo.id, repo.path()))
    };
    let Some((id, name)) = found else {
        return (StatusCode::NOT_FOUND.into_response(), false);
    };
    let rest = path[name.len() + ".git".len() + 1..].to_owned();
    let method = request.method().clone();
    let query = request.uri().query().unwrap_or_default().to_owned();
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 64 << 20).await.unwrap();
    let (root, is_post) = (shared.root.clone(), method == Method::POST);
    let pack = body.windows(13).any(|part| part == b"command=fetch");
    let run = tokio::task::spawn_blocking(move || {
        backend::run(&root, &format!("/{id}.git{rest}"), &query, is_post, &parts.headers, &body)
    });
    (run.await.unwrap(), pack)
}
