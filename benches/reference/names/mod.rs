//! Nearest names (system 5): the paths nearest to a typed text, by indexes of `pg_trgm` and in
//! memory.

mod fill;
mod table;
mod typing;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fuzzy::{PathIndex, PathQuery};
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use crate::Bench;
use crate::report::{Section, Table};
use crate::shared::summary::quantile;
use table::{NamesConnection, NamesIndex};
use typing::{KINDS, Typing};

/// Numbers of paths.
const SIZES: [usize; 2] = [100_000, 1_000_000];

/// Number of typed texts, and number of paths wanted for each.
const TYPINGS: usize = 500;
const LIMIT: usize = 10;

/// Number of concurrent clients in the reference.
const CLIENTS: usize = 64;

/// Maximum time for one client and for many clients. One client stops earlier if it has sent all typings.
const ONE: Duration = Duration::from_secs(20);
const MANY: Duration = Duration::from_secs(10);

/// A method to find the nearest paths.
#[derive(Clone, Copy)]
enum Way {
    Postgres(NamesIndex),
    /// A subsequence match on all paths.
    Nucleo,
    /// `fuzzy::PathIndex`.
    Ours,
}

/// The methods, and their names.
const WAYS: [(Way, &str); 9] = [
    (Way::Ours, "in memory, by pairs of letters"),
    (Way::Nucleo, "in memory, all by nucleo"),
    (Way::Postgres(NamesIndex::Gin), "GIN, %> then ordered"),
    (Way::Postgres(NamesIndex::Gist(12)), "GiST <->, siglen 12"),
    (Way::Postgres(NamesIndex::Gist(32)), "GiST <->, siglen 32"),
    (Way::Postgres(NamesIndex::Gist(64)), "GiST <->, siglen 64"),
    (Way::Postgres(NamesIndex::Gist(128)), "GiST <->, siglen 128"),
    (Way::Postgres(NamesIndex::Gist(256)), "GiST <->, siglen 256"),
    (Way::Postgres(NamesIndex::GistWord(128)), "GiST <->>, siglen 128"),
];

/// The results of one method on one number of paths.
#[derive(Deserialize, Serialize)]
struct Outcome {
    build_s: f64,
    bytes: u64,
    /// Milliseconds of each typing, sent by one client, and of each sent by many at once.
    one: Vec<f64>,
    many: Vec<f64>,
    many_s: f64,
    /// For each kind: typings sent by one client, how many were right first, and how many among the
    /// first ten.
    right: Vec<(usize, usize, usize)>,
    /// Postgres's plan for one of them.
    plan: Vec<String>,
}

/// Paths and typed texts, the same for all methods.
struct Ground {
    paths: Vec<String>,
    typings: Vec<Typing>,
}

/// A client, which sends one typing after another.
enum Client {
    Postgres(Box<NamesConnection>, NamesIndex),
    Nucleo,
    Ours(Arc<PathIndex>),
}

pub(crate) async fn run(bench: &Bench<'_>) -> Result<Section> {
    let tree = bench.index.view.tree().await?;
    let real: Vec<String> = tree
        .repos()
        .iter()
        .flat_map(|repo| tree.files(repo))
        .map(|entry| entry.path.to_owned())
        .collect();
    ensure!(!real.is_empty(), store::Error::Empty);
    let mut tables = Vec::new();
    for size in SIZES.map(|size| bench.steps.times(size)) {
        let paths = fill::paths(&real, size);
        let typings = Typing::some(&paths, TYPINGS);
        let ground = Arc::new(Ground { paths, typings });
        let mut outcomes = Vec::new();
        let mut filled = false;
        for (at, (way, name)) in WAYS.into_iter().enumerate() {
            let outcome = bench
                .steps
                .step(&format!("names-{size}-{at}"), async || {
                    if matches!(way, Way::Postgres(_)) && !filled {
                        table::fill(bench.index, &ground.paths).await?;
                        filled = true;
                    }
                    measure(bench, way, &ground).await
                })
                .await?;
            outcomes.push((name, outcome));
        }
        if filled {
            table::drop(bench.index).await?;
        }
        tables.extend(tabulate(size, real.len(), &outcomes));
    }
    let served = bench.steps.step("names-served", async || serve_finder(bench, &real)).await?;
    let mut table = Table::new(
        &format!("over HTTP, /files of the {} paths of the index", real.len()),
        &["clients", "p50 ms", "p99 ms", "mean ms", "requests/s"],
    );
    for (clients, seconds, ms) in served {
        let [p50, p99, mean, rate] = times(&ms, seconds);
        table.row([clients.to_string(), p50, p99, mean, rate]);
    }
    tables.push(table);
    Ok(Section { name: "names", title: "Nearest names".to_owned(), tables })
}

/// Builds the index of a method, and measures its answers.
async fn measure(bench: &Bench<'_>, way: Way, ground: &Arc<Ground>) -> Result<Outcome> {
    let mut plan = Vec::new();
    let begun = Instant::now();
    let (clients, build, bytes) = match way {
        Way::Postgres(index) => {
            let (took, bytes) = table::build(bench.index, index).await?;
            let mut clients = Vec::with_capacity(CLIENTS);
            for _ in 0..CLIENTS {
                let connection = NamesConnection::open(bench.index).await?;
                clients.push(Client::Postgres(Box::new(connection), index));
            }
            if let Some(Client::Postgres(connection, _)) = clients.first_mut() {
                plan = connection.explain(index, &ground.typings[0].text, LIMIT as i32).await?;
            }
            (clients, took, bytes as u64)
        }
        Way::Nucleo => {
            let clients = std::iter::repeat_with(|| Client::Nucleo).take(CLIENTS).collect();
            (clients, Duration::ZERO, 0)
        }
        Way::Ours => {
            let count = ground.paths.len();
            let names =
                Arc::new(PathIndex::new(count, |file| ground.paths[file as usize].as_str()));
            let (took, bytes) = (begun.elapsed(), names.memory() as u64);
            let (folders, different) = names.different();
            plan.push(format!("{folders} folders and {different} names that differ"));
            let clients = std::iter::repeat_with(|| Client::Ours(Arc::clone(&names)));
            (clients.take(CLIENTS).collect::<Vec<_>>(), took, bytes)
        }
    };
    let mut clients = clients.into_iter();
    let mut first = clients.next().context("there are clients")?;
    let (mut one, mut right) = (Vec::new(), vec![(0, 0, 0); KINDS.len()]);
    let begun = Instant::now();
    for number in 0..ground.typings.len() {
        if begun.elapsed() > bench.steps.span(ONE) {
            break;
        }
        let sent = Instant::now();
        let found = first.ask(ground, number).await?;
        one.push(sent.elapsed().as_secs_f64() * 1000.0);
        let typing = &ground.typings[number];
        let is_right = |file: &u32| typing.is_right(&ground.paths[*file as usize]);
        let counts = &mut right[typing.kind];
        counts.0 += 1;
        counts.1 += usize::from(found.first().is_some_and(is_right));
        counts.2 += usize::from(found.iter().any(is_right));
    }
    let (begun, most) = (Instant::now(), bench.steps.span(MANY));
    let next = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = std::iter::once(first)
        .chain(clients)
        .map(|mut client| {
            let (ground, next) = (Arc::clone(ground), Arc::clone(&next));
            tokio::spawn(async move {
                let mut ms = Vec::new();
                while begun.elapsed() < most {
                    let number = next.fetch_add(1, Ordering::Relaxed) % ground.typings.len();
                    let sent = Instant::now();
                    client.ask(&ground, number).await?;
                    ms.push(sent.elapsed().as_secs_f64() * 1000.0);
                }
                anyhow::Ok(ms)
            })
        })
        .collect();
    let mut many = Vec::new();
    for task in tasks {
        many.extend(task.await.context("a client broke off")??);
    }
    let many_s = begun.elapsed().as_secs_f64();
    Ok(Outcome { build_s: build.as_secs_f64(), bytes, one, many, many_s, right, plan })
}

impl Client {
    /// Returns the numbers of the paths nearest to a typing, best first.
    async fn ask(&mut self, ground: &Arc<Ground>, number: usize) -> Result<Vec<u32>> {
        let typed = &ground.typings[number].text;
        if let Self::Postgres(connection, index) = self {
            return connection.nearest(*index, typed, LIMIT as i32).await;
        }
        let (ground, names) = (Arc::clone(ground), self.names());
        let work = tokio::task::spawn_blocking(move || {
            let typed = &ground.typings[number].text;
            let Some(names) = names else { return Ok(nucleo(typed, &ground.paths)) };
            let near =
                names.nearest(&PathQuery::new(typed)?, LIMIT, &|file| &ground.paths[file as usize]);
            anyhow::Ok(near.best.into_iter().map(|(file, _)| file).collect())
        });
        work.await.context("finding broke off")?
    }

    fn names(&self) -> Option<Arc<PathIndex>> {
        match self {
            Self::Ours(names) => Some(Arc::clone(names)),
            _ => None,
        }
    }
}

/// Returns the best paths by nucleo: highest scores first, then short paths.
fn nucleo(typed: &str, paths: &[String]) -> Vec<u32> {
    use rayon::prelude::*;
    let pattern = Pattern::parse(typed, CaseMatching::Ignore, Normalization::Smart);
    let mut scored: Vec<_> = paths
        .par_iter()
        .enumerate()
        .map_init(
            || (Matcher::new(Config::DEFAULT.match_paths()), Vec::new()),
            |(matcher, buffer), (file, path)| {
                let score = pattern.score(Utf32Str::new(path, buffer), matcher)?;
                Some((std::cmp::Reverse(score), path.len(), file as u32))
            },
        )
        .flatten()
        .collect();
    let most = LIMIT.min(scored.len());
    if most > 0 {
        scored.select_nth_unstable(most - 1);
        scored.truncate(most);
    }
    scored.sort_unstable();
    scored.into_iter().map(|(_, _, file)| file).collect()
}

/// Sends typings to a server's finder. Returns for each number of clients the seconds, and the
/// milliseconds of each request.
fn serve_finder(bench: &Bench<'_>, real: &[String]) -> Result<Vec<(usize, f64, Vec<f64>)>> {
    let typed: Vec<String> = Typing::some(real, TYPINGS)
        .iter()
        .map(|typing| {
            let q = utf8_percent_encode(&typing.text, NON_ALPHANUMERIC);
            format!("/files?format=json&limit={LIMIT}&q={q}")
        })
        .collect();
    let server = bench.index.warm_server()?;
    server.get(&typed[0])?;
    let mut all = Vec::new();
    for clients in [1, CLIENTS] {
        let begun = Instant::now();
        let address = |number: usize| typed[number % typed.len()].clone();
        let ms = server.load(clients, bench.steps.span(MANY), address)?;
        all.push((clients, begun.elapsed().as_secs_f64(), ms));
    }
    Ok(all)
}

fn tabulate(size: usize, real: usize, outcomes: &[(&str, Outcome)]) -> Vec<Table> {
    let mut speed = Table::new(
        &format!("{size} paths: the {LIMIT} nearest"),
        &[
            "way",
            "build s",
            "MB",
            "bytes/path",
            "p50 ms",
            "p99 ms",
            "mean ms",
            "queries/s",
            "64: p50 ms",
            "64: p99 ms",
            "64: queries/s",
            "right first",
            "in ten",
        ],
    );
    for (name, outcome) in outcomes {
        let share = |count: fn(&(usize, usize, usize)) -> usize| {
            let asked: usize = outcome.right.iter().map(|(asked, _, _)| asked).sum();
            let right: usize = outcome.right.iter().map(count).sum();
            format!("{:.1} %", right as f64 / asked.max(1) as f64 * 100.0)
        };
        let [p50, p99, mean, rate] = times(&outcome.one, outcome.one.iter().sum::<f64>() / 1000.0);
        let [many50, many99, _, many_rate] = times(&outcome.many, outcome.many_s);
        speed.row([
            (*name).to_owned(),
            format!("{:.1}", outcome.build_s),
            format!("{:.1}", outcome.bytes as f64 / 1e6),
            format!("{:.0}", outcome.bytes as f64 / size as f64),
            p50,
            p99,
            mean,
            rate,
            many50,
            many99,
            many_rate,
            share(|counts| counts.1),
            share(|counts| counts.2),
        ]);
    }
    let dashes = |count| std::iter::repeat_n("-".to_owned(), count);
    let reference = [
        "the reference, GiST of points".to_owned(),
        "-".to_owned(),
        "720000".to_owned(),
        "72".to_owned(),
    ];
    speed.row(
        reference
            .into_iter()
            .chain(dashes(4))
            .chain(["0.848".to_owned(), "-".to_owned(), "74151".to_owned()])
            .chain(dashes(2)),
    );
    speed.note("The reference has 10 billion points on a machine of another size; its 0.848 ms are a mean.");
    if size > real {
        speed.note(&format!(
            "{real} paths are those of the index; the others were made of them by putting other words."
        ));
    }
    for (name, outcome) in outcomes {
        for line in &outcome.plan {
            speed.note(&format!("{name}: {line}"));
        }
    }
    let mut kinds = Table::new(
        &format!("{size} paths: right first, and among the first ten, by what is typed"),
        &["typed", "by pairs of letters", "nucleo", "GIN", "GiST <->, 128", "GiST <->>, 128"],
    );
    for (kind, (_, name)) in KINDS.iter().enumerate() {
        let cell = |way: usize| {
            let (asked, first, ten) = outcomes[way].1.right[kind];
            format!("{first}, {ten} of {asked}")
        };
        kinds.row(std::iter::once((*name).to_owned()).chain([0, 1, 2, 6, 8].map(cell)));
    }
    kinds.note("Right is a path of which, without the error, the same would have been typed, in small letters.");
    vec![speed, kinds]
}

/// Returns the median, the 99th percentile and the mean of some milliseconds, and their number per
/// second.
fn times(ms: &[f64], seconds: f64) -> [String; 4] {
    let mean = ms.iter().sum::<f64>() / ms.len() as f64;
    let shown = |value: f64| format!("{value:.2}");
    [
        shown(quantile(ms, 0.5)),
        shown(quantile(ms, 0.99)),
        shown(mean),
        format!("{:.0}", ms.len() as f64 / seconds),
    ]
}
