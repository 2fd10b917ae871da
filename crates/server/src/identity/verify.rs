//! Checks signatures of JWTs by `ring`, which the program has for TLS, so that no other cryptography is built.
//!
//! Only public keys count. A secret that both sides share (`HS256`) would let whoever reads the published keys make JWTs.

use std::sync::Once;

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::signature::{Error, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};

/// The algorithms that are accepted, by their names in a JWT.
pub(super) const ALGORITHMS: [(&str, Algorithm); 9] = [
    ("RS256", Algorithm::RS256),
    ("RS384", Algorithm::RS384),
    ("RS512", Algorithm::RS512),
    ("PS256", Algorithm::PS256),
    ("PS384", Algorithm::PS384),
    ("PS512", Algorithm::PS512),
    ("ES256", Algorithm::ES256),
    ("ES384", Algorithm::ES384),
    ("EdDSA", Algorithm::EdDSA),
];

/// Has the library use these checks.
pub(super) fn install() {
    static PROVIDER: CryptoProvider = CryptoProvider {
        signer_factory: no_signer,
        verifier_factory: verifier,
        key_utils: KeyUtils::new_unimplemented(),
    };
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Fails if it was done before, which is as good.
        let _ = PROVIDER.install_default();
    });
}

// The types of both are those of the library's table.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn no_signer(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    Err(ErrorKind::UnsupportedAlgorithm.into())
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    let by = match algorithm {
        Algorithm::RS256 => By::Rsa(&RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => By::Rsa(&RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => By::Rsa(&RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => By::Rsa(&RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => By::Rsa(&RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => By::Rsa(&RSA_PSS_2048_8192_SHA512),
        Algorithm::ES256 => By::Other(&ECDSA_P256_SHA256_FIXED, AlgorithmFamily::Ec),
        Algorithm::ES384 => By::Other(&ECDSA_P384_SHA384_FIXED, AlgorithmFamily::Ec),
        Algorithm::EdDSA => By::Other(&ED25519, AlgorithmFamily::Ed),
        _ => return Err(ErrorKind::UnsupportedAlgorithm.into()),
    };
    let family = match by {
        By::Rsa(_) => AlgorithmFamily::Rsa,
        By::Other(_, family) => family,
    };
    if key.family() != family {
        return Err(ErrorKind::InvalidAlgorithm.into());
    }
    Ok(Box::new(Checker { algorithm: *algorithm, by, key: key.clone() }))
}

/// How a signature is checked.
#[derive(Clone, Copy)]
enum By {
    Rsa(&'static RsaParameters),
    Other(&'static dyn VerificationAlgorithm, AlgorithmFamily),
}

struct Checker {
    algorithm: Algorithm,
    by: By,
    key: DecodingKey,
}

impl JwtVerifier for Checker {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl Verifier<Vec<u8>> for Checker {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        let checked = match (self.by, self.key.kind()) {
            (By::Rsa(by), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                // Some issuers write numbers with zeros before them, which ring refuses.
                let (n, e) = (significant(n), significant(e));
                RsaPublicKeyComponents { n, e }.verify(by, message, signature)
            }
            (By::Other(by, _), DecodingKeyKind::SecretOrDer(key)) => {
                UnparsedPublicKey::new(by, key).verify(message, signature)
            }
            _ => Err(ring::error::Unspecified),
        };
        checked.map_err(|_| Error::new())
    }
}

fn significant(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7515, appendix A.2.
    const RSA: &str = "eyJhbGciOiJSUzI1NiJ9.\
        eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.\
        cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";

    const MODULUS: &str = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";

    #[test]
    fn signatures_are_checked_by_public_keys_only() {
        install();
        let (message, signature) = RSA.rsplit_once('.').unwrap();
        let key = DecodingKey::from_rsa_components(MODULUS, "AQAB").unwrap();
        let check = |signature: &str, message: &str, key: &DecodingKey, algorithm| {
            jsonwebtoken::crypto::verify(signature, message.as_bytes(), key, algorithm)
        };
        assert!(check(signature, message, &key, Algorithm::RS256).unwrap());
        assert!(!check(signature, &message[1..], &key, Algorithm::RS256).unwrap());
        assert!(!check(signature, message, &key, Algorithm::PS256).unwrap());
        // A key of another kind, and a secret.
        assert!(check(signature, message, &key, Algorithm::ES256).is_err());
        let secret = DecodingKey::from_secret(MODULUS.as_bytes()).unwrap();
        for algorithm in [Algorithm::HS256, Algorithm::RS256, Algorithm::EdDSA] {
            assert!(check(signature, message, &secret, algorithm).is_err(), "{algorithm:?}");
        }
    }
}
