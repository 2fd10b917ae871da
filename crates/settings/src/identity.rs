//! `[identity]`: how clients prove who they are, besides tokens of the server's own.

use std::path::PathBuf;

use crate::table::{Table, required};
use crate::value::web_address;

/// Most names in a list of the section.
const MAX_NAMES: usize = 1000;

/// `[identity]`: JWTs that are accepted, and rights of groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// JWTs of an identity provider; `None` if none are accepted.
    pub jwt: Option<Jwt>,
    /// `admin_groups`: groups, of JWTs or a proxy, whose members have the right `admin`.
    pub admin_groups: Vec<String>,
    /// `ingest_groups`: groups, of JWTs or a proxy, whose members have the right `ingest`.
    pub ingest_groups: Vec<String>,
    /// `url`: the address of this server for others, without a slash at its end.
    pub url: Option<String>,
}

/// The JWTs that are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jwt {
    /// `issuer`: the claim `iss`, exactly.
    pub issuer: String,
    /// `audience`: values of the claim `aud`, one of which a JWT must have; never empty.
    pub audience: Vec<String>,
    /// `keys`: where the issuer publishes its keys.
    pub keys: KeySource,
    /// `user`: the claim with the user's name. Default: `sub`.
    pub user: String,
    /// `groups`: the claim with the names of the user's groups. Default: `groups`.
    pub groups: String,
    /// `ca_file`: certificates that are trusted for `keys`, besides the system's; absolute.
    pub ca_file: Option<PathBuf>,
}

/// Where a set of keys (JWKS) is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// An address, by HTTPS, or by HTTP on this machine.
    Url(String),
    /// A file, absolute.
    File(PathBuf),
}

impl std::fmt::Display for KeySource {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Url(url) => to.write_str(url),
            Self::File(file) => write!(to, "file:{}", file.display()),
        }
    }
}

/// Makes a path of the file absolute.
type Absolute<'a> = dyn Fn(&str) -> Result<PathBuf, String> + 'a;

/// Reads the section.
pub(crate) fn read(table: &Table<'_, '_>, absolute: &Absolute<'_>) -> Identity {
    let of_jwt = ["issuer", "audience", "keys", "user", "groups", "ca_file"];
    let has_jwt = of_jwt.iter().any(|key| table.place_of(key).is_some());
    // Taken even without the others, so that no key counts as unknown.
    let user = table.text("user", claim);
    let groups = table.text("groups", claim);
    let ca_file = table.text("ca_file", |path| absolute(path));
    let jwt = if has_jwt {
        let hint = "write issuer = \"https://...\", as the claim iss of its JWTs has it";
        let issuer = required(table, "issuer", hint, issuer);
        let audience = table.texts("audience", name);
        if table.lacks("audience") {
            let what = "audience says for whom JWTs are; write audience = [\"codesearch\"], as their claim aud has it";
            table.note(table.place_of("audience").as_ref(), what);
        }
        let hint = "write keys = \"https://...\", the jwks_uri in ISSUER/.well-known/openid-configuration, or \
                    \"file:PATH\"";
        let found = required(table, "keys", hint, |text| keys(text, absolute));
        issuer.zip(audience).zip(found).map(|((issuer, audience), keys)| Jwt {
            issuer,
            audience,
            keys,
            user: user.unwrap_or_else(|| "sub".to_owned()),
            groups: groups.unwrap_or_else(|| "groups".to_owned()),
            ca_file,
        })
    } else {
        // So that a message about an unknown key names them.
        for key in ["issuer", "audience", "keys"] {
            table.value(key);
        }
        None
    };
    let names = |key: &'static str| {
        let names = table.texts(key, name).unwrap_or_default();
        if names.len() > MAX_NAMES {
            let what = format!("{key} has more than {MAX_NAMES} groups; make one group of them");
            table.note(table.place_of(key).as_ref(), what);
        }
        names
    };
    let (admin_groups, ingest_groups) = (names("admin_groups"), names("ingest_groups"));
    Identity { jwt, admin_groups, ingest_groups, url: table.text("url", web_address) }
}

/// Reads where keys are.
fn keys(text: &str, absolute: &Absolute<'_>) -> Result<KeySource, String> {
    if let Some(path) = text.strip_prefix("file:") {
        return Ok(KeySource::File(absolute(path)?));
    }
    let url = web_address(text)?;
    if let Some(rest) = url.strip_prefix("http://") {
        let host = rest.split('/').next().unwrap_or_default();
        let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
        if !matches!(host, "localhost" | "127.0.0.1" | "[::1]") {
            return Err(format!(
                "whoever is between {host} and this server could replace keys that come by HTTP; write https://"
            ));
        }
    }
    Ok(KeySource::Url(url))
}

/// Reads a name, which must be there.
fn name(text: &str) -> Result<String, String> {
    let is_plain = !text.trim().is_empty() && !text.contains(char::is_control);
    is_plain.then(|| text.trim().to_owned()).ok_or_else(|| "an empty name is nobody's".to_owned())
}

fn issuer(text: &str) -> Result<String, String> {
    name(text).map_err(|_| "the issuer is empty; write the claim iss of its JWTs".to_owned())
}

/// Reads the name of a claim.
fn claim(text: &str) -> Result<String, String> {
    name(text).map_err(|_| "the name of a claim is empty; write \"sub\" or \"email\"".to_owned())
}
