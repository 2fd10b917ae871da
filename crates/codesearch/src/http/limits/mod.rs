//! How much a client may ask: searches at once and a minute, and bytes of answers a minute, by address or
//! by token, and all clients together. Who asks for more is told when to come back.
//!
//! A budget fills by the second and holds a minute's worth. A search costs one before it begins. What an
//! answer takes in bytes is known when it is sent, so it may overdraw the budget, and the client waits
//! until that is paid back: an answer is never broken off.
//!
//! Nothing of this is done by a library for rate limits: those refuse what is known beforehand, and forget
//! no client by themselves.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::compat::zoekt;
use super::connections::Peer;
use super::error::{Body as Told, Failure};
use super::pages::failed;
use super::params::{Pairs, wants_page};
use super::server::Server;
use crate::statistics::Refusal;

/// Clients that are remembered. Of more, those that asked longest ago are forgotten, and with them what
/// they have used of this minute.
const MAX_CLIENTS: usize = 1 << 16;

/// A token has so many characters at least: shorter ones can be guessed.
const MIN_TOKEN: usize = 16;

/// So much of a search or a byte is none: budgets fill in fractions.
const ROUNDING: f64 = 1e-6;

/// A proxy adds its client at the end of this header.
const FORWARDED: &str = "x-forwarded-for";

/// What one client, or all of them together, may have. None is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Searches at the same time, until their answers are sent.
    pub(crate) at_once: Option<u32>,
    /// Searches a minute.
    pub(crate) per_minute: Option<u32>,
    /// MiB of answers a minute, before they are compressed.
    pub(crate) mib_per_minute: Option<u32>,
}

/// The limits of a server.
#[derive(Debug)]
pub(crate) struct Limits {
    /// Those of an address.
    each: Bounds,
    /// Any address, when addresses have none.
    anyone: Arc<Client>,
    /// All clients together. How many search at once is decided by [`Server::turn`], which lets them wait.
    all: Arc<Client>,
    addresses: Cache<IpAddr, Arc<Client>>,
    /// By the hash of the token: finding one takes as long as not finding one.
    tokens: HashMap<[u8; 32], Arc<Client>>,
    /// A proxy says whom it asks for.
    trust_forwarded: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self::new(Bounds::default(), Bounds::default(), Vec::new(), false)
    }
}

/// A token of the file, whose it is, and what it may have.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Token {
    name: String,
    hash: [u8; 32],
    bounds: Bounds,
}

/// What a client has used.
#[derive(Debug)]
struct Client {
    running: Option<Arc<Semaphore>>,
    searches: Option<Mutex<Budget>>,
    bytes: Option<Mutex<Budget>>,
}

impl Client {
    fn new(bounds: Bounds) -> Self {
        let budget = |most: Option<u32>, unit: f64| {
            most.map(|most| Mutex::new(Budget::new(f64::from(most) * unit, Instant::now())))
        };
        Self {
            running: bounds.at_once.map(|most| Arc::new(Semaphore::new(most as usize))),
            searches: budget(bounds.per_minute, 1.0),
            bytes: budget(bounds.mib_per_minute, f64::from(1 << 20)),
        }
    }
}

/// What may be used in a minute, and what of it is left. It may be less than nothing.
#[derive(Debug)]
struct Budget {
    per_minute: f64,
    left: f64,
    at: Instant,
}

impl Budget {
    fn new(per_minute: f64, now: Instant) -> Self {
        Self { per_minute, left: per_minute, at: now }
    }

    /// Takes something if `needed` is left; else says after how many seconds it will be.
    fn take(&mut self, needed: f64, cost: f64, now: Instant) -> Result<(), u64> {
        let earned = now.saturating_duration_since(self.at).as_secs_f64() / 60.0 * self.per_minute;
        self.left = (self.left + earned).min(self.per_minute);
        self.at = now;
        if self.left < needed - ROUNDING {
            let wait = (needed - self.left - ROUNDING) / self.per_minute * 60.0;
            return Err((wait.ceil() as u64).max(1));
        }
        self.left -= cost;
        Ok(())
    }
}

/// Why a request is turned away, and after how many seconds it may come back.
struct Refused {
    reason: Refusal,
    wait: u64,
}

/// What is held and counted for a request until its answer is sent.
struct Ticket {
    clients: [Arc<Client>; 2],
    _running: Option<OwnedSemaphorePermit>,
}

/// What a request costs beside the bytes of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cost {
    Search,
    Nothing,
}

impl Limits {
    pub(crate) fn new(
        each: Bounds,
        all: Bounds,
        tokens: Vec<Token>,
        trust_forwarded: bool,
    ) -> Self {
        let all = Bounds { at_once: None, ..all };
        let token = |token: Token| {
            tracing::debug!("a token for {}: {:?}", token.name, token.bounds);
            (token.hash, Arc::new(Client::new(token.bounds)))
        };
        Self {
            each,
            anyone: Arc::new(Client::new(Bounds::default())),
            all: Arc::new(Client::new(all)),
            addresses: Cache::new(MAX_CLIENTS),
            tokens: tokens.into_iter().map(token).collect(),
            trust_forwarded,
        }
    }

    /// Who asks: the owner of a token, or an address.
    fn client(&self, headers: &HeaderMap, peer: Option<Peer>) -> Result<Arc<Client>, Refused> {
        if !self.tokens.is_empty()
            && let Some(token) = bearer(headers)
        {
            let hash: [u8; 32] = Sha256::digest(token).into();
            let known = self.tokens.get(&hash).map(Arc::clone);
            return known.ok_or(Refused { reason: Refusal::Token, wait: 0 });
        }
        if self.each == Bounds::default() {
            return Ok(Arc::clone(&self.anyone));
        }
        // Without a connection there is no address: such requests are one client.
        let peer = peer.map_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED), |Peer(address)| address);
        let told = if self.trust_forwarded { forwarded(headers) } else { None };
        let client = || Ok::<_, std::convert::Infallible>(Arc::new(Client::new(self.each)));
        let known = self.addresses.get_or_insert_with(&network(told.unwrap_or(peer)), client);
        Ok(known.unwrap_or_else(|never| match never {}))
    }

    fn admit(&self, client: Arc<Client>, cost: Cost) -> Result<Ticket, Refused> {
        let now = Instant::now();
        let clients = [client, Arc::clone(&self.all)];
        let reasons = [
            (Refusal::Bytes, Refusal::PerMinute),
            (Refusal::ServerBytes, Refusal::ServerPerMinute),
        ];
        let searching = cost == Cost::Search;
        let running = match clients[0].running.as_ref().filter(|_| searching) {
            None => None,
            Some(running) => Some(
                Arc::clone(running)
                    .try_acquire_owned()
                    .map_err(|_| Refused { reason: Refusal::AtOnce, wait: 1 })?,
            ),
        };
        // Something must be left of the bytes; they are paid later.
        for (client, (reason, _)) in clients.iter().zip(reasons) {
            take(client.bytes.as_ref(), 1.0, 0.0, now).map_err(|wait| Refused { reason, wait })?;
        }
        if searching {
            for (at, (client, (_, reason))) in clients.iter().zip(reasons).enumerate() {
                let taken = take(client.searches.as_ref(), 1.0, 1.0, now);
                if let Err(wait) = taken {
                    // What all have used up is not the client's loss.
                    if let (1, Some(budget)) = (at, &clients[0].searches) {
                        budget.lock().unwrap_or_else(PoisonError::into_inner).left += 1.0;
                    }
                    return Err(Refused { reason, wait });
                }
            }
        }
        Ok(Ticket { clients, _running: running })
    }
}

fn take(budget: Option<&Mutex<Budget>>, needed: f64, cost: f64, now: Instant) -> Result<(), u64> {
    let Some(budget) = budget else { return Ok(()) };
    budget.lock().unwrap_or_else(PoisonError::into_inner).take(needed, cost, now)
}

impl Ticket {
    fn pay(&self, bytes: usize) {
        for client in &self.clients {
            if let Some(budget) = &client.bytes {
                budget.lock().unwrap_or_else(PoisonError::into_inner).left -= bytes as f64;
            }
        }
    }
}

/// An answer whose bytes are counted while it is sent.
struct Paid {
    body: Body,
    ticket: Ticket,
}

impl hyper::body::Body for Paid {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            self.ticket.pay(frame.data_ref().map_or(0, Bytes::len));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The limits for searches.
pub(crate) async fn searches(
    State(server): State<Server>,
    request: Request,
    next: Next,
) -> Response {
    limited(&server, Cost::Search, request, next).await
}

/// The limits for what is read and not searched for.
pub(crate) async fn reads(State(server): State<Server>, request: Request, next: Next) -> Response {
    limited(&server, Cost::Nothing, request, next).await
}

async fn limited(server: &Server, cost: Cost, request: Request, next: Next) -> Response {
    let limits = &server.limits;
    let peer = request.extensions().get::<Peer>().copied();
    let ticket =
        limits.client(request.headers(), peer).and_then(|client| limits.admit(client, cost));
    match ticket {
        Ok(ticket) => next.run(request).await.map(|body| Body::new(Paid { body, ticket })),
        Err(refused) => {
            server.metrics.refuse(refused.reason);
            refused.response(&request)
        }
    }
}

impl Refused {
    /// What the client is told, as the address that it asked tells errors.
    fn response(&self, request: &Request) -> Response {
        let (status, code, message) = match self.reason {
            Refusal::Token => (
                StatusCode::UNAUTHORIZED,
                "unknown_token",
                "nobody has this token; ask the operator for one, or send none".to_owned(),
            ),
            reason => {
                let what = match reason {
                    Refusal::AtOnce => "you have as many searches running as you may",
                    Refusal::PerMinute => "you have made as many searches this minute as you may",
                    Refusal::Bytes => "you have been sent as much this minute as you may",
                    Refusal::ServerBytes => "this server has sent as much this minute as it may",
                    _ => "this server has made as many searches this minute as it may",
                };
                let seconds = if self.wait == 1 { "second" } else { "seconds" };
                let message = format!("{what}; try again in {} {seconds}", self.wait);
                (StatusCode::TOO_MANY_REQUESTS, "too_many_requests", message)
            }
        };
        let failure = Failure { status, body: Told { code, message, position: None } };
        let pairs = Pairs::of(request.extensions());
        let mut response = if zoekt::is_asked(request.uri().path()) {
            zoekt::refused(&failure)
        } else if wants_page(request.headers(), pairs.get("format")) {
            failed(pairs.get("q").unwrap_or_default(), failure)
        } else {
            failure.into_response()
        };
        if status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer realm=\"codesearch\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
        } else {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(self.wait));
        }
        response
    }
}

/// The token of a request, as of RFC 6750; other schemes are not ours.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Whom a proxy asks for: the last address, which it has added itself. The ones before it are only what
/// its client said.
fn forwarded(headers: &HeaderMap) -> Option<IpAddr> {
    let last = headers.get_all(FORWARDED).iter().next_back()?.to_str().ok()?;
    let last = last.rsplit(',').next()?.trim();
    // Some add the port.
    let address = last.parse().ok();
    address.or_else(|| last.parse().ok().map(|both: std::net::SocketAddr| both.ip()))
}

/// What counts as one client: an address, and of version 6 its first half, which one household has.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(long) => {
            let [a, b, c, d, ..] = long.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        short @ IpAddr::V4(_) => short,
    }
}

/// Reads a file of tokens: on each line a name, the token, and what it may have.
pub(crate) fn read_tokens(file: &Path, each: Bounds) -> Result<Vec<Token>> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read the tokens in {}", file.display()))?;
    tokens(&text, each).with_context(|| format!("the tokens in {} cannot be used", file.display()))
}

fn tokens(text: &str, each: Bounds) -> Result<Vec<Token>> {
    let mut tokens: Vec<Token> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let token = token(line, each).with_context(|| format!("line {}", at + 1))?;
        if let Some(twice) = tokens.iter().find(|known| known.hash == token.hash) {
            bail!("line {}: {} and {} have the same token", at + 1, twice.name, token.name);
        }
        tokens.push(token);
    }
    ensure!(
        !tokens.is_empty(),
        "there are none; write lines such as: ci 5f1e0c9a7b3d4e28 per-minute=600"
    );
    Ok(tokens)
}

fn token(line: &str, each: Bounds) -> Result<Token> {
    let mut words = line.split_whitespace();
    let name = words.next().unwrap_or_default().to_owned();
    let token = words.next().with_context(|| format!("{name} has no token; write: NAME TOKEN"))?;
    ensure!(
        token.len() >= MIN_TOKEN,
        "the token of {name} is shorter than {MIN_TOKEN} characters and could be guessed; make one with: \
         openssl rand -hex 16"
    );
    let mut bounds = each;
    for word in words {
        let wrong = || {
            format!(
                "\"{word}\" is not a limit; use at-once=N, per-minute=N or mib-per-minute=N, with N a number \
                 from 1 or none"
            )
        };
        let (what, most) = word.split_once('=').with_context(wrong)?;
        let most = match most {
            "none" => None,
            most => Some(most.parse::<u32>().ok().filter(|most| *most > 0).with_context(wrong)?),
        };
        match what {
            "at-once" => bounds.at_once = most,
            "per-minute" => bounds.per_minute = most,
            "mib-per-minute" => bounds.mib_per_minute = most,
            _ => bail!(wrong()),
        }
    }
    Ok(Token { name, hash: Sha256::digest(token).into(), bounds })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_budget_fills_by_the_second_and_can_be_overdrawn() {
        let begun = Instant::now();
        let after = |seconds: u64| begun + Duration::from_secs(seconds);
        let mut budget = Budget::new(60.0, begun);
        for _ in 0..60 {
            assert_eq!(budget.take(1.0, 1.0, begun), Ok(()));
        }
        assert_eq!(budget.take(1.0, 1.0, begun), Err(1));
        assert_eq!(budget.take(1.0, 1.0, after(1)), Ok(()));
        budget.left -= 30.0;
        assert_eq!(budget.take(1.0, 1.0, after(1)), Err(31));
        assert_eq!(budget.take(1.0, 1.0, after(32)), Ok(()));
        // It holds no more than a minute's worth.
        assert_eq!(budget.take(61.0, 0.0, after(3600)), Err(1));
        assert_eq!(budget.take(60.0, 60.0, after(3600)), Ok(()));
    }

    #[test]
    fn clients_are_told_apart() {
        for (one, other, same) in [
            ("10.0.0.1", "10.0.0.1", true),
            ("10.0.0.1", "10.0.0.2", false),
            ("2001:db8:1:2:3::4", "2001:db8:1:2:ffff::1", true),
            ("2001:db8:1:2::1", "2001:db8:1:3::1", false),
            ("::ffff:10.0.0.1", "10.0.0.1", true),
        ] {
            let [a, b] = [one, other].map(|text| network(text.parse().unwrap()));
            assert_eq!(a == b, same, "{one} {other}");
        }
        let said = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(FORWARDED, HeaderValue::from_static(value));
            }
            forwarded(&headers).map(|address| address.to_string())
        };
        assert_eq!(said(&["1.1.1.1, 2.2.2.2"]).as_deref(), Some("2.2.2.2"));
        assert_eq!(said(&["1.1.1.1", "3.3.3.3:99"]).as_deref(), Some("3.3.3.3"));
        assert_eq!(said(&["1.1.1.1, unknown"]), None);
        assert_eq!(said(&[]), None);
    }

    #[test]
    fn tokens_are_lines() {
        let each = Bounds { per_minute: Some(60), ..Bounds::default() };
        let text = "# ours\n\nci 0123456789abcdef at-once=8 per-minute=600\nann 0123456789abcdeg per-minute=none\n";
        let read = tokens(text, each).unwrap();
        let bounds = |at: usize| (read[at].bounds.at_once, read[at].bounds.per_minute);
        assert_eq!((bounds(0), bounds(1)), ((Some(8), Some(600)), (None, None)));
        for (wrong, why) in [
            ("", "there are none"),
            ("ci", "line 1: ci has no token"),
            ("ci short", "could be guessed"),
            ("ci 0123456789abcdef many=3", "is not a limit"),
            ("ci 0123456789abcdef at-once=0", "is not a limit"),
            ("ci 0123456789abcdef at-once", "is not a limit"),
            ("a 0123456789abcdef\nb 0123456789abcdef", "line 2: a and b have the same token"),
        ] {
            let error = format!("{:#}", tokens(wrong, each).unwrap_err());
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }

    #[test]
    fn many_addresses_take_no_more_memory() {
        let each = Bounds { per_minute: Some(1), ..Bounds::default() };
        let limits = Limits::new(each, Bounds::default(), Vec::new(), false);
        for n in 0..(2 * MAX_CLIENTS as u32) {
            let peer = Peer(IpAddr::V4(std::net::Ipv4Addr::from_bits(n)));
            assert!(limits.client(&HeaderMap::new(), Some(peer)).is_ok());
        }
        assert!(limits.addresses.len() <= MAX_CLIENTS);
    }
}
