//! Finds out who asks.

use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use access::Named;
use anyhow::Result;
use axum::extract::Request;
use sha2::{Digest, Sha256};

use super::attempts::Attempts;
use super::credentials::{bearer, cookie};
use super::jwt::{Invalid, Jwt, is_jwt};
use super::proxy::{Proxy, Told};
use super::refusal::Wrong;
use crate::limits::{Caller, How, Limits, Rights};
use crate::sender::Sender;

/// How clients of a server may prove who they are, besides the tokens of its file, which are in its [`Limits`].
#[derive(Debug, Default)]
pub struct Identity {
    proxy: Option<Proxy>,
    said: RwLock<Arc<Said>>,
    /// Whether the server has a file of tokens.
    takes_tokens: bool,
    /// Whether JWTs counted when the server started.
    has_jwt: bool,
    attempts: Attempts,
}

/// What the configuration file says.
#[derive(Debug, Default)]
struct Said {
    file: settings::Identity,
    jwt: Option<Arc<Jwt>>,
}

impl Said {
    fn new(file: &settings::Identity) -> Result<Self> {
        let jwt = file.jwt.as_ref().map(Jwt::new).transpose()?;
        Ok(Self { file: file.clone(), jwt: jwt.map(Arc::new) })
    }
}

impl Identity {
    /// Makes the identities of a server with a proxy, and with what the configuration file says; `takes_tokens` if it has a
    /// file of tokens.
    ///
    /// # Errors
    /// The file of certificates that the configuration file names is invalid.
    pub fn new(
        takes_tokens: bool,
        proxy: Option<Proxy>,
        file: &settings::Identity,
    ) -> Result<Self> {
        let said = Said::new(file)?;
        let has_jwt = said.jwt.is_some();
        let (said, attempts) = (RwLock::new(Arc::new(said)), Attempts::default());
        Ok(Self { proxy, said, takes_tokens, has_jwt, attempts })
    }

    /// Returns whether the server has a file of tokens.
    pub(super) fn takes_tokens(&self) -> bool {
        self.takes_tokens
    }

    /// Acts on a change of the configuration file. Without `[identity]`, no JWT counts, but clients must still prove who
    /// they are; where JWTs did not count at the start, the server must be started again.
    pub fn follow(&self, file: &settings::Identity) {
        if *file == self.said().file {
            return;
        }
        if file.jwt.is_some() && !self.has_jwt {
            tracing::warn!(
                "the configuration file has a new issuer in [identity]; restart the server to accept its JWTs"
            );
            return;
        }
        match Said::new(file) {
            Ok(said) => *self.said.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(said),
            Err(error) => tracing::error!("the [identity] of before stays in use: {error}"),
        }
    }

    /// Fetches the keys for JWTs, so that the first JWT need not wait, and errors are logged.
    pub async fn fetch_keys(&self) {
        if let Some(jwt) = self.jwt() {
            jwt.keys.fetch_first().await;
        }
    }

    fn said(&self) -> Arc<Said> {
        Arc::clone(&self.said.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn jwt(&self) -> Option<Arc<Jwt>> {
        self.said().jwt.clone()
    }

    /// Returns the address of this server for others, if the file has it.
    pub(super) fn url(&self) -> Option<String> {
        self.said().file.url.clone()
    }

    /// Returns whether JWTs count, or counted when the server started.
    pub fn has_jwt(&self) -> bool {
        self.has_jwt
    }

    /// Returns whether a proxy tells who asks.
    pub fn has_proxy(&self) -> bool {
        self.proxy.is_some()
    }

    /// Returns how long ago the keys for JWTs were fetched; `None` for never.
    pub(crate) fn age_of_keys(&self) -> Option<Duration> {
        self.jwt()?.keys.age()
    }

    /// Returns the rights of a user whom others name.
    fn rights(&self, named: &Named) -> Rights {
        let file = &self.said().file;
        let is_in = |groups: &[String]| {
            groups.iter().any(|group| named.groups.binary_search(group).is_ok())
        };
        Rights { is_admin: is_in(&file.admin_groups), may_ingest: is_in(&file.ingest_groups) }
    }

    /// Finds the owner of a token or a JWT that an address sends. `once` counts a wrong one only the first time.
    ///
    /// # Errors
    /// It does not count, or the address has sent too many that did not.
    pub(super) async fn owner(
        &self,
        limits: &Limits,
        text: &str,
        address: IpAddr,
        once: bool,
    ) -> Result<Caller, Wrong> {
        let hash = hash(text);
        self.attempts.may(address, &hash).map_err(Wrong::TooMany)?;
        let found = self.look(limits, text, &hash).await;
        match &found {
            Ok(_) => self.attempts.worked(address, hash),
            Err(Wrong::Unavailable(_)) => {}
            Err(_) => self.attempts.failed(address, hash, once),
        }
        found
    }

    async fn look(&self, limits: &Limits, text: &str, hash: &[u8; 32]) -> Result<Caller, Wrong> {
        match limits.caller(hash) {
            Some(Ok(caller)) => return Ok(caller),
            Some(Err((end, name))) => return Err(Wrong::Expired(end, name)),
            None => {}
        }
        let Some(jwt) = self.jwt().filter(|_| is_jwt(text)) else { return Err(Wrong::Unknown) };
        let checked = jwt.check(text, hash).await.map_err(|invalid| match invalid {
            Invalid::Wrong(why) => Wrong::Jwt(why),
            Invalid::Unavailable(why) => Wrong::Unavailable(why),
        })?;
        let rights = self.rights(&checked.named);
        Ok(limits.caller_of(checked.named, rights, How::Jwt, Some(checked.until)))
    }
}

fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

/// What a request sends to prove who asks.
pub(super) struct Proofs {
    bearer: Option<String>,
    cookie: Option<String>,
    told: Told,
    address: IpAddr,
}

impl Proofs {
    pub(super) fn of(identity: &Identity, limits: &Limits, request: &Request) -> Self {
        let sender = Sender::of(request);
        // Without anything that could know them, tokens say nothing.
        let counts = limits.has_tokens() || identity.has_jwt;
        let headers = request.headers();
        Self {
            bearer: bearer(headers).filter(|_| counts).map(str::to_owned),
            cookie: cookie(headers).filter(|_| counts),
            told: identity.proxy.as_ref().map_or(Told::Nothing, |proxy| proxy.read(&sender)),
            address: limits.network(sender),
        }
    }
}

/// Finds out who asks; `None` if nothing is sent that tells.
///
/// A token of the server's own overrides the proxy's headers, and these a JWT, since many proxies pass that on. A cookie is
/// the last: a person may have signed in before the proxy was there, and under another name.
///
/// # Errors
/// What is sent does not count. A cookie that does not is ignored, so that a page to sign in follows.
pub(super) async fn identify(
    identity: &Identity,
    limits: &Limits,
    proofs: Proofs,
) -> Result<Option<Caller>, Wrong> {
    let Proofs { bearer, cookie, told, address } = proofs;
    let is_ours = bearer.as_ref().is_some_and(|token| limits.caller(&hash(token)).is_some());
    let forged = match told {
        Told::User(named) if !is_ours => {
            let rights = identity.rights(&named);
            return Ok(Some(limits.caller_of(named, rights, How::Proxy, None)));
        }
        Told::Wrong(why) if !is_ours => return Err(Wrong::Header(why)),
        Told::Forged(why, _) => Some(why),
        _ => None,
    };
    if let Some(token) = bearer {
        return identity.owner(limits, &token, address, false).await.map(Some);
    }
    if let Some(token) = cookie
        && let Ok(caller) = identity.owner(limits, &token, address, true).await
    {
        return Ok(Some(caller));
    }
    match forged {
        Some(why) => Err(Wrong::Header(why)),
        None => Ok(None),
    }
}
