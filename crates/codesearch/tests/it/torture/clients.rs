//! Many clients that are slow, do not read, or disconnect.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::Run;
use crate::harness::{Fixture, Server};

/// Maximum memory of a server with the clients of the long form, in MiB.
const MEMORY_MIB: u64 = 2048;

/// Maximum number of connections to Postgres: up to 64 for searches, and a few for periodic statements.
const BACKENDS: i64 = 64 + 8;

/// Maximum time for `/healthz`. Asserted only in the long form, which runs alone.
const HEALTH: Duration = Duration::from_millis(100);

fn health(server: &Server) -> Duration {
    let begun = Instant::now();
    assert_eq!(server.get("/healthz", "*/*").0, 200);
    begun.elapsed()
}

/// Returns the private memory of a process, in MiB.
pub(super) fn memory_mib(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

#[test]
fn slow_clients_do_not_hold_up_others() {
    let mut run = Run::new("clients", 3, 30);
    let fixture = Fixture::new();
    for n in 0..40 {
        let mut text = String::new();
        for line in 0..2000 {
            let _ = writeln!(text, "needle {n} {line} {}", "x".repeat(line % 80));
        }
        fixture.write(&format!("r/{n}.txt"), text);
    }
    fixture.ingest();
    let server = fixture.serve_with(&["--trust-forwarded"]);
    server.settle();
    // A part of the connections that a server accepts.
    let many = if run.is_long { 4000 } else { 150 };
    let (mut worst, mut most) = (Duration::ZERO, memory_mib(&server));
    while let Some(step) = run.step() {
        let requests: [&[u8]; 4] = [
            b"GET /search?q=ne",
            b"POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
            b"GET /search?q=needle&limit=0&format=json HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n{\"Q\":\"needle\"}",
        ];
        let request = requests[step % 4];
        let count = if step % 4 < 2 { many } else { many / 4 };
        let mut open = Vec::new();
        for n in 0..count {
            let Ok(mut stream) = TcpStream::connect(server.address) else { continue };
            let _ = stream.write_all(request);
            open.push(stream);
            if n % 50 == 0 {
                worst = worst.max(health(&server));
            }
        }
        // Some of them disconnect.
        let stay = run.rng.usize(..=open.len());
        open.truncate(stay);
        for _ in 0..5 {
            worst = worst.max(health(&server));
            std::thread::sleep(Duration::from_millis(50));
        }
        most = most.max(memory_mib(&server));
        let backends = "select count(*) from pg_stat_activity where datname = current_database()";
        let backends = fixture.sql::<i64>(backends);
        assert!(backends <= BACKENDS, "{backends} connections to Postgres");
        drop(open);
        let found = server.search("needle_nowhere");
        assert_eq!(found["stats"]["complete"], true, "{found}");
    }
    assert!(most < MEMORY_MIB, "{most} MiB");
    assert!(!run.is_long || worst < HEALTH, "{worst:?} to say that it lives");
    run.end(&format!(
        "{many} clients at once; /healthz took at most {} ms, the server {most} MiB",
        worst.as_millis()
    ));
}
