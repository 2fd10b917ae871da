//! Zoekt: its index, its server, and its queries.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::args::Args;
use crate::rows::Times;
use crate::shared::queries::{QUERIES, Query};
use crate::shared::server;
use crate::shared::summary::median;
use crate::shared::watch::{cost, read_all};
use crate::{Result, format_cost, installed};

/// A zoekt-webserver with its index.
pub(crate) struct Zoekt {
    pub(crate) child: Child,
    pub(crate) url: String,
    pub(crate) index: PathBuf,
    pub(crate) agent: ureq::Agent,
}

impl Zoekt {
    pub(crate) fn prepare(args: &Args, notes: &mut String) -> Result<Option<Self>> {
        if !installed("zoekt-webserver") || !installed("zoekt-index") {
            notes.push_str("zoekt is left out: no zoekt-index and zoekt-webserver in PATH\n");
            return Ok(None);
        }
        let index = args.zoekt_index.clone().unwrap_or_else(|| args.work.join("zoekt"));
        let told = args.work.join("zoekt-indexed");
        if index.is_dir() {
            let told = std::fs::read_to_string(told).ok();
            notes.push_str(&told.unwrap_or_else(|| "zoekt-index: made before, not timed\n".into()));
        } else {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            let mut command = Command::new("zoekt-index");
            command
                .args(["-disable_ctags", "-file_limit", "1048576", "-parallelism"])
                .arg(cores.to_string())
                .arg("-index")
                .arg(&index)
                .arg(&args.corpus)
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            read_all(&args.corpus)?;
            let line = format_cost("zoekt-index -disable_ctags", &cost(command, None)?);
            std::fs::write(&told, &line)?;
            notes.push_str(&line);
        }
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let child = Command::new("zoekt-webserver")
            .args(["-rpc", "-index"])
            .arg(&index)
            .args(["-listen", &format!("127.0.0.1:{port}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let url = format!("http://127.0.0.1:{port}/api/search");
        let agent = if args.new_connections { server::connecting_agent() } else { server::agent() };
        let zoekt = Self { child, url, index, agent };
        let begun = Instant::now();
        let first = QUERIES.first().expect("there are queries");
        // The server answers before all of its index is loaded.
        let mut last = 0;
        while begun.elapsed() < Duration::from_mins(3) {
            std::thread::sleep(Duration::from_secs(5));
            let Ok((_, files)) = zoekt.ask(first, 0, false) else { continue };
            if files > 0 && files == last {
                return Ok(Some(zoekt));
            }
            last = files;
        }
        Err(std::io::Error::other("zoekt-webserver does not get ready"))
    }

    /// Returns the body of a request. With a limit, it has either the options of the reference
    /// experiment, or the defaults of Zoekt's web page.
    pub(crate) fn body(query: &Query, limit: usize, as_page: bool) -> String {
        const MANY: u64 = 1_000_000_000;
        let options = match (limit, as_page) {
            (0, _) => json!({
                "ShardMaxMatchCount": MANY, "TotalMaxMatchCount": MANY, "MaxDocDisplayCount": MANY,
            }),
            (limit, false) => json!({
                "ShardMaxMatchCount": MANY, "TotalMaxMatchCount": 10 * limit,
                "MaxDocDisplayCount": limit,
            }),
            (limit, true) => json!({ "MaxDocDisplayCount": limit }),
        };
        json!({ "Q": query.zoekt(), "Opts": options }).to_string()
    }

    /// Sends a query, and returns the milliseconds and the number of files of the answer.
    pub(crate) fn ask(&self, query: &Query, limit: usize, as_page: bool) -> Result<(f64, usize)> {
        let body = Self::body(query, limit, as_page);
        let ask = || self.agent.post(&self.url).send(&body);
        let (ms, answer) = server::timed(ask, |answer| serde_json::from_slice::<Value>(answer))?;
        let answer = answer?;
        Ok((ms, answer["Result"]["Files"].as_array().map_or(0, Vec::len)))
    }
}

/// Returns the variant with the lower median, among those that find at least as many files as the
/// first.
pub(crate) fn better(ways: Vec<Times>) -> Times {
    let least = ways[0].files;
    let enough = ways.into_iter().filter(|way| way.files >= least);
    let best = enough.min_by(|a, b| median(&a.ms).total_cmp(&median(&b.ms)));
    best.expect("the first one finds as many as itself")
}

impl Drop for Zoekt {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
