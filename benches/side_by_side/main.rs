//! `cargo bench --bench side_by_side -- CORPUS`: codesearch compared with its peers, in one run on one machine.
//!
//! Peers: Zoekt (`zoekt-index` and `zoekt-webserver` in PATH), ripgrep (`rg` in PATH), and the naive design in the same
//! Postgres: one table with a row for each file, and its variant of 200 tables. The report names peers that are not
//! installed and leaves them out. Every answer is read completely. The report has its number of files next to its time,
//! to show differences in the answers.
//!
//!     --depth N        as for codesearch ingest: repositories are N levels below CORPUS (2)
//!     --work DIR       where indexes are made; existing ones are reused
//!     --zoekt-index DIR   an index of the same corpus made by zoekt-index
//!     --runs N         least number of runs of each query (5); quick ones run up to 30 times in 2 s
//!     --without PEERS  peers to leave out: zoekt,ripgrep,naive
//!     --only TEXT      only queries whose names contain TEXT
//!     --words          queries of several words instead, for codesearch and Zoekt
//!     --classes        queries of several classes instead, for these two, with a mean for each class
//!     --cache MIB      memory for texts, as for codesearch serve; 0 for none
//!     --name NAME      name of the record (side-by-side)

#[path = "../shared/mod.rs"]
mod shared;

mod args;
mod naive;
mod report;
mod ripgrep;
mod rows;
mod throughput;
mod zoekt;

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use args::args;
use naive::TABLES;
use report::{line, record, report, sizes};
use rows::{LIMITS, Row, Times};
use shared::classes::CLASSES;
use shared::queries::{Kind, QUERIES, Query, WORDS};
use shared::server::{self, Server, codesearch, memory_kb, postgres_pids};
use shared::summary::median;
use shared::watch::{Cost, cost, megabytes, read_all};
use throughput::{mixed, throughput};
use zoekt::{Zoekt, better};

/// Maximum number of rounds of a query with quick answers, and the time after which no round begins. The median of five
/// answers of 0.2 ms would tell more about other work on the machine than about the engines.
const MOST_RUNS: usize = 30;
const ENOUGH: Duration = Duration::from_secs(2);

/// Pause before memory is measured.
const SETTLING: Duration = Duration::from_secs(15);

type Result<T> = std::io::Result<T>;

fn main() {
    shared::end("side_by_side", bench());
}

fn bench() -> Result<()> {
    let args = args();
    let mut notes = String::new();
    std::fs::create_dir_all(&args.work)?;

    let home = args.work.join("codesearch");
    // Keeps Postgres running, so that its cost can be measured.
    let mut hold = hold(&home)?;
    if !home.join("ingested").exists() {
        let mut ingest = codesearch(Some(&home), None);
        ingest.args(["ingest", "--depth", &args.depth]).arg(&args.corpus).stdout(Stdio::null());
        read_all(&args.corpus)?;
        let cost = cost(ingest, Some(&home))?;
        std::fs::write(home.join("ingested"), format_cost("codesearch ingest", &cost))?;
    }
    notes.push_str(&std::fs::read_to_string(home.join("ingested"))?);

    let wants = |peer: &str| !args.without.split(',').any(|left| left == peer);
    let zoekt = if wants("zoekt") { Zoekt::prepare(&args, &mut notes)? } else { None };
    let rg = wants("ripgrep") && !args.is_for_two() && installed("rg");
    if !rg {
        notes.push_str("ripgrep is left out: no rg in PATH, or not wanted\n");
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let naive = wants("naive") && !args.is_for_two();
    if naive {
        notes.push_str(&runtime.block_on(naive::build(&home)).map_err(std::io::Error::other)?);
    } else {
        notes.push_str("the naive design is left out: not wanted\n");
    }

    let cache = args.cache.iter().flat_map(|mib| ["--cache", mib]).collect::<Vec<_>>();
    let mut server = Server::start(Some(&home), None, &cache)?;
    if args.new_connections {
        server = server.with_new_connections();
        notes.push_str("a new connection for each request\n");
    }
    server.settle();
    let wanted = |query: &&Query| {
        let asked = args.is_for_two() || query.is_for_all();
        asked && args.only.as_ref().is_none_or(|text| query.name().contains(text))
    };
    let mut rows = Vec::new();
    let queries = match (args.words, args.classes) {
        (true, _) => WORDS,
        (_, true) => CLASSES,
        _ => QUERIES,
    };
    for query in queries.iter().filter(wanted) {
        let ripgrep = if rg { Some(ripgrep::ask(query, &args.corpus)?) } else { None };
        for limit in LIMITS {
            let runs = if limit == 0 { args.runs.min(3) } else { args.runs };
            let mut row = Row {
                query,
                limit,
                ours: Times::default(),
                server_ms: 0.0,
                zoekt: None,
                ripgrep: ripgrep.clone(),
                naive: None,
                tables: None,
            };
            // Codesearch and the ways to query Zoekt take turns, so that other work on the machine affects all alike.
            // Three of them run in all six orders over six rounds, since each fills the processor's caches for the
            // next.
            let ways: &[bool] = if limit == 0 { &[false] } else { &[false, true] };
            let mut by_way = vec![Times::default(); ways.len()];
            let mut server_ms = Vec::new();
            let begun = Instant::now();
            for round in 0..runs.max(MOST_RUNS) {
                if round >= runs && begun.elapsed() > ENOUGH {
                    break;
                }
                for turn in 0..=ways.len() {
                    let turn = if round % 2 == 0 { turn } else { ways.len() - turn };
                    let who = (round / 2 + turn) % (ways.len() + 1);
                    if let Some(way) = who.checked_sub(1) {
                        if let Some(zoekt) = &zoekt {
                            let (ms, files) = zoekt.ask(query, limit, ways[way])?;
                            by_way[way].ms.push(ms);
                            by_way[way].files = files;
                        }
                    } else {
                        let answer = server.ask(query, limit)?;
                        row.ours.ms.push(answer.ms);
                        row.ours.files = answer.files;
                        server_ms.extend(answer.stats["duration_ms"].as_f64());
                    }
                }
            }
            row.zoekt = zoekt.as_ref().map(|_| better(by_way));
            row.server_ms = median(&server_ms);
            // These take seconds, so they run only at limit 100 and without a limit.
            if naive && matches!(limit, 100 | 0) && query.kind != Kind::Scan {
                row.naive = Some(runtime.block_on(naive::ask(&home, query, limit, 1))?);
                row.tables = Some(runtime.block_on(naive::ask(&home, query, limit, TABLES))?);
            }
            println!("{}", line(&row));
            rows.push(row);
        }
    }
    // The allocator returns free memory some seconds later.
    std::thread::sleep(SETTLING);
    let ours = memory_kb(server.pid());
    let postgres: u64 = postgres_pids(&home).into_iter().map(memory_kb).sum();
    let _ = writeln!(
        notes,
        "memory some seconds after all queries: codesearch {} MB, with its Postgres and its buffers {} MB{}",
        megabytes(ours),
        megabytes(ours + postgres),
        zoekt.as_ref().map_or(String::new(), |z| format!(
            ", zoekt-webserver {} MB resident (what it has mapped of its index counts)",
            megabytes(memory_kb(z.child.id()))
        )),
    );
    notes.push_str(&throughput("codesearch", |n| {
        let query = mixed(n);
        let address = server.address(query, 100);
        Box::new(move |agent| server::timed(|| agent.get(&address).call(), |_| ()).map(|_| ()))
    }));
    // Like a single search, in both ways: which one is faster depends on the queries.
    for (name, as_page) in [("as in the reference experiment", false), ("as its page asks", true)] {
        let Some(zoekt) = &zoekt else { break };
        notes.push_str(&throughput(&format!("zoekt-webserver, {name}"), |n| {
            let (url, body) = (zoekt.url.clone(), Zoekt::body(mixed(n), 100, as_page));
            Box::new(move |agent| {
                server::timed(|| agent.post(&url).send(&body), |_| ()).map(|_| ())
            })
        }));
    }
    let text = report(&rows, &args, &notes, &sizes(&home, zoekt.as_ref(), &runtime)?);
    println!("\n{text}");
    shared::record(&format!("{}.txt", args.name), &text)?;
    shared::record(&format!("{}.json", args.name), &record(&rows, &notes))?;
    drop(server);
    drop(zoekt);
    drop(hold.stdin.take());
    hold.wait()?;
    Ok(())
}

fn installed(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|folder| folder.join(program).is_file())
}

/// Starts a program that keeps the Postgres of a home running until its standard input closes.
fn hold(home: &Path) -> Result<Child> {
    let mut hold = codesearch(Some(home), None);
    let mut child =
        hold.args(["db", "hold"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut line)?;
    Ok(child)
}

fn format_cost(what: &str, cost: &Cost) -> String {
    format!(
        "{what}: {:.0} s, {:.0} s of processor time, at most {} MB of memory\n",
        cost.seconds, cost.cpu_seconds, cost.peak_mb
    )
}
