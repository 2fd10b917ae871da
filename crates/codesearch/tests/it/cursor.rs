//! Cursors on an index of several shards. All pages together equal the complete answer, in the same order, for any
//! limits, any server, and any state of its memory.

use std::collections::BTreeSet;
use std::sync::Arc;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use query::{Case, Query};
use search::Request;
use search::{Searcher, View, Visible};
use serde_json::Value;
use store::{Store, Target};
use tokio::sync::mpsc;

use crate::harness::{Fixture, Server, eventually, socket_folder};

const SHARDS: usize = 6;
const REPOS: usize = 12;

/// Limits of pages; 0 is none.
const LIMITS: [usize; 4] = [1, 7, 50, 0];

/// Queries of every plan: texts, paths and scan; for files, and for repositories.
const QUERIES: [&str; 6] =
    ["needle", "needle lang:go", "file:_1", "n.e", "needle -file:_3", "type:repo needle"];

/// Twelve repositories of ten files each, spread over all shards. Each gets one more file in a second ingest.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    for repo in 0..REPOS {
        for file in 0..10 {
            let ending = if file % 3 == 0 { "go" } else { "txt" };
            // Shards differ in their number of matches.
            let lines = 10 + 5 * ((repo + file) % 4);
            let mut text = String::new();
            for line in 0..lines {
                text.push_str("value_");
                text.push_str(&line.to_string());
                text.push_str(
                    &[" of ", &repo.to_string(), " and ", &file.to_string(), "\n"].concat(),
                );
            }
            if file != 5 {
                text.push_str(&"needle\n".repeat(1 + repo % 3));
            }
            fixture.write(&format!("r{repo:02}/src/file_{file}.{ending}"), text);
        }
    }
    fixture.ingest_over(SHARDS);
    for repo in 0..REPOS {
        fixture.write(&format!("r{repo:02}/more_1.md"), format!("needle {repo} at last\n"));
    }
    fixture.ingest_over(SHARDS);
    let used: i64 = fixture.sql("select count(*) from shards where chunks > 0");
    assert!(used > 3, "{used} shards are used");
    fixture
}

/// The endpoint that pages are requested from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Address {
    /// `/search`: a whole page at once, sorted by path.
    Search,
    /// `/search/stream`: in the order in which files are found.
    Stream,
}

struct Page {
    files: Vec<String>,
    next: Option<String>,
}

/// Returns the names of an answer's files or repositories.
fn names(answer: &Value) -> Vec<String> {
    if let Some(repos) = answer["repos"].as_array() {
        return repos.iter().map(|repo| repo.as_str().unwrap().to_owned()).collect();
    }
    let files = answer["files"].as_array().unwrap().iter();
    let name = |file: &Value| {
        format!("{}/{}", file["repo"].as_str().unwrap(), file["path"].as_str().unwrap())
    };
    files.map(name).collect()
}

fn url(path: &str, query: &str, limit: usize, cursor: Option<&str>) -> String {
    let query = utf8_percent_encode(query, NON_ALPHANUMERIC);
    let cursor = utf8_percent_encode(cursor.unwrap_or_default(), NON_ALPHANUMERIC);
    format!("{path}?q={query}&limit={limit}&cursor={cursor}")
}

#[track_caller]
fn page(server: &Server, from: Address, query: &str, limit: usize, cursor: Option<&str>) -> Page {
    let (files, end) = match from {
        Address::Search => {
            let (status, answer) = server.json(&url("/search", query, limit, cursor));
            assert_eq!(status, 200, "{query}, limit {limit}, {cursor:?}: {answer}");
            (names(&answer), answer)
        }
        Address::Stream => {
            let path = url("/search/stream", query, limit, cursor);
            let (_, _, body) = server.get(&path, "text/event-stream");
            let mut files = Vec::new();
            let mut end = None;
            for event in body.split("\n\n").filter(|event| !event.is_empty()) {
                let (name, data) = event.split_once('\n').unwrap();
                let data = data.split_once('\n').unwrap().1.strip_prefix("data: ").unwrap();
                let data: Value = serde_json::from_str(data).unwrap();
                match name {
                    "event: files" => files.extend(names(&data)),
                    "event: done" => end = Some(data),
                    "event: begin" | "event: progress" => {}
                    other => panic!("{other}: {query}, limit {limit}, {cursor:?}: {data}"),
                }
            }
            (files, end.unwrap())
        }
    };
    let next = end["next"].as_str().map(str::to_owned);
    assert_eq!(
        end["stats"]["complete"],
        next.is_none(),
        "{query}, limit {limit}: {}",
        end["stats"]
    );
    assert!(limit == 0 || files.len() <= limit, "{query}: {} files", files.len());
    Page { files, next }
}

/// Returns everything that a query finds, in the order in which it is found.
fn whole(server: &Server, query: &str) -> Vec<String> {
    let all = page(server, Address::Stream, query, 0, None);
    assert_eq!(all.next, None);
    let distinct: BTreeSet<&String> = all.files.iter().collect();
    assert_eq!(distinct.len(), all.files.len(), "{query}: a result twice");
    all.files
}

/// Checks the pages of a search, one after another, against the whole answer.
struct Pages<'a> {
    query: &'a str,
    whole: &'a [String],
    from: Address,
    given: usize,
    next: Option<String>,
}

impl<'a> Pages<'a> {
    fn of(query: &'a str, whole: &'a [String], from: Address) -> Self {
        Self { query, whole, from, given: 0, next: None }
    }

    fn are_all(&self) -> bool {
        self.given > 0 && self.next.is_none()
    }

    /// Requests the next page. Returns how it differs from the expected one.
    #[track_caller]
    fn one_more(&mut self, server: &Server, limit: usize) {
        let page = page(server, self.from, self.query, limit, self.next.as_deref());
        let left = &self.whole[self.given..];
        let mut expected =
            left[..if limit == 0 { left.len() } else { limit.min(left.len()) }].to_vec();
        if self.from == Address::Search {
            expected.sort_by(|a, b| a.split('/').cmp(b.split('/')));
        }
        let place =
            format!("{}, {:?}, from {} on, limit {limit}", self.query, self.from, self.given);
        assert_eq!(page.files, expected, "{place}");
        self.given += page.files.len();
        // A page that ends exactly at the end of the answer may still have a cursor.
        let is_last = self.given == self.whole.len();
        assert!(is_last || page.next.is_some(), "{place}: there is no next page");
        self.next = page.next;
    }

    /// Requests all remaining pages, and checks that nothing follows.
    #[track_caller]
    fn rest(&mut self, server: &Server, limit: usize) {
        while !self.are_all() {
            self.one_more(server, limit);
        }
        assert_eq!(self.given, self.whole.len(), "{}: not all", self.query);
    }
}

#[test]
fn any_limit_goes_on_where_any_other_ended() {
    let fixture = fixture();
    let server = fixture.serve();
    server.settle();
    for query in QUERIES {
        let all = whole(&server, query);
        assert!(all.len() >= REPOS, "{query}: {}", all.len());
        for from in [Address::Stream, Address::Search] {
            for first in LIMITS {
                for other in LIMITS {
                    let mut pages = Pages::of(query, &all, from);
                    pages.one_more(&server, first);
                    pages.rest(&server, other);
                }
            }
        }
    }
}

#[test]
fn a_cursor_outlives_its_server() {
    let fixture = fixture();
    for query in QUERIES {
        let mut server = fixture.serve();
        server.settle();
        let all = whole(&server, query);
        let mut pages = Pages::of(query, &all, Address::Search);
        for limit in [1, 7] {
            pages.one_more(&server, limit);
            server.stop();
            // Requested at once, while the server may still be reading texts.
            server = fixture.serve();
        }
        pages.rest(&server, 50);
    }
}

#[test]
fn servers_of_one_index_give_each_others_pages() {
    let fixture = fixture();
    let (one, other) = (fixture.serve(), fixture.serve());
    let without = fixture.serve_with(&["--cache", "0"]);
    one.settle();
    other.settle();
    for query in QUERIES {
        let all = whole(&one, query);
        // The order is that of the index, independent of what is in memory.
        assert_eq!(whole(&without, query), all, "{query}");
        for (first, second) in [(&one, &other), (&one, &without), (&without, &one)] {
            for (limit, next) in [(7, 7), (1, 50), (50, 1), (7, 0)] {
                let mut pages = Pages::of(query, &all, Address::Search);
                while !pages.are_all() {
                    pages.one_more(first, limit);
                    if !pages.are_all() {
                        pages.one_more(second, next);
                    }
                }
                assert_eq!(pages.given, all.len(), "{query}");
            }
        }
    }
}

#[test]
fn pages_are_the_same_while_texts_are_read_into_memory() {
    let fixture = fixture();
    let reference = fixture.serve();
    reference.settle();
    for query in QUERIES {
        let all = whole(&reference, query);
        // The texts of the last result's shard are unreadable for now.
        let Some((repo, path)) = all[all.len() - 1].split_once('/') else { continue };
        let shard: i16 = fixture.sql(&format!(
            "select shard from files f join repos r on r.id = f.repo where r.name = '{repo}' and path = '{path}' limit 1"
        ));
        let held = fixture.hold(&format!("lock table chunks_{shard:03} in access exclusive mode"));
        let server = fixture.serve();
        if shard > 0 {
            eventually("some texts are in memory", || server.bytes_in_memory() > 0);
        }
        let mut pages = Pages::of(query, &all, Address::Search);
        pages.one_more(&server, 1);
        drop(held);
        pages.one_more(&server, 7);
        server.settle();
        pages.rest(&server, 50);
    }
}

#[test]
fn an_ingest_between_pages_changes_no_page_or_is_told() {
    let fixture = fixture();
    let server = fixture.serve();
    server.settle();
    let query = "needle";
    let all = whole(&server, query);
    let mut pages = Pages::of(query, &all, Address::Search);
    pages.one_more(&server, 7);
    // A new file, a changed one, and a deleted one.
    fixture.write("r00/src/file_50.txt", "needle, and new\n");
    fixture.write("r05/src/file_4.txt", "nothing\n");
    std::fs::remove_file(fixture.path().join("r11/src/file_2.txt")).unwrap();
    fixture.ingest_over(SHARDS);
    eventually("the server knows of it", || server.search("new")["stats"]["files"] == 1);
    let now = whole(&server, query);
    assert!(now != all);
    // The server that made the cursor still holds the old epoch.
    let from_before = pages.next.clone().unwrap();
    pages.rest(&server, 50);
    // Another server may have only the new epoch. Then it says so.
    let other = fixture.serve();
    let (status, answer) = other.json(&url("/search", query, 50, Some(&from_before)));
    if status == 200 {
        let mut left = all[7..57].to_vec();
        left.sort_by(|a, b| a.split('/').cmp(b.split('/')));
        assert_eq!(names(&answer), left);
    } else {
        assert_refused(status, &answer);
    }
    // Pages of the new epoch are complete, too.
    for server in [&server, &other] {
        let mut pages = Pages::of(query, &now, Address::Search);
        pages.one_more(server, 7);
        pages.rest(server, 50);
    }
    // A server goes on in the states that it has searched, for five minutes; no other one does.
    for n in 0..8 {
        fixture.write("r00/src/file_51.txt", format!("again {n}\n"));
        fixture.ingest_over(SHARDS);
        let found = format!("again.{n}");
        eventually("the server knows of it", || server.search(&found)["stats"]["files"] == 1);
    }
    let (status, answer) = other.json(&url("/search", query, 50, Some(&from_before)));
    assert_refused(status, &answer);
    let mut left = all[7..57].to_vec();
    left.sort_by(|a, b| a.split('/').cmp(b.split('/')));
    let (status, answer) = server.json(&url("/search", query, 50, Some(&from_before)));
    assert_eq!((status, names(&answer)), (200, left));
}

#[test]
fn a_restricted_view_that_resumes_in_an_earlier_state_shows_no_more() {
    let fixture = fixture();
    let mut command = fixture.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.env("CODESEARCH_REPOS", "^r0[0-3]$");
    let (some, every) = (Server::start(command), fixture.serve());
    let (all, query) = (whole(&some, "needle"), "needle");
    let is_seen = |name: &String| name.as_str() < "r04";
    assert!(all.len() > 30 && all.iter().all(is_seen), "{all:?}");
    let addresses = [Address::Search, Address::Stream];
    let mut begun = addresses.map(|from| {
        let mut pages = Pages::of(query, &all, from);
        pages.one_more(&some, 7);
        pages
    });
    let of_every = addresses.map(|from| page(&every, from, query, 7, None).next.unwrap());
    fixture.write("r00/src/file_50.txt", "needle, and new\n");
    fixture.write("r09/src/file_50.txt", "needle, and new\n");
    fixture.ingest_over(SHARDS);
    eventually("the server knows of it", || some.search("new")["stats"]["files"] == 1);
    // The rest is that of the earlier state, which the server holds, and of nothing else.
    for pages in &mut begun {
        pages.rest(&some, 50);
    }
    // A cursor of a server that shows all repositories opens none of them.
    for cursor in &of_every {
        let (status, answer) = some.json(&url("/search", query, 0, Some(cursor)));
        assert_eq!(status, 410, "{answer}");
        let told = answer["error"]["message"].as_str().unwrap();
        assert!(told.contains("belongs to another query or user"), "{told}");
    }
}

#[test]
fn a_state_that_nothing_holds_any_longer_is_gone() {
    let fixture = fixture();
    let server = fixture.serve();
    server.settle();
    let all = whole(&server, "needle");
    let mut pages = Pages::of("needle", &all, Address::Search);
    pages.one_more(&server, 7);
    let next = pages.next.clone().unwrap();
    let change = |n: usize| {
        for repo in 0..12 {
            for file in 0..5 {
                let path = format!("r{repo:02}/src/file_{file}.txt");
                fixture.write(&path, format!("changed {n}\n"));
            }
        }
        fixture.ingest_over(SHARDS);
        let query = format!("changed.{n}");
        eventually("the server knows of it", || server.search(&query)["stats"]["files"] != 0);
    };
    let held = "from pg_locks where locktype = 'advisory' and classid::bigint = 1668481025 and objsubid = 2
         and database = (select oid from pg_database where datname = current_database())";
    change(1);
    let first = "select min(objid::bigint) ";
    let ended = format!(
        "select pg_terminate_backend(pid, 10000) {held} and objid::bigint = ({first}{held})"
    );
    assert!(fixture.sql::<bool>(&ended));
    change(2);
    let (status, answer) = server.json(&url("/search", "needle", 50, Some(&next)));
    assert_refused(status, &answer);
}

#[test]
fn a_search_whose_state_is_deleted_meanwhile_says_so() {
    let fixture = fixture();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let target = Target::Socket {
            folder: socket_folder(),
            role: "codesearch".to_owned(),
            database: fixture.index.clone(),
        };
        let store = Store::connect(&target, 4, store::Missing::Refuse).await.unwrap();
        let view = View::new(Arc::new(Searcher::new(store, 2)), Visible::ALL);
        let query = Query::parse("value_", Case::Smart).unwrap();
        let mut request = Request::new(&query).unwrap();
        request.limit = None;
        let request = Arc::new(request);
        let run = |send| {
            let (view, request) = (view.clone(), Arc::clone(&request));
            tokio::spawn(async move { view.search(&request, send).await })
        };
        // The search waits for its reader, who reads only a part.
        let (send, mut found) = mpsc::channel(1);
        let search = run(send);
        let first = found.recv().await.unwrap().len();
        let fixture = &fixture;
        tokio::task::block_in_place(|| {
            let ended = "select bool_and(pg_terminate_backend(pid, 10000))
                 from pg_locks where locktype = 'advisory' and classid::bigint = 1668481025 and objsubid = 2
                 and database = (select oid from pg_database where datname = current_database())";
            assert!(fixture.sql::<bool>(ended));
            std::fs::remove_dir_all(fixture.path().join("r03")).unwrap();
            fixture.ingest_over(SHARDS);
        });
        view.catalog().await.unwrap();
        let mut files = first;
        while let Some(some) = found.recv().await {
            files += some.len();
        }
        assert!(first < files, "it had ended before");
        let told = search.await.unwrap().unwrap_err().to_string();
        assert!(told.contains("ask again"), "{told}");
        // The same search on the new state.
        let (send, mut found) = mpsc::channel(1);
        let search = run(send);
        while found.recv().await.is_some() {}
        assert_eq!(search.await.unwrap().unwrap().files, 10 * (REPOS - 1));
    });
}

/// Checks that a cursor whose epoch is gone is refused, in a sentence that says what to do.
#[track_caller]
fn assert_refused(status: u16, answer: &Value) {
    assert_eq!(status, 410, "{answer}");
    assert_eq!(answer["error"]["code"], "gone", "{answer}");
    let told = answer["error"]["message"].as_str().unwrap();
    assert!(told.contains("the index has changed") && told.contains("search again"), "{told}");
}

#[test]
fn a_cursor_of_another_query_is_refused() {
    let fixture = fixture();
    let server = fixture.serve();
    let next = page(&server, Address::Search, "needle", 7, None).next.unwrap();
    for query in ["value_3", "needle lang:go", "case:yes needle", "type:repo needle"] {
        let (status, answer) = server.json(&url("/search", query, 7, Some(&next)));
        assert!(matches!(status, 400 | 410), "{query}: {answer}");
        let told = answer["error"]["message"].as_str().unwrap();
        assert!(told.contains("another query"), "{query}: {told}");
    }
    // The same terms, but other languages, or another case of a pattern that names no letter.
    for (query, other) in
        [("needle or lang:go", "needle or lang:rust"), ("case:no c:[!-~]", "case:yes c:[!-~]")]
    {
        let next = page(&server, Address::Search, query, 7, None).next.unwrap();
        let (status, answer) = server.json(&url("/search", other, 7, Some(&next)));
        assert!(matches!(status, 400 | 410), "{other}: {answer}");
    }
    // A setting that does not change the results does not make another query.
    for query in ["needle count:50", "needle timeout:30s"] {
        let left = page(&server, Address::Search, query, 50, Some(&next));
        assert_eq!(left.files.len(), 50, "{query}");
    }
}

/// Returns the files of a page for people, and the address of the next page.
fn shown(server: &Server, path: &str) -> (Vec<String>, Option<String>) {
    let (status, _, page) = server.get(path, "text/html");
    assert_eq!(status, 200, "{path}: {page}");
    let mut files = Vec::new();
    for article in page.split("<article").skip(1) {
        let link = article.split("href=\"/file?repo=").nth(1).unwrap().split('"').next().unwrap();
        let link = link.split("&#38;q=").next().unwrap().replace("&#38;path=", "/");
        files.push(percent_decode_str(&link).decode_utf8().unwrap().into_owned());
    }
    let next = page.split("rel=\"next\"").next().filter(|before| before.len() < page.len());
    let next = next.map(|before| {
        let address = before.rsplit("href=\"").next().unwrap().split('"').next().unwrap();
        address.replace("&#38;", "&").replace("&amp;", "&")
    });
    (files, next)
}

#[test]
fn the_links_of_a_page_lead_through_the_whole_answer() {
    let fixture = fixture();
    let server = fixture.serve();
    server.settle();
    let without = fixture.serve_with(&["--cache", "0"]);
    for (query, sort) in [("needle", "relevance"), ("needle", "path"), ("file:_1", "relevance")] {
        let mut expected = whole(&server, query);
        expected.sort();
        for servers in [[&server, &server], [&server, &without], [&without, &server]] {
            let mut files = Vec::new();
            let mut next = Some(format!("/search?q={query}&sort={sort}&wait=1"));
            for server in servers.into_iter().cycle() {
                let Some(path) = next else { break };
                let (some, more) = shown(server, &path);
                assert!(more.is_none() || !some.is_empty(), "{path}");
                files.extend(some);
                next = more;
            }
            files.sort();
            assert_eq!(files, expected, "{query}, {sort}");
        }
    }
}

#[test]
fn pages_in_an_order_are_together_the_whole_answer() {
    let fixture = fixture();
    let server = fixture.serve();
    server.settle();
    let without = fixture.serve_with(&["--cache", "0"]);
    for sort in ["path", "relevance"] {
        let page = |server: &Server, limit: usize, cursor: &str| {
            let path = format!("/search?q=needle&sort={sort}&limit={limit}&cursor={cursor}");
            let (status, answer) = server.json(&path);
            assert_eq!(status, 200, "{path}: {answer}");
            (names(&answer), answer["next"].as_str().map(str::to_owned))
        };
        let (all, next) = page(&server, 1000, "");
        assert_eq!(next, None);
        for (first, second) in [(&server, &server), (&server, &without), (&without, &server)] {
            for limits in [[7, 50], [50, 7], [1, 1000]] {
                let (mut files, mut next) = page(first, limits[0], "");
                while let Some(cursor) = next {
                    let (some, more) = page(second, limits[1], &cursor);
                    files.extend(some);
                    next = more;
                }
                assert_eq!(files, all, "{sort}, {limits:?}");
            }
        }
    }
}
