//! The pages in a real browser: Chromium, controlled through its driver.
//!
//! Both must be in PATH (`chromium` or `google-chrome`, and `chromedriver`). Without them the journeys are skipped with
//! a message; with `CI=true` or `CODESEARCH_BROWSER=required` that is a failure.

mod ask;
mod audit;
mod axe;
mod everyday;
mod monitors;
mod paint;
mod points;
mod reading;
mod tab;
mod trees;
mod typing;

use std::process::Command;

use fantoccini::Locator;
use fantoccini::key::Key;
use serde_json::json;

use crate::harness::Fixture;
use audit::AUDIT;
use tab::{Tab, journeys_in};

/// One page of each kind.
const PAGES: [&str; 27] = [
    "/",
    "/search?q=needle",
    "/search?q=needle+repo:^two$+-file:^many/1",
    "/search?q=a(b",
    "/search?q=nowhere_at_all",
    "/search?q=needle&explain=1",
    "/file?repo=one&path=src/server.go&q=needle",
    "/file?repo=two&path=%3Cimg+src=x+onerror=alert(1)%3E.md",
    "/file?repo=one&path=src/servr.go",
    "/repos",
    "/repos?repo=one",
    "/repos?repo=one&path=src",
    "/repos?repo=ones",
    "/monitors",
    "/monitors/needles",
    "/stats",
    "/audit",
    "/files?q=srv",
    "/ask",
    "/ask?q=where+is+the+needle",
    "/ask?q=nowhere_at_all",
    "/search?q=needle+serve+nowhere_at_all",
    "/docs",
    "/docs?q=needle+file:x",
    "/docs?q=nowhere_at_all",
    "/syntax",
    "/nowhere",
];

fn repositories() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("one/src/server.go", "package one\n\nfunc needle() {\n\tServe()\n}\n");
    fixture.write("one/src/long.go", format!("{}needle\n", "x\n".repeat(400)));
    fixture.write("one/test/server_test.go", "func TestServe() { needle() }\n");
    fixture.write("two/<img src=x onerror=alert(1)>.md", "<script>alert(2)</script> needle\n");
    // The search scans this line to its end for each match.
    fixture.write("two/slow.txt", "x".repeat(300_000));
    for n in 0..70 {
        // Files with the same contents would be one result.
        let text = format!("{}{n}\n", "needle\n".repeat(9));
        fixture.write(&format!("two/many/file{n:02}.txt"), text);
    }
    fixture.ingest();
    // A monitor with news.
    fixture.run(&["monitor", "add", "needles", "needle"]).code(0);
    fixture.write("one/test/more.go", "needle here\n");
    fixture.ingest();
    fixture.write("one/test/more.go", "nothing\n");
    fixture.ingest();
    fixture
}

/// Runs journeys with these options of the browser, each in a separate tab.
fn journeys(options: &[&str], journey: &impl AsyncFn(&Tab<'_>)) {
    journeys_in(repositories, options, journey);
}

#[test]
fn searching_narrowing_paging_and_opening() {
    journeys(&["--window-size=1280,900"], &async |tab: &Tab<'_>| {
        // Search.
        tab.open("/").await;
        assert!(tab.text("h1").await.contains("2 repositories"));
        tab.keys("#q", "needle").await;
        tab.keys("#q", &Key::Enter.to_string()).await;
        let truth = tab.text(".truth").await;
        assert!(truth.contains("in 74 files") && truth.contains("complete"), "{truth}");
        assert!(tab.run("return location.search").await.as_str().unwrap().contains("q=needle"));
        // The definition comes first, and the test is not on the first page.
        let places = "const all = [...document.querySelectorAll('.file .path')].map(p => p.textContent);\
                      return [all.indexOf('src/server.go'), all.indexOf('test/server_test.go')]";
        let places: Vec<i64> = serde_json::from_value(tab.run(places).await).unwrap();
        assert_eq!(places, [0, -1]);

        // More lines of one file.
        let more = tab.text(".file [data-more]").await;
        assert_eq!(more, "Show 2 more matching lines in this file");
        tab.run("document.querySelector('.file [data-more]').closest('.file').id = 'grown'").await;
        tab.click("#grown [data-more]").await;
        tab.until("document.querySelectorAll('#grown .lines mark').length === 9").await;

        // The next page, and back.
        assert_eq!(tab.run("return document.querySelectorAll('.file').length").await, 50);
        tab.click(".next a").await;
        tab.until("document.querySelectorAll('.file').length === 24").await;
        tab.client.back().await.unwrap();
        tab.until("document.querySelectorAll('.file').length === 50").await;

        // Narrow the search.
        tab.click(".side a[title=one]").await;
        assert!(tab.text(".truth").await.contains("in 3 files"));
        assert_eq!(tab.run("return document.querySelector('#q').value").await, "needle repo:^one$");
        tab.client.refresh().await.unwrap();
        assert!(tab.text(".truth").await.contains("in 3 files"));

        // Open a file at a match.
        tab.click(".file a.no").await;
        tab.until("location.pathname === '/file' && location.hash.startsWith('#L')").await;
        tab.click("#following").await;
        tab.until("document.querySelector('mark.current')").await;
        assert!(tab.text(".hits").await.starts_with("match "));
        tab.run("location.hash = '#L2-L4'").await;
        tab.until("document.querySelectorAll('#text li.on').length === 3").await;
    });
}

#[test]
fn keys_suggestions_and_the_finder() {
    journeys(&["--window-size=1280,900"], &async |tab: &Tab<'_>| {
        tab.open("/search?q=needle").await;
        tab.until("document.querySelectorAll('.file')[1]").await;
        // Walk through the results with keys, and open one.
        tab.keys("body", "j").await;
        tab.keys("body", "j").await;
        tab.until("document.querySelectorAll('.file')[1].classList.contains('here')").await;
        tab.keys("body", "k").await;
        tab.until("document.querySelectorAll('.file')[0].classList.contains('here')").await;
        tab.keys("body", "/").await;
        tab.until("document.activeElement.id === 'q'").await;

        // Completions while typing.
        tab.run("document.querySelector('#q').value = ''").await;
        tab.keys("#q", "needle repo:tw").await;
        tab.until("document.querySelectorAll('#suggestions li').length === 1").await;
        tab.keys("#q", &Key::Down.to_string()).await;
        tab.keys("#q", &Key::Enter.to_string()).await;
        tab.until("document.querySelector('#q').value === 'needle repo:^two$ '").await;

        // The switches change the query, and change it back.
        for (name, written) in [
            ("case", "needle repo:^two$ case:yes"),
            ("word", "\\bneedle\\b repo:^two$"),
            ("regex", "lit:needle repo:^two$"),
        ] {
            let button = format!("[data-switch={name}]");
            for expected in [written, "needle repo:^two$"] {
                tab.click(&button).await;
                // The search runs again at once.
                let expected = serde_json::to_string(expected).unwrap();
                tab.until(&format!("new URLSearchParams(location.search).get('q') === {expected}"))
                    .await;
                tab.until(&format!("document.querySelector('#q').value === {expected}")).await;
                tab.ready().await;
            }
        }

        // Earlier queries are offered again.
        tab.open("/").await;
        tab.keys("#q", &Key::Down.to_string()).await;
        tab.until("document.querySelector('#suggestions li')?.textContent.startsWith('needle repo:^two$')")
            .await;
        tab.keys("#q", &Key::Escape.to_string()).await;
        tab.keys("#q", &Key::Escape.to_string()).await;

        // Find a file.
        tab.keys("body", "t").await;
        tab.until("document.querySelector('#finder').open").await;
        tab.keys("#finder input", "srvr.go").await;
        tab.until("document.querySelector('#found li span')?.textContent === 'src/server.go'")
            .await;
        tab.keys("#finder input", &Key::Enter.to_string()).await;
        tab.until("location.pathname === '/file' && location.search.includes('server.go')").await;
    });
}

#[test]
fn an_event_source_hears_of_all_results_and_ends() {
    journeys(&[], &async |tab: &Tab<'_>| {
        tab.open("/").await;
        tab.run(
            "window.told = [];
             window.source = new EventSource('/search/stream?q=needle&limit=0');
             for (const name of ['begin', 'files', 'progress', 'done', 'failed'])
               source.addEventListener(name, (event) => told.push([name, JSON.parse(event.data)]));
             source.addEventListener('error', () => told.push(['error', source.readyState]));",
        )
        .await;
        // After the end the event source reconnects by itself, and is told that there is nothing more.
        tab.until("source.readyState === EventSource.CLOSED").await;
        let told = tab.run("return told").await;
        let names: Vec<&str> =
            told.as_array().unwrap().iter().map(|it| it[0].as_str().unwrap()).collect();
        assert_eq!(names[0], "begin", "{names:?}");
        assert_eq!(names.iter().filter(|name| **name == "done").count(), 1, "{names:?}");
        assert!(names.ends_with(&["done", "error", "error"]), "{names:?}");
        let files =
            "return told.filter((it) => it[0] === 'files').flatMap((it) => it[1].files).length";
        assert_eq!(tab.run(files).await, 74);
        // An error before the first event ends it at once.
        tab.run(
            "window.wrong = new EventSource('/search/stream?q=a(b');
             wrong.addEventListener('error', () => { wrong.state = wrong.readyState; });",
        )
        .await;
        tab.until("wrong.state === EventSource.CLOSED").await;
    });
}

#[test]
fn errors_nothing_found_and_hostile_names() {
    journeys(&[], &async |tab: &Tab<'_>| {
        tab.open("/search?q=foo+(bar").await;
        assert!(tab.text("[role=alert]").await.contains("unclosed group"));
        assert_eq!(tab.text(".fault").await, "(");
        tab.open("/search?q=nowhere_at_all").await;
        assert!(tab.text(".nothing").await.contains("Nothing matches"));
        // A slow search shows results as it finds them, until its timeout.
        tab.open("/search?q=x*y|x&timeout=600ms").await;
        tab.until(
            "document.querySelector('.truth')?.textContent.includes('timed out after 600ms')",
        )
        .await;
        tab.open("/file?repo=one&path=none").await;
        assert!(tab.text("[role=alert]").await.contains("one/none is not in the index"));
        // Names and contents with scripts are shown as text.
        tab.open("/search?q=script+needle").await;
        assert!(tab.text(".file .path").await.starts_with("<img src=x"));
        tab.click(".file .open").await;
        assert!(tab.text("#text").await.contains("<script>alert(2)</script>"));
        assert_eq!(tab.run("return document.images.length").await, 0);
        assert!(tab.client.get_alert_text().await.is_err());
    });
}

#[test]
fn a_narrow_screen_a_dark_one_and_none_with_scripts() {
    journeys(&["--window-size=500,800"], &async |tab: &Tab<'_>| {
        for page in PAGES {
            tab.open(page).await;
            let fits = "document.documentElement.scrollWidth <= window.innerWidth";
            assert_eq!(tab.run(&format!("return {fits}")).await, true, "{page}");
        }
        tab.click_in_menu("#theme").await;
        tab.click_in_menu("#theme").await;
        let dark = tab.run("return getComputedStyle(document.body).backgroundColor").await;
        assert_eq!(dark, "rgb(20, 24, 29)");
        tab.open("/").await;
        let kept = tab.run("return document.documentElement.dataset.theme").await;
        assert_eq!(kept, "dark");
        // The script that sets the theme runs before anything is painted: it precedes the style sheet.
        let order = "const [script, style] = document.querySelectorAll('head script, head link[rel=stylesheet]');\
                     return script.src.includes('first.js') && !script.defer && !script.async && style.rel === 'stylesheet'";
        assert_eq!(tab.run(order).await, true);
        tab.click("header .menu summary").await;
        let button = tab.client.find(Locator::Css("#theme")).await.unwrap();
        assert!(button.is_displayed().await.unwrap());
    });
    journeys(&["--blink-settings=scriptEnabled=false"], &async |tab: &Tab<'_>| {
        tab.open("/search?q=needle").await;
        assert!(tab.text(".truth").await.contains("in 74 files"));
        assert_eq!(tab.client.find_all(Locator::Css(".file")).await.unwrap().len(), 50);
        for scripted in ["#theme", ".switches"] {
            let part = tab.client.find(Locator::Css(scripted)).await.unwrap();
            assert!(!part.is_displayed().await.unwrap(), "{scripted}");
        }
        tab.click(".next a").await;
        assert!(tab.address().await.contains("cursor="));
        tab.click(".side a[title=one]").await;
        assert!(tab.text(".truth").await.contains("in 3 files"));
        tab.click(".file .open").await;
        assert!(tab.text("#text").await.contains("needle"));
        tab.open("/files?q=srvr").await;
        assert!(tab.text(".paths").await.contains("src/server.go"));
    });
}

/// Documents and comments.
fn documents() -> Fixture {
    let fixture = Fixture::new();
    let text = "# How retries are configured\n\nThe client tries again when the server is away. How often is configured with \
                `retry_limit_of_client`, and how long it waits between two retries with `retry_wait`.\n";
    fixture.write("one/docs/retries.md", text);
    fixture.write(
        "one/docs/<img src=x onerror=alert(1)>.md",
        "# <script>alert(2)</script>\n\nRetries of scripts.\n",
    );
    let comment = "// This is how the retries of the client are configured, and what it does when they are \
                   used up.\npackage client\n";
    fixture.write("two/client.go", comment);
    fixture.write("two/boats.py", "# Sailing boats of the harbour.\nboats = 2\n");
    for n in 0..120 {
        fixture.write(
            &format!("two/notes/{n}.md"),
            format!("# Note {n}\n\nA word on lighthouses, the {n}th.\n"),
        );
    }
    fixture.ingest();
    fixture
}

#[test]
fn documents_and_comments() {
    let fits = "return document.documentElement.scrollWidth <= window.innerWidth";
    let journey = async |tab: &Tab<'_>| {
        // From the page of a code search to this one, with the same query.
        tab.open("/search?q=configured+retries").await;
        tab.click(".tabs a[href^='/docs']").await;
        tab.until("location.pathname === '/docs'").await;
        assert_eq!(
            tab.run("return document.querySelector('#q').value").await,
            "configured retries"
        );
        assert!(tab.text(".truth").await.contains("2 texts"));
        // The document comes first, with its title and with marks in its snippet.
        assert_eq!(tab.text(".doc h2").await, "How retries are configured");
        assert_eq!(tab.text(".doc .path").await, "docs/retries.md");
        let marks = "return [...document.querySelectorAll('.doc:first-child mark')].map(m => m.textContent.toLowerCase())";
        let marks: Vec<String> = serde_json::from_value(tab.run(marks).await).unwrap();
        assert!(marks.contains(&"configured".to_owned()), "{marks:?}");
        assert!(tab.text(".doc:nth-child(2) .where").await.contains("comment"));
        assert_eq!(tab.run(fits).await, true);
        // Open one, and go back.
        tab.click(".doc h2 a").await;
        tab.until("location.pathname === '/file'").await;
        assert!(tab.text("#text").await.contains("retry_limit_of_client"));
        tab.client.back().await.unwrap();
        tab.until("location.pathname === '/docs'").await;
        assert!(tab.text(".truth").await.contains("2 texts"));
        // Start another search from here.
        tab.run("document.querySelector('#q').value = ''").await;
        tab.keys("#q", "lighthouses").await;
        tab.keys("#q", &Key::Enter.to_string()).await;
        tab.until("document.querySelectorAll('.doc').length === 100").await;
        let truth = tab.text(".truth").await;
        assert!(truth.contains("120 texts") && !truth.contains("complete"), "{truth}");
        // Narrow the search.
        tab.keys("[name=repo]", "one").await;
        tab.keys("[name=repo]", &Key::Enter.to_string()).await;
        assert!(tab.text(".nothing").await.contains("Nothing matches"));
        assert!(tab.address().await.contains("repo=one"));
        // A text of one sentence does not get a snippet that repeats it.
        tab.open("/docs?q=sailing").await;
        assert_eq!(tab.text(".doc h2").await, "Sailing boats of the harbour.");
        assert_eq!(tab.run("return document.querySelectorAll('.doc p').length").await, 1);
        // Errors are shown; names and contents with scripts are shown as text.
        tab.open("/docs?q=the").await;
        assert!(tab.text("[role=alert]").await.contains("word"));
        tab.open("/docs?q=scripts").await;
        assert!(tab.text(".doc .path").await.contains("<img src=x"));
        assert_eq!(tab.run("return document.images.length").await, 0);
        assert!(tab.client.get_alert_text().await.is_err());
    };
    journeys_in(documents, &["--window-size=1280,900"], &journey);
    // On a phone, with the dark theme.
    journeys_in(documents, &["--window-size=360,800"], &async |tab: &Tab<'_>| {
        tab.open("/docs").await;
        let width = tab.run("return window.innerWidth").await;
        assert_eq!(width, 360);
        tab.click_in_menu("#theme").await;
        tab.click_in_menu("#theme").await;
        for page in ["/docs", "/docs?q=configured+retries", "/docs?q=the", "/docs?q=nowhere"] {
            tab.open(page).await;
            assert_eq!(tab.run(fits).await, true, "{page}");
            assert_eq!(tab.run(AUDIT).await, json!([]), "{page}");
        }
        journey(tab).await;
    });
}

#[test]
fn a_file_is_linked_to_its_origin_at_its_commit_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| -> String {
        let mut command = Command::new("git");
        // The user's own configuration must not matter.
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command.args(["-c", "user.name=x", "-c", "user.email=x@example.org"]).args(arguments);
        let done = command.current_dir(folder.path()).output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    let text = "package tool\n\nfunc needle() {\n}\n";
    git(&["init", "--quiet"]);
    git(&["remote", "add", "origin", "https://example.org/elsewhere"]);
    git(&["remote", "set-url", "origin", "https://github.com/acme/tool.git"]);
    std::fs::create_dir(folder.path().join("a #b")).unwrap();
    std::fs::write(folder.path().join("a #b/tool.go"), text).unwrap();
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message", "All"]);
    let file = format!(
        "https://github.com/acme/tool/blob/{}/a%20%23b/tool.go",
        git(&["rev-parse", "HEAD"])
    );
    let cloned = || {
        let fixture = Fixture::new();
        let path = folder.path().to_str().unwrap();
        fixture.run(&["ingest", "--shards", "4", path]).code(0);
        fixture
    };
    journeys_in(cloned, &["--window-size=1280,900"], &async |tab: &Tab<'_>| {
        tab.open("/search?q=needle").await;
        assert_eq!(tab.text(".file .repo").await, "github.com/acme/tool");
        tab.click(".file li:has(mark) a.no").await;
        tab.until("location.pathname === '/file' && location.hash === '#L3'").await;
        assert_eq!(tab.text("#origin").await, "Open on GitHub");
        let href = "return document.querySelector('#origin').href";
        assert_eq!(tab.run(href).await, format!("{file}#L3"));
        tab.run("location.hash = '#L1-L3'").await;
        tab.until("document.querySelectorAll('#text li.on').length === 3").await;
        assert_eq!(tab.run(href).await, format!("{file}#L1-L3"));
        let rel = tab.run("return document.querySelector('#origin').rel").await;
        assert_eq!(rel, "noreferrer");
    });
    // With everything in it, the row of actions is one row on a phone.
    journeys_in(cloned, &["--window-size=390,844"], &async |tab: &Tab<'_>| {
        tab.open("/file?repo=github.com/acme/tool&path=a+%23b/tool.go&q=needle").await;
        let row = "const [row, menu] = ['.actions', '.actions .menu'].map((s) => document.querySelector(s).getBoundingClientRect());
                   return [row.height < 32, menu.right <= innerWidth, document.documentElement.scrollWidth <= innerWidth]";
        assert_eq!(tab.run(row).await, json!([true, true, true]));
    });
}

#[test]
fn every_page_can_be_read_and_used_by_everyone() {
    journeys(&["--window-size=1280,900"], &async |tab: &Tab<'_>| {
        for page in PAGES {
            for theme in ["light", "dark"] {
                tab.open(page).await;
                tab.run(&format!("document.documentElement.dataset.theme = '{theme}'")).await;
                assert_eq!(tab.run(AUDIT).await, json!([]), "{page} {theme}");
            }
            // Everything works with the keyboard: each control can be reached with Tab and is visible.
            let stuck = tab.run("return [...document.querySelectorAll('[onclick], [tabindex]')].filter(e => e.tabIndex > 0).length").await;
            assert_eq!(stuck, 0, "{page}");
        }
    });
}
