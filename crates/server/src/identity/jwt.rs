//! JWTs (RFC 7519) of an identity provider.
//!
//! A JWT counts if a key that the provider publishes has signed it, with an algorithm of that key, and if it is from the
//! issuer, for this server (`aud`), and of now. What was found is kept until it ends or the keys change: checking a
//! signature takes a tenth of a millisecond.

use std::sync::Arc;

use access::Named;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Validation, decode};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use serde::Deserialize;
use serde_json::{Map, Value};
use settings::Jwt as Said;

use super::keys::{Keys, NoKey};
use super::verify::{ALGORITHMS, install};
use crate::limits::named;

/// Seconds by which clocks may differ.
const LEEWAY: u64 = 30;

/// Most bytes of checked JWTs in memory, and about how many those are.
const MAX_MEMORY: u64 = 16 << 20;
const USUAL_COUNT: usize = 10_000;

/// Most keys that are tried for a JWT that names none.
const MAX_TRIED: usize = 8;

/// The kinds of JWTs (`typ`) that say who asks. There are others, such as those that tell of an end of a session.
const KINDS: [&str; 3] = ["jwt", "at+jwt", "application/at+jwt"];

/// The JWTs of a provider.
#[derive(Debug)]
pub(super) struct Jwt {
    pub(super) said: Said,
    pub(super) keys: Arc<Keys>,
    checked: Cache<[u8; 32], Checked, ByBytes>,
}

/// A JWT that counts.
#[derive(Clone, Debug)]
pub(super) struct Checked {
    pub(super) named: Arc<Named>,
    pub(super) until: Timestamp,
    /// The set of keys by which it was checked.
    generation: u64,
}

#[derive(Clone, Debug)]
struct ByBytes;

impl Weighter<[u8; 32], Checked> for ByBytes {
    fn weight(&self, _: &[u8; 32], checked: &Checked) -> u64 {
        let named = &checked.named;
        let groups: usize = named.groups.iter().map(|group| group.len() + 24).sum();
        (groups + named.name.len() + 256) as u64
    }
}

/// Why a JWT does not count. Sentences without a full stop, for its sender.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Invalid {
    Wrong(String),
    /// The provider's keys could not be fetched yet.
    Unavailable(String),
}

/// The head of a JWT, read before anything is proven.
#[derive(Deserialize)]
struct Head {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
}

/// Returns whether a text is meant as a JWT: three parts, of which the first begins like JSON.
pub(super) fn is_jwt(text: &str) -> bool {
    text.starts_with("ey") && text.split('.').count() == 3
}

impl Jwt {
    /// Accepts the JWTs of a provider.
    ///
    /// # Errors
    /// The file of certificates is invalid.
    pub(super) fn new(said: &Said) -> anyhow::Result<Self> {
        install();
        Ok(Self {
            said: said.clone(),
            keys: Arc::new(Keys::new(said)?),
            checked: Cache::with_weighter(USUAL_COUNT, MAX_MEMORY, ByBytes),
        })
    }

    /// Checks a JWT, whose hash is `hash`.
    ///
    /// # Errors
    /// It does not count.
    pub(super) async fn check(&self, text: &str, hash: &[u8; 32]) -> Result<Checked, Invalid> {
        let now = Timestamp::now();
        if let Some(checked) = self.checked.get(hash)
            && checked.generation == self.keys.generation()
            && checked.until > now
        {
            return Ok(checked);
        }
        let checked = self.look(text).await?;
        self.checked.insert(*hash, checked.clone());
        Ok(checked)
    }

    async fn look(&self, text: &str) -> Result<Checked, Invalid> {
        let wrong = |why: String| Err(Invalid::Wrong(why));
        let head = text.split('.').next().unwrap_or_default();
        let head = URL_SAFE_NO_PAD.decode(head).ok();
        let Some(head) = head.and_then(|head| serde_json::from_slice::<Head>(&head).ok()) else {
            return wrong("the JWT has no head that can be read; get a new one".to_owned());
        };
        let Some(algorithm) = algorithm(&head.alg) else {
            return wrong(format!(
                "the algorithm {} of the JWT is not accepted; sign JWTs with RS256, ES256 or EdDSA",
                query::shortened(&head.alg, 20)
            ));
        };
        if let Some(kind) = &head.typ
            && !KINDS.contains(&&*kind.to_ascii_lowercase())
        {
            return wrong(
                "the JWT is of a kind that does not say who asks; send an access token".to_owned(),
            );
        }
        let issuer = &self.said.issuer;
        let keys = self.keys.find(head.kid.as_deref(), algorithm).await;
        let (keys, generation) = keys.map_err(|none| match none {
            NoKey::Unknown => Invalid::Wrong(format!(
                "the JWT is signed with a key that {issuer} does not publish; get a new one"
            )),
            NoKey::Unreachable => Invalid::Unavailable(format!(
                "the keys of {issuer} cannot be fetched now; try again in a moment"
            )),
        })?;
        let rules = self.rules(algorithm);
        let mut failed = ErrorKind::InvalidSignature;
        for key in keys.iter().take(MAX_TRIED) {
            match decode::<Map<String, Value>>(text, &key.key, &rules) {
                Ok(data) => {
                    let (named, until) = self.read(&data.claims).map_err(Invalid::Wrong)?;
                    return Ok(Checked { named: Arc::new(named), until, generation });
                }
                Err(error) if matches!(error.kind(), ErrorKind::InvalidSignature) => {}
                Err(error) => {
                    failed = error.into_kind();
                    break;
                }
            }
        }
        wrong(self.sentence(&failed))
    }

    /// Returns what a JWT must have.
    fn rules(&self, algorithm: Algorithm) -> Validation {
        let mut rules = Validation::new(algorithm);
        rules.algorithms = vec![algorithm];
        rules.leeway = LEEWAY;
        rules.validate_nbf = true;
        rules.set_required_spec_claims(&["exp", "iss", "aud"]);
        rules.set_issuer(&[&self.said.issuer]);
        rules.set_audience(&self.said.audience);
        rules
    }

    /// Says what is wrong.
    fn sentence(&self, kind: &ErrorKind) -> String {
        let issuer = &self.said.issuer;
        match kind {
            ErrorKind::InvalidSignature => {
                format!("the signature of the JWT is not of {issuer}; get a new one there")
            }
            ErrorKind::ExpiredSignature => {
                format!("the JWT has expired; get a new one from {issuer}")
            }
            ErrorKind::ImmatureSignature => {
                "the JWT does not count yet; check the clocks".to_owned()
            }
            ErrorKind::InvalidAudience => format!(
                "the JWT is for another audience; get one for {}",
                self.said.audience.join(" or ")
            ),
            ErrorKind::InvalidIssuer => {
                format!("the JWT is of another issuer than {issuer}; get one there")
            }
            ErrorKind::MissingRequiredClaim(claim) => {
                format!("the JWT has no valid claim {claim}; have {issuer} add it")
            }
            _ => format!("the JWT is invalid; get a new one from {issuer}"),
        }
    }

    /// Reads who asks, and until when that counts.
    fn read(&self, claims: &Map<String, Value>) -> Result<(Named, Timestamp), String> {
        let claim = &*self.said.user;
        let user = found(claims, claim).and_then(Value::as_str).ok_or_else(|| {
            format!("the JWT has no text in the claim {claim}; have {} add it", self.said.issuer)
        })?;
        // Some providers let people enter any address.
        if claim == "email" && claims.get("email_verified").is_some_and(|is| !is_true(is)) {
            return Err(format!(
                "the email of the JWT is not verified; verify it at {}",
                self.said.issuer
            ));
        }
        let claim = &*self.said.groups;
        let of_claim = || {
            format!(
                "the claim {claim} of the JWT is not a list of names; have {} change it",
                self.said.issuer
            )
        };
        let groups = match found(claims, claim) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::String(one)) => vec![one.clone()],
            Some(Value::Array(all)) => {
                let names = all.iter().map(|one| one.as_str().map(str::to_owned));
                names.collect::<Option<Vec<_>>>().ok_or_else(of_claim)?
            }
            Some(_) => return Err(of_claim()),
        };
        // The library has compared it with the time.
        let end = claims.get("exp").and_then(Value::as_f64).unwrap_or_default();
        let until = Timestamp::from_second((end as i64).saturating_add(LEEWAY as i64));
        Ok((named(user, groups, Vec::new())?, until.unwrap_or(Timestamp::MAX)))
    }
}

fn algorithm(name: &str) -> Option<Algorithm> {
    ALGORITHMS.iter().find(|(known, _)| *known == name).map(|(_, algorithm)| *algorithm)
}

fn is_true(value: &Value) -> bool {
    *value == Value::Bool(true) || value.as_str() == Some("true")
}

/// Returns a claim: by its name, which may have dots, or else within others (`realm_access.roles`).
fn found<'c>(claims: &'c Map<String, Value>, name: &str) -> Option<&'c Value> {
    if let Some(value) = claims.get(name) {
        return Some(value);
    }
    let (first, rest) = name.split_once('.')?;
    found(claims.get(first)?.as_object()?, rest)
}
