//! Who may call, how often, and from which pages; the same names in the cloud and on one machine.

use std::collections::BTreeSet;

use pudu_app::oidc::{Roles, Rules};
use pudu_config::SigningAlgorithm;
use pudu_domain::bucket::Rate;
use url::{Host, Url};

use super::SettingError;
use super::numbers::number;
use crate::env::Source;

/// The issuer whose tokens are taken, exactly as they name it: a URL. Default: none is.
pub const OIDC_ISSUER: &str = "PUDU_OIDC_ISSUER";
/// Who this Pudu is to it: what its tokens must have in `aud`. Required with the issuer.
pub const OIDC_AUDIENCE: &str = "PUDU_OIDC_AUDIENCE";
/// Where its keys are. Default: where its discovery document says.
pub const OIDC_JWKS_URL: &str = "PUDU_OIDC_JWKS_URL";
/// How its tokens may be signed, separated by commas: RS256 to PS512, ES256, ES384, `EdDSA`. Default `RS256`.
pub const OIDC_ALGORITHMS: &str = "PUDU_OIDC_ALGORITHMS";
/// The claim with a caller's roles; with dots through objects. Default `roles`.
pub const OIDC_ROLE_CLAIM: &str = "PUDU_OIDC_ROLE_CLAIM";
/// Values of it that make an administrator, separated by commas. Default: none.
pub const OIDC_ADMIN_VALUES: &str = "PUDU_OIDC_ADMIN_VALUES";
/// Values of it that make a user, separated by commas. Default: none.
pub const OIDC_USER_VALUES: &str = "PUDU_OIDC_USER_VALUES";
/// What everybody else with a valid token is: `none` or `user`. Default `none`.
pub const OIDC_DEFAULT_ROLE: &str = "PUDU_OIDC_DEFAULT_ROLE";
/// The claim that lists the servers that a caller may use; `*` in it is all. Default: all, without a claim.
pub const OIDC_SERVERS_CLAIM: &str = "PUDU_OIDC_SERVERS_CLAIM";
/// Calls of one user in a second, over all instances, 0 to 10000; 0 is no limit. Default 50 in the cloud, 0 on one machine.
pub const RATE_PER_SECOND: &str = "PUDU_RATE_PER_SECOND";
/// Calls of one user at once, 1 to 100000. Default 100.
pub const RATE_BURST: &str = "PUDU_RATE_BURST";
/// Origins whose pages may call, such as `https://app.example.com`, separated by commas. Default: none.
pub const CORS_ORIGINS: &str = "PUDU_CORS_ORIGINS";

/// Calls of a user in a second, in the cloud: more than a person and its agents need, less than what hurts.
pub const CLOUD_RATE: u32 = 50;
const USUAL_BURST: u32 = 100;

/// What callers are held to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission {
    /// Whose tokens are taken, beside our own keys.
    pub tokens: Option<Rules>,
    /// How often each user may call.
    pub rate: Option<Rate>,
    /// Origins whose pages may call, each as a browser writes it.
    pub origins: Vec<String>,
}

impl Admission {
    /// Reads and checks everything; `per_second` is the limit where none is set, 0 for none.
    pub fn read(source: &dyn Source, per_second: u32) -> Result<Self, SettingError> {
        let per_second = number(source, RATE_PER_SECOND, 0..=Rate::MOST_PER_SECOND, per_second)?;
        let burst = number(source, RATE_BURST, 1..=Rate::MOST_BURST, USUAL_BURST)?;
        let origins = list(source, CORS_ORIGINS);
        if let Some(wrong) = origins.iter().find(|origin| !is_origin(origin)) {
            return Err(wrong_origin(wrong));
        }
        Ok(Self { tokens: tokens(source)?, rate: Rate::new(per_second, burst), origins })
    }
}

fn tokens(source: &dyn Source) -> Result<Option<Rules>, SettingError> {
    let Some(issuer) = source.get(OIDC_ISSUER) else { return without_issuer(source) };
    let jwks_url = source.get(OIDC_JWKS_URL);
    for (name, url) in [(OIDC_ISSUER, Some(&issuer)), (OIDC_JWKS_URL, jwks_url.as_ref())] {
        if url.is_some_and(|url| !is_safe(url)) {
            return Err(wrong(name, "must be an https URL; http only for an issuer on this machine"));
        }
    }
    let audience = source.get(OIDC_AUDIENCE);
    let audience = audience.ok_or_else(|| {
        wrong(OIDC_AUDIENCE, "is not set; without it tokens that are meant for others would be taken")
    })?;
    let names = list(source, OIDC_ALGORITHMS);
    let algorithms: Option<BTreeSet<SigningAlgorithm>> =
        names.iter().map(|name| SigningAlgorithm::parse(name)).collect();
    let algorithms = algorithms.ok_or_else(|| {
        let known = SigningAlgorithm::ALL.map(SigningAlgorithm::as_str).join(", ");
        wrong(OIDC_ALGORITHMS, format!("must be of {known}, separated by commas"))
    })?;
    let algorithms = if algorithms.is_empty() { [SigningAlgorithm::Rs256].into() } else { algorithms };
    let everybody = match source.get(OIDC_DEFAULT_ROLE).as_deref() {
        None | Some("none") => false,
        Some("user") => true,
        Some(_) => return Err(wrong(OIDC_DEFAULT_ROLE, "must be none or user")),
    };
    let roles = Roles {
        claim: source.get(OIDC_ROLE_CLAIM).unwrap_or_else(|| "roles".to_owned()),
        admin: list(source, OIDC_ADMIN_VALUES).into_iter().collect(),
        user: list(source, OIDC_USER_VALUES).into_iter().collect(),
        everybody,
    };
    if !everybody && roles.admin.is_empty() && roles.user.is_empty() {
        let problem = format!(
            "and {OIDC_ADMIN_VALUES} are not set, and {OIDC_DEFAULT_ROLE} is not user: no token would give a role"
        );
        return Err(wrong(OIDC_USER_VALUES, problem));
    }
    let servers_claim = source.get(OIDC_SERVERS_CLAIM);
    Ok(Some(Rules { issuer, audience, jwks_url, algorithms, roles, servers_claim }))
}

/// Nothing else may be set: whoever set it believes that tokens are taken.
fn without_issuer(source: &dyn Source) -> Result<Option<Rules>, SettingError> {
    let rest = [OIDC_AUDIENCE, OIDC_JWKS_URL, OIDC_ADMIN_VALUES, OIDC_USER_VALUES, OIDC_SERVERS_CLAIM];
    match rest.into_iter().find(|name| source.get(name).is_some()) {
        Some(name) => Err(wrong(name, format!("is set without {OIDC_ISSUER}"))),
        None => Ok(None),
    }
}

/// The entries, without what surrounds them.
fn list(source: &dyn Source, name: &str) -> Vec<String> {
    let text = source.get(name).unwrap_or_default();
    text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(str::to_owned).collect()
}

/// Whoever can change what is fetched there can sign for everybody.
fn is_safe(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    let plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    let here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    plain && (url.scheme() == "https" || url.scheme() == "http" && here)
}

/// Letter by letter as a browser sends it: another spelling would never be met, and a `*`, which is legal in a host, would not
/// mean what whoever wrote it hopes.
fn is_origin(text: &str) -> bool {
    let is_exact = |url: Url| url.origin().ascii_serialization() == text;
    let is_web = text.starts_with("https://") || text.starts_with("http://");
    is_web && !text.contains('*') && Url::parse(text).is_ok_and(is_exact)
}

fn wrong_origin(text: &str) -> SettingError {
    if text == "*" {
        return wrong(
            CORS_ORIGINS,
            "must not be *: any page would call with what its visitor may do; name the origins",
        );
    }
    wrong(
        CORS_ORIGINS,
        format!("'{text}' is no origin; write it like https://app.example.com, without a path"),
    )
}

fn wrong(name: &'static str, problem: impl Into<String>) -> SettingError {
    SettingError { name, problem: problem.into() }
}

#[cfg(test)]
mod tests;
