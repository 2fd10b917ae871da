//! The journeys of a user who searches code all day: narrows, excludes, goes back, copies, and mistypes.

use fantoccini::Locator;
use fantoccini::key::Key;
use serde_json::json;

use super::tab::{Tab, journeys_in};
use super::{documents, journeys, repositories};
use crate::harness::Fixture;

/// The query of the current page's address.
const ASKED: &str = "new URLSearchParams(location.search).get('q')";

/// Waits for the page of a query.
async fn searched(tab: &Tab<'_>, query: &str) {
    let query = serde_json::to_string(query).unwrap();
    tab.until(&format!("{ASKED} === {query} && document.querySelector('#q').value === {query}"))
        .await;
    tab.ready().await;
}

/// Waits until the page reports this about the results; a search may take longer than the page waits for it.
async fn told(tab: &Tab<'_>, said: &str) {
    tab.until(&format!("document.querySelector('.truth')?.textContent.includes('{said}')")).await;
}

#[test]
fn a_text_is_quoted_whole_and_searched_again() {
    journeys(&["--window-size=1280,900"], &async |tab: &Tab<'_>| {
        tab.open("/search?q=func+needle+repo:one").await;
        tab.click("[data-switch=regex]").await;
        searched(tab, "lit:\"func needle\" repo:one").await;
        told(tab, "1 matching line in 1 file").await;
        let pressed = "return document.querySelector('[data-switch=regex]').ariaPressed";
        assert_eq!(tab.run(pressed).await, "false");
        // Switch back.
        tab.click("[data-switch=regex]").await;
        searched(tab, "func needle repo:one").await;
        // A query that is not a valid expression is searched for as text.
        tab.open("/search?q=TestServe()+{+needle(").await;
        assert!(!tab.text("[role=alert]").await.is_empty());
        tab.click("[data-switch=regex]").await;
        searched(tab, "lit:\"TestServe() { needle(\"").await;
        told(tab, "1 matching line in 1 file").await;
        // On a page without results, the switch does not start a search.
        tab.open("/").await;
        tab.keys("#q", "a \"b\\").await;
        tab.click("[data-switch=regex]").await;
        tab.until("document.querySelector('#q').value === 'lit:\"a \\\\\"b\\\\\\\\\"'").await;
        tab.until("location.pathname === '/'").await;
        // A switch set before typing applies to the query that is sent.
        tab.open("/").await;
        tab.click("[data-switch=regex]").await;
        assert_eq!(tab.run(pressed).await, "false");
        tab.keys("#q", "TestServe() { needle(\u{E007}").await;
        searched(tab, "lit:\"TestServe() { needle(\"").await;
        told(tab, "1 matching line in 1 file").await;
    });
}

#[test]
fn a_query_for_code_is_one_for_documents_and_back() {
    journeys_in(documents, &["--window-size=1280,900"], &async |tab: &Tab<'_>| {
        tab.open("/search?q=retries+lang:markdown+r:one+-file:x").await;
        tab.follow(".tabs a[href^='/docs']").await;
        tab.until("location.pathname === '/docs'").await;
        told(tab, "2 texts").await;
        for (field, value) in [("q", "retries"), ("lang", "markdown"), ("repo", "one")] {
            let script = format!("return document.querySelector('[name={field}]').value");
            assert_eq!(tab.run(&script).await, value, "{field}");
        }
        assert!(tab.text(".notice").await.contains("-file:x"));
        tab.follow(".tabs a[href^='/search']").await;
        searched(tab, "retries repo:one lang:markdown -file:x").await;
    });
}

#[test]
fn addresses_that_are_nearly_right_lead_somewhere() {
    let repositories = || {
        let fixture = repositories();
        fixture.write("one/data.bin", [0, 1, 2, 0, 255]);
        fixture.ingest();
        fixture
    };
    journeys_in(repositories, &["--window-size=1280,900"], &async |tab: &Tab<'_>| {
        for (address, page) in [
            ("/file?repo=one&path=src", "/repos?repo=one&path=src"),
            ("/file?repo=one&path=/src/", "/repos?repo=one&path=src"),
            ("/file?repo=one&path=/src/server.go", "/file?repo=one&path=src/server.go"),
            ("/repos?repo=one&path=src/server.go", "/file?repo=one&path=src/server.go"),
            ("/status?since=7d", "/stats?since=7d"),
            ("/stats/", "/stats"),
            ("/help", "/syntax"),
        ] {
            tab.open(address).await;
            assert!(tab.address().await.ends_with(page), "{address}: {}", tab.address().await);
        }
        // A wrong letter, a file that was left out, a folder, a repository, and a page.
        tab.open("/file?repo=one&path=src/servr.go").await;
        assert!(tab.text("[role=alert]").await.contains("one/src/servr.go is not in the index"));
        tab.follow(".paths a").await;
        assert!(tab.address().await.ends_with("/file?repo=one&path=src/server.go"));
        tab.open("/file?repo=one&path=data.bin").await;
        assert!(tab.text("[role=alert]").await.contains("left out (binary"));
        tab.open("/repos?repo=one&path=scr").await;
        assert!(tab.text("[role=alert]").await.contains("one/scr is not in the index"));
        tab.open("/repos?repo=ones").await;
        tab.follow(".paths a").await;
        assert!(tab.address().await.ends_with("/repos?repo=one"));
        tab.open("/nowhere").await;
        assert!(tab.text("[role=alert]").await.contains("page not found"));
        tab.follow(".ways a[href='/repos']").await;
        assert_eq!(tab.text("h1").await, "Repositories");
        // The page says what was left out, and links to the list of it.
        tab.open("/search?q=Serve+repo:one&wait=1").await;
        let below = "const [a, b] = ['.file:last-of-type', '.left-out'].map((s) => document.querySelector(s));\
                     return Boolean(a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING)";
        assert_eq!(tab.run(below).await, true);
        assert!(tab.text(".left-out").await.contains("1 binary"));
        tab.click(".left-out a").await;
        tab.until("location.hash === '#left-out'").await;
        let list = "#left-out + details";
        tab.click(&format!("{list} summary")).await;
        assert!(tab.text(list).await.contains("data.bin"));
    });
}

#[test]
fn a_manual_with_examples_that_are_searches() {
    journeys(&["--window-size=1280,900"], &async |tab: &Tab<'_>| {
        tab.open("/syntax").await;
        let sections = "return [...document.querySelectorAll('.side a')].every((a) => document.querySelector(a.hash))";
        assert_eq!(tab.run(sections).await, true);
        let links = tab.client.find_all(Locator::Css(".queries a")).await.unwrap();
        assert!(links.len() >= 20, "{}", links.len());
        for at in 0..links.len() {
            tab.open("/syntax").await;
            let asked = tab
                .run(&format!("const a = document.querySelectorAll('.queries a')[{at}]; a.click(); return a.textContent"))
                .await;
            let asked = asked.as_str().unwrap();
            searched(tab, asked).await;
            assert!(tab.client.find(Locator::Css(".error")).await.is_err(), "{asked}");
        }
    });
}

/// Twelve repositories with files in folders.
fn twelve() -> Fixture {
    let fixture = Fixture::new();
    for n in 0..12 {
        fixture.write(&format!("r{n:02}/a/b/x.txt"), "needle\n");
        fixture.write(&format!("r{n:02}/a/c.md"), "# First\n\nneedle\n\n## Second `code`\n");
        fixture.write(&format!("r{n:02}/d/e.go"), "package needle\n");
    }
    fixture.ingest();
    fixture
}

#[test]
fn narrowing_leaving_out_and_taking_back() {
    let journey = async |tab: &Tab<'_>| {
        tab.open("/search?q=needle").await;
        told(tab, "in 36 files").await;
        // All values, on demand.
        let last = tab.client.find(Locator::Css(".side a[title=r11]")).await.unwrap();
        assert!(!last.is_displayed().await.unwrap());
        assert_eq!(tab.text(".side summary").await, "Show all 12");
        tab.click(".side summary").await;
        assert!(last.is_displayed().await.unwrap());
        // Exclude one repository, then a language.
        tab.click(".side [aria-label='Leave out r00']").await;
        searched(tab, "needle -repo:^r00$").await;
        told(tab, "in 33 files").await;
        tab.click(".side [aria-label='Leave out Go']").await;
        searched(tab, "needle -repo:^r00$ -lang:Go").await;
        told(tab, "in 22 files").await;
        // Active filters are shown, each with a button that removes it.
        let first = tab.text(".chosen li:first-child").await.replace('\n', " ");
        assert!(first.ends_with("not repository r00 ×"), "{first}");
        tab.click(".chosen li:first-child a").await;
        searched(tab, "needle -lang:Go").await;
        tab.click(".chosen a").await;
        searched(tab, "needle").await;
        // A repository, a folder, and a folder within that.
        tab.click(".side a[title=r01]").await;
        searched(tab, "needle repo:^r01$").await;
        tab.click(".side a[title=a]").await;
        searched(tab, "needle repo:^r01$ file:^a/").await;
        told(tab, "in 2 files").await;
        let last = tab.text(".chosen li:last-child").await.replace('\n', " ");
        assert!(last.ends_with("path a/ ×"), "{last}");
        // A query may consist of filters only.
        tab.open("/search?q=lang:go&wait=1").await;
        tab.click(".chosen a").await;
        tab.until("location.pathname === '/'").await;
    };
    journeys_in(twelve, &["--window-size=1280,900"], &journey);
    // None of this needs a script.
    journeys_in(twelve, &["--blink-settings=scriptEnabled=false"], &async |tab: &Tab<'_>| {
        tab.open("/search?q=needle").await;
        tab.follow(".side [aria-label='Leave out r00']").await;
        assert!(tab.text(".truth").await.contains("in 33 files"));
        tab.follow(".chosen a").await;
        assert!(tab.text(".truth").await.contains("in 36 files"));
    });
    // On a phone the filters are folded, and keys unfold them.
    journeys_in(twelve, &["--window-size=360,800"], &async |tab: &Tab<'_>| {
        tab.open("/search?q=needle&wait=1").await;
        let side = tab.client.find(Locator::Css(".side")).await.unwrap();
        assert!(!side.is_displayed().await.unwrap());
        tab.run("document.querySelector('#fold').focus()").await;
        tab.keys("#fold", " ").await;
        assert!(side.is_displayed().await.unwrap());
        tab.click(".side a[title=r01]").await;
        searched(tab, "needle repo:^r01$").await;
    });
}

#[test]
fn a_file_with_what_is_around_it() {
    journeys_in(twelve, &["--window-size=1280,900"], &async |tab: &Tab<'_>| {
        tab.open("/file?repo=r03&path=a/b/x.txt").await;
        // The folders above the file are open, and the file is marked.
        let tree = "return [...document.querySelectorAll('.tree a')].map((a) => a.textContent)";
        assert_eq!(tab.run(tree).await, json!(["a", "b", "x.txt", "c.md", "d"]));
        assert_eq!(tab.text(".tree [aria-current]").await, "x.txt");
        tab.click(".tree a[href$='a/c.md']").await;
        tab.until("location.search.endsWith('path=a/c.md')").await;
        // Headings.
        tab.click(".outline .h2 a").await;
        tab.until("location.hash === '#L5' && document.querySelector('#L5.on')").await;
        assert_eq!(tab.text(".outline ul").await.replace('\n', " "), "First Second code");
        // Copy the path and the link, with buttons and with keys.
        tab.run("navigator.clipboard.writeText = async (said) => { window.copied = said; }").await;
        tab.click_in_menu("#copy-path").await;
        tab.until("window.copied === 'a/c.md' && document.querySelector('#copy-path').textContent === 'Copied'").await;
        tab.keys("body", "y").await;
        tab.until("window.copied === location.href && location.hash === '#L5' && location.href.includes('hash=')")
            .await;
        tab.keys("body", "c").await;
        tab.until("window.copied === 'a/c.md'").await;
        // Long lines are wrapped, also on the next page, until wrapping is switched off.
        let wrapped = "getComputedStyle(document.querySelector('.lines code')).whiteSpace";
        tab.click_in_menu("#wrap").await;
        tab.until(&format!("{wrapped} !== 'pre'")).await;
        tab.open("/search?q=needle&wait=1").await;
        tab.until(&format!("{wrapped} !== 'pre'")).await;
        tab.keys("body", "w").await;
        tab.until(&format!("{wrapped} === 'pre'")).await;
        // Go to a line by its number.
        tab.open("/file?repo=r03&path=a/c.md").await;
        tab.run("window.prompt = () => '3'").await;
        tab.keys("body", "l").await;
        tab.until("location.hash === '#L3'").await;
        // The list of all keys.
        tab.keys("body", "?").await;
        tab.until("document.querySelector('#keys').open").await;
        assert!(tab.text("#keys").await.contains("wrap long lines"));
        tab.keys("#keys button", &Key::Escape.to_string()).await;
        tab.until("!document.querySelector('#keys').open").await;
        tab.click_in_menu("#help").await;
        tab.click("#keys button").await;
        tab.until("!document.querySelector('#keys').open").await;
    });
}

#[test]
fn the_first_page_knows_what_there_is_and_what_was_asked() {
    journeys_in(twelve, &["--window-size=1280,900"], &async |tab: &Tab<'_>| {
        tab.open("/").await;
        assert_eq!(tab.text("h1").await, "Search 12 repositories");
        assert!(tab.text(".intro").await.contains("36 files, "));
        // Examples only for languages that are indexed.
        let examples = tab.text(".examples").await;
        assert!(examples.contains("lang:go") && !examples.contains("lang:rust"), "{examples}");
        assert_eq!(tab.client.find_all(Locator::Css(".largest li")).await.unwrap().len(), 8);
        tab.follow(".largest a").await;
        tab.until("location.pathname === '/repos' && location.search").await;
        // Recent searches are stored in this browser, which can forget them.
        tab.open("/").await;
        let recent = tab.client.find(Locator::Css("#recent")).await.unwrap();
        assert!(!recent.is_displayed().await.unwrap());
        tab.open("/search?q=needle+<b>").await;
        tab.open("/search?q=needle").await;
        tab.open("/").await;
        let asked =
            "return [...document.querySelectorAll('#recent li')].map((li) => li.textContent)";
        assert_eq!(tab.run(asked).await, json!(["needle", "needle <b>"]));
        tab.click("#recent li:last-child a").await;
        searched(tab, "needle <b>").await;
        tab.open("/").await;
        tab.click("#recent button").await;
        tab.open("/").await;
        let recent = tab.client.find(Locator::Css("#recent")).await.unwrap();
        assert!(!recent.is_displayed().await.unwrap());
        // Numbers have the right plural.
        tab.open("/repos").await;
        let summary = tab.text("main .faint").await;
        assert!(
            summary.contains("12 repositories, 36 files") && summary.contains("equal files once"),
            "{summary}"
        );
        tab.open("/stats").await;
        let files = summary.split_once(", ").unwrap().1;
        assert!(tab.text(".facts:not(.first)").await.contains(files), "{files}");
        // No column for ranks if there are none, and times relative to now.
        tab.open("/repos").await;
        let head = tab.text(".list thead").await;
        assert!(head.contains("Looked at") && !head.contains("Rank"), "{head}");
        let when = tab.text(".list time").await;
        assert!(when == "just now" || when.ends_with(" ago"), "{when}");
    });
}

/// An index without a repository.
pub(super) fn empty() -> Fixture {
    let fixture = Fixture::new();
    fixture.run(&["init", "--shards", "1"]).code(0);
    fixture
}

#[test]
fn an_empty_index_says_what_to_do() {
    journeys_in(empty, &["--window-size=1280,900"], &async |tab: &Tab<'_>| {
        tab.open("/").await;
        let said = tab.text(".intro").await;
        assert!(said.contains("nothing is indexed yet"), "{said}");
        assert!(said.contains("codesearch ingest FOLDER"), "{said}");
        tab.open("/search?q=x").await;
        assert!(tab.text("[role=alert]").await.contains("nothing is indexed yet"));
    });
}
