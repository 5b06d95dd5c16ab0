//! Fetching an issuer's keys: from where the settings say, or from where its own discovery document says (`OpenID` Connect
//! Discovery 1.0). Bounded in size by the wire, in time here; no redirect is followed.
//!
//! Where the keys are is not remembered: a stale answer would keep keys in force that the issuer has given up.

use std::time::Duration;

use http::HeaderMap;
use pudu_app::oidc::Rules;
use serde_json::Value;
use tokio::time::timeout;
use url::{Host, Url};

use super::keys::Keys;
use crate::target::Target;
use crate::wire::Wire;

/// Longest time for all of it.
pub(super) const LIMIT: Duration = Duration::from_secs(3);
/// What failures call the other side.
const WHO: &str = "the issuer of tokens";

/// Why there are no keys. It shows no text of the other side.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum FetchError {
    /// The setting.
    #[error("the issuer or its key set is no URL")]
    Setting,
    /// A document could not be had.
    #[error("{document}: {problem}")]
    Document {
        /// Which.
        document: &'static str,
        /// What is wrong; goes on from "it".
        problem: String,
    },
    /// It all took too long.
    #[error("no answer within {} s", LIMIT.as_secs())]
    Time,
}

/// The issuer's keys as they are now.
pub(super) async fn fetch(wire: &Wire, rules: &Rules) -> Result<Keys, FetchError> {
    timeout(LIMIT, keys(wire, rules)).await.map_err(|_| FetchError::Time)?
}

async fn keys(wire: &Wire, rules: &Rules) -> Result<Keys, FetchError> {
    const SET: &str = "the key set";
    let place = match &rules.jwks_url {
        Some(url) => Url::parse(url).map_err(|_| FetchError::Setting)?,
        None => discovered(wire, rules).await?,
    };
    let body = document(wire, SET, place).await?;
    let keys = Keys::read(&body, &rules.algorithms);
    keys.ok_or_else(|| FetchError::Document { document: SET, problem: "is no JSON Web Key Set".to_owned() })
}

async fn discovered(wire: &Wire, rules: &Rules) -> Result<Url, FetchError> {
    const DISCOVERY: &str = "the discovery document";
    let wrong = |problem: &str| FetchError::Document { document: DISCOVERY, problem: problem.to_owned() };
    let issuer = Url::parse(&rules.issuer).map_err(|_| FetchError::Setting)?;
    let place = format!("{}/.well-known/openid-configuration", rules.issuer.trim_end_matches('/'));
    let place = Url::parse(&place).map_err(|_| FetchError::Setting)?;
    let body = document(wire, DISCOVERY, place).await?;
    let found: Value = serde_json::from_slice(&body).map_err(|_| wrong("is no JSON"))?;
    // Letter by letter: tokens are compared with it in the same way (Discovery section 4.3).
    if found.get("issuer").and_then(Value::as_str) != Some(&rules.issuer) {
        return Err(wrong("is of another issuer"));
    }
    let keys = found.get("jwks_uri").and_then(Value::as_str).and_then(|uri| Url::parse(uri).ok());
    let keys = keys.ok_or_else(|| wrong("names no key set"))?;
    // Whoever can change what is fetched can sign for everybody.
    if keys.scheme() == "https" || (is_loopback(&issuer) && is_loopback(&keys)) {
        return Ok(keys);
    }
    Err(wrong("names a key set that is not at https"))
}

async fn document(wire: &Wire, document: &'static str, place: Url) -> Result<Vec<u8>, FetchError> {
    let target = Target::plain(WHO, place, HeaderMap::new());
    let answer = wire.json(&target).await;
    let answer = answer.map_err(|failure| FetchError::Document { document, problem: failure.message })?;
    if answer.status.is_success() {
        return Ok(answer.body);
    }
    let problem = format!("was answered with HTTP {}", answer.status.as_u16());
    Err(FetchError::Document { document, problem })
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
