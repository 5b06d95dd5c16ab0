//! Tokens of a real issuer: its discovery document, its key set and its signatures, none of which anybody here wrote.

use std::sync::Arc;

use acceptance::{Peer, World, request, send, skipped};
use http::Method;
use pudu_app::oidc::{Roles, Rules};
use pudu_app::ports::{TokenVerifier, VerifyError};
use pudu_config::NoSecrets;
use pudu_config::SigningAlgorithm;
use pudu_domain::{Principal, Role};
use pudu_lambda::clock::SystemClock;
use pudu_lambda::settings::Admission;
use pudu_mcp::{Client, Egress, Oidc};
use pudu_testkit::fixture::token_ports;
use serde_json::Value;

use super::HOW;

const AUDIENCE: &str = "http://127.0.0.1/mcp";

/// An access token of that client.
async fn token(issuer: &Peer, client: &str) -> String {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let asked = http.post(format!("{}/token", issuer.url()));
    let asked = asked.header("content-type", "application/x-www-form-urlencoded");
    let form = "grant_type=client_credentials&client_secret=canary-client-secret&scope=mcp:read";
    let answer = asked.body(format!("{form}&client_id={client}")).send().await.unwrap();
    let answer: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    answer["access_token"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn rules(issuer: &Peer) -> Rules {
    Rules {
        issuer: issuer.url().to_owned(),
        audience: AUDIENCE.to_owned(),
        jwks_url: None,
        algorithms: [SigningAlgorithm::Rs256].into(),
        roles: Roles {
            claim: "scope".to_owned(),
            admin: ["mcp:admin".to_owned()].into(),
            user: ["mcp:read".to_owned()].into(),
            everybody: false,
        },
        servers_claim: None,
    }
}

async fn verify(rules: Rules, token: &str) -> Result<Option<Principal>, VerifyError> {
    let client = Client::new(Arc::new(NoSecrets), Egress::machine(), token_ports()).unwrap();
    Oidc::new(rules, &client, Arc::new(SystemClock)).verify(token).await
}

#[tokio::test]
async fn a_token_of_a_real_issuer_names_its_bearer() {
    if !Peer::wanted() {
        return skipped("tokens of a real issuer", HOW);
    }
    let issuer = Peer::start(&["token-server"]).await;
    let token = token(&issuer, "lasting").await;
    let bearer = verify(rules(&issuer), &token).await.unwrap().expect("a good token");
    assert!(bearer.user.as_str().ends_with(":lasting"), "{}", bearer.user);
    assert_eq!(bearer.role, Role::User);

    let elsewhere = Rules { audience: "http://127.0.0.1/other".to_owned(), ..rules(&issuer) };
    assert_eq!(verify(elsewhere, &token).await.unwrap(), None);
    let other = Rules { algorithms: [SigningAlgorithm::Es256].into(), ..rules(&issuer) };
    assert_eq!(verify(other, &token).await.unwrap(), None);
    let mut strict = rules(&issuer);
    strict.roles.user = ["mcp:write".to_owned()].into();
    assert!(matches!(verify(strict, &token).await, Err(VerifyError::NoRole)));
    // Another issuer of the same kind, with keys of the same name.
    let stranger = Peer::start(&["token-server"]).await;
    assert_eq!(verify(rules(&stranger), &token).await.unwrap(), None);
    let (rest, _) = token.rsplit_once('.').unwrap();
    assert_eq!(verify(rules(&issuer), &format!("{rest}.AAAA")).await.unwrap(), None);
}

#[tokio::test]
async fn the_gateway_lets_the_bearer_in() {
    if !Peer::wanted() {
        return skipped("tokens of a real issuer at the gateway", HOW);
    }
    let issuer = Peer::start(&["token-server"]).await;
    let tokens = Some(rules(&issuer));
    let world = World::admitting(Admission { tokens, rate: None, origins: Vec::new() }).await;
    let ask = async |path: &str, token: &str| {
        let mut request = request(Method::GET, path, None);
        let value = format!("Bearer {token}").parse().unwrap();
        request.headers_mut().insert("authorization", value);
        send(&world.gateway, request).await
    };
    let token = token(&issuer, "lasting").await;
    ask("/api/tools", &token).await.expect(200);
    // A user, and no administrator.
    ask("/api/mcp/config", &token).await.refused(403);
    let (rest, _) = token.rsplit_once('.').unwrap();
    ask("/api/tools", &format!("{rest}.AAAA")).await.refused(401);
    assert_eq!(world.call(Method::GET, "/api/tools", None).await.status, 401);
}
