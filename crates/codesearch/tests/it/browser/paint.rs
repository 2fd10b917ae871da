//! Measures when pages are painted.

use super::tab::{Tab, journeys_in};
use crate::harness::Fixture;

/// Measures the first paint, the paint of the first result, and the end of loading, in milliseconds after the first
/// byte (<https://www.w3.org/TR/paint-timing/>, <https://wicg.github.io/element-timing/>). The path of the first result
/// reports its own paint (`elementtiming`); a page without results has none.
const PAINTS: &str = r"
const done = arguments[arguments.length - 1];
const navigation = performance.getEntriesByType('navigation')[0];
const byte = navigation.responseStart;
let [first, result] = [null, null];
const told = () => {
  const wanted = document.querySelector('[elementtiming]');
  if (first === null || (wanted && result === null) || !navigation.loadEventEnd) setTimeout(told, 10);
  else done([first - byte, result === null ? null : result - byte, navigation.loadEventEnd - byte]);
};
new PerformanceObserver((list) => { for (const e of list.getEntries()) if (e.name === 'first-contentful-paint') first = e.startTime; })
  .observe({ type: 'paint', buffered: true });
new PerformanceObserver((list) => { for (const e of list.getEntries()) result ??= e.renderTime; })
  .observe({ type: 'element', buffered: true });
told();
";

/// Pages to measure, and whether they have results. The first one is a single word, as a baseline of the browser.
const PAINTED: [(&str, bool); 7] = [
    ("/healthz", false),
    ("/", false),
    ("/search?q=fmt%5C.Print&wait=1", true),
    ("/search?q=error&wait=1", true),
    ("/search?q=func&wait=1", true),
    ("/docs?q=how+to+configure", false),
    ("/file?repo=tidepool&path=src/harmonic.rs&q=fn", false),
];

fn sample() -> Fixture {
    let fixture = Fixture::new();
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/sample");
    fixture.run(&["ingest", "--shards", "4", "--depth", "1", sample]).code(0);
    fixture
}

/// Visits each page `visits` times, and prints the medians.
fn paints(visits: usize) {
    journeys_in(sample, &["--window-size=1280,900"], &async |tab: &Tab<'_>| {
        for (page, has_results) in PAINTED {
            let (mut first, mut result, mut all) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..visits {
                tab.client.goto(&format!("http://{}{page}", tab.server.address)).await.unwrap();
                let painted = tab.client.execute_async(PAINTS, Vec::new()).await.unwrap();
                let (one, of_result, loaded): (f64, Option<f64>, f64) =
                    serde_json::from_value(painted).unwrap();
                assert_eq!(of_result.is_some(), has_results, "{page}");
                assert!(one > 0.0 && of_result.is_none_or(|other| other >= one), "{page}: {one}");
                first.push(one);
                result.extend(of_result);
                all.push(loaded);
            }
            let median = |mut times: Vec<f64>| {
                times.sort_by(f64::total_cmp);
                times.get(times.len() / 2).map_or("none".to_owned(), |ms| format!("{ms:.0} ms"))
            };
            println!(
                "{page}: after the first byte, painted {}, the first result {}, all there {} ({visits} visits)",
                median(first),
                median(result),
                median(all)
            );
        }
    });
}

#[test]
fn pages_tell_when_they_were_painted() {
    paints(1);
}

#[test]
#[ignore = "a measurement: cargo test --release -p codesearch --test it -- --ignored --nocapture painted"]
fn how_soon_pages_are_painted() {
    paints(15);
}
