//! What a client asks, from its parameters to a search that runs.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use engine::search::{FileMatch, Request, Resume, Stats, Stopped};
use futures_util::FutureExt;
use query::{Case, Count, Query as Parsed};
use serde::Deserialize;
use store::Epoch;
use tokio::sync::mpsc;

use super::Server;
use super::error::Failure;
use super::metrics::{Counted, of_request};
use super::results::Order;
use crate::narrow::Narrow;

/// Batches of files that the search may be ahead of who reads them.
const FOUND_AHEAD: usize = 2;

/// Bytes of patterns that are compiled where they are asked for.
const MAX_SHORT: usize = 256;

/// Lines of context on either side, at most: each match may have its own.
pub(crate) const MAX_CONTEXT: usize = 100;

/// What can be asked, as it stands in the address.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Asked {
    /// The query.
    #[serde(default)]
    pub(crate) q: String,
    /// Most results; 0 for all.
    pub(crate) limit: Option<String>,
    /// The same, as other search engines call it.
    pub(crate) num: Option<String>,
    /// `yes`, `no` or `auto`.
    pub(crate) case: Option<String>,
    /// A pattern for names of repositories.
    pub(crate) repo: Option<String>,
    /// A pattern for paths.
    pub(crate) file: Option<String>,
    /// A language.
    pub(crate) lang: Option<String>,
    /// How long it may take: `500ms`, `5s`, `2m`.
    pub(crate) timeout: Option<String>,
    /// `1` to be told how the query was understood, planned and run.
    pub(crate) explain: Option<String>,
    /// `json` or `html`, whatever the client accepts.
    pub(crate) format: Option<String>,
    /// Lines to show around each match: `2`, or `1,3` for before and after.
    pub(crate) context: Option<String>,
    /// Where to go on: what an answer gave as `next`.
    pub(crate) cursor: Option<String>,
    /// Which fields of a file to send, with commas between them.
    pub(crate) fields: Option<String>,
    /// The order of results: `relevance`, `path` or `repo`.
    pub(crate) sort: Option<String>,
    /// `1` for a page that is sent when all of it is there.
    pub(crate) wait: Option<String>,
}

/// Where an answer ended. As text it says nothing to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// Where the search goes on.
    pub(crate) resume: Resume,
    /// Of what it then finds, in order, how many were shown.
    pub(crate) shown: usize,
    /// In which order; none for that in which results are found.
    pub(crate) order: Option<Order>,
}

impl Cursor {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let mut number = |radix| u64::from_str_radix(parts.next()?, radix).ok();
        let (epoch, found) = (number(10)?, number(16)?);
        let (results, shown) = (number(10)?, number(10)?);
        let epoch = Epoch(i32::try_from(epoch).ok()?);
        let resume = Resume { epoch, order: found, results: usize::try_from(results).ok()? };
        let order = match parts.next() {
            None => None,
            Some(name) => Some(Order::named(name)?),
        };
        let shown = usize::try_from(shown).ok()?;
        parts.next().is_none().then_some(Self { resume, shown, order })
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Resume { epoch, order, results } = self.resume;
        write!(f, "{}-{order:x}-{results}-{}", epoch.0, self.shown)?;
        self.order.map_or(Ok(()), |order| write!(f, "-{}", order.name()))
    }
}

impl Asked {
    /// Where to go on, if not at the beginning, in an order (none for that in which results are found).
    pub(crate) fn cursor(&self, order: Option<Order>) -> Result<Option<Cursor>, Failure> {
        let Some(text) = self.cursor.as_deref().filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let wrong = || Failure::bad_request("cursor: give what an answer gave as next, unchanged");
        let cursor = Cursor::parse(text).ok_or_else(wrong)?;
        if cursor.order != order {
            return Err(Failure::bad_request(
                "cursor: it goes on in another order; give the sort= with which it came, or leave out cursor=",
            ));
        }
        Ok(Some(cursor))
    }

    /// Nothing is asked for that only a page has.
    pub(crate) fn of_a_program(&self) -> Result<(), Failure> {
        if self.wait.is_some() {
            return Err(Failure::bad_request(
                "wait= is for pages only: leave it out, or ask for one with format=html",
            ));
        }
        Ok(())
    }

    /// An order is asked for, other than that of programs.
    pub(crate) fn sorts(&self) -> bool {
        self.sort.as_deref().is_some_and(|order| !order.is_empty())
    }

    pub(crate) fn explains(&self) -> bool {
        self.explain.as_deref().is_some_and(|value| !matches!(value, "" | "0" | "no" | "false"))
    }
}

/// The request, compiled; for so many results unless it is said how many.
pub(crate) async fn compiled(asked: &Asked, usual: Option<Count>) -> Result<Request, Failure> {
    let texts = [Some(&asked.q), asked.repo.as_ref(), asked.file.as_ref()];
    let short = is_short(texts.into_iter().flatten());
    let asked = asked.clone();
    compile(short, move || request(&asked, usual)).await
}

/// Compiles something where that keeps nobody waiting.
pub(crate) async fn compile(
    short: bool,
    work: impl FnOnce() -> Result<Request, Failure> + Send + 'static,
) -> Result<Request, Failure> {
    if short {
        return work();
    }
    tokio::task::spawn_blocking(work).await.expect("compiling does not panic")
}

/// Whether patterns are compiled in less time than it takes to wake another thread. A large one would
/// keep others waiting, and a short one is large when it repeats something many times.
pub(crate) fn is_short<'t>(patterns: impl IntoIterator<Item = &'t String>) -> bool {
    let mut bytes = 0;
    patterns.into_iter().all(|pattern| {
        bytes += pattern.len();
        bytes <= MAX_SHORT && !pattern.contains('{')
    })
}

/// A search whose results are taken one batch after another. It goes on only while they are waited for,
/// and ends when this is dropped.
pub(crate) struct Running {
    search: Pin<Box<dyn Future<Output = Ended> + Send>>,
    files: mpsc::Receiver<Vec<FileMatch>>,
    ended: Option<Ended>,
    counted: Counted,
}

pub(crate) type Ended = Result<Stats, Failure>;

impl Running {
    pub(crate) fn start(server: &Server, request: &Arc<Request>) -> Self {
        let (found, files) = mpsc::channel(FOUND_AHEAD);
        let (searcher, asked) = (Arc::clone(&server.searcher), Arc::clone(request));
        let search = async move {
            let search = AssertUnwindSafe(searcher.search(&asked, found)).catch_unwind();
            search.await.map_or_else(|_| Err(Failure::broke_off()), |stats| Ok(stats?))
        };
        let (kind, told) = of_request(request, server.searcher.store().is_loose());
        let counted = server.metrics.begin(kind, told);
        Self { search: Box::pin(search), files, ended: None, counted }
    }

    /// The next files; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Vec<FileMatch>> {
        while self.ended.is_none() {
            tokio::select! {
                biased;
                ended = &mut self.search => {
                    self.counted.end(&ended);
                    self.ended = Some(ended);
                }
                Some(files) = self.files.recv() => return Some(files),
            }
        }
        self.files.recv().await
    }

    /// Wants no more files: the search ends soon.
    pub(crate) fn stop(&mut self) {
        self.files.close();
    }

    /// Gives the search up for another one of the same.
    pub(crate) fn replace(mut self) {
        self.counted.replaced();
    }

    /// What the search ended with, when there is no more to come.
    pub(crate) fn end(self) -> Ended {
        self.ended.unwrap_or_else(|| Err(Failure::broke_off()))
    }
}

fn request(asked: &Asked, usual: Option<Count>) -> Result<Request, Failure> {
    if let Some(format) = asked.format.as_deref().filter(|f| !matches!(*f, "json" | "html")) {
        return Err(Failure::bad_request(format!("format={format}: use json or html")));
    }
    if asked.q.trim().is_empty() {
        return Err(Failure::bad_request("nothing to search for: give a query in q="));
    }
    let case = match asked.case.as_deref() {
        None | Some("auto") => Case::Smart,
        Some("yes") => Case::Sensitive,
        Some("no") => Case::Insensitive,
        Some(other) => {
            return Err(Failure::bad_request(format!("case={other}: use yes, no or auto")));
        }
    };
    let mut query = Parsed::parse(&asked.q, case)?;
    let given = |value: &Option<String>| -> Vec<String> {
        value.iter().filter(|text| !text.is_empty()).cloned().collect()
    };
    let (repos, files, languages) = (given(&asked.repo), given(&asked.file), given(&asked.lang));
    // What the query itself says goes before what is said beside it.
    let limit = asked.limit.as_deref().or(asked.num.as_deref()).filter(|text| !text.is_empty());
    if let (Some(text), None) = (limit, query.settings.count) {
        let limit: usize = text.parse().map_err(|_| {
            Failure::bad_request(format!("limit={text}: use a number of files, 0 for all"))
        })?;
        query.settings.count = Some(if limit == 0 { Count::All } else { Count::Most(limit) });
    }
    query.settings.count = query.settings.count.or(usual);
    if let (Some(text), None) =
        (asked.timeout.as_deref().filter(|t| !t.is_empty()), query.settings.timeout)
    {
        let timeout = query::duration(text)
            .map_err(|why| Failure::bad_request(format!("timeout={text}: {why}")))?;
        query.settings.timeout = Some(timeout);
    }
    let narrow = Narrow { repos: &repos, files: &files, languages: &languages };
    let query = narrow
        .apply(query)
        // What follows the first line points at the place in a terminal.
        .map_err(|(kind, why)| {
            Failure::bad_request(format!("{kind}=: {}", why.lines().next().unwrap_or_default()))
        })?;
    let mut request = Request::new(&query)?;
    request.skipped = true;
    if let Some(text) = asked.context.as_deref().filter(|text| !text.is_empty()) {
        request.context = context(text).ok_or_else(|| {
            Failure::bad_request(format!(
                "context={text}: use a number of lines up to {MAX_CONTEXT}, or two with a comma"
            ))
        })?;
    }
    Ok(request)
}

/// `2`, or `1,3`.
fn context(text: &str) -> Option<(usize, usize)> {
    let lines = |text: &str| text.trim().parse().ok().filter(|lines| *lines <= MAX_CONTEXT);
    match text.split_once(',') {
        Some((before, after)) => Some((lines(before)?, lines(after)?)),
        None => lines(text).map(|lines| (lines, lines)),
    }
}

/// Why an answer is not complete, as a word for programs and a sentence for people.
pub(crate) fn stopped(stats: &Stats) -> Option<(&'static str, String)> {
    match &stats.stopped {
        None => None,
        Some(Stopped::Limit) => Some((
            "limit",
            format!("stopped at the limit of {} results; there are more", stats.files),
        )),
        Some(Stopped::Timeout(timeout)) => {
            Some(("timeout", format!("stopped after {timeout:?}; there may be more")))
        }
        Some(Stopped::Shards(_)) => Some((
            "shard_error",
            "some shards could not be searched; the server's log says why".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_as_it_was() {
        let resume = Resume { epoch: Epoch(7), order: u64::MAX, results: 1000 };
        for order in [None, Some(Order::Relevance), Some(Order::Path), Some(Order::Repo)] {
            let cursor = Cursor { resume, shown: 50, order };
            assert_eq!(Cursor::parse(&cursor.to_string()), Some(cursor));
        }
        for wrong in [
            "",
            "1",
            "1-2-3",
            "1-2-3-4-5",
            "1-2-3-4-path-6",
            "x-2-3-4",
            "1-2--4",
            "99999999999-2-3-4",
        ] {
            assert_eq!(Cursor::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn context_is_one_number_or_two() {
        assert_eq!(context("2"), Some((2, 2)));
        assert_eq!(context("0, 3"), Some((0, 3)));
        for wrong in ["x", "1,2,3", "-1", "1000", ","] {
            assert_eq!(context(wrong), None, "{wrong}");
        }
    }
}
