//! A tab of Chromium, controlled through its driver.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::{Client, ClientBuilder, Locator};
use serde_json::{Value, json};

use crate::harness::{Fixture, Server, eventually_async};

/// Maximum time for an element to appear.
const PATIENCE: Duration = Duration::from_secs(15);

/// A running driver, which ends with its browser when dropped.
struct Driver {
    child: Child,
    address: String,
}

impl Driver {
    /// Starts the driver; `None` without a driver or a browser.
    fn start() -> Option<Self> {
        let Some(driver) = in_path(&["chromedriver"]).filter(|_| browser().is_some()) else {
            let is = |name: &str, said: &str| std::env::var(name).is_ok_and(|value| value == said);
            let required = is("CI", "true") || is("CODESEARCH_BROWSER", "required");
            assert!(!required, "there is no chromium or no chromedriver in PATH");
            println!("left out: there is no chromium or no chromedriver in PATH");
            return None;
        };
        // It ends when the port that it has on one loopback address is taken on the other.
        let started = (0..3).find_map(|_| Self::try_start(&driver));
        Some(started.expect("chromedriver starts"))
    }

    fn try_start(driver: &Path) -> Option<Self> {
        let mut child =
            Command::new(driver).arg("--port=0").stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let port = line.split("successfully on port ").nth(1)?;
            Some(port.trim_end_matches('.').to_owned())
        });
        // Keep reading its output, so that the pipe does not fill up.
        std::thread::spawn(move || lines.for_each(drop));
        let mut driver = Self { child, address: String::new() };
        driver.address = format!("http://127.0.0.1:{}", port?);
        Some(driver)
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
    // Debian's Chromium without windows takes half of the time. The script in PATH that starts it would be killed in its place.
    let shell = PathBuf::from("/usr/lib/chromium/chromium-headless-shell");
    let windowed = || in_path(&["chromium", "chromium-browser", "google-chrome"]);
    Some(shell).filter(|shell| shell.is_file()).or_else(windowed)
}

/// Returns the HTML of the page, for failure messages.
const BODY: &str = "return document.body.outerHTML";

/// A page of a server in a browser.
pub(super) struct Tab<'a> {
    pub(super) client: Client,
    pub(super) server: &'a Server,
    scripted: bool,
}

impl Tab<'_> {
    pub(super) async fn open(&self, path: &str) {
        self.client.goto(&format!("http://{}{path}", self.server.address)).await.unwrap();
        self.ready().await;
    }

    /// Waits until the page's script has run, if scripts are enabled.
    pub(super) async fn ready(&self) {
        if self.scripted {
            self.until("document.documentElement.dataset.script").await;
        }
    }

    /// Waits for the element of a selector, and returns its text. If the page changes meanwhile, that of the new page; of a
    /// search that is still running, that of its end.
    pub(super) async fn text(&self, selector: &str) -> String {
        let begun = Instant::now();
        loop {
            let wait = self.client.wait().at_most(PATIENCE);
            let Ok(found) = wait.for_element(Locator::Css(selector)).await else {
                panic!("{selector} is not on {}: {}", self.address().await, self.run(BODY).await)
            };
            match found.text().await {
                Err(error) if error.is_stale_element_reference() => {}
                Ok(text) if text.starts_with("searching") && begun.elapsed() < PATIENCE => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                text => return text.unwrap(),
            }
        }
    }

    pub(super) async fn click(&self, selector: &str) {
        self.text(selector).await;
        self.ready().await;
        let found = self.client.find(Locator::Css(selector)).await.unwrap();
        found.click().await.unwrap();
    }

    /// Clicks on a link or a button that leads to another page, and waits until the page before has gone. The driver
    /// may be back from a click before its browser has begun to leave.
    pub(super) async fn follow(&self, selector: &str) {
        let before = self.client.find(Locator::Css("html")).await.unwrap();
        self.click(selector).await;
        let left = eventually_async(async || before.tag_name().await.is_err()).await;
        assert!(left, "{selector} leads to no other page: {}", self.run(BODY).await);
        self.ready().await;
    }

    /// Clicks on an entry of a menu, which is opened for that.
    pub(super) async fn click_in_menu(&self, selector: &str) {
        self.ready().await;
        let open = format!("document.querySelector('{selector}').closest('details').open = true");
        self.run(&open).await;
        self.click(selector).await;
    }

    pub(super) async fn run(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.unwrap()
    }

    /// Waits until a script returns true.
    pub(super) async fn until(&self, script: &str) {
        let asked = format!("return Boolean({script})");
        let came = eventually_async(async || self.run(&asked).await == json!(true)).await;
        assert!(came, "{script}: {}", self.run(BODY).await);
    }

    pub(super) async fn keys(&self, selector: &str, keys: &str) {
        self.ready().await;
        let found = self.client.find(Locator::Css(selector)).await.unwrap();
        found.send_keys(keys).await.unwrap();
    }

    /// Waits until the address ends with this.
    pub(super) async fn arrives(&self, end: &str) {
        let arrived = eventually_async(async || self.address().await.ends_with(end)).await;
        assert!(arrived, "{} does not end with {end}", self.address().await);
    }

    pub(super) async fn address(&self) -> String {
        self.client.current_url().await.unwrap().to_string()
    }
}

/// Runs a journey in a tab on a server of this fixture, with these options of the browser.
pub(super) fn journeys_in(
    repositories: impl FnOnce() -> Fixture,
    options: &[&str],
    journey: &impl AsyncFn(&Tab<'_>),
) {
    let Some(driver) = Driver::start() else { return };
    let fixture = repositories();
    let server = fixture.serve_with(&["--audit"]);
    let mut arguments =
        vec!["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
    arguments.extend(options);
    let mut wanted = serde_json::Map::new();
    let binary = browser().unwrap();
    let mut chrome = json!({ "args": arguments, "binary": binary });
    // Windows are at least 500 px wide. A narrower size is emulated as a phone.
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
