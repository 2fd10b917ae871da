//! The keys of an identity provider (JWKS, RFC 7517): kept, and fetched again when a JWT names an unknown one, or when they
//! are old, so that a key that is published no more counts no more. If that fails, those of before stay.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};
use serde::Deserialize;
use serde_json::Value;
use settings::{Jwt as Said, KeySource};

use crate::limits::Budget;

/// Longest time for an answer of the provider.
const PATIENCE: Duration = Duration::from_secs(5);

/// Most bytes of a set of keys.
const MAX_BYTES: usize = 1 << 20;

/// Most keys of a set. Providers have two or three.
const MAX_KEYS: usize = 100;

/// Fetches a minute at most, whatever JWTs name: so many at once, and then one each ten seconds.
const FETCHES_PER_MINUTE: f64 = 6.0;

/// Age from which keys are fetched again, from an address and from a file.
const FRESH: Duration = Duration::from_mins(10);
const FRESH_FILE: Duration = Duration::from_secs(10);

/// A key, and the algorithms for which it counts.
#[derive(Clone)]
pub(super) struct Key {
    id: Option<String>,
    pub(super) key: DecodingKey,
    algorithms: Vec<Algorithm>,
}

/// The keys as they were last fetched.
#[derive(Default)]
struct Held {
    keys: Vec<Key>,
    /// Counts the different sets.
    generation: u64,
    text: Vec<u8>,
    at: Option<Instant>,
}

/// The keys of a provider.
pub(super) struct Keys {
    source: KeySource,
    client: reqwest::Client,
    held: RwLock<Arc<Held>>,
    /// Held while they are fetched.
    turn: tokio::sync::Mutex<()>,
    fetches: Mutex<Budget>,
    /// Whether they are being fetched because they are old.
    renewing: AtomicBool,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("source", &self.source).finish_non_exhaustive()
    }
}

/// Why there is no key for a JWT.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoKey {
    /// The provider has no such key.
    Unknown,
    /// No keys could be fetched yet.
    Unreachable,
}

impl Keys {
    /// Makes the keys of a provider. Fetches nothing yet.
    ///
    /// # Errors
    /// The file of certificates is invalid.
    pub(super) fn new(said: &Said) -> anyhow::Result<Self> {
        // Fails if it was done before, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("codesearch/", env!("CARGO_PKG_VERSION")))
            .timeout(PATIENCE)
            // Connections live on the threads of whoever asked first.
            .pool_max_idle_per_host(0)
            .redirect(reqwest::redirect::Policy::none());
        if let Some(file) = &said.ca_file {
            let unread = |why: &str| {
                anyhow::anyhow!("cannot read certificates in {}: {why}", file.display())
            };
            let pem = std::fs::read(file).map_err(|error| unread(&error.to_string()))?;
            let certificates = reqwest::Certificate::from_pem_bundle(&pem).unwrap_or_default();
            anyhow::ensure!(!certificates.is_empty(), unread("it has no certificate in PEM"));
            builder = builder.tls_certs_merge(certificates);
        }
        Ok(Self {
            source: said.keys.clone(),
            client: builder.build()?,
            held: RwLock::default(),
            turn: tokio::sync::Mutex::default(),
            fetches: Mutex::new(Budget::new(FETCHES_PER_MINUTE, Instant::now())),
            renewing: AtomicBool::new(false),
        })
    }

    fn held(&self) -> Arc<Held> {
        Arc::clone(&self.held.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the number of the set of keys in use. Has them fetched again if they are old.
    pub(super) fn generation(self: &Arc<Self>) -> u64 {
        let held = self.held();
        let fresh = if matches!(self.source, KeySource::File(_)) { FRESH_FILE } else { FRESH };
        if held.at.is_some_and(|at| at.elapsed() >= fresh)
            && !self.renewing.swap(true, Ordering::Relaxed)
        {
            let keys = Arc::clone(self);
            tokio::spawn(async move {
                keys.fetch(held.generation).await;
                keys.renewing.store(false, Ordering::Relaxed);
            });
        }
        self.held().generation
    }

    /// Fetches the keys if there are none.
    pub(super) async fn fetch_first(&self) {
        self.fetch(0).await;
    }

    /// Returns how long ago keys were fetched; `None` for never.
    pub(super) fn age(&self) -> Option<Duration> {
        self.held().at.map(|at| at.elapsed())
    }

    /// Returns the keys that may have signed a JWT, and the number of their set. Fetches them if there is none.
    ///
    /// # Errors
    /// There is none even then.
    pub(super) async fn find(
        self: &Arc<Self>,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<(Vec<Key>, u64), NoKey> {
        self.generation();
        let held = self.held();
        let found = held.find(id, algorithm);
        if !found.is_empty() {
            return Ok((found, held.generation));
        }
        self.fetch(held.generation).await;
        let held = self.held();
        let found = held.find(id, algorithm);
        match (found.is_empty(), held.at) {
            (false, _) => Ok((found, held.generation)),
            (true, Some(_)) => Err(NoKey::Unknown),
            (true, None) => Err(NoKey::Unreachable),
        }
    }

    /// Fetches the keys, unless another set than the one of a number is there by now, or they were fetched too often.
    async fn fetch(&self, known: u64) {
        let _turn = self.turn.lock().await;
        let held = self.held();
        let may = || {
            let mut fetches = self.fetches.lock().unwrap_or_else(PoisonError::into_inner);
            fetches.take(1.0, 1.0, Instant::now()).is_ok()
        };
        if held.generation != known || !may() {
            return;
        }
        let text = match self.text().await {
            Ok(text) => text,
            Err(why) => {
                tracing::error!("cannot get the keys for JWTs from {}: {why}", self.source);
                return;
            }
        };
        let at = Some(Instant::now());
        let now = if text == held.text {
            let keys = held.keys.clone();
            Held { keys, generation: held.generation, text, at }
        } else {
            match keys_of(&text) {
                Ok(keys) => {
                    tracing::info!("{} keys for JWTs from {}", keys.len(), self.source);
                    Held { keys, generation: held.generation + 1, text, at }
                }
                Err(why) => {
                    tracing::error!("cannot use the keys for JWTs in {}: {why}", self.source);
                    return;
                }
            }
        };
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(now);
    }

    /// Fetches the text of the set.
    async fn text(&self) -> Result<Vec<u8>, String> {
        let too_long = || format!("it has more than {MAX_BYTES} bytes");
        let url = match &self.source {
            KeySource::File(file) => {
                let text = tokio::fs::read(file).await.map_err(|error| error.to_string())?;
                return if text.len() > MAX_BYTES { Err(too_long()) } else { Ok(text) };
            }
            KeySource::Url(url) => url,
        };
        let unreached = |error: reqwest::Error| {
            let why = if error.is_timeout() { "no answer within 5 s" } else { "no connection" };
            tracing::debug!("{error:?}");
            why.to_owned()
        };
        let mut answer = self.client.get(url).send().await.map_err(unreached)?;
        if !answer.status().is_success() {
            return Err(format!("status {}", answer.status().as_u16()));
        }
        let mut text = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(unreached)? {
            text.extend_from_slice(&piece);
            if text.len() > MAX_BYTES {
                return Err(too_long());
            }
        }
        Ok(text)
    }
}

impl Held {
    /// Returns the keys that may have signed a JWT.
    fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Vec<Key> {
        let is_one = |key: &&Key| {
            (id.is_none() || key.id.as_deref() == id) && key.algorithms.contains(&algorithm)
        };
        self.keys.iter().filter(is_one).cloned().collect()
    }
}

/// Reads the keys of a set that sign. Leaves out those of other kinds: a newer provider may publish them, too.
fn keys_of(text: &[u8]) -> Result<Vec<Key>, String> {
    #[derive(Deserialize)]
    struct Set {
        keys: Vec<Value>,
    }
    let set: Set = serde_json::from_slice(text)
        .map_err(|_| "it is not a set of keys: {\"keys\": [...]}".to_owned())?;
    if set.keys.len() > MAX_KEYS {
        return Err(format!("it has more than {MAX_KEYS} keys"));
    }
    let keys: Vec<Key> = set.keys.into_iter().filter_map(key_of).collect();
    if keys.is_empty() {
        return Err("it has no public key that signs".to_owned());
    }
    Ok(keys)
}

fn key_of(value: Value) -> Option<Key> {
    let jwk: Jwk = serde_json::from_value(value).ok()?;
    if jwk.common.public_key_use.as_ref().is_some_and(|of| *of != PublicKeyUse::Signature) {
        return None;
    }
    let mut algorithms = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => vec![
            Algorithm::RS256,
            Algorithm::RS384,
            Algorithm::RS512,
            Algorithm::PS256,
            Algorithm::PS384,
            Algorithm::PS512,
        ],
        AlgorithmParameters::EllipticCurve(curve) => match curve.curve {
            EllipticCurve::P256 => vec![Algorithm::ES256],
            EllipticCurve::P384 => vec![Algorithm::ES384],
            _ => return None,
        },
        AlgorithmParameters::OctetKeyPair(pair) if pair.curve == EllipticCurve::Ed25519 => {
            vec![Algorithm::EdDSA]
        }
        // Secrets among them.
        _ => return None,
    };
    if let Some(only) = jwk.common.key_algorithm {
        let only = Algorithm::try_from(only).ok()?;
        algorithms.retain(|algorithm| *algorithm == only);
    }
    let key = DecodingKey::from_jwk(&jwk).ok()?;
    let is_public = key.family() != AlgorithmFamily::Hmac && !algorithms.is_empty();
    is_public.then_some(Key { id: jwk.common.key_id, key, algorithms })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_public_keys_that_sign_count() {
        let ed = json!({"kty": "OKP", "crv": "Ed25519", "kid": "a", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
        let with = |more: Value| {
            let mut key = ed.clone();
            key.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            key
        };
        let text = |keys: Vec<Value>| json!({ "keys": keys }).to_string().into_bytes();
        let secret = json!({"kty": "oct", "kid": "s", "k": "c2VjcmV0"});
        let unknown = json!({"kty": "AKP", "alg": "ML-DSA-44", "pub": "x"});
        let all = vec![secret.clone(), unknown, ed.clone(), with(json!({"use": "enc"})), json!(1)];
        let keys = keys_of(&text(all)).unwrap();
        assert_eq!(keys.len(), 1);
        assert_eq!(
            (keys[0].id.as_deref(), &*keys[0].algorithms),
            (Some("a"), &[Algorithm::EdDSA][..])
        );
        // An algorithm that the key cannot have.
        for wrong in [with(json!({"alg": "HS256"})), with(json!({"alg": "ES256"})), secret] {
            assert!(keys_of(&text(vec![wrong])).is_err());
        }
        assert!(keys_of(b"[]").is_err() && keys_of(&text(vec![ed.clone(); MAX_KEYS + 1])).is_err());
        let held = Held { keys, ..Held::default() };
        let count = |id, algorithm| held.find(id, algorithm).len();
        assert_eq!((count(Some("a"), Algorithm::EdDSA), count(None, Algorithm::EdDSA)), (1, 1));
        assert_eq!(
            (count(Some("b"), Algorithm::EdDSA), count(Some("a"), Algorithm::RS256)),
            (0, 0)
        );
    }
}
