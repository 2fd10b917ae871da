//! Slow patterns on long lines, and on many long paths.

use std::time::{Duration, Instant};

use fastrand::Rng;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::Run;
use crate::harness::Fixture;

/// Maximum time that a search may exceed its timeout by. Asserted only in the long form, which runs alone.
const OVERSHOOT: Duration = Duration::from_millis(100);

const TIMEOUT: Duration = Duration::from_millis(300);

/// Returns a pattern that keeps many states alive.
fn pattern(rng: &mut Rng) -> String {
    let class = ["a", "[a-z]", ".", "(a|b|ab)", r"\w", "[^0-9]"][rng.usize(..6)];
    let repeat = ["?", "*", "+", "{0,3}", "{2}"][rng.usize(..5)];
    let times = [10, 100, 500, 1000][rng.usize(..4)];
    let end = ["", "[0-9]{9}", "b$", "z", r"\b[g-k]x"][rng.usize(..5)];
    format!("(?:{class}{repeat}){{{times}}}{end}")
}

#[test]
fn a_timeout_holds_whatever_the_pattern() {
    let mut run = Run::new("patterns", 12, 500);
    let fixture = Fixture::new();
    fixture.write("r/line.txt", "a".repeat(1_000_000));
    let chunk = format!("{}\n", "ab ".repeat(5)).repeat(250);
    fixture.write("r/chunk.txt", &chunk);
    fixture.write("r/words.txt", "lorem ipsum dolor ".repeat(50_000));
    fixture.ingest();
    let server = fixture.serve();
    let (mut in_time, mut cut, mut refused) = (0, 0, 0);
    let mut worst = Duration::ZERO;
    while run.step().is_some() {
        let pattern = pattern(&mut run.rng);
        let query = format!("case:yes c:\"{}\"", pattern.replace('\\', "\\\\"));
        let query = utf8_percent_encode(&query, NON_ALPHANUMERIC);
        let ask =
            |timeout: &str| server.json(&format!("/search?q={query}&limit=0&timeout={timeout}"));
        let begun = Instant::now();
        let (status, answer) = ask(&format!("{}ms", TIMEOUT.as_millis()));
        let waited = begun.elapsed();
        if status == 400 {
            refused += 1;
            continue;
        }
        assert_eq!(status, 200, "{pattern}: {answer}");
        if answer["stats"]["complete"] == true {
            // Only the duration of the search itself counts, without sending and reading a large answer.
            let took = answer["stats"]["duration_ms"].as_f64().unwrap() / 1000.0;
            worst = worst.max(Duration::from_secs_f64(took).saturating_sub(TIMEOUT));
            in_time += 1;
            let (_, again) = ask("1m");
            assert_eq!(answer["files"], again["files"], "{pattern}");
        } else {
            worst = worst.max(waited.saturating_sub(TIMEOUT));
            cut += 1;
            assert!(answer.to_string().contains("timeout"), "{pattern}: {answer}");
        }
        assert_eq!(server.get("/healthz", "*/*").0, 200);
    }
    assert!(!run.is_long || worst < OVERSHOOT, "{worst:?} after the timeout");
    run.end(&format!(
        "{in_time} in time, {cut} cut short and said so, {refused} refused; at most {} ms past the timeout",
        worst.as_millis()
    ));
}

#[test]
fn a_timeout_holds_beside_other_slow_patterns() {
    let mut run = Run::new("beside", 8, 200);
    let fixture = Fixture::new();
    fixture.write("r/line.txt", "a".repeat(1_000_000));
    for n in 0..500 {
        fixture.write(&format!("r/{}/{n}.txt", "ab".repeat(100)), format!("needle {n}\n"));
    }
    fixture.ingest();
    let server = fixture.serve();
    server.settle();
    let (mut cut, mut worst) = (0, Duration::ZERO);
    while run.step().is_some() {
        let mut asked = || {
            let query = format!("case:yes {}", pattern(&mut run.rng));
            let timeout = Duration::from_millis([50, 100, 300][run.rng.usize(..3)]);
            (utf8_percent_encode(&query, NON_ALPHANUMERIC).to_string(), timeout)
        };
        let asked = [asked(), asked(), asked()];
        let answers = std::thread::scope(|scope| {
            let ask = |(query, timeout): &(String, Duration)| {
                let millis = timeout.as_millis();
                server.json(&format!("/search?q={query}&limit=0&timeout={millis}ms"))
            };
            let asking = asked.each_ref().map(|asked| scope.spawn(move || ask(asked)));
            asking.map(|asking| asking.join().unwrap())
        });
        for ((query, timeout), (status, answer)) in asked.iter().zip(&answers) {
            assert!(matches!(status, 200 | 400), "{query}: {answer}");
            let Some(took) = answer["stats"]["duration_ms"].as_f64() else { continue };
            cut += usize::from(answer["stats"]["stopped_because"] == "timeout");
            worst = worst.max(Duration::from_secs_f64(took / 1000.0).saturating_sub(*timeout));
        }
    }
    assert!(!run.is_long || worst < OVERSHOOT, "{worst:?} after the timeout");
    run.end(&format!("{cut} cut short; at most {} ms past the timeout", worst.as_millis()));
}
