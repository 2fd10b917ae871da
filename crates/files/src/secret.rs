//! Files that look like secrets: by their names, or because they are private keys. Does no I/O.

/// The words for a file that looks like a secret.
pub const SECRET: &str = "looks like a secret";

/// Names of files that hold passwords, tokens or keys.
const NAMES: &[&str] = &[
    ".env",
    ".git-credentials",
    ".htpasswd",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    "_netrc",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    "id_rsa",
];

/// Ends of the names of files that hold keys. Certificates (`.crt`, `.pem`) are public, unless they hold a key, too.
const ENDS: &[&str] = &[".jks", ".keystore", ".kdbx", ".p12", ".pfx", ".ppk"];

/// What follows `.env.` in the names of examples.
const EXAMPLES: &[&str] =
    &["default", "defaults", "dist", "example", "sample", "schema", "template", "tmpl"];

/// Returns whether a file with this path looks like a secret by its name.
pub fn looks_secret(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    if let Some(variant) = name.strip_prefix(".env.") {
        // `.env.production.example`, too.
        return !variant.split('.').any(|part| EXAMPLES.contains(&part));
    }
    NAMES.contains(&&*name) || ENDS.iter().any(|end| name.ends_with(end))
}

/// Returns whether a text is a private key: a line before which only empty ones stand begins one or, in a file whose name
/// is a key's, any line.
pub fn is_private_key(path: &str, text: &str) -> bool {
    let begins = |line: &str| {
        let label = line.trim_end().strip_prefix("-----BEGIN ");
        label.and_then(|label| label.strip_suffix("PRIVATE KEY-----")).is_some_and(|kind| {
            kind.is_empty()
                || kind.ends_with(' ')
                    && kind.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b' ')
        })
    };
    let path = path.to_lowercase();
    if [".pem", ".key"].iter().any(|end| path.ends_with(end)) {
        return text.lines().any(begins);
    }
    text.lines().find(|line| !line.trim().is_empty()).is_some_and(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_names() {
        for path in [
            ".env",
            "a/.env.production",
            "a/.ENV.local",
            "x/id_rsa",
            "k.p12",
            "b/.npmrc",
            "s.keystore",
        ] {
            assert!(looks_secret(path), "{path}");
        }
        for path in [
            ".env.example",
            "a/.env.sample",
            ".env.template",
            ".env.production.example",
            "env",
            ".envrc",
            "id_rsa.pub",
            "a.pem",
            "a.key",
            ".env/readme",
            "p12",
            "keystore.rs",
        ] {
            assert!(!looks_secret(path), "{path}");
        }
    }

    #[test]
    fn private_keys_are_known_by_their_first_line() {
        let key = |kind: &str| {
            format!("-----BEGIN {kind}PRIVATE KEY-----\nMIIE\n-----END {kind}PRIVATE KEY-----\n")
        };
        for kind in ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "] {
            assert!(is_private_key("deploy", &key(kind)), "{kind}");
        }
        let certificate = "-----BEGIN CERTIFICATE-----\nMIID\n-----END CERTIFICATE-----\n";
        assert!(is_private_key("both.pem", &(certificate.to_owned() + &key("RSA "))));
        assert!(!is_private_key("a.pem", certificate));
        for (path, text) in [
            ("readme.md", format!("A key looks like this:\n{}", key(""))),
            ("pem.h", "#define RSA \"-----BEGIN RSA PRIVATE KEY-----\"\n".to_owned()),
            ("a.txt", "-----BEGIN RSA PRIVATE KEY----- is how it begins\n".to_owned()),
            ("a.txt", "-----BEGIN PUBLIC KEY-----\n".to_owned()),
        ] {
            assert!(!is_private_key(path, &text), "{path}");
        }
    }
}
