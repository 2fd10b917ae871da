//! Throughput with many clients at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::Result;
use crate::shared::queries::{Kind, QUERIES, Query};
use crate::shared::server;
use crate::shared::summary::quantile;

/// Number of clients, and how long they run.
const CLIENTS: usize = 64;
const THROUGHPUT: Duration = Duration::from_secs(15);

/// Returns the nth of the queries that the clients send in turn.
pub(crate) fn mixed(n: usize) -> &'static Query {
    let all: Vec<&Query> =
        QUERIES.iter().filter(|query| query.is_for_all() && query.kind != Kind::Scan).collect();
    all[n * 7 % all.len()]
}

pub(crate) type Request = Box<dyn Fn(&ureq::Agent) -> Result<()> + Send>;

/// Runs many clients at once, each sending one query after the other. Returns a line of the report.
pub(crate) fn throughput(name: &str, request: impl Fn(usize) -> Request) -> String {
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
