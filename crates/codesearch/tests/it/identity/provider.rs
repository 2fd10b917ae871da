//! A small identity provider: it makes JWTs, and publishes its keys over HTTP.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

/// A key that signs.
pub(crate) enum Key {
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

impl Key {
    pub(crate) fn ec() -> Self {
        let (how, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let made = EcdsaKeyPair::generate_pkcs8(how, &random).unwrap();
        Self::Ec(EcdsaKeyPair::from_pkcs8(how, made.as_ref(), &random).unwrap())
    }

    pub(crate) fn ed() -> Self {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed(Ed25519KeyPair::from_pkcs8(made.as_ref()).unwrap())
    }

    /// Returns its public part, as it is published.
    pub(crate) fn public(&self, id: &str) -> Value {
        match self {
            Self::Ec(key) => {
                let (x, y) = key.public_key().as_ref()[1..].split_at(32);
                json!({ "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": id, "x": encoded(x), "y": encoded(y) })
            }
            Self::Ed(key) => {
                let x = encoded(key.public_key().as_ref());
                json!({ "kty": "OKP", "crv": "Ed25519", "kid": id, "x": x })
            }
        }
    }

    /// Makes a JWT.
    pub(crate) fn sign(&self, id: &str, claims: &Value) -> String {
        let algorithm = match self {
            Self::Ec(_) => "ES256",
            Self::Ed(_) => "EdDSA",
        };
        self.sign_as(&json!({ "alg": algorithm, "kid": id, "typ": "JWT" }), claims)
    }

    /// Makes a JWT with any head.
    pub(crate) fn sign_as(&self, head: &Value, claims: &Value) -> String {
        let message = unsigned(head, claims);
        let signature = match self {
            Self::Ec(key) => {
                encoded(key.sign(&SystemRandom::new(), message.as_bytes()).unwrap().as_ref())
            }
            Self::Ed(key) => encoded(key.sign(message.as_bytes()).as_ref()),
        };
        format!("{message}.{signature}")
    }
}

pub(crate) fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Returns the part of a JWT that is signed.
pub(crate) fn unsigned(head: &Value, claims: &Value) -> String {
    format!("{}.{}", encoded(head.to_string().as_bytes()), encoded(claims.to_string().as_bytes()))
}

/// The time, in seconds since 1970.
pub(crate) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64
}

/// A provider. It answers until the tests end.
pub(crate) struct Provider {
    address: SocketAddr,
    /// What it publishes; `None` if it is broken.
    keys: Arc<Mutex<Option<Value>>>,
    asked: Arc<AtomicUsize>,
}

impl Provider {
    pub(crate) fn start(keys: &[Value]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let published = Arc::new(Mutex::new(Some(json!({ "keys": keys }))));
        let asked = Arc::new(AtomicUsize::new(0));
        let (shown, count) = (Arc::clone(&published), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
                count.fetch_add(1, Ordering::SeqCst);
                let (status, body) = match &*shown.lock().unwrap() {
                    Some(keys) => ("200 OK", keys.to_string()),
                    None => ("500 Internal Server Error", String::new()),
                };
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                );
            }
        });
        Self { address, keys: published, asked }
    }

    /// Replaces what it publishes.
    pub(crate) fn publish(&self, keys: &[Value]) {
        *self.keys.lock().unwrap() = Some(json!({ "keys": keys }));
    }

    /// Has it answer nothing but errors.
    pub(crate) fn fail(&self) {
        *self.keys.lock().unwrap() = None;
    }

    /// Returns how often it was asked for its keys.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    pub(crate) fn issuer(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the section of the configuration file.
    pub(crate) fn section(&self) -> String {
        let issuer = self.issuer();
        format!(
            "[identity]\nissuer = \"{issuer}\"\naudience = [\"codesearch\", \"https://search.example/mcp\"]\n\
             keys = \"{issuer}/keys\"\nuser = \"email\"\nadmin_groups = [\"ops\"]\n"
        )
    }

    /// Returns the claims of Ann, for an hour.
    pub(crate) fn ann(&self) -> Value {
        json!({
            "iss": self.issuer(), "aud": "codesearch", "sub": "1234", "email": "ann@example.com",
            "groups": ["team-b", "team-a"], "exp": now() + 3600, "nbf": now() - 1,
        })
    }
}

/// Returns claims with others in place of some; null removes one.
pub(crate) fn with(claims: &Value, others: Value) -> Value {
    let mut claims = claims.clone();
    let object = claims.as_object_mut().unwrap();
    let Value::Object(others) = others else { panic!("claims are an object") };
    for (name, value) in others {
        if value.is_null() {
            object.remove(&name);
        } else {
            object.insert(name, value);
        }
    }
    claims
}
