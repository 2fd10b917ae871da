//! The pages in a real browser: Chromium, led by its driver.
//!
//! Both are looked for in PATH (`chromium` or `google-chrome`, and `chromedriver`). Where they are not,
//! the journeys are left out, and say so; with `CODESEARCH_BROWSER=required` that is a failure.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fantoccini::key::Key;
use fantoccini::{Client, ClientBuilder, Locator};
use serde_json::{Value, json};

use crate::harness::{Fixture, Server};

/// How long something may take to appear.
const PATIENCE: Duration = Duration::from_secs(15);

/// The driver, which ends with its browser when dropped.
struct Driver {
    child: Child,
    address: String,
}

impl Driver {
    /// Starts it, if it and a browser are there.
    fn start() -> Option<Self> {
        let Some(driver) = in_path(&["chromedriver"]).filter(|_| browser().is_some()) else {
            let required =
                std::env::var("CODESEARCH_BROWSER").is_ok_and(|value| value == "required");
            assert!(!required, "there is no chromium or no chromedriver in PATH");
            println!("left out: there is no chromium or no chromedriver in PATH");
            return None;
        };
        let mut child =
            Command::new(driver).arg("--port=0").stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let port = line.split("successfully on port ").nth(1)?;
            Some(port.trim_end_matches('.').to_owned())
        });
        // What it prints later must not fill a pipe that nobody reads.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self { child, address: format!("http://127.0.0.1:{}", port.unwrap()) })
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn in_path(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut all = folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name)));
    all.find(|file| file.is_file())
}

fn browser() -> Option<PathBuf> {
    in_path(&["chromium", "chromium-browser", "google-chrome"])
}

/// What a page holds, to be told when it is not what it should be.
const BODY: &str = "return document.body.outerHTML";

/// A page of a server in a browser.
struct Tab<'a> {
    client: Client,
    server: &'a Server,
    scripted: bool,
}

impl Tab<'_> {
    async fn open(&self, path: &str) {
        self.client.goto(&format!("http://{}{path}", self.server.address)).await.unwrap();
        self.ready().await;
    }

    /// Waits for the script of the page, if there is to be one.
    async fn ready(&self) {
        if self.scripted {
            self.until("document.documentElement.dataset.script").await;
        }
    }

    /// Waits for what a selector names, and gives its text.
    async fn text(&self, selector: &str) -> String {
        let found = self.client.wait().at_most(PATIENCE).for_element(Locator::Css(selector)).await;
        let Ok(found) = found else {
            panic!("{selector} is not on {}: {}", self.address().await, self.run(BODY).await)
        };
        found.text().await.unwrap()
    }

    async fn click(&self, selector: &str) {
        self.text(selector).await;
        self.ready().await;
        let found = self.client.find(Locator::Css(selector)).await.unwrap();
        found.click().await.unwrap();
    }

    async fn run(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.unwrap()
    }

    /// Waits until a script says yes.
    async fn until(&self, script: &str) {
        let begun = std::time::Instant::now();
        while self.run(&format!("return Boolean({script})")).await != json!(true) {
            assert!(begun.elapsed() < PATIENCE, "{script}: {}", self.run(BODY).await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn keys(&self, selector: &str, keys: &str) {
        self.ready().await;
        let found = self.client.find(Locator::Css(selector)).await.unwrap();
        found.send_keys(keys).await.unwrap();
    }

    async fn address(&self) -> String {
        self.client.current_url().await.unwrap().to_string()
    }
}

fn repositories() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("one/src/server.go", "package one\n\nfunc needle() {\n\tServe()\n}\n");
    fixture.write("one/src/long.go", format!("{}needle\n", "x\n".repeat(400)));
    fixture.write("one/test/server_test.go", "func TestServe() { needle() }\n");
    fixture.write("two/<img src=x onerror=alert(1)>.md", "<script>alert(2)</script> needle\n");
    // Each range of this line is looked for to its end.
    fixture.write("two/slow.txt", "x".repeat(300_000));
    for n in 0..70 {
        fixture.write(&format!("two/many/file{n:02}.txt"), "needle\n".repeat(9));
    }
    fixture.ingest();
    fixture
}

/// Runs journeys, each in a tab of its own, with these options of the browser.
fn journeys(options: &[&str], journey: &impl AsyncFn(&Tab<'_>)) {
    journeys_in(repositories, options, journey);
}

/// The same in other repositories.
fn journeys_in(
    repositories: impl FnOnce() -> Fixture,
    options: &[&str],
    journey: &impl AsyncFn(&Tab<'_>),
) {
    let Some(driver) = Driver::start() else { return };
    let fixture = repositories();
    let server = fixture.serve();
    let mut arguments =
        vec!["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
    arguments.extend(options);
    let mut wanted = serde_json::Map::new();
    let binary = browser().unwrap();
    let mut chrome = json!({ "args": arguments, "binary": binary });
    // A window is at least 500 px wide. What is narrower is a phone.
    let size = options.iter().find_map(|option| option.strip_prefix("--window-size="));
    let size = size.and_then(|size| size.split_once(','));
    if let Some((width, height)) =
        size.map(|(w, h)| (w.parse::<u32>().unwrap(), h.parse::<u32>().unwrap()))
        && width < 500
    {
        let metrics = json!({ "width": width, "height": height, "pixelRatio": 1 });
        chrome["mobileEmulation"] = json!({ "deviceMetrics": metrics });
    }
    wanted.insert("goog:chromeOptions".to_owned(), chrome);
    wanted.insert("goog:loggingPrefs".to_owned(), json!({ "browser": "ALL" }));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = ClientBuilder::new(hyper_util::client::legacy::connect::HttpConnector::new())
            .capabilities(wanted)
            .connect(&driver.address)
            .await
            .unwrap();
        let scripted = !options.iter().any(|option| option.contains("scriptEnabled=false"));
        let tab = Tab { client: client.clone(), server: &server, scripted };
        journey(&tab).await;
        client.close().await.unwrap();
    });
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
        // The definition is the first, and the test is not on the first page.
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

        // Pages, and back.
        assert_eq!(tab.run("return document.querySelectorAll('.file').length").await, 50);
        tab.click(".next a").await;
        tab.until("document.querySelectorAll('.file').length === 24").await;
        tab.client.back().await.unwrap();
        tab.until("document.querySelectorAll('.file').length === 50").await;

        // Narrower.
        tab.click("aside a[title=one]").await;
        assert!(tab.text(".truth").await.contains("in 3 files"));
        assert_eq!(tab.run("return document.querySelector('#q').value").await, "needle repo:^one$");
        tab.client.refresh().await.unwrap();
        assert!(tab.text(".truth").await.contains("in 3 files"));

        // Open, and go to a match.
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
        // Walking through results, and into one.
        tab.keys("body", "j").await;
        tab.keys("body", "j").await;
        tab.until("document.querySelectorAll('.file')[1].classList.contains('here')").await;
        tab.keys("body", "k").await;
        tab.until("document.querySelectorAll('.file')[0].classList.contains('here')").await;
        tab.keys("body", "/").await;
        tab.until("document.activeElement.id === 'q'").await;

        // Help while typing.
        tab.run("document.querySelector('#q').value = ''").await;
        tab.keys("#q", "needle repo:tw").await;
        tab.until("document.querySelectorAll('#suggestions li').length === 1").await;
        tab.keys("#q", &Key::Down.to_string()).await;
        tab.keys("#q", &Key::Enter.to_string()).await;
        tab.until("document.querySelector('#q').value === 'needle repo:^two$ '").await;

        // Switches write the query, and take it back.
        for (name, written) in [
            ("case", "needle repo:^two$ case:yes"),
            ("word", "\\bneedle\\b repo:^two$"),
            ("regex", "lit:needle repo:^two$"),
        ] {
            let button = format!("[data-switch={name}]");
            tab.click(&button).await;
            assert_eq!(tab.run("return document.querySelector('#q').value").await, written);
            tab.click(&button).await;
            let plain = tab.run("return document.querySelector('#q').value").await;
            assert_eq!(plain, "needle repo:^two$", "{name}");
        }

        // What was asked before is offered again.
        tab.open("/").await;
        tab.keys("#q", &Key::Down.to_string()).await;
        tab.until("document.querySelector('#suggestions li')?.textContent.startsWith('needle')")
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
fn errors_nothing_found_and_hostile_names() {
    journeys(&[], &async |tab: &Tab<'_>| {
        tab.open("/search?q=foo+(bar").await;
        assert!(tab.text("[role=alert]").await.contains("unclosed group"));
        assert_eq!(tab.text(".here").await, "(");
        tab.open("/search?q=nowhere_at_all").await;
        assert!(tab.text(".nothing").await.contains("Nothing matches"));
        // What takes long is shown while it is found, until its time is up.
        tab.open("/search?q=x*y|x&timeout=600ms").await;
        tab.until("document.querySelector('.truth')?.textContent.includes('stopped after 600ms')")
            .await;
        tab.open("/file?repo=one&path=none").await;
        assert!(tab.text("[role=alert]").await.contains("one/none is not in the index"));
        // Names and contents that are scripts are text.
        tab.open("/search?q=script+needle").await;
        assert!(tab.text(".file .path").await.starts_with("<img src=x"));
        tab.click(".file h3 a").await;
        assert!(tab.text("#text").await.contains("<script>alert(2)</script>"));
        assert_eq!(tab.run("return document.images.length").await, 0);
        assert!(tab.client.get_alert_text().await.is_err());
    });
}

#[test]
fn a_narrow_screen_a_dark_one_and_none_with_scripts() {
    let pages = [
        "/",
        "/search?q=needle",
        "/file?repo=one&path=src/server.go&q=needle",
        "/repos",
        "/repos?repo=one",
        "/stats",
        "/files?q=srv",
        "/docs",
        "/docs?q=needle",
    ];
    journeys(&["--window-size=500,800"], &async |tab: &Tab<'_>| {
        for page in pages {
            tab.open(page).await;
            let fits = "document.documentElement.scrollWidth <= window.innerWidth";
            assert_eq!(tab.run(&format!("return {fits}")).await, true, "{page}");
        }
        tab.click("#theme").await;
        tab.click("#theme").await;
        let dark = tab.run("return getComputedStyle(document.body).backgroundColor").await;
        assert_eq!(dark, "rgb(20, 24, 29)");
        tab.open("/").await;
        let kept = tab.run("return document.documentElement.dataset.theme").await;
        assert_eq!(kept, "dark");
        // It is known before anything is painted: the script that says so stands before the style sheet.
        let order = "const [script, style] = document.querySelectorAll('head script, head link[rel=stylesheet]');\
                     return script.src.includes('first.js') && !script.defer && !script.async && style.rel === 'stylesheet'";
        assert_eq!(tab.run(order).await, true);
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
        tab.click("aside a[title=one]").await;
        assert!(tab.text(".truth").await.contains("in 3 files"));
        tab.click(".file h3 a").await;
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
        // From the page of code to this one, with what was asked.
        tab.open("/search?q=configured+retries").await;
        tab.click(".tabs a[href^='/docs']").await;
        tab.until("location.pathname === '/docs'").await;
        assert_eq!(
            tab.run("return document.querySelector('#q').value").await,
            "configured retries"
        );
        assert!(tab.text(".truth").await.contains("2 texts"));
        // The document first, with its title, and marks in what is shown of it.
        assert_eq!(tab.text(".doc h2").await, "How retries are configured");
        assert_eq!(tab.text(".doc .path").await, "docs/retries.md");
        let marks = "return [...document.querySelectorAll('.doc:first-child mark')].map(m => m.textContent.toLowerCase())";
        let marks: Vec<String> = serde_json::from_value(tab.run(marks).await).unwrap();
        assert!(marks.contains(&"configured".to_owned()), "{marks:?}");
        assert!(tab.text(".doc:nth-child(2) .where").await.contains("comment"));
        assert_eq!(tab.run(fits).await, true);
        // Into one, and back.
        tab.click(".doc h2 a").await;
        tab.until("location.pathname === '/file'").await;
        assert!(tab.text("#text").await.contains("retry_limit_of_client"));
        tab.client.back().await.unwrap();
        tab.until("location.pathname === '/docs'").await;
        assert!(tab.text(".truth").await.contains("2 texts"));
        // Another search, from here.
        tab.run("document.querySelector('#q').value = ''").await;
        tab.keys("#q", "lighthouses").await;
        tab.keys("#q", &Key::Enter.to_string()).await;
        tab.until("document.querySelectorAll('.doc').length === 100").await;
        let truth = tab.text(".truth").await;
        assert!(truth.contains("120 texts") && !truth.contains("complete"), "{truth}");
        // Narrower.
        tab.keys("[name=repo]", "one").await;
        tab.keys("[name=repo]", &Key::Enter.to_string()).await;
        assert!(tab.text(".nothing").await.contains("Nothing matches"));
        assert!(tab.address().await.contains("repo=one"));
        // Of one sentence nothing is said twice.
        tab.open("/docs?q=sailing").await;
        assert_eq!(tab.text(".doc h2").await, "Sailing boats of the harbour.");
        assert_eq!(tab.run("return document.querySelectorAll('.doc p').length").await, 1);
        // What is wrong is said; names and contents that are scripts are text.
        tab.open("/docs?q=the").await;
        assert!(tab.text("[role=alert]").await.contains("word"));
        tab.open("/docs?q=scripts").await;
        assert!(tab.text(".doc .path").await.contains("<img src=x"));
        assert_eq!(tab.run("return document.images.length").await, 0);
        assert!(tab.client.get_alert_text().await.is_err());
    };
    journeys_in(documents, &["--window-size=1280,900"], &journey);
    // On a phone, in the dark.
    journeys_in(documents, &["--window-size=360,800"], &async |tab: &Tab<'_>| {
        tab.open("/docs").await;
        let width = tab.run("return window.innerWidth").await;
        assert_eq!(width, 360);
        tab.click("#theme").await;
        tab.click("#theme").await;
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
        // The settings of whoever runs the tests mean nothing here.
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
        assert_eq!(tab.text(".found > h2").await, "github.com/acme/tool");
        tab.click(".file li:has(mark) a.no").await;
        tab.until("location.pathname === '/file' && location.hash === '#L3'").await;
        assert_eq!(tab.text("#origin").await, "At its origin");
        let href = "return document.querySelector('#origin').href";
        assert_eq!(tab.run(href).await, format!("{file}#L3"));
        tab.run("location.hash = '#L1-L3'").await;
        tab.until("document.querySelectorAll('#text li.on').length === 3").await;
        assert_eq!(tab.run(href).await, format!("{file}#L1-L3"));
        let rel = tab.run("return document.querySelector('#origin').rel").await;
        assert_eq!(rel, "noreferrer");
    });
}

/// When a page was painted first, when its first result was, and when all of it was there, in milliseconds
/// after its first byte (<https://www.w3.org/TR/paint-timing/>, <https://wicg.github.io/element-timing/>). The
/// path of the first result says so itself when it is painted (`elementtiming`); a page without results has none.
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

/// Pages whose painting is looked at, and whether they have results. The first one is a word: what this
/// browser takes for any page.
const PAINTED: [(&str, bool); 7] = [
    ("/healthz", false),
    ("/", false),
    ("/search?q=fmt%5C.Print", true),
    ("/search?q=error", true),
    ("/search?q=func", true),
    ("/docs?q=how+to+configure", false),
    ("/file?repo=tidepool&path=src/harmonic.rs&q=fn", false),
];

fn sample() -> Fixture {
    let fixture = Fixture::new();
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/sample");
    fixture.run(&["ingest", "--shards", "4", "--depth", "1", sample]).code(0);
    fixture
}

/// Visits each page so often, and prints the medians.
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

/// Contrast of all texts with what is behind them, names of what can be used, one main part, headings of
/// tables (<https://www.w3.org/TR/WCAG22/>).
const AUDIT: &str = r"
const wrong = [];
const channel = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const parse = (c) => (c.match(/[\d.]+/g) || []).map(Number);
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const behind = (e) => {
  for (; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] === 1) return c;
  }
  return [255, 255, 255];
};
const seen = (e) => { const b = e.getBoundingClientRect(); return b.width > 0 && b.height > 0 && b.right > 0 && getComputedStyle(e).visibility !== 'hidden'; };
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const e = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !seen(e) || e.closest('svg, noscript')) continue;
  const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) wrong.push(`contrast ${ratio.toFixed(2)}: ${e.tagName}.${e.className} ${walker.currentNode.data.trim().slice(0, 40)}`);
}
for (const e of document.querySelectorAll('a, button, input, meter, progress, dialog, nav, aside, [role=listbox], [role=img]')) {
  const name = e.getAttribute('aria-label') || e.labels?.[0]?.textContent || e.textContent.trim();
  if (!name) wrong.push(`no name: ${e.outerHTML.slice(0, 120)}`);
}
const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
for (const id of ids) if (ids.filter(other => other === id).length > 1) wrong.push(`id twice: ${id}`);
if (!document.documentElement.lang) wrong.push('no language');
if (document.querySelectorAll('main').length !== 1) wrong.push('not one main');
for (const e of document.querySelectorAll('table')) if (!e.querySelector('th[scope]')) wrong.push('table without headings');
return wrong;
";

#[test]
fn every_page_can_be_read_and_used_by_everyone() {
    journeys(&["--window-size=1280,900"], &async |tab: &Tab<'_>| {
        for page in [
            "/",
            "/search?q=needle",
            "/search?q=a(b",
            "/search?q=nowhere_at_all",
            "/file?repo=one&path=src/server.go&q=needle",
            "/repos",
            "/repos?repo=one",
            "/stats",
            "/files?q=srv",
            "/docs",
            "/docs?q=needle",
            "/docs?q=nowhere_at_all",
        ] {
            for theme in ["light", "dark"] {
                tab.open(page).await;
                tab.run(&format!("document.documentElement.dataset.theme = '{theme}'")).await;
                assert_eq!(tab.run(AUDIT).await, json!([]), "{page} {theme}");
            }
            // All that a mouse can do, keys can: what can be used is reached with Tab, and is not hidden.
            let stuck = tab.run("return [...document.querySelectorAll('[onclick], [tabindex]')].filter(e => e.tabIndex > 0).length").await;
            assert_eq!(stuck, 0, "{page}");
        }
    });
}
