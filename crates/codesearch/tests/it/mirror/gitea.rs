//! The same with a real Gitea, whose program `CODESEARCH_GITEA` names. A program that was built without its files
//! (`go build` of the module, without `bindata`) needs their folder, too: `CODESEARCH_GITEA_FILES`, the source's.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{Fixture, Ran, eventually};

/// A running Gitea, which ends with the test.
struct Gitea {
    url: String,
    token: String,
    child: Child,
}

impl Gitea {
    /// Starts it in a folder; `None` if there is none.
    fn start(folder: &Path) -> Option<Self> {
        let Some(program) = std::env::var_os("CODESEARCH_GITEA").map(PathBuf::from) else {
            eprintln!(
                "left out: set CODESEARCH_GITEA to the program of Gitea to mirror a real one"
            );
            return None;
        };
        std::fs::create_dir_all(folder).unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let url = format!("http://127.0.0.1:{port}");
        let files = std::env::var("CODESEARCH_GITEA_FILES");
        let files = files.map(|files| format!("STATIC_ROOT_PATH = {files}")).unwrap_or_default();
        let at = folder.display();
        let config = format!(
            "I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true\nRUN_MODE = prod\nWORK_PATH = {at}\n[server]\n\
             HTTP_ADDR = 127.0.0.1\nHTTP_PORT = {port}\nROOT_URL = {url}/\n{files}\nDISABLE_SSH = true\n\
             OFFLINE_MODE = true\n[database]\nDB_TYPE = sqlite3\nPATH = {at}/gitea.db\n[repository]\nROOT = {at}/repos\n\
             [security]\nINSTALL_LOCK = true\n[log]\nLEVEL = error\n[service]\nDISABLE_REGISTRATION = true\n"
        );
        std::fs::write(folder.join("app.ini"), config).unwrap();
        let run = |args: &[&str]| -> String {
            let mut command = Command::new(&program);
            command.arg("--config").arg(folder.join("app.ini")).args(args).current_dir(folder);
            let done = command.output().unwrap();
            let text = String::from_utf8_lossy(&done.stdout).into_owned();
            assert!(
                done.status.success(),
                "{args:?}: {text}{}",
                String::from_utf8_lossy(&done.stderr)
            );
            text
        };
        run(&["migrate"]);
        run(&[
            "admin",
            "user",
            "create",
            "--username",
            "ann",
            "--password",
            "passw0rd-x",
            "--email",
            "ann@example.org",
            "--admin",
            "--must-change-password=false",
        ]);
        let token = run(&[
            "admin",
            "user",
            "generate-access-token",
            "--username",
            "ann",
            "--scopes",
            "all",
            "--raw",
        ]);
        let token = token.split_whitespace().last().unwrap().to_owned();
        let mut command = Command::new(&program);
        command.arg("--config").arg(folder.join("app.ini")).arg("web").current_dir(folder);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let gitea = Self { url, token, child };
        let alone = ureq::Agent::new_with_defaults();
        let version = format!("{}/api/v1/version", gitea.url);
        eventually("Gitea answers", || alone.get(&version).call().is_ok());
        Some(gitea)
    }

    /// Sends a request to the API; returns the status and the answer.
    fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let agent: ureq::Agent =
            ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}/api/v1{path}", self.url))
            .header("authorization", format!("token {}", self.token))
            .header("content-type", "application/json")
            .body(body.to_string())
            .unwrap();
        let mut answer = agent.run(request).unwrap();
        let text = answer.body_mut().read_to_string().unwrap();
        (answer.status().as_u16(), serde_json::from_str(&text).unwrap_or_default())
    }

    #[track_caller]
    fn make(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.ask("POST", path, body);
        assert_eq!(status, 201, "{path}: {answer}");
        answer
    }

    /// Commits a file to a branch of a repository, on the host.
    fn push(&self, repo: &str, branch: &str, file: &str, text: &str) {
        use base64::Engine as _;
        let content = base64::engine::general_purpose::STANDARD.encode(text);
        let body = json!({ "content": content, "branch": branch, "message": "m" });
        self.make(&format!("/repos/{repo}/contents/{file}"), &body);
    }
}

impl Drop for Gitea {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_real_gitea_is_kept_in_step() {
    let fixture = Fixture::new();
    let Some(gitea) = Gitea::start(&fixture.path().join("gitea")) else { return };
    fixture.run(&["init", "--shards", "4"]).code(0);
    gitea.make("/orgs", &json!({ "username": "acme" }));
    let mut ids = Vec::new();
    for n in 0..4 {
        let private = n == 3;
        let body = json!({ "name": format!("r{n}"), "auto_init": true, "default_branch": "main", "private": private });
        ids.push(gitea.make("/orgs/acme/repos", &body)["id"].as_u64().unwrap());
        gitea.push(&format!("acme/r{n}"), "main", "a.txt", "needle\n");
    }
    fixture.write("token", &gitea.token);
    let configure = |kind: &str, lines: &str| {
        let url = &gitea.url;
        fixture.write(
            "codesearch.toml",
            format!(
                "[host.work]\nkind = \"{kind}\"\nurl = \"{url}\"\n{lines}\n[mirror]\ninto = \"clones\"\ngrace = \"1s\"\n"
            ),
        );
    };
    let mirror = |args: &[&str]| -> Ran {
        fixture.run(&[&["mirror", "--settings", "codesearch.toml"], args].concat())
    };
    let found = |word: &str| -> Vec<String> {
        let lines = fixture.search(&["-l", word]);
        lines.into_iter().map(|line| line.replacen("127.0.0.1/", "", 1)).collect()
    };
    // Without a token, the private one is not seen.
    configure("gitea", "take = [\"acme\"]");
    let ran = mirror(&["--dry-run"]).code(0);
    assert!(ran.out.contains("in all: 3 to take, 0 to leave, 0 to drop"), "{}", ran.out);
    configure("forgejo", "take = [\"acme\"]\ntoken = \"file:token\"");
    mirror(&[]).code(0);
    assert_eq!(found("needle").len(), 4);
    // A push, a branch, a rename, a deletion.
    gitea.push("acme/r0", "main", "b.txt", "needle pushed\n");
    let branch = json!({ "new_branch_name": "topic", "old_branch_name": "main" });
    gitea.make("/repos/acme/r3/branches", &branch);
    gitea.push("acme/r3", "topic", "c.txt", "needle branch\n");
    assert_eq!(gitea.ask("PATCH", "/repos/acme/r1", &json!({ "name": "renamed" })).0, 200);
    let id = |name: &str| {
        fixture.sql::<Option<i32>>(&format!(
            "select min(id) from repos where name = '127.0.0.1/acme/{name}'"
        ))
    };
    let before = id("r1");
    eventually("the pushes are listed and found", || {
        mirror(&[]).code(0);
        !found("pushed").is_empty() && !found("rev:topic branch").is_empty()
    });
    assert_eq!((id("r1"), id("renamed")), (None, before));
    assert_eq!(gitea.ask("DELETE", "/repos/acme/r2", &json!({})).0, 204);
    let ran = mirror(&[]).code(0);
    assert!(ran.err.contains("hidden: acme/r2 (the host has it no more)"), "{}", ran.err);
    let mut repos = found("needle");
    repos.retain(|path| path.ends_with("a.txt"));
    assert_eq!(repos, ["acme/r0/a.txt", "acme/r3/a.txt", "acme/renamed/a.txt"]);
    // A repository that is named alone is found by its old name.
    configure("gitea", "take = [\"acme/r1\", \"acme/r0\", \"acme/r3\"]\ntoken = \"file:token\"");
    let ran = mirror(&[]).code(0);
    assert!(ran.out.contains("in step: 3 repositories"), "{}{}", ran.out, ran.err);
    configure("gitea", "take = [\"**\"]\ntoken = \"file:token\"");
    let ran = mirror(&["--dry-run"]).code(0);
    assert!(ran.out.contains("in all: 3 to take, 0 to leave, 0 to drop"), "{}", ran.out);
    // A token that is refused.
    fixture.write("token", "0123456789abcdef0123456789abcdef01234567");
    let ran = mirror(&[]).code(2);
    assert!(ran.err.contains("refuses the token (status 401)"), "{}", ran.err);
    assert_eq!(found("needle").len(), 4);
    fixture.check_invariants();
}
