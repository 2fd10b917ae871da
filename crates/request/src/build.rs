//! Builds a request from a query and its options, and decides whether the query, an option or a default wins.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use query::{Changes, Count, Defaults, Query, Select};
use search::Request;

use super::client::Client;
use super::narrow::Narrow;
use super::options::Options;
use super::refused::{Refused, option};

/// The least time for compiling patterns. Most take less, so a search with a short timeout still reports its progress.
const SHORTEST: Duration = Duration::from_millis(20);

/// Parses a query text. Its own settings of case and lines override the options.
///
/// # Errors
/// [`Refused::Query`] if the text is not a query.
pub fn parse(text: &str, options: &Options, client: &Client) -> Result<Query, Refused> {
    let multiline = options.multiline || client.multiline;
    Ok(Query::parse(text, Defaults { case: options.case, multiline })?)
}

/// Builds the request for a query.
///
/// # Errors
/// [`Refused::Query`] if the compiled query takes too much memory; [`Refused::Option`] if a
/// restriction beside it is not a pattern or a language, or if more results are requested than the
/// client may have.
pub fn build(query: Query, options: &Options, client: &Client) -> Result<Request, Refused> {
    build_with(query, options, client, |query, _| Ok(Request::new(query)?))
}

/// Builds the request for a query within its timeout, or 20 ms. Large patterns compile for up to a quarter of a second
/// and cannot be interrupted, so a thread of its own compiles them. It ends when it is done, and then drops `turn`.
///
/// # Errors
/// Those of [`build`]; [`Refused::Option`] if it timed out.
pub fn build_in_time(
    query: Query,
    options: &Options,
    client: &Client,
    turn: impl Send + 'static,
) -> Result<Request, Refused> {
    build_with(query, options, client, |query, timeout| {
        let Some(timeout) = timeout else { return Ok(Request::new(query)?) };
        let (send, compiled) = sync_channel(1);
        let own = query.clone();
        let started = thread::Builder::new().name("compile".to_owned()).spawn(move || {
            let request = Request::new(&own);
            drop(turn);
            // After the timeout, nobody receives the request.
            let _ = send.send(request);
        });
        if started.is_err() {
            // The system provides no more threads.
            return Ok(Request::new(query)?);
        }
        match compiled.recv_timeout(timeout.max(SHORTEST)) {
            Ok(request) => Ok(request?),
            Err(RecvTimeoutError::Timeout) => {
                let why =
                    format!("the patterns did not compile within {timeout:?}; raise the timeout");
                Err(option("timeout", &why))
            }
            Err(RecvTimeoutError::Disconnected) => unreachable!("compiling does not panic"),
        }
    })
}

fn build_with(
    query: Query,
    options: &Options,
    client: &Client,
    compile: impl FnOnce(&Query, Option<Duration>) -> Result<Request, Refused>,
) -> Result<Request, Refused> {
    let mut query = Narrow::of(options).apply(query)?;
    let settings = &mut query.settings;
    if options.paths_only && settings.select.has_lines() {
        settings.select = Select::Files;
    }
    let limit = limit(settings.count, options.limit, client)?;
    let timeout = timeout(settings.timeout, options.timeout, limit, client);
    let mut request = compile(&query, timeout)?;
    request.limit = limit;
    request.timeout = timeout;
    request.context = options.context;
    // A list of repositories does not report left-out files.
    let of_files = query.settings.select != Select::Repos;
    request.skipped = options.skipped || client.skipped && of_files;
    request.enclosing = options.enclosing;
    request.brute = options.brute;
    if options.oldest_first && query.changes != Some(Changes::History) {
        return Err(option("sort", &"only commits have an oldest one; search for history:PATTERN"));
    }
    request.oldest_first = options.oldest_first;
    request.resume = options.resume;
    Ok(request)
}

/// Returns the limit of a request whose default is known only later. A limit in the query overrides the default.
pub fn limit_or(said: Option<Count>, usual: usize) -> Option<usize> {
    said.unwrap_or(Count::Most(usual)).limit()
}

fn limit(
    said: Option<Count>,
    option: Option<Count>,
    client: &Client,
) -> Result<Option<usize>, Refused> {
    let limit = said.or(option).unwrap_or(client.limit).limit();
    let Some(most) = client.most else { return Ok(limit) };
    // A limit in the query is lowered, since a query is for every client. An option was meant for this client, so an
    // option that is out of bounds is refused.
    if said.is_none() && !limit.is_some_and(|limit| (1..=most).contains(&limit)) {
        let why = format!("give a number of files from 1 to {most}");
        return Err(Refused::Option { name: "limit", why });
    }
    Ok(Some(limit.map_or(most, |limit| limit.min(most))))
}

fn timeout(
    said: Option<Duration>,
    option: Option<Duration>,
    limit: Option<usize>,
    client: &Client,
) -> Option<Duration> {
    let usual = (limit.is_some() || client.bounds_all).then_some(client.timeout);
    said.or(option).or(usual)
}

#[cfg(test)]
mod tests {
    use query::Case;

    use super::*;

    /// Returns a request as text: the parsed query, then limit, timeout and context.
    fn told(text: &str, options: &Options, client: &Client) -> String {
        let built = parse(text, options, client).and_then(|query| {
            let understood = query.tree.to_string();
            Ok((understood, build(query, options, client)?))
        });
        let (understood, request) = match built {
            Ok(built) => built,
            Err(refused) => return refused.to_string().lines().next().unwrap().to_owned(),
        };
        let limit = request.limit.map_or("all".to_owned(), |limit| limit.to_string());
        let timeout = request.timeout.map_or("no".to_owned(), |timeout| format!("{timeout:?}"));
        let mut told = format!("{understood} {limit} results, {timeout} timeout");
        if request.context != (0, 0) {
            let (before, after) = request.context;
            told = format!("{told}, context ({before}, {after})");
        }
        for (is, name) in [(request.skipped, "skipped"), (request.brute, "brute")] {
            told += if is { ", " } else { "" };
            told += if is { name } else { "" };
        }
        match request.compiled_query().select {
            Select::Lines | Select::Symbols => told,
            other => format!("{told}, {other:?}"),
        }
    }

    #[track_caller]
    fn check(client: &Client, text: &str, options: &Options, expected: &str) {
        assert_eq!(told(text, options, client), expected, "{text} {options:?}");
    }

    fn limited(number: usize) -> Options {
        Options { limit: Some(Count::of(number)), ..Options::default() }
    }

    fn timed(seconds: u64) -> Options {
        Options { timeout: Some(Duration::from_secs(seconds)), ..Options::default() }
    }

    #[test]
    fn the_query_goes_before_the_options_and_these_before_what_is_usual() {
        let (none, client) = (Options::default(), &Client::COMMAND_LINE);
        check(client, "x", &none, "/x/i 100 results, 10s timeout");
        check(client, "x", &limited(7), "/x/i 7 results, 10s timeout");
        check(client, "x", &limited(0), "/x/i all results, no timeout");
        check(client, "x count:3", &limited(7), "/x/i 3 results, 10s timeout");
        check(client, "x count:all", &limited(7), "/x/i all results, no timeout");
        check(client, "x count:0 timeout:2s", &none, "/x/i all results, 2s timeout");
        check(client, "x", &timed(5), "/x/i 100 results, 5s timeout");
        check(client, "x timeout:2s", &timed(5), "/x/i 100 results, 2s timeout");
        check(client, "x count:all", &timed(5), "/x/i all results, 5s timeout");
    }

    #[test]
    fn case_and_lines() {
        let (client, exact) =
            (&Client::COMMAND_LINE, Options { case: Case::Sensitive, ..Options::default() });
        check(client, "x", &exact, "/x/ 100 results, 10s timeout");
        check(client, "x case:no", &exact, "/x/i 100 results, 10s timeout");
        check(client, "X", &Options::default(), "/X/ 100 results, 10s timeout");
        let lines = Options { multiline: true, ..Options::default() };
        check(client, r"x\s", &lines, r"/x\s/im 100 results, 10s timeout");
        check(client, r"x\s multiline:no", &lines, r"/x\s/i 100 results, 10s timeout");
    }

    #[test]
    fn what_else_is_asked_for() {
        let options = Options {
            paths_only: true,
            context: (1, 2),
            skipped: true,
            brute: true,
            ..Options::default()
        };
        let expected = "/x/i 100 results, 10s timeout, context (1, 2), skipped, brute, Files";
        check(&Client::COMMAND_LINE, "x", &options, expected);
        let expected = "/x/i 100 results, 10s timeout, context (1, 2), skipped, brute, Repos";
        check(&Client::COMMAND_LINE, "x type:repo", &options, expected);
        let wrong = Options { repos: vec!["(".to_owned()], ..Options::default() };
        assert!(told("x", &wrong, &Client::PROGRAM).starts_with("repo: "));
        let wrong = Options { languages: vec!["klingon".to_owned()], ..Options::default() };
        assert!(told("x", &wrong, &Client::PROGRAM).starts_with("lang: "));
        assert!(told("a(b", &Options::default(), &Client::PROGRAM).contains("unclosed"));
    }

    #[test]
    fn each_client_has_its_own_usual_values() {
        let (none, all) = (Options::default(), "x count:all");
        check(&Client::PROGRAM, "x", &none, "/x/i 100 results, 10s timeout, skipped");
        check(&Client::PROGRAM, all, &none, "/x/i all results, no timeout, skipped");
        check(&Client::PAGE, all, &none, "/x/i all results, 10s timeout, skipped");
        check(&Client::ZOEKT, r"x\s", &none, r"/x\s/im all results, 20s timeout");
        check(&Client::ZOEKT, "x timeout:1s", &timed(5), "/x/i all results, 1s timeout");
        check(&Client::LIVEGREP, "x", &limited(0), "/x/i all results, 10s timeout");
        check(&Client::LIVEGREP, "x", &none, "/x/i 50 results, 10s timeout");
        assert_eq!(limit_or(None, 8), Some(8));
        assert_eq!(limit_or(Some(Count::Most(3)), 8), Some(3));
        assert_eq!(limit_or(Some(Count::All), 8), None);
    }

    #[test]
    fn an_agent_has_no_more_than_it_can_read() {
        let client = &Client::AGENT;
        check(client, "x", &Options::default(), "/x/i 50 results, 10s timeout, skipped");
        check(client, "x", &limited(500), "/x/i 500 results, 10s timeout, skipped");
        check(client, "x count:3", &limited(7), "/x/i 3 results, 10s timeout, skipped");
        check(client, "x count:9999", &limited(7), "/x/i 500 results, 10s timeout, skipped");
        check(client, "x count:all", &limited(7), "/x/i 500 results, 10s timeout, skipped");
        for wrong in [0, 501] {
            let why = "limit: give a number of files from 1 to 500";
            check(client, "x", &limited(wrong), why);
        }
    }
}
