//! Identifies the clients of a server, by token, by address, or on this machine by program, and admits their requests.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use axum::http::header::USER_AGENT;
use jiff::Timestamp;
use quick_cache::sync::Cache;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use access::Named;

use super::budget::Budget;
use super::caller::{Caller, How};
use super::client::{Client, lock};
use super::fellows::Fellows;
use super::part::{Needs, Rejection};
use super::quota::Quota;
use super::running::{Running, RunningPermit};
use super::token::{Rights, Token, hex};
use super::token_file::TokenChange;
use crate::connections::{Peer, network};
use crate::sender::Sender;
use crate::server::MAX_WAIT;
use statistics::Refusal;

/// Most clients that are remembered. Beyond that, the least recent are forgotten, with their use of the current minute.
const MAX_CLIENTS: usize = 1 << 16;

/// Times that a request asks for what other requests may have taken before it.
const SUPPLIES: usize = 3;

/// The header to which a proxy appends its client's address.
const FORWARDED: &str = "x-forwarded-for";

/// Tokens by their hash, each with its client.
type Tokens = HashMap<[u8; 32], (Arc<Token>, Arc<Client>)>;

/// The limits of a server.
#[derive(Debug)]
pub struct Limits {
    /// The limits of an address.
    each: Quota,
    /// Most searches that one client may have running or waiting for a turn, so that others get turns, too; `None` for
    /// no limit.
    share: Option<usize>,
    /// The client of every address, if addresses have no limits.
    anyone: Arc<Client>,
    /// All clients together. [`Server::turn`](crate::server::Server::turn) limits their concurrent searches, and lets
    /// them wait.
    all: Arc<Client>,
    unnamed: Cache<Origin, Arc<Client>>,
    /// Tokens by their hash, so that the time of a lookup reveals nothing about them.
    tokens: RwLock<Tokens>,
    /// The clients of users that no token names.
    named: Cache<String, Arc<Client>>,
    /// Whether a proxy or an identity provider names users, too.
    others_name: bool,
    /// The time since which the token file has been invalid.
    wrong_since: Mutex<Option<Instant>>,
    /// Whether a proxy is trusted to name its client.
    trust_forwarded: bool,
    /// The other servers of the index.
    fellows: OnceLock<Arc<Fellows>>,
}

impl Default for Limits {
    fn default() -> Self {
        Self::new(Quota::default(), Quota::default(), None, Vec::new(), false)
    }
}

/// The origin of a request without a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Origin {
    /// Its address, or for IPv6 its network.
    network: IpAddr,
    /// The hash of its `User-Agent` if nothing else tells clients apart: all programs on this machine have one address.
    program: u64,
}

/// The permits held and the budgets charged for a request until its answer is sent.
pub(super) struct Admission {
    clients: [Arc<Client>; 2],
    _running: Option<RunningPermit>,
    _share: Option<OwnedSemaphorePermit>,
}

/// The cost of a request, besides the bytes of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    Search,
    Nothing,
}

impl Limits {
    /// Makes the limits of `each` client and of `all` clients together, with at most `share` concurrent searches for
    /// one client.
    pub fn new(
        each: Quota,
        all: Quota,
        share: Option<usize>,
        tokens: Vec<Token>,
        trust_forwarded: bool,
    ) -> Self {
        let all = Quota { at_once: None, ..all };
        let limits = Self {
            each,
            share,
            anyone: Arc::new(Client::new(Quota::default(), None)),
            all: Arc::new(Client::new(all, None)),
            unnamed: Cache::new(MAX_CLIENTS),
            tokens: RwLock::default(),
            named: Cache::new(MAX_CLIENTS),
            others_name: false,
            wrong_since: Mutex::default(),
            trust_forwarded,
            fellows: OnceLock::new(),
        };
        limits.set_tokens(tokens);
        limits
    }

    /// Applies a changed token file. A token on an invalid line stays as it was; a token whose line is gone is revoked.
    pub fn change_tokens(&self, change: TokenChange) {
        let mut since = self.wrong_since.lock().unwrap_or_else(PoisonError::into_inner);
        *since = change.wrong.is_some().then(|| since.unwrap_or_else(Instant::now));
        let Some(mut tokens) = change.tokens else { return };
        let known = self.tokens.read().unwrap_or_else(PoisonError::into_inner);
        for (hash, rights) in change.held {
            let before = known.get(&hash).map(|(token, _)| token);
            if let Some(before) = before.filter(|_| tokens.iter().all(|token| token.hash != hash)) {
                let rights = rights.and(before.rights);
                tokens.push(Token { rights, ..Token::clone(before) });
            }
        }
        drop(known);
        self.set_tokens(tokens);
    }

    /// Returns for how long the token file has been invalid; `None` if it is valid.
    pub(crate) fn tokens_wrong_for(&self) -> Option<Duration> {
        let since = self.wrong_since.lock().unwrap_or_else(PoisonError::into_inner);
        since.map(|since| since.elapsed())
    }

    /// Replaces the tokens. A client whose token and limits are unchanged keeps its state.
    fn set_tokens(&self, tokens: Vec<Token>) {
        let mut known = self.tokens.write().unwrap_or_else(PoisonError::into_inner);
        let with_client = |token: Token| {
            tracing::debug!("a token for {}: {:?}", token.name, token.quota);
            let same = known.get(&token.hash).filter(|(before, _)| before.quota == token.quota);
            let client = same.map_or_else(
                || Arc::new(Client::everywhere(name_of(&token.hash), token.quota, self.share)),
                |(_, client)| Arc::clone(client),
            );
            (token.hash, (Arc::new(token), client))
        };
        *known = tokens.into_iter().map(with_client).collect();
    }

    /// Has the limits of those who have proven who they are hold across all servers of the index.
    pub(crate) fn share_with(&self, fellows: Arc<Fellows>) {
        let _ = self.fellows.set(fellows);
    }

    /// Notes that a proxy or an identity provider names users, too.
    #[must_use]
    pub fn with_others(self) -> Self {
        Self { others_name: true, ..self }
    }

    /// Returns the owner of a token, by the token's hash; `None` if it is unknown.
    ///
    /// # Errors
    /// The token has expired, at this time; with the name of its owner.
    pub(crate) fn caller(&self, hash: &[u8; 32]) -> Option<Result<Caller, (Timestamp, String)>> {
        let tokens = self.tokens.read().unwrap_or_else(PoisonError::into_inner);
        let (token, client) = tokens.get(hash)?;
        Some(match token.expires {
            Some(end) if token.is_expired(Timestamp::now()) => Err((end, token.owner.name.clone())),
            until => Ok(Caller {
                named: Arc::clone(&token.owner),
                rights: token.rights,
                how: How::Token,
                until,
                client: Arc::clone(client),
            }),
        })
    }

    /// Returns the caller that somebody else names. All that is named alike is one client, with the limits of an address.
    pub(crate) fn caller_of(
        &self,
        named: Arc<Named>,
        rights: Rights,
        how: How,
        until: Option<Timestamp>,
    ) -> Caller {
        let new = || {
            let name = format!("user:{}", named.name);
            Ok::<_, Infallible>(Arc::new(Client::everywhere(name, self.each, self.share)))
        };
        let client = self.named.get_or_insert_with(&named.name, new);
        let client = client.unwrap_or_else(|never| match never {});
        Caller { named, rights, how, until, client }
    }

    /// Returns whether somebody may still ask under a name: by a token that counts, or named by others, whose users the
    /// server does not know.
    pub fn has_owner(&self, name: &str) -> bool {
        let (now, tokens) = (Timestamp::now(), self.tokens.read());
        let tokens = tokens.unwrap_or_else(PoisonError::into_inner);
        let is_one = |token: &Token| token.owner.name == name && !token.is_expired(now);
        self.others_name || tokens.values().any(|(token, _)| is_one(token))
    }

    /// Returns the groups that the tokens of a user have now; `None` if others name users, too, or the user has no token.
    pub fn groups_of(&self, name: &str) -> Option<Vec<String>> {
        if self.others_name {
            return None;
        }
        let (now, tokens) = (Timestamp::now(), self.tokens.read());
        let tokens = tokens.unwrap_or_else(PoisonError::into_inner);
        let of_user = |token: &&Token| token.owner.name == name && !token.is_expired(now);
        let mut all = tokens.values().map(|(token, _)| &**token).filter(of_user).peekable();
        all.peek()?;
        Some(all.flat_map(|token| token.owner.groups.iter().cloned()).collect())
    }

    /// Returns whether a proxy or an identity provider names users, too.
    pub(crate) fn others_name(&self) -> bool {
        self.others_name
    }

    /// Returns whether there are any tokens.
    pub(crate) fn has_tokens(&self) -> bool {
        !self.tokens.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Returns the address, or for IPv6 the network, of the client of a request.
    pub(crate) fn network(&self, sender: Sender<'_>) -> IpAddr {
        network(self.address(sender))
    }

    /// Returns the address of the client of a request.
    pub(crate) fn address(&self, sender: Sender<'_>) -> IpAddr {
        // Requests without a connection have no address; they count as one client.
        let peer = sender.peer.map_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED), |Peer(address)| address);
        let is_told = self.trust_forwarded || sender.is_proxy;
        let told = if is_told { forwarded(sender.headers) } else { None };
        told.unwrap_or(peer).to_canonical()
    }

    /// Returns whether a request came through a trusted proxy that names its client.
    pub(crate) fn is_forwarded(&self, sender: Sender<'_>) -> bool {
        sender.is_proxy || self.trust_forwarded && sender.headers.contains_key(FORWARDED)
    }

    /// Returns the client of a request: the owner of a token, or an address. On this machine, each program is a client,
    /// unless addresses have limits, which a program would escape by renaming itself, or a proxy is trusted.
    pub(super) fn client(&self, caller: Option<&Caller>, sender: Sender<'_>) -> Arc<Client> {
        if let Some(caller) = caller {
            return Arc::clone(&caller.client);
        }
        if self.each == Quota::default() && self.share.is_none() {
            return Arc::clone(&self.anyone);
        }
        let by_program = !self.trust_forwarded && self.each == Quota::default() && sender.is_here();
        let origin = Origin {
            network: self.network(sender),
            program: if by_program { program(sender.headers) } else { 0 },
        };
        let client = || Ok::<_, Infallible>(Arc::new(Client::new(self.each, self.share)));
        let known = self.unnamed.get_or_insert_with(&origin, client);
        known.unwrap_or_else(|never| match never {})
    }

    /// Admits a request. A search waits until its client has fewer running than its share.
    pub(super) async fn admit(
        &self,
        client: Arc<Client>,
        cost: Cost,
    ) -> Result<Admission, Rejection> {
        let clients = [client, Arc::clone(&self.all)];
        let searching = cost == Cost::Search;
        let too_many = || Rejection { reason: Refusal::AtOnce, wait: 1 };
        let running = match clients[0].running.as_ref().filter(|_| searching) {
            None => None,
            Some(running) => Some(self.slot(&clients[0], running).await?),
        };
        let share = match clients[0].share.as_ref().filter(|_| searching) {
            None => None,
            Some(share) => {
                let share = timeout(MAX_WAIT, Arc::clone(share).acquire_owned()).await;
                Some(share.ok().and_then(Result::ok).ok_or_else(too_many)?)
            }
        };
        let needs = if searching { Needs::Search } else { Needs::Bytes };
        let mut tries = 1;
        self.supply(&clients[0], needs).await?;
        // Another request may take meanwhile what was supplied for this one.
        while let Err(rejection) = charge(&clients, searching) {
            let is_own = matches!(rejection.reason, Refusal::Bytes | Refusal::PerMinute);
            if !is_own || clients[0].part.is_none() || tries == SUPPLIES {
                return Err(rejection);
            }
            tries += 1;
            self.supply(&clients[0], needs).await?;
        }
        Ok(Admission { clients, _running: running, _share: share })
    }

    /// Counts one more concurrent search of a client.
    async fn slot(
        &self,
        client: &Arc<Client>,
        running: &Arc<Running>,
    ) -> Result<RunningPermit, Rejection> {
        for _ in 0..SUPPLIES {
            self.supply(client, Needs::Slot).await?;
            if let Some(permit) = running.try_take() {
                return Ok(permit);
            }
        }
        Err(Rejection { reason: Refusal::AtOnce, wait: 1 })
    }

    /// Makes sure that this server has enough of a client's limits, if it has others beside it.
    async fn supply(&self, client: &Arc<Client>, needs: Needs) -> Result<(), Rejection> {
        match self.fellows.get() {
            Some(fellows) => fellows.supply(client, needs).await,
            None => Ok(()),
        }
    }
}

/// Charges a request to its client and to all clients together.
fn charge(clients: &[Arc<Client>; 2], searching: bool) -> Result<(), Rejection> {
    let reasons =
        [(Refusal::Bytes, Refusal::PerMinute), (Refusal::ServerBytes, Refusal::ServerPerMinute)];
    let now = Instant::now();
    // Some bytes must remain; those of the answer are charged when it is sent.
    for (client, (reason, _)) in clients.iter().zip(reasons) {
        take(client.bytes.as_ref(), 1.0, 0.0, now).map_err(|wait| Rejection { reason, wait })?;
    }
    if searching {
        for (at, (client, (_, reason))) in clients.iter().zip(reasons).enumerate() {
            if let Err(wait) = take(client.searches.as_ref(), 1.0, 1.0, now) {
                // If the server's budget refuses, the client gets its own charge back.
                if let (1, Some(budget)) = (at, &clients[0].searches) {
                    lock(budget).left += 1.0;
                }
                return Err(Rejection { reason, wait });
            }
        }
    }
    Ok(())
}

impl Admission {
    pub(super) fn pay(&self, bytes: usize) {
        for client in &self.clients {
            if let Some(budget) = &client.bytes {
                lock(budget).left -= bytes as f64;
            }
        }
    }
}

fn take(budget: Option<&Mutex<Budget>>, needed: f64, cost: f64, now: Instant) -> Result<(), u64> {
    let Some(budget) = budget else { return Ok(()) };
    lock(budget).take(needed, cost, now)
}

/// Returns the name of a token that all servers give to its client.
fn name_of(hash: &[u8; 32]) -> String {
    format!("token:{}", hex(hash))
}

/// Returns the hash of a program's name for itself.
fn program(headers: &HeaderMap) -> u64 {
    let mut hasher = DefaultHasher::new();
    headers.get(USER_AGENT).hash(&mut hasher);
    hasher.finish()
}

/// Returns the client that a proxy names: the last address, which the proxy added itself. Earlier ones are unverified
/// claims.
fn forwarded(headers: &HeaderMap) -> Option<IpAddr> {
    let last = headers.get_all(FORWARDED).iter().next_back()?.to_str().ok()?;
    let last = last.rsplit(',').next()?.trim();
    // Some proxies add the port.
    let address = last.parse().ok();
    address.or_else(|| last.parse().ok().map(|both: std::net::SocketAddr| both.ip()))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderValue, Version};

    use super::*;

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
    fn many_addresses_take_no_more_memory() {
        let each = Quota { per_minute: Some(1), ..Quota::default() };
        let limits = Limits::new(each, Quota::default(), None, Vec::new(), false);
        for n in 0..(2 * MAX_CLIENTS as u32) {
            let peer = Peer(IpAddr::V4(std::net::Ipv4Addr::from_bits(n)));
            let (peer, headers) = (Some(peer), &HeaderMap::new());
            limits
                .client(None, Sender { peer, version: Version::HTTP_11, headers, is_proxy: false });
        }
        assert!(limits.unnamed.len() <= MAX_CLIENTS);
    }

    #[test]
    fn programs_of_this_machine_are_told_apart_unless_addresses_have_limits() {
        let bounded = Quota { per_minute: Some(1), ..Quota::default() };
        let no_tokens = Vec::new;
        let told_apart = |each, trust_forwarded, address: &str| {
            let limits = Limits::new(each, Quota::default(), Some(3), no_tokens(), trust_forwarded);
            let client = |program| {
                let headers =
                    HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_static(program))]);
                let peer = Some(Peer(address.parse().unwrap()));
                limits.client(
                    None,
                    Sender { peer, version: Version::HTTP_11, headers: &headers, is_proxy: false },
                )
            };
            assert!(Arc::ptr_eq(&client("curl"), &client("curl")));
            !Arc::ptr_eq(&client("curl"), &client("Firefox"))
        };
        assert!(told_apart(Quota::default(), false, "127.0.0.1"));
        assert!(told_apart(Quota::default(), false, "::1"));
        assert!(told_apart(Quota::default(), false, "::ffff:127.0.0.1"));
        assert!(!told_apart(Quota::default(), false, "192.0.2.1"));
        assert!(!told_apart(Quota::default(), true, "127.0.0.1"));
        assert!(!told_apart(bounded, false, "127.0.0.1"));
    }
}
