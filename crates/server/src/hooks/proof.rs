//! The proof that a webhook comes from its host: a signature of its raw bytes, or a token.

use axum::http::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

/// Greatest difference between the time of a webhook and ours, in seconds. A recorded one cannot be sent again later.
const TOLERANCE: i64 = 5 * 60;

/// Most signatures of one webhook that are compared.
const MAX_SIGNATURES: usize = 16;

/// Prefix of a secret whose rest is base64 (<https://www.standardwebhooks.com>).
const ENCODED: &str = "whsec_";

/// Signatures of the body in hexadecimal digits: the header, and what stands before the digits. GitHub's header comes
/// from Gitea and Forgejo, too.
const OF_BODY: [(&str, &str); 4] = [
    ("x-hub-signature-256", "sha256="),
    ("x-gitea-signature", ""),
    ("x-forgejo-signature", ""),
    ("x-gogs-signature", ""),
];

/// The reason why a webhook is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unproven {
    /// It has no signature and no token.
    Missing,
    /// They are not those of the secret.
    Wrong,
    /// It was made too long ago, or its time is invalid.
    Old,
}

/// What proves a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    /// A token, which does not depend on the body.
    Token(Vec<u8>),
    /// The HMAC of the body.
    OfBody(Vec<u8>),
    /// One of some HMACs of id, time and body (Standard Webhooks).
    Standard { id: Vec<u8>, time: Vec<u8>, any: Vec<Vec<u8>> },
}

impl Proof {
    /// Reads the proof of a webhook from its headers: the strongest that is there.
    ///
    /// # Errors
    /// There is none, or it is invalid.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, Unproven> {
        let get = |name: &str| headers.get(name).map(|value| value.as_bytes().trim_ascii());
        if let Some(signatures) = get("webhook-signature") {
            let (Some(id), Some(time)) = (get("webhook-id"), get("webhook-timestamp")) else {
                return Err(Unproven::Wrong);
            };
            let signatures = signatures.split(|byte| *byte == b' ').take(MAX_SIGNATURES);
            let any = signatures.filter_map(|one| STANDARD.decode(one.strip_prefix(b"v1,")?).ok());
            return Ok(Self::Standard { id: id.to_vec(), time: time.to_vec(), any: any.collect() });
        }
        for (name, before) in OF_BODY {
            if let Some(value) = get(name) {
                let digits = value.strip_prefix(before.as_bytes()).and_then(unhex);
                return digits.map(Self::OfBody).ok_or(Unproven::Wrong);
            }
        }
        get("x-gitlab-token").map(|token| Self::Token(token.to_vec())).ok_or(Unproven::Missing)
    }

    /// Checks a token. A signature needs the body.
    ///
    /// # Errors
    /// The token is wrong.
    pub(super) fn check_early(&self, secret: &str) -> Result<(), Unproven> {
        match self {
            Self::Token(token) => right(same(token, secret.as_bytes())),
            _ => Ok(()),
        }
    }

    /// Checks the proof; `now` is the time in seconds since 1970. The time of a check says nothing about the secret.
    ///
    /// # Errors
    /// It is not that of the secret and the body, or too old.
    pub(super) fn check(&self, secret: &str, body: &[u8], now: i64) -> Result<(), Unproven> {
        match self {
            Self::Token(token) => right(same(token, secret.as_bytes())),
            Self::OfBody(signature) => right(same(signature, &hmac(secret.as_bytes(), &[body]))),
            Self::Standard { id, time, any } => {
                let key = secret.strip_prefix(ENCODED).and_then(|text| STANDARD.decode(text).ok());
                let key = key.unwrap_or_else(|| secret.as_bytes().to_vec());
                let own = hmac(&key, &[id, b".", time, b".", body]);
                let found = any.iter().fold(Choice::from(0), |found, one| found | same(one, &own));
                right(found)?;
                let time = std::str::from_utf8(time).ok().and_then(|time| time.parse::<i64>().ok());
                let is_recent = |time: i64| now.abs_diff(time) <= TOLERANCE.unsigned_abs();
                if time.is_some_and(is_recent) { Ok(()) } else { Err(Unproven::Old) }
            }
        }
    }
}

fn right(is_right: Choice) -> Result<(), Unproven> {
    if bool::from(is_right) { Ok(()) } else { Err(Unproven::Wrong) }
}

/// Returns whether two texts are the same, in a time that depends on neither: their hashes are compared.
fn same(one: &[u8], other: &[u8]) -> Choice {
    Sha256::digest(one).as_slice().ct_eq(Sha256::digest(other).as_slice())
}

/// Returns the HMAC-SHA256 of some parts.
fn hmac(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key may have any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().to_vec()
}

fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let pairs = digits.chunks_exact(2);
    let is_whole = pairs.remainder().is_empty() && !digits.is_empty();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    is_whole.then(|| pairs.map(byte).collect()).flatten()
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn check(
        secret: &str,
        headers: &[(&'static str, &'static str)],
        body: &str,
        now: i64,
    ) -> Result<(), Unproven> {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        Proof::of(&headers.collect())?.check(secret, body.as_bytes(), now)
    }

    #[test]
    fn githubs_example_is_right() {
        // <https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries>
        let secret = "It's a Secret to Everybody";
        let right = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let of = |value, body| check(secret, &[("x-hub-signature-256", value)], body, 0);
        assert_eq!(of(right, "Hello, World!"), Ok(()));
        assert_eq!(of(right, "Hello, World"), Err(Unproven::Wrong));
        assert_eq!(of("sha256=757107", "Hello, World!"), Err(Unproven::Wrong));
        assert_eq!(of("sha256=", "Hello, World!"), Err(Unproven::Wrong));
        assert_eq!(of("sha256=xx", "Hello, World!"), Err(Unproven::Wrong));
        assert_eq!(of("sha256=+1", "Hello, World!"), Err(Unproven::Wrong));
        assert_eq!(of(&right[7..], "Hello, World!"), Err(Unproven::Wrong));
        let gitea = [("x-gitea-signature", &right[7..])];
        assert_eq!(check(secret, &gitea, "Hello, World!", 0), Ok(()));
        assert_eq!(check("another", &gitea, "Hello, World!", 0), Err(Unproven::Wrong));
        // A weaker proof does not replace a wrong one.
        let both = [("x-hub-signature-256", "sha256=00"), ("x-gitlab-token", secret)];
        assert_eq!(check(secret, &both, "Hello, World!", 0), Err(Unproven::Wrong));
    }

    #[test]
    fn the_example_of_standard_webhooks_is_right() {
        // <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let body = "{\"test\": 2432232314}";
        let of = |time, signature, now| {
            let headers = [
                ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
                ("webhook-timestamp", time),
                ("webhook-signature", signature),
            ];
            check(secret, &headers, body, now)
        };
        let right = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        let (time, at) = ("1614265330", 1_614_265_330);
        assert_eq!(of(time, right, at + 299), Ok(()));
        assert_eq!(of(time, right, at + 301), Err(Unproven::Old));
        assert_eq!(of(time, right, at - 301), Err(Unproven::Old));
        assert_eq!(of("1614265331", right, at), Err(Unproven::Wrong));
        assert_eq!(
            of(time, "v1,AAAA v1a,xx v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", at),
            Ok(())
        );
        assert_eq!(
            of(time, "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", at),
            Err(Unproven::Wrong)
        );
        assert_eq!(of(time, "", at), Err(Unproven::Wrong));
        let without = [("webhook-signature", right)];
        assert_eq!(check(secret, &without, body, at), Err(Unproven::Wrong));
    }

    #[test]
    fn a_token_is_the_secret() {
        let of = |headers: &[(&'static str, &'static str)]| check("s3cret", headers, "{}", 0);
        assert_eq!(of(&[("x-gitlab-token", "s3cret")]), Ok(()));
        assert_eq!(of(&[("x-gitlab-token", "s3cre")]), Err(Unproven::Wrong));
        assert_eq!(of(&[("x-gitlab-token", "")]), Err(Unproven::Wrong));
        assert_eq!(of(&[]), Err(Unproven::Missing));
        let early = Proof::Token(b"other".to_vec()).check_early("s3cret");
        assert_eq!(early, Err(Unproven::Wrong));
    }
}
