//! A codesearch server under measurement, and its clients.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use ureq::http::Response;
use ureq::{Agent, Body};

use super::queries::Query;

const BINARY: &str = env!("CARGO_BIN_EXE_codesearch");

/// A running server. Stops when dropped.
pub struct Server {
    child: Child,
    url: String,
    agent: Agent,
}

/// An answer, and the milliseconds until all of it was read.
pub struct Answer {
    pub ms: f64,
    pub files: usize,
    /// The server's own statistics.
    pub stats: Value,
}

/// Returns the command of the program on an index; without a home, its environment names the
/// database.
pub fn codesearch(home: Option<&Path>, index: Option<&str>) -> Command {
    let mut command = Command::new(BINARY);
    if let Some(home) = home {
        command.env_remove("DATABASE_URL").arg("--home").arg(home);
    }
    if let Some(index) = index {
        command.args(["--index", index]);
    }
    command
}

/// Runs a command until it ends, and returns its standard output.
pub fn run(mut command: Command) -> std::io::Result<String> {
    let out = command.stderr(Stdio::inherit()).output()?;
    if !out.status.success() {
        return Err(std::io::Error::other(format!("{command:?} ended with {}", out.status)));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// Returns an agent that reads answers of any size and any status.
pub fn agent() -> Agent {
    Agent::config_builder().http_status_as_error(false).build().new_agent()
}

/// Returns such an agent that opens a connection for each request, as many programs do.
pub fn connecting_agent() -> Agent {
    let config = Agent::config_builder().http_status_as_error(false);
    config.max_idle_connections(0).max_idle_connections_per_host(0).build().new_agent()
}

impl Server {
    /// Starts a server, and returns once it listens.
    pub fn start(home: Option<&Path>, index: Option<&str>, more: &[&str]) -> std::io::Result<Self> {
        let mut command = codesearch(home, index);
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(more).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut line)?;
        let url = line
            .trim()
            .strip_prefix("serving on ")
            .map(str::to_owned)
            .ok_or_else(|| std::io::Error::other("the server does not start"))?;
        Ok(Self { child, url, agent: agent() })
    }

    /// Makes it use a new connection for each request.
    pub fn with_new_connections(mut self) -> Self {
        self.agent = connecting_agent();
        self
    }

    /// Returns its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the URL of a query.
    pub fn address(&self, query: &Query, limit: usize) -> String {
        let q = query.codesearch();
        let q = utf8_percent_encode(&q, NON_ALPHANUMERIC);
        format!("{}search?limit={limit}&timeout=2m&q={q}", self.url)
    }

    /// Sends a query; a limit of 0 is none.
    pub fn ask(&self, query: &Query, limit: usize) -> std::io::Result<Answer> {
        let address = self.address(query, limit);
        let ask = || self.agent.get(&address).call();
        let (ms, answer) = timed(ask, |answer| serde_json::from_slice::<Value>(answer))?;
        let answer = answer?;
        let stats = answer["stats"].clone();
        match stats["files"].as_u64() {
            Some(files) => Ok(Answer { ms, files: files as usize, stats }),
            None => Err(std::io::Error::other(format!("{}: {answer}", query.name()))),
        }
    }

    /// Returns the milliseconds and the whole answer of a path on this server. Fails unless the
    /// status is a success.
    pub fn get(&self, path: &str) -> std::io::Result<(f64, Vec<u8>)> {
        get(&self.agent, &format!("{}{}", self.url, path.trim_start_matches('/')))
    }

    /// Sends requests from several clients at once, as [`load`] does.
    pub fn load(
        &self,
        clients: usize,
        time: Duration,
        path: impl Fn(usize) -> String + Sync,
    ) -> std::io::Result<Vec<f64>> {
        load(&self.url, clients, time, path)
    }

    /// Waits until the server has read its part of the index into memory, that is, until its memory has not grown for
    /// some seconds. While it reads symbols, its memory hardly grows.
    pub fn settle(&self) {
        let (mut last, mut quiet) = (0, 0);
        while quiet < 5 {
            std::thread::sleep(Duration::from_secs(2));
            let now = memory_kb(self.pid());
            quiet = if now <= last + last / 200 { quiet + 1 } else { 0 };
            last = now;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Interrupts it as Ctrl-C would, so that its Postgres shuts down cleanly.
        let _ = Command::new("kill").args(["-INT", &self.pid().to_string()]).status();
        let _ = self.child.wait();
    }
}

/// Sends requests from several clients at once for some time. Each client requests the next path
/// below a URL as soon as it has its answer. Returns the milliseconds of each request.
pub fn load(
    url: &str,
    clients: usize,
    time: Duration,
    path: impl Fn(usize) -> String + Sync,
) -> std::io::Result<Vec<f64>> {
    let (begun, path) = (Instant::now(), &path);
    let client = |first: usize| {
        let (agent, mut ms, mut number) = (agent(), Vec::new(), first);
        while begun.elapsed() < time {
            let path = path(number);
            ms.push(get(&agent, &format!("{url}{}", path.trim_start_matches('/')))?.0);
            number += clients;
        }
        Ok::<_, std::io::Error>(ms)
    };
    let (client, mut all) = (&client, Vec::new());
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..clients).map(|first| scope.spawn(move || client(first))).collect();
        for thread in threads {
            all.extend(thread.join().expect("a client ends")?);
        }
        Ok::<_, std::io::Error>(())
    })?;
    Ok(all)
}

/// Returns the milliseconds and the whole answer of a URL. Fails unless the status is a success.
fn get(agent: &Agent, url: &str) -> std::io::Result<(f64, Vec<u8>)> {
    let mut status = None;
    let ask = || {
        let answer = agent.get(url).call()?;
        status = Some(answer.status());
        Ok(answer)
    };
    let (ms, answer) = timed(ask, <[u8]>::to_vec)?;
    if status.is_some_and(|status| status.is_success()) {
        return Ok((ms, answer));
    }
    let text = String::from_utf8_lossy(&answer);
    Err(std::io::Error::other(format!("{url}: {}: {text}", status.unwrap_or_default())))
}

thread_local! {
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Sends a request and converts its answer. Also returns the milliseconds until all of it was read.
/// The buffer is reused, since getting new pages for megabytes would take the client longer than
/// reading them.
pub fn timed<T>(
    ask: impl FnOnce() -> Result<Response<Body>, ureq::Error>,
    make: impl FnOnce(&[u8]) -> T,
) -> std::io::Result<(f64, T)> {
    ANSWER.with_borrow_mut(|bytes| {
        bytes.clear();
        let begun = Instant::now();
        let answer = ask().map_err(std::io::Error::other)?;
        answer.into_body().into_reader().read_to_end(bytes)?;
        Ok((begun.elapsed().as_secs_f64() * 1000.0, make(bytes)))
    })
}

/// Returns a process's proportional set size in kB: its private memory and its share of shared
/// memory.
pub fn memory_kb(pid: u32) -> u64 {
    let read = |file: &str, key: &str| -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
        text.lines().find(|line| line.starts_with(key))?.split_whitespace().nth(1)?.parse().ok()
    };
    read("smaps_rollup", "Pss:").or_else(|| read("status", "VmRSS:")).unwrap_or(0)
}

/// Returns the ids of a home's Postgres and its child processes.
pub fn postgres_pids(home: &Path) -> Vec<u32> {
    let pidfile: PathBuf = home.join("data/postmaster.pid");
    let Some(first) = std::fs::read_to_string(pidfile)
        .ok()
        .and_then(|text| text.lines().next()?.trim().parse::<u32>().ok())
    else {
        return Vec::new();
    };
    let mut pids = vec![first];
    let children = format!("/proc/{first}/task/{first}/children");
    let children = std::fs::read_to_string(children).unwrap_or_default();
    pids.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    pids
}
