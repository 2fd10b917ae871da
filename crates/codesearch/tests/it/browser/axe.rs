//! Runs axe-core, an external accessibility checker, on every page. It is not part of this repository: `just axe`
//! installs it and runs this test, which is skipped if `CODESEARCH_AXE` does not name an `axe.min.js`.

use serde_json::json;

use super::everyday::empty;
use super::points::{POINTS, places};
use super::reading::{READING, code};
use super::tab::{Tab, journeys_in};
use super::trees::{TREES, trees};
use super::{PAGES, repositories};

/// Runs all rules of axe-core, and returns the violations and where they are.
const RUN: &str = r"
const done = arguments[arguments.length - 1];
axe.run(document, { resultTypes: ['violations'] }).then(
  ({ violations }) => done(violations.map((rule) => `${rule.id}: ${rule.nodes.map((node) => node.target).join(' | ')}`)),
  (error) => done([String(error)]),
);
";

#[test]
fn axe_finds_nothing_on_any_page() {
    let Some(path) = std::env::var_os("CODESEARCH_AXE") else {
        println!("left out: CODESEARCH_AXE names no axe.min.js; just axe installs it");
        return;
    };
    let axe = std::fs::read_to_string(path).unwrap();
    let look = async |tab: &Tab<'_>, pages: &[&str]| {
        for page in pages {
            for theme in ["light", "dark"] {
                tab.open(page).await;
                tab.run(&format!("document.documentElement.dataset.theme = '{theme}'")).await;
                tab.run(&axe).await;
                let found = tab.client.execute_async(RUN, Vec::new()).await.unwrap();
                assert_eq!(found, json!([]), "{page} {theme}");
            }
        }
    };
    for size in ["--window-size=1280,900", "--window-size=360,800"] {
        journeys_in(repositories, &[size], &async |tab: &Tab<'_>| look(tab, &PAGES).await);
        journeys_in(code, &[size], &async |tab: &Tab<'_>| look(tab, &READING).await);
        journeys_in(trees, &[size], &async |tab: &Tab<'_>| look(tab, &TREES).await);
        journeys_in(places, &[size], &async |tab: &Tab<'_>| look(tab, &POINTS).await);
        journeys_in(empty, &[size], &async |tab: &Tab<'_>| {
            look(tab, &["/", "/search?q=x", "/repos", "/files?q=x", "/docs?q=x"]).await;
        });
    }
}
