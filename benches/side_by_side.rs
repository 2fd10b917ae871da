//! `cargo bench --bench side_by_side -- CORPUS`: codesearch beside its peers, in one go on one machine.
//!
//! Peers: Zoekt (`zoekt-index` and `zoekt-webserver` in PATH), ripgrep (`rg` in PATH), and the naive design
//! in the same Postgres: one table with a row for each file, and its variant of 200 tables. Peers that
//! are not installed are left out by name. Every answer is read whole, and its number of files stands
//! beside the time, so that a difference shows.
//!
//!     --depth N        as for codesearch ingest: repositories are N levels below CORPUS (2)
//!     --work DIR       where indexes are made; those that are there already are used again
//!     --zoekt-index DIR   an index of the same corpus that zoekt-index made
//!     --runs N         times each query is asked at least (5); quick ones up to 30 times in 2 s
//!     --without PEERS  peers to leave out: zoekt,ripgrep,naive
//!     --only TEXT      queries whose names hold a text
//!     --words          queries of several words instead, by the engines that know such: codesearch and Zoekt
//!     --name NAME      of the record (side-by-side)

mod shared;

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shared::queries::{Kind, QUERIES, Query, WORDS};
use shared::server::{self, Server, codesearch, memory_kb, postgres_pids, run};
use shared::summary::{geometric_mean, median, quantile};
use shared::watch::{Cost, bytes_in, cost, megabytes, read_all};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Connection, Executor};

/// 0 is none.
const LIMITS: [usize; 4] = [10, 100, 1000, 0];

/// Tables of the naive design's variant.
const TABLES: usize = 200;

/// Clients at once when throughput is measured, and for how long.
const CLIENTS: usize = 64;
const THROUGHPUT: Duration = Duration::from_secs(15);

/// Rounds of a query whose answers are quick, and the time after which no more are begun: a median of five
/// answers of 0.2 ms says more about what else the machine did than about who is faster.
const MOST_RUNS: usize = 30;
const ENOUGH: Duration = Duration::from_secs(2);

/// How long nothing is asked before memory is measured.
const SETTLING: Duration = Duration::from_secs(15);

type Result<T> = std::io::Result<T>;

struct Args {
    corpus: PathBuf,
    depth: String,
    work: PathBuf,
    zoekt_index: Option<PathBuf>,
    runs: usize,
    without: String,
    words: bool,
    only: Option<String>,
    name: String,
}

/// Milliseconds of each run, and the files of the answer.
#[derive(Clone, Debug, Default)]
struct Times {
    ms: Vec<f64>,
    files: usize,
}

/// One query at one limit, by each engine that was asked.
struct Row {
    query: &'static Query,
    limit: usize,
    ours: Times,
    server_ms: f64,
    zoekt: Option<Times>,
    ripgrep: Option<Times>,
    naive: Option<Times>,
    tables: Option<Times>,
}

fn main() {
    shared::end("side_by_side", bench());
}

fn bench() -> Result<()> {
    let args = args();
    let mut notes = String::new();
    std::fs::create_dir_all(&args.work)?;

    let home = args.work.join("codesearch");
    // Keeps the Postgres running, so that its cost can be told.
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
    let rg = wants("ripgrep") && !args.words && installed("rg");
    if !rg {
        notes.push_str("ripgrep is left out: no rg in PATH, or not wanted\n");
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let naive = wants("naive") && !args.words;
    if naive {
        notes.push_str(&runtime.block_on(build_naive(&home)).map_err(std::io::Error::other)?);
    } else {
        notes.push_str("the naive design is left out: not wanted\n");
    }

    let server = Server::start(Some(&home), None, &[])?;
    server.settle();
    let wanted = |query: &&Query| {
        let asked = args.words || query.is_for_all();
        asked && args.only.as_ref().is_none_or(|text| query.name().contains(text))
    };
    let mut rows = Vec::new();
    let queries = if args.words { WORDS } else { QUERIES };
    for query in queries.iter().filter(wanted) {
        let ripgrep = if rg { Some(ask_ripgrep(query, &args.corpus)?) } else { None };
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
            // In turn, so that what else the machine does falls on all. In six rounds they stand in all six
            // orders, since who comes after another finds the processor's caches full of something else.
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
            // These take seconds: the cheapest and the dearest limit say enough.
            if naive && matches!(limit, 100 | 0) && query.kind != Kind::Scan {
                row.naive = Some(runtime.block_on(ask_naive(&home, query, limit, 1))?);
                row.tables = Some(runtime.block_on(ask_naive(&home, query, limit, TABLES))?);
            }
            println!("{}", line(&row));
            rows.push(row);
        }
    }
    // What is free is given back some seconds later.
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
    if let Some(zoekt) = &zoekt {
        notes.push_str(&throughput("zoekt-webserver", |n| {
            let (url, body) = (zoekt.url.clone(), Zoekt::body(mixed(n), 100, false));
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

fn args() -> Args {
    let mut args = Args {
        corpus: PathBuf::new(),
        depth: "2".to_owned(),
        work: std::env::temp_dir().join("codesearch-side-by-side"),
        zoekt_index: None,
        runs: 5,
        without: String::new(),
        words: false,
        only: None,
        name: "side-by-side".to_owned(),
    };
    let mut given = std::env::args().skip(1);
    while let Some(arg) = given.next() {
        let mut value = || given.next().unwrap_or_default();
        match arg.as_str() {
            "--depth" => args.depth = value(),
            "--work" => args.work = shared::path(&value()),
            "--zoekt-index" => args.zoekt_index = Some(shared::path(&value())),
            "--runs" => {
                args.runs = value().parse().ok().filter(|runs| *runs > 0).unwrap_or_else(|| {
                    eprintln!("side_by_side: --runs wants a number from 1 on");
                    std::process::exit(2);
                });
            }
            "--without" => args.without = value(),
            "--words" => args.words = true,
            "--only" => args.only = Some(value()),
            "--name" => args.name = value(),
            // From cargo.
            "--bench" => {}
            corpus if !corpus.starts_with('-') => args.corpus = shared::path(corpus),
            other => {
                eprintln!("side_by_side: {other} is no option");
                std::process::exit(2);
            }
        }
    }
    if !args.corpus.is_dir() {
        eprintln!(
            "side_by_side: name the folder of the corpus: cargo bench --bench side_by_side -- DIR"
        );
        std::process::exit(2);
    }
    args.corpus = std::fs::canonicalize(&args.corpus).unwrap_or(args.corpus);
    args
}

fn installed(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|folder| folder.join(program).is_file())
}

/// A home whose Postgres runs until its standard input closes.
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

/// A zoekt-webserver with its index.
struct Zoekt {
    child: Child,
    url: String,
    index: PathBuf,
    agent: ureq::Agent,
}

impl Zoekt {
    fn prepare(args: &Args, notes: &mut String) -> Result<Option<Self>> {
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
        let zoekt = Self { child, url, index, agent: server::agent() };
        let begun = Instant::now();
        let first = QUERIES.first().expect("there are queries");
        // It serves before all of its index is loaded.
        let mut last = 0;
        while begun.elapsed() < Duration::from_secs(180) {
            std::thread::sleep(Duration::from_secs(5));
            let Ok((_, files)) = zoekt.ask(first, 0, false) else { continue };
            if files > 0 && files == last {
                return Ok(Some(zoekt));
            }
            last = files;
        }
        Err(std::io::Error::other("zoekt-webserver does not get ready"))
    }

    /// The body of a question. With a limit, either as the reference of this comparison asks, or as its
    /// web page does by default.
    fn body(query: &Query, limit: usize, as_page: bool) -> String {
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

    /// Milliseconds and files of one answer.
    fn ask(&self, query: &Query, limit: usize, as_page: bool) -> Result<(f64, usize)> {
        let body = Self::body(query, limit, as_page);
        let ask = || self.agent.post(&self.url).send(&body);
        let (ms, answer) = server::timed(ask, |answer| serde_json::from_slice::<Value>(answer))?;
        let answer = answer?;
        Ok((ms, answer["Result"]["Files"].as_array().map_or(0, Vec::len)))
    }
}

/// The way to ask with the lower median, among those that find as many files as the first one.
fn better(ways: Vec<Times>) -> Times {
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

/// ripgrep has no limit of files: it is asked once for all limits, the second of two runs counts.
fn ask_ripgrep(query: &Query, corpus: &Path) -> Result<Times> {
    let mut times = Times::default();
    for _ in 0..2 {
        let begun = Instant::now();
        let out = Command::new("rg")
            .args([
                "--no-config",
                "--hidden",
                "--no-ignore",
                "-s",
                "-n",
                "--max-filesize",
                "1M",
                "-e",
            ])
            .arg(query.regex)
            .args(["--heading", "--color", "never"])
            .arg(corpus)
            .output()?;
        times.ms = vec![begun.elapsed().as_secs_f64() * 1000.0];
        let prefix = corpus.to_string_lossy().into_owned();
        times.files = BufReader::new(&*out.stdout)
            .split(b'\n')
            .filter(|line| line.as_ref().is_ok_and(|line| line.starts_with(prefix.as_bytes())))
            .count();
    }
    Ok(times)
}

fn postgres(home: &Path) -> PgConnectOptions {
    PgConnectOptions::new_without_pgpass()
        .socket(home.join("run"))
        .username("codesearch")
        .database("codesearch")
        .options([("search_path", "codesearch,public")])
}

/// Makes the tables of the naive design from what is indexed, unless they are there.
async fn build_naive(home: &Path) -> sqlx::Result<String> {
    let mut conn = PgConnection::connect_with(&postgres(home)).await?;
    conn.execute(
        "create schema if not exists naive; create table if not exists naive.told (line text)",
    )
    .await?;
    let told: Vec<(String,)> =
        sqlx::query_as("select line from naive.told").fetch_all(&mut conn).await?;
    if !told.is_empty() {
        return Ok(told.into_iter().map(|(line,)| line + "\n").collect());
    }
    let begun = Instant::now();
    conn.execute(
        "create table naive.files (id bigserial primary key, contents text, filepath text);
         insert into naive.files (contents, filepath)
         select (select string_agg(contents, '' order by n) from chunks c
                 where c.shard = f.shard and c.n >= b.id and c.n < b.id + b.chunks), f.path
         from files f join blobs b on b.shard = f.shard and b.id = f.blob
         where f.valid_to = 2147483647;
         alter table naive.files alter column contents set statistics 0;
         analyze naive.files",
    )
    .await?;
    let filled = begun.elapsed().as_secs();
    conn.execute("create index on naive.files using gin (contents gin_trgm_ops)").await?;
    let one = format!("naive, 1 table: {filled} s to fill, {} s in all", begun.elapsed().as_secs());
    let begun = Instant::now();
    let tables: Vec<usize> = (0..TABLES).collect();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let work = tables.chunks(TABLES.div_ceil(workers)).map(|tables| {
        let (tables, options) = (tables.to_vec(), postgres(home));
        tokio::spawn(async move {
            let mut conn = PgConnection::connect_with(&options).await?;
            for n in tables {
                let sql = format!(
                    "create table naive.files_{n:03} (id bigint, contents text, filepath text);
                     insert into naive.files_{n:03}
                         select id, contents, filepath from naive.files where id % {TABLES} = {n};
                     alter table naive.files_{n:03} alter column contents set statistics 0;
                     create index on naive.files_{n:03} using gin (contents gin_trgm_ops);
                     analyze naive.files_{n:03}"
                );
                conn.execute(AssertSqlSafe(sql)).await?;
            }
            conn.close().await
        })
    });
    for done in work.collect::<Vec<_>>() {
        done.await.expect("building does not panic")?;
    }
    let many = format!("naive, {TABLES} tables: {} s more", begun.elapsed().as_secs());
    for line in [&one, &many] {
        sqlx::query("insert into naive.told values ($1)").bind(line).execute(&mut conn).await?;
    }
    Ok(format!("{one}\n{many}\n"))
}

/// Asks one table, or all of the others on as many connections as there are cores, until the limit.
async fn ask_naive(home: &Path, query: &Query, limit: usize, tables: usize) -> Result<Times> {
    // Postgres has another word for a border of a word, and is told that lines end at line feeds.
    let regex = query.regex.replace(r"\b", r"\y");
    let regex = match regex.strip_prefix("(?i)") {
        Some(regex) => format!("(?in){regex}"),
        None => format!("(?n){regex}"),
    };
    let workers =
        if tables == 1 { 1 } else { std::thread::available_parallelism().map_or(1, usize::from) };
    let mut conns = Vec::new();
    for _ in 0..workers {
        let mut conn =
            PgConnection::connect_with(&postgres(home)).await.map_err(std::io::Error::other)?;
        conn.execute("set statement_timeout = '60s'; set jit = off")
            .await
            .map_err(std::io::Error::other)?;
        conns.push(conn);
    }
    let begun = Instant::now();
    let next = Arc::new(std::sync::Mutex::new((0, 0)));
    let work: Vec<_> = conns
        .into_iter()
        .map(|mut conn| {
            let (next, regex) = (Arc::clone(&next), regex.clone());
            tokio::spawn(async move {
                loop {
                    let (table, found) = {
                        let mut next = next.lock().expect("nobody panics");
                        next.0 += 1;
                        (next.0 - 1, next.1)
                    };
                    if table >= tables || (limit > 0 && found >= limit) {
                        return Ok::<_, sqlx::Error>(());
                    }
                    let name =
                        if tables == 1 { "files".to_owned() } else { format!("files_{table:03}") };
                    let most = if limit == 0 {
                        String::new()
                    } else {
                        format!(" limit {}", limit - found)
                    };
                    let sql =
                        format!("select filepath from naive.{name} where contents ~ $1{most}");
                    let rows: Vec<(String,)> = sqlx::query_as(AssertSqlSafe(sql))
                        .bind(&regex)
                        .fetch_all(&mut conn)
                        .await?;
                    next.lock().expect("nobody panics").1 += rows.len();
                }
            })
        })
        .collect();
    let mut failed = false;
    for done in work {
        failed |= done.await.expect("asking does not panic").is_err();
    }
    let found = next.lock().expect("nobody panics").1;
    let files = if limit > 0 { found.min(limit) } else { found };
    // A timeout counts as the time it took.
    Ok(Times {
        ms: vec![begun.elapsed().as_secs_f64() * 1000.0],
        files: if failed { 0 } else { files },
    })
}

/// The queries that many clients ask, in turn.
fn mixed(n: usize) -> &'static Query {
    let all: Vec<&Query> =
        QUERIES.iter().filter(|query| query.is_for_all() && query.kind != Kind::Scan).collect();
    all[n * 7 % all.len()]
}

type Request = Box<dyn Fn(&ureq::Agent) -> Result<()> + Send>;

/// Many clients at once, each asking one query after the other.
fn throughput(name: &str, request: impl Fn(usize) -> Request) -> String {
    let over = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let requests: Vec<Request> = (0..30).map(|n| request(client + n)).collect();
            let over = Arc::clone(&over);
            std::thread::spawn(move || {
                let agent = server::agent();
                let (mut times, mut failed) = (Vec::new(), 0);
                for request in requests.iter().cycle() {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    let begun = Instant::now();
                    match request(&agent) {
                        Ok(()) => times.push(begun.elapsed().as_secs_f64() * 1000.0),
                        Err(_) => failed += 1,
                    }
                }
                (times, failed)
            })
        })
        .collect();
    std::thread::sleep(THROUGHPUT);
    over.store(true, Ordering::Relaxed);
    let (mut times, mut failed) = (Vec::new(), 0);
    for client in clients {
        let (some, errors) = client.join().expect("clients do not panic");
        times.extend(some);
        failed += errors;
    }
    format!(
        "{name}, {CLIENTS} clients, mixed queries, limit 100: {:.0} requests/s, p50 {:.0} ms, p99 {:.0} ms, \
         {failed} failed\n",
        times.len() as f64 / THROUGHPUT.as_secs_f64(),
        quantile(&times, 0.5),
        quantile(&times, 0.99)
    )
}

/// What lies on disk, as a ratio to the text.
fn sizes(home: &Path, zoekt: Option<&Zoekt>, runtime: &tokio::runtime::Runtime) -> Result<String> {
    let mut repos = codesearch(Some(home), None);
    repos.args(["repos", "--json"]);
    let out = run(repos)?;
    let bytes: f64 = out
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok()?["bytes"].as_f64())
        .sum();
    let sizes = runtime.block_on(async {
        let mut conn = PgConnection::connect_with(&postgres(home)).await?;
        let size = "select coalesce(sum(pg_total_relation_size(c.oid)), 0)::float8 from pg_class c
                    join pg_namespace s on s.oid = c.relnamespace where relkind = 'r' and ";
        let mut sizes = Vec::new();
        for which in [
            "nspname = 'codesearch'",
            "nspname = 'naive' and relname = 'files'",
            "nspname = 'naive' and relname like 'files\\__%'",
        ] {
            let (bytes,): (f64,) = sqlx::query_as(AssertSqlSafe(format!("{size}{which}")))
                .fetch_one(&mut conn)
                .await?;
            sizes.push(bytes);
        }
        Ok::<_, sqlx::Error>(sizes)
    });
    let sizes = sizes.map_err(std::io::Error::other)?;
    let mut text = format!(
        "text {:.2} GB; on disk, as a ratio to it: codesearch {:.2}",
        bytes / 1e9,
        sizes[0] / bytes
    );
    if sizes[1] > 0.0 {
        let _ = write!(
            text,
            ", naive {:.2}, naive with {TABLES} tables {:.2}",
            sizes[1] / bytes,
            sizes[2] / bytes
        );
    }
    if let Some(zoekt) = zoekt {
        let _ = write!(text, ", zoekt {:.2}", bytes_in(&zoekt.index) as f64 / bytes);
    }
    Ok(text + "\n")
}

/// The peers of a row, by name.
fn peers(row: &Row) -> [(&'static str, Option<&Times>); 4] {
    [
        ("zoekt", row.zoekt.as_ref()),
        ("ripgrep", row.ripgrep.as_ref()),
        ("naive", row.naive.as_ref()),
        ("naive 200", row.tables.as_ref()),
    ]
}

fn line(row: &Row) -> String {
    let limit = if row.limit == 0 { "none".to_owned() } else { row.limit.to_string() };
    let ours = median(&row.ours.ms);
    let mut text = format!(
        "{:<50}{limit:>5}{:>9.2}{ours:>9.2}{:>8}",
        row.query.name(),
        row.server_ms,
        row.ours.files
    );
    for (_, times) in peers(row) {
        match times {
            Some(times) => {
                let ms = median(&times.ms);
                let _ = write!(text, " |{ms:>9.1}{:>8}{:>8.3}", times.files, ours / ms);
            }
            None => text.push_str(" |         -       -       -"),
        }
    }
    text
}

fn report(rows: &[Row], args: &Args, notes: &str, sizes: &str) -> String {
    let mut text = format!(
        "codesearch beside its peers, {}, {}\n\
         cargo bench --bench side_by_side; medians of {} runs in turn (3 without a limit), of up to \
         {MOST_RUNS} that fit in {ENOUGH:?}, over HTTP, whole answers read\n\n{sizes}{notes}\n",
        shared::today(),
        shared::machine(),
        args.runs
    );
    let _ = write!(
        text,
        "{:<50}{:>5}{:>9}{:>9}{:>8}",
        "milliseconds", "limit", "(server)", "ours", "files"
    );
    for (name, _) in peers(&rows[0]) {
        let _ = write!(text, " |{name:>9}{:>8}{:>8}", "files", "ratio");
    }
    text.push('\n');
    for row in rows {
        text.push_str(&line(row));
        text.push('\n');
    }
    text.push_str("\nours as a ratio to theirs: geometric mean, worst\n");
    for limit in LIMITS {
        let name = if limit == 0 { "no limit".to_owned() } else { format!("limit {limit}") };
        let _ = write!(text, "{name:<12}");
        for (i, (peer, _)) in peers(&rows[0]).iter().enumerate() {
            let ratios: Vec<f64> = rows
                .iter()
                .filter(|row| row.limit == limit)
                // What no index answers is not a question for grep.
                .filter(|row| *peer != "ripgrep" || row.query.kind != Kind::Scan)
                .filter_map(|row| Some(median(&row.ours.ms) / median(&peers(row)[i].1?.ms)))
                .collect();
            if !ratios.is_empty() {
                let worst = ratios.iter().copied().fold(0.0, f64::max);
                let _ = write!(text, "  {peer} {:.4}, {worst:.3}", geometric_mean(&ratios));
            }
        }
        text.push('\n');
    }
    text
}

fn record(rows: &[Row], notes: &str) -> String {
    let times = |times: &Times| json!({ "ms": times.ms, "files": times.files });
    let row = |row: &Row| {
        let peers: serde_json::Map<String, Value> = peers(row)
            .iter()
            .filter_map(|(name, of)| Some(((*name).to_owned(), times((*of)?))))
            .collect();
        json!({
            "query": row.query.name(), "limit": row.limit, "server_ms": row.server_ms,
            "codesearch": times(&row.ours), "peers": peers,
        })
    };
    let rows: Vec<Value> = rows.iter().map(row).collect();
    let record = json!({
        "date": shared::today(), "machine": shared::machine(),
        "notes": notes.lines().collect::<Vec<_>>(), "rows": rows,
    });
    format!("{record:#}\n")
}
