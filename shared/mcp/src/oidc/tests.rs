//! Against an issuer on loopback. The clock stands still until a test moves it.

mod issuer;
mod rotation;

use std::sync::Arc;

use axum::http::StatusCode;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use jsonwebtoken::{Algorithm as Alg, EncodingKey, Header, encode};
use pudu_app::oidc::{MAX_TOKEN_BYTES, Roles, Rules};
use pudu_app::ports::{Clock, TokenVerifier, VerifyError};
use pudu_config::NoSecrets;
use pudu_config::SigningAlgorithm;
use pudu_domain::{Principal, Role};
use pudu_testkit::ManualClock;
use pudu_testkit::fixture::token_ports;
use serde_json::{Value, json};

use crate::{Client, Egress, Oidc};
use issuer::{Issuer, Signer};

const AUDIENCE: &str = "https://pudu.example.com";

struct Scene {
    issuer: Issuer,
    oidc: Oidc,
    clock: Arc<ManualClock>,
}

impl Scene {
    async fn of(signers: &[&Signer]) -> Self {
        Self::with(signers, |_| {}).await
    }

    /// With other rules than usual, which take every algorithm.
    async fn with(signers: &[&Signer], change: impl FnOnce(&mut Rules)) -> Self {
        let issuer = Issuer::publishing(signers).await;
        let mut rules = Rules {
            issuer: issuer.url.clone(),
            audience: AUDIENCE.to_owned(),
            jwks_url: None,
            algorithms: SigningAlgorithm::ALL.into(),
            roles: Roles {
                claim: "roles".to_owned(),
                admin: ["admin".to_owned()].into(),
                user: ["user".to_owned()].into(),
                everybody: false,
            },
            servers_claim: None,
        };
        change(&mut rules);
        let clock = Arc::new(ManualClock::start());
        let client = Client::new(Arc::new(NoSecrets), Egress::machine(), token_ports()).unwrap();
        let oidc = Oidc::new(rules, &client, clock.clone());
        Self { issuer, oidc, clock }
    }

    /// Claims that are good for a minute, with `changes` over them.
    fn claims(&self, changes: &Value) -> Value {
        let now = self.seconds();
        let mut claims = json!({
            "iss": self.issuer.url, "aud": [AUDIENCE], "sub": "ada", "iat": now, "exp": now + 60, "roles": ["user"],
        });
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
        }
        claims
    }

    fn seconds(&self) -> u64 {
        self.clock.now().as_millis() / 1000
    }

    fn token(&self, signer: &Signer) -> String {
        signer.sign(&self.claims(&json!({})))
    }

    async fn verify(&self, token: &str) -> Option<Principal> {
        self.oidc.verify(token).await.unwrap()
    }

    async fn is_good(&self, token: &str) -> bool {
        self.verify(token).await.is_some()
    }
}

#[tokio::test]
async fn a_token_of_each_algorithm_names_its_bearer() {
    let kinds = [
        Alg::RS256,
        Alg::RS384,
        Alg::RS512,
        Alg::PS256,
        Alg::PS384,
        Alg::PS512,
        Alg::ES256,
        Alg::ES384,
        Alg::EdDSA,
    ];
    for kind in kinds {
        let signer = Signer::new("k", kind);
        let scene = Scene::of(&[&signer]).await;
        let bearer = scene.verify(&scene.token(&signer)).await.unwrap_or_else(|| panic!("{kind:?}"));
        assert!(bearer.user.as_str().starts_with("oidc:") && bearer.user.as_str().ends_with(":ada"));
        assert_eq!(bearer.role, Role::User);
        assert_eq!(scene.issuer.asked(), ["/.well-known/openid-configuration", "/keys"]);
    }
}

#[tokio::test]
async fn keys_are_taken_from_where_the_settings_say() {
    let signer = Signer::new("k", Alg::ES256);
    let elsewhere = Issuer::publishing(&[&signer]).await;
    let place = format!("{}/keys", elsewhere.url);
    let scene = Scene::with(&[], |rules| rules.jwks_url = Some(place)).await;
    assert!(scene.is_good(&scene.token(&signer)).await);
    assert!(scene.issuer.asked().is_empty());
}

#[tokio::test]
async fn what_a_token_claims_counts_only_if_it_fits() {
    let signer = Signer::new("k", Alg::ES256);
    let scene = Scene::of(&[&signer]).await;
    let now = scene.seconds();
    for changes in [
        json!({"iss": "https://other.example.com"}),
        json!({"aud": "https://other.example.com"}),
        json!({"exp": now - 31}),
        json!({"nbf": now + 31}),
        json!({"sub": null}),
    ] {
        assert!(!scene.is_good(&signer.sign(&scene.claims(&changes))).await, "{changes}");
    }
    assert_eq!(scene.issuer.count(), 0, "what cannot be good is refused before keys are asked for");
    assert!(scene.is_good(&signer.sign(&scene.claims(&json!({"exp": now - 29, "nbf": now + 29})))).await);
}

#[tokio::test]
async fn a_role_is_refused_only_to_whoever_has_a_good_token() {
    let signer = Signer::new("k", Alg::ES256);
    let scene = Scene::of(&[&signer]).await;
    let claims = scene.claims(&json!({"roles": ["guest"]}));
    let refused = scene.oidc.verify(&signer.sign(&claims)).await;
    assert!(matches!(refused, Err(VerifyError::NoRole)), "{refused:?}");
    let forged = Signer::new("k", Alg::ES256).sign(&claims);
    assert!(scene.oidc.verify(&forged).await.unwrap().is_none());
    let admin = signer.sign(&scene.claims(&json!({"roles": ["user", "admin"]})));
    assert_eq!(scene.verify(&admin).await.unwrap().role, Role::Admin);
}

#[tokio::test]
async fn a_signature_by_another_key_is_none() {
    let (ours, other) = (Signer::new("k", Alg::ES256), Signer::new("k", Alg::ES256));
    let scene = Scene::of(&[&ours]).await;
    assert!(!scene.is_good(&scene.token(&other)).await);
    let token = scene.token(&ours);
    let (rest, signature) = token.rsplit_once('.').unwrap();
    let (header, _) = rest.split_once('.').unwrap();
    let admin = BASE64.encode(scene.claims(&json!({"roles": ["admin"]})).to_string());
    for bad in [
        format!("{header}.{admin}.{signature}"),
        format!("{rest}."),
        format!("{rest}.AAAA"),
        format!("{rest}.{signature}A"),
        format!("{token}.{signature}"),
        rest.to_owned(),
    ] {
        assert!(!scene.is_good(&bad).await, "{bad}");
    }
    assert!(scene.is_good(&token).await);
}

/// A token with this header, signed with `secret` as if that were shared.
fn with_secret(scene: &Scene, kind: Alg, secret: &[u8]) -> String {
    let header = Header { kid: Some("k".to_owned()), ..Header::new(kind) };
    encode(&header, &scene.claims(&json!({"roles": ["admin"]})), &EncodingKey::from_secret(secret)).unwrap()
}

#[tokio::test]
async fn a_public_key_is_no_shared_secret() {
    let signer = Signer::new("k", Alg::RS256);
    let scene = Scene::of(&[&signer]).await;
    let modulus = signer.public()["n"].as_str().unwrap().to_owned();
    let pem = include_bytes!("../credentials/oauth/assertion/rsa.pub.pem");
    for kind in [Alg::HS256, Alg::HS384, Alg::HS512] {
        for secret in [&pem[..], modulus.as_bytes(), &BASE64.decode(&modulus).unwrap()] {
            assert!(!scene.is_good(&with_secret(&scene, kind, secret)).await, "{kind:?}");
        }
    }
}

#[tokio::test]
async fn a_shared_secret_in_the_key_set_signs_nothing() {
    let scene = Scene::of(&[]).await;
    let secret =
        json!({"kty": "oct", "kid": "k", "use": "sig", "alg": "HS256", "k": BASE64.encode("secret")});
    scene.issuer.change(|says| says.keys = json!({ "keys": [secret] }));
    assert!(!scene.is_good(&with_secret(&scene, Alg::HS256, b"secret")).await);
}

#[tokio::test]
async fn an_unsigned_token_is_none() {
    let signer = Signer::new("k", Alg::RS256);
    let scene = Scene::of(&[&signer]).await;
    let claims = BASE64.encode(scene.claims(&json!({})).to_string());
    for alg in ["none", "None", "NONE", "", "ES256K"] {
        let header = BASE64.encode(json!({"alg": alg, "typ": "JWT", "kid": "k"}).to_string());
        for signature in ["", "AAAA"] {
            assert!(!scene.is_good(&format!("{header}.{claims}.{signature}")).await, "{alg}");
        }
    }
    assert!(scene.issuer.asked().is_empty());
}

#[tokio::test]
async fn only_the_configured_algorithms_count() {
    let (rsa, ec) = (Signer::new("rsa", Alg::RS256), Signer::new("ec", Alg::ES256));
    let scene = Scene::with(&[&rsa, &ec], |rules| rules.algorithms = [SigningAlgorithm::Rs256].into()).await;
    assert!(scene.is_good(&scene.token(&rsa)).await);
    assert!(!scene.is_good(&scene.token(&ec)).await);
    let weaker = Signer::new("rsa", Alg::PS256);
    assert!(!scene.is_good(&scene.token(&weaker)).await);
}

#[tokio::test]
async fn a_key_is_for_its_own_algorithm() {
    // The same RSA key would check both; the issuer says that it is for one.
    let signer = Signer::new("k", Alg::RS256);
    let scene = Scene::of(&[&signer]).await;
    let header = Header { alg: Alg::PS256, ..signer.header() };
    let claims = scene.claims(&json!({}));
    assert!(!scene.is_good(&signer.sign_as(&header, &claims)).await);
    scene.issuer.change(|says| {
        says.keys["keys"][0].as_object_mut().unwrap().remove("alg");
    });
    scene.clock.pass(super::ring::FRESH);
    let claims = scene.claims(&json!({}));
    assert!(
        scene.is_good(&signer.sign_as(&header, &claims)).await,
        "a key that names none is for all of its kind"
    );
}

#[tokio::test]
async fn a_key_that_is_for_something_else_checks_no_signature() {
    for change in [
        json!({"use": "enc"}),
        json!({"key_ops": ["encrypt"]}),
        json!({"alg": "RSA-OAEP"}),
        json!({"alg": "X"}),
    ] {
        let signer = Signer::new("k", Alg::RS256);
        let scene = Scene::of(&[&signer]).await;
        scene.issuer.change(|says| {
            for (name, value) in change.as_object().unwrap() {
                says.keys["keys"][0][name] = value.clone();
            }
        });
        assert!(!scene.is_good(&scene.token(&signer)).await, "{change}");
    }
}

#[tokio::test]
async fn keys_that_are_not_understood_hide_no_others() {
    let signer = Signer::new("k", Alg::ES256);
    let scene = Scene::of(&[&signer]).await;
    let odd = [
        json!(null),
        json!(7),
        json!({}),
        json!({"kty": "EC", "crv": "secp256k1", "x": "", "y": ""}),
        json!({"kty": "RSA", "n": "!", "e": "AQAB", "kid": "k"}),
        json!({"kty": "AKP", "alg": "ML-DSA-44", "pub": "x"}),
    ];
    scene.issuer.change(|says| {
        let keys = says.keys["keys"].as_array_mut().unwrap();
        keys.splice(0..0, odd);
    });
    assert!(scene.is_good(&scene.token(&signer)).await);
}

#[tokio::test]
async fn a_token_that_names_no_key_is_taken_where_there_is_no_choice() {
    let (one, two) = (Signer::new("a", Alg::ES256), Signer::new("b", Alg::ES256));
    let header = Header::new(Alg::ES256);
    let scene = Scene::of(&[&one]).await;
    assert!(scene.is_good(&one.sign_as(&header, &scene.claims(&json!({})))).await);
    let scene = Scene::of(&[&one, &two]).await;
    assert!(!scene.is_good(&one.sign_as(&header, &scene.claims(&json!({})))).await);
}

#[tokio::test]
async fn another_kind_of_signed_text_is_no_token() {
    let signer = Signer::new("k", Alg::ES256);
    let scene = Scene::of(&[&signer]).await;
    for (kind, good) in [
        (None, true),
        (Some("JWT"), true),
        (Some("at+jwt"), true),
        (Some("application/at+JWT"), true),
        (Some("logout+jwt"), false),
        (Some("dpop+jwt"), false),
        (Some(""), false),
    ] {
        let header = Header { typ: kind.map(str::to_owned), ..signer.header() };
        let token = signer.sign_as(&header, &scene.claims(&json!({})));
        assert_eq!(scene.is_good(&token).await, good, "{kind:?}");
    }
    let header = Header { crit: Some(vec!["exp".to_owned()]), ..signer.header() };
    assert!(!scene.is_good(&signer.sign_as(&header, &scene.claims(&json!({})))).await);
}

#[tokio::test]
async fn a_long_token_is_not_looked_at() {
    let signer = Signer::new("k", Alg::ES256);
    let scene = Scene::of(&[&signer]).await;
    let long = signer.sign(&scene.claims(&json!({"pad": "x".repeat(MAX_TOKEN_BYTES)})));
    assert!(!scene.is_good(&long).await);
    assert!(scene.issuer.asked().is_empty());
}

#[tokio::test]
async fn text_that_is_no_token_is_none() {
    let scene = Scene::of(&[]).await;
    let deep = BASE64.encode("[".repeat(5000));
    for text in
        ["", ".", "..", "...", "a.b.c", "größe.x.y", "\0", &format!("{deep}.{deep}.x"), "pudu_abcdefghijkl_x"]
    {
        assert!(!scene.is_good(text).await, "{text}");
    }
    assert!(scene.issuer.asked().is_empty());
}

#[tokio::test]
async fn a_discovery_document_that_is_not_the_issuers_leads_nowhere() {
    let signer = Signer::new("k", Alg::ES256);
    for (change, told) in [
        (json!({"issuer": "http://127.0.0.1:1"}), "the discovery document: is of another issuer"),
        (json!({"issuer": null}), "the discovery document: is of another issuer"),
        (json!({"jwks_uri": null}), "the discovery document: names no key set"),
        (json!({"jwks_uri": "keys"}), "the discovery document: names no key set"),
        (
            json!({"jwks_uri": "http://keys.example.com/"}),
            "the discovery document: names a key set that is not at https",
        ),
    ] {
        let scene = Scene::of(&[&signer]).await;
        scene.issuer.change(|says| {
            for (name, value) in change.as_object().unwrap() {
                says.discovery[name] = value.clone();
            }
        });
        let Err(VerifyError::Keys { source }) = scene.oidc.verify(&scene.token(&signer)).await else {
            panic!("{change}")
        };
        assert_eq!(source.to_string(), told);
        assert_eq!(scene.issuer.count(), 0);
    }
}

#[tokio::test]
async fn answers_that_are_no_key_sets_are_told_apart() {
    let signer = Signer::new("k", Alg::ES256);
    let scene = Scene::of(&[&signer]).await;
    let problem = async |scene: &Scene| {
        scene.clock.pass(super::ring::RETRY);
        let Err(VerifyError::Keys { source }) = scene.oidc.verify(&scene.token(&signer)).await else {
            panic!("is good")
        };
        source.to_string()
    };
    scene.issuer.change(|says| says.keys = json!([]));
    assert_eq!(problem(&scene).await, "the key set: is no JSON Web Key Set");
    scene.issuer.change(|says| says.keys = json!({"keys": [], "pad": "x".repeat(300 * 1024)}));
    assert!(problem(&scene).await.contains("more than 262144 bytes"));
    scene.issuer.change(|says| says.status = StatusCode::FOUND);
    assert_eq!(problem(&scene).await, "the discovery document: was answered with HTTP 302");
}
