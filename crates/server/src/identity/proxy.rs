//! Headers in which a proxy tells who asks. Anybody can send them, so they count only with a proof that the proxy did.

use std::net::IpAddr;
use std::sync::Arc;

use access::Named;
use axum::http::{HeaderMap, HeaderName};
use settings::Allowed;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::limits::named;
use crate::sender::Sender;

/// Shortest secret of a proxy, in bytes.
const MIN_SECRET: usize = 16;

/// The proxy in front of a server.
#[derive(Clone, Debug)]
pub struct Proxy {
    /// The header with the name of the user.
    user: HeaderName,
    /// The header with the names of the user's groups, separated by commas.
    groups: Option<HeaderName>,
    /// The header with a secret, and the hashes of the secrets that count.
    secret: Option<(HeaderName, Vec<[u8; 32]>)>,
    /// The networks from which it connects; none for any.
    networks: Vec<Allowed>,
}

/// What a request's headers tell.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    Nothing,
    /// The proxy tells who asks.
    User(Arc<Named>),
    /// The proxy tells what cannot be. A sentence.
    Wrong(String),
    /// Somebody else tells it. A sentence, and whether it had a wrong secret.
    Forged(String, bool),
}

impl Proxy {
    /// Makes the proxy that tells users and groups by these headers, on a socket of its own.
    ///
    /// # Errors
    /// A sentence: a name is not that of a header.
    pub fn new(user: &str, groups: Option<&str>) -> Result<Self, String> {
        let user = header(user)?;
        let groups = groups.map(header).transpose()?;
        if groups.as_ref() == Some(&user) {
            return Err(format!("{user} cannot have both user and groups; name two headers"));
        }
        Ok(Self { user, groups, secret: None, networks: Vec::new() })
    }

    /// Believes it elsewhere than on its socket, too, if it sends one of these secrets in this header.
    ///
    /// # Errors
    /// A sentence: there is no secret, one is short, or the name is not that of a header.
    pub fn with_secrets<'s>(
        self,
        name: &str,
        secrets: impl IntoIterator<Item = &'s str>,
    ) -> Result<Self, String> {
        let name = header(name)?;
        if name == self.user || Some(&name) == self.groups.as_ref() {
            return Err(format!("{name} cannot have a name and the secret; name two headers"));
        }
        let mut hashes = Vec::new();
        for secret in secrets.into_iter().map(str::trim).filter(|secret| !secret.is_empty()) {
            if secret.len() < MIN_SECRET {
                return Err(format!(
                    "the secret of the proxy is shorter than {MIN_SECRET} characters; make one by: openssl rand -hex 32"
                ));
            }
            hashes.push(Sha256::digest(secret).into());
        }
        if hashes.is_empty() {
            return Err(
                "the file of the proxy's secret is empty; make one by: openssl rand -hex 32"
                    .to_owned(),
            );
        }
        Ok(Self { secret: Some((name, hashes)), ..self })
    }

    /// Believes it elsewhere than on its socket, too, if it connects from one of these networks; with secrets, both must hold.
    #[must_use]
    pub fn within(self, networks: Vec<Allowed>) -> Self {
        Self { networks, ..self }
    }

    /// Reads who asks.
    pub(super) fn read(&self, sender: &Sender<'_>) -> Told {
        let told_by = [Some(&self.user), self.groups.as_ref()];
        let is_told = told_by.into_iter().flatten().any(|name| sender.headers.contains_key(name));
        let peer = sender.peer.map(|peer| peer.0);
        if !is_told {
            return Told::Nothing;
        }
        if !sender.is_proxy {
            let is_secret = self.has_secret(sender.headers);
            let is_near = peer.is_some_and(|address| self.is_near(address));
            let has_guard = self.secret.is_some() || !self.networks.is_empty();
            if !has_guard || is_secret == Some(false) || !is_near {
                let sent =
                    self.secret.as_ref().is_some_and(|(name, _)| sender.headers.contains_key(name));
                let why = format!(
                    "{} counts only if the server's proxy sends it; leave it out",
                    self.user
                );
                return Told::Forged(why, sent);
            }
        }
        match self.user(sender.headers) {
            Ok(Some(named)) => Told::User(Arc::new(named)),
            Ok(None) => Told::Nothing,
            Err(why) => Told::Wrong(format!("the proxy names nobody in {}: {why}", self.user)),
        }
    }

    /// Returns whether the headers have a secret that counts; `None` if none is needed.
    fn has_secret(&self, headers: &HeaderMap) -> Option<bool> {
        let (name, hashes) = self.secret.as_ref()?;
        let mut sent = headers.get_all(name).iter();
        let (Some(one), None) = (sent.next(), sent.next()) else { return Some(false) };
        // Of hashes, the time tells nothing of use, nor does it tell a length. All are compared.
        let hash = Sha256::digest(one.as_bytes());
        let found = hashes.iter().fold(0, |found, known| found | hash.ct_eq(known).unwrap_u8());
        Some(found == 1)
    }

    fn is_near(&self, address: IpAddr) -> bool {
        self.networks.is_empty() || self.networks.iter().any(|network| network.has_address(address))
    }

    fn user(&self, headers: &HeaderMap) -> Result<Option<Named>, String> {
        let text = |value: &axum::http::HeaderValue| {
            let text = std::str::from_utf8(value.as_bytes());
            text.map(str::to_owned)
                .map_err(|_| "it is not UTF-8; have the proxy send it so".to_owned())
        };
        let mut users = headers.get_all(&self.user).iter();
        let user = match (users.next(), users.next()) {
            (None, _) => return Ok(None),
            (Some(user), None) => text(user)?,
            // One of them may be the client's.
            (Some(_), Some(_)) => {
                return Err("it is sent twice; have the proxy replace the client's".to_owned());
            }
        };
        // The proxy lets some through without asking who they are.
        if user.trim().is_empty() {
            return Ok(None);
        }
        let mut groups = Vec::new();
        let mut sent = self.groups.iter().flat_map(|name| headers.get_all(name));
        if let Some(value) = sent.next() {
            let all = text(value)?;
            let all = all.split(',').map(str::trim).filter(|group| !group.is_empty());
            groups.extend(all.map(str::to_owned));
        }
        if sent.next().is_some() {
            return Err("the groups are sent twice; have the proxy replace the client's".to_owned());
        }
        named(&user, groups, Vec::new()).map(Some)
    }
}

fn header(name: &str) -> Result<HeaderName, String> {
    name.parse()
        .map_err(|_| format!("\"{name}\" is not the name of a header; write X-Forwarded-User"))
}

#[cfg(test)]
mod tests {
    use axum::http::Version;

    use super::*;
    use crate::connections::Peer;

    const SECRET: &str = "0123456789abcdef";

    fn read(proxy: &Proxy, address: &str, is_proxy: bool, sent: &[(&str, &str)]) -> Told {
        let mut headers = HeaderMap::new();
        for (name, value) in sent {
            headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        let peer = Some(Peer(address.parse().unwrap()));
        proxy.read(&Sender { peer, version: Version::HTTP_11, headers: &headers, is_proxy })
    }

    fn ann() -> Told {
        Told::User(Arc::new(Named::new("ann", vec!["b".to_owned(), "a".to_owned()])))
    }

    const ANN: [(&str, &str); 2] = [("x-forwarded-user", "ann"), ("x-forwarded-groups", "b, a,,b")];

    #[test]
    fn headers_count_only_with_a_proof() {
        let plain = Proxy::new("X-Forwarded-User", Some("X-Forwarded-Groups")).unwrap();
        let secret =
            plain.clone().with_secrets("X-Secret", ["another secret of it", SECRET]).unwrap();
        let near = plain.clone().within(vec![Allowed::parse("10.0.0.0/8").unwrap()]);
        let both = near.clone().with_secrets("X-Secret", [SECRET]).unwrap();
        let with = |secret| [ANN[0], ANN[1], ("x-secret", secret)];
        for proxy in [&plain, &secret, &near, &both] {
            assert_eq!(read(proxy, "127.0.0.1", true, &ANN), ann());
            assert_eq!(read(proxy, "127.0.0.1", false, &[]), Told::Nothing);
            assert!(matches!(read(proxy, "127.0.0.1", false, &ANN), Told::Forged(_, false)));
            // The groups alone are forged, too.
            assert!(matches!(read(proxy, "127.0.0.1", false, &ANN[1..]), Told::Forged(..)));
        }
        assert!(matches!(read(&plain, "10.0.0.1", false, &with(SECRET)), Told::Forged(..)));
        assert_eq!(read(&secret, "127.0.0.1", false, &with(SECRET)), ann());
        assert_eq!(read(&secret, "127.0.0.1", false, &with("another secret of it")), ann());
        for wrong in ["", "0123456789abcdeF", "0123456789abcde", "0123456789abcdef0"] {
            let told = read(&secret, "127.0.0.1", false, &with(wrong));
            assert!(matches!(told, Told::Forged(_, true)), "{wrong}: {told:?}");
        }
        let twice = [ANN[0], ("x-secret", SECRET), ("x-secret", SECRET)];
        assert!(matches!(read(&secret, "127.0.0.1", false, &twice), Told::Forged(..)));
        assert_eq!(read(&near, "10.1.2.3", false, &ANN), ann());
        assert_eq!(read(&near, "::ffff:10.1.2.3", false, &ANN), ann());
        assert!(matches!(read(&near, "11.1.2.3", false, &ANN), Told::Forged(..)));
        assert_eq!(read(&both, "10.1.2.3", false, &with(SECRET)), ann());
        assert!(matches!(read(&both, "10.1.2.3", false, &ANN), Told::Forged(..)));
        assert!(matches!(read(&both, "11.1.2.3", false, &with(SECRET)), Told::Forged(..)));
    }

    #[test]
    fn a_proxy_names_one_user() {
        let proxy = Proxy::new("X-Forwarded-User", Some("X-Forwarded-Groups")).unwrap();
        let read = |sent: &[(&str, &str)]| read(&proxy, "127.0.0.1", true, sent);
        // Whom it does not name has no groups either.
        assert_eq!(read(&ANN[1..]), Told::Nothing);
        assert_eq!(read(&[("x-forwarded-user", " "), ANN[1]]), Told::Nothing);
        for wrong in [
            &[ANN[0], ("x-forwarded-user", "root")][..],
            &[ANN[0], ANN[1], ("x-forwarded-groups", "root")],
            &[("x-forwarded-user", &"a".repeat(300))],
            &[ANN[0], ("x-forwarded-groups", &"a,".repeat(10_001))],
        ] {
            assert!(matches!(read(wrong), Told::Wrong(_)), "{wrong:.99?}");
        }
        let many: Vec<String> = (0..10_000).map(|n| n.to_string()).collect();
        let many = many.join(",");
        let Told::User(ann) = read(&[ANN[0], ("x-forwarded-groups", &many)]) else {
            panic!("10,000 groups are fine")
        };
        assert_eq!(ann.groups.len(), 10_000);
        for (user, groups) in [("a b", None), ("", None), ("X-User", Some("x-user"))] {
            assert!(Proxy::new(user, groups).is_err(), "{user}");
        }
        let proxy = || Proxy::new("X-User", None).unwrap();
        for (name, secrets) in
            [("X-Secret", ""), ("X-Secret", "short"), ("X-User", SECRET), ("a b", SECRET)]
        {
            assert!(proxy().with_secrets(name, [secrets]).is_err(), "{name} {secrets}");
        }
    }
}
