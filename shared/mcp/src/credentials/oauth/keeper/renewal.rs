//! Asking the token server, under a claim of the row, and bringing the outcome home.

use std::time::Duration;

use pudu_app::ports::{CallFault, Replaced};
use pudu_config::{AuthMethod, NONCE_BYTES};
use pudu_domain::token::{Access, Grant, Sealed, Trouble};
use pudu_domain::{Lease, Token};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::timeout;

use super::super::answer::{self, Answer};
use super::super::assertion::{self, Claims};
use super::super::discovery::{self, Endpoint};
use super::super::request::{Asked, TokenRequest};
use super::super::{Bearer, TokenError, Wanted};
use super::Keeper;

/// Longest that a token server is waited for (reference 1.9), finding it included.
pub(super) const ASKING: Duration = Duration::from_secs(15);
/// How long a claim holds: the asking, and time to write down what came of it.
const LEASE: Duration = Duration::from_secs(30);
/// Pause before an outcome that the table did not take is brought again.
const AGAIN: Duration = Duration::from_secs(1);

impl Keeper {
    pub(super) fn lease(&self) -> Lease {
        Lease { owner: self.ports.random.owner("token"), until: self.ports.clock.now() + LEASE }
    }

    /// The holder of `claimed` asks, and commits what came of it.
    pub(super) async fn renewed(&self, wanted: &Wanted, claimed: Token) -> Result<Bearer, TokenError> {
        let answer = match timeout(ASKING, self.ask(wanted, &claimed)).await {
            Ok(answer) => answer,
            Err(_) => {
                Answer::Failed(format!("the token server did not answer within {} s", ASKING.as_secs()))
            }
        };
        let now = self.ports.clock.now();
        let sealed = match answer {
            Answer::Granted { header, refresh, lifetime } => {
                self.grant(wanted, &header, refresh.as_ref(), lifetime).map(|grant| (grant, header))
            }
            Answer::Refused(reason) => {
                tracing::warn!(server = wanted.key.server, reason, "a token was refused for good");
                let refused = claimed.refused(reason);
                let brought = self.bring(wanted, &claimed, &refused, None).await.unwrap_or(refused);
                return self.left(wanted, &brought);
            }
            Answer::Failed(reason) => Err(reason),
        };
        let (grant, header) = match sealed {
            Ok(granted) => granted,
            Err(reason) => {
                tracing::warn!(server = wanted.key.server, reason, "a token could not be had");
                let failed = claimed.failed(now, reason);
                let brought = self.bring(wanted, &claimed, &failed, None).await.unwrap_or(failed);
                return self.left(wanted, &brought);
            }
        };
        let granted = claimed.granted(&grant);
        let brought = self.bring(wanted, &claimed, &granted, Some(&grant)).await.unwrap_or(granted);
        // A later claim may have brought another one: then that is the token.
        if let Some(bearer) = wanted.bearer(&brought) {
            self.hold(wanted, &brought, &bearer);
            return Ok(bearer);
        }
        Ok(Bearer { header, sealed: grant.access.sealed })
    }

    /// What there is when this process got no token: the old one while it is valid, or what another process brought
    /// meanwhile.
    fn left(&self, wanted: &Wanted, row: &Token) -> Result<Bearer, TokenError> {
        let valid = row.access.as_ref().is_some_and(|access| access.expires_at > self.ports.clock.now());
        if let Some(bearer) = wanted.bearer(row).filter(|_| valid) {
            self.hold(wanted, row, &bearer);
            return Ok(bearer);
        }
        Err(match &row.trouble {
            Trouble::Refused { reason } => TokenError::refused(reason),
            Trouble::Failing { reason, .. } => TokenError::unavailable(reason),
            Trouble::None => TokenError::unavailable("another process asks for a token; try again"),
        })
    }

    /// Writes the outcome of a claim, as long as the table does not answer and the claim may still count. A grant is
    /// brought even after another process has taken over: the refresh token that it holds exists nowhere else.
    /// Returns the row as it is then, when that is known.
    async fn bring(
        &self,
        wanted: &Wanted,
        claimed: &Token,
        outcome: &Token,
        grant: Option<&Grant>,
    ) -> Option<Token> {
        let until = claimed.lease.as_ref().map(|lease| lease.until)? + LEASE;
        let (mut seen, mut new) = (claimed.clone(), outcome.clone());
        loop {
            match self.ports.store.replace(&wanted.key, Some(&seen), &new).await {
                Ok(Replaced::Done) => return Some(new),
                Ok(Replaced::Lost(stored)) => {
                    let stored = *stored?;
                    let Some(late) = grant.and_then(|grant| stored.late(claimed.generation, grant)) else {
                        return Some(stored);
                    };
                    tracing::warn!(
                        server = wanted.key.server,
                        "a token came after its claim was over, and is kept"
                    );
                    (seen, new) = (stored, late);
                }
                Err(error) if self.ports.clock.now() < until => {
                    tracing::warn!(server = wanted.key.server, %error, "a token could not be stored yet");
                    self.ports.clock.sleep(AGAIN).await;
                }
                Err(error) => {
                    tracing::error!(server = wanted.key.server, %error, "a token could not be stored; if its server rotates refresh tokens, it will refuse the next renewal");
                    return None;
                }
            }
        }
    }

    fn grant(
        &self,
        wanted: &Wanted,
        header: &SecretString,
        refresh: Option<&SecretString>,
        lifetime: Duration,
    ) -> Result<Grant, String> {
        let granted_at = self.ports.clock.now();
        let sealed = self.sealed(wanted, &wanted.access_place(), header)?;
        let access = Access { sealed, granted_at, expires_at: granted_at + lifetime };
        let refresh = refresh.map(|refresh| self.sealed(wanted, &wanted.refresh_place(), refresh));
        Ok(Grant { access, refresh: refresh.transpose()? })
    }

    fn sealed(&self, wanted: &Wanted, place: &str, secret: &SecretString) -> Result<Sealed, String> {
        let mut nonce = [0; NONCE_BYTES];
        self.ports.random.fill(&mut nonce);
        let sealed = wanted.seal.seal(place, secret.expose_secret(), nonce);
        sealed.map(Sealed::new).map_err(|_| "the token is too large to be stored".to_owned())
    }

    /// One token request. It is sent once: a refresh token must not be presented again.
    async fn ask(&self, wanted: &Wanted, claimed: &Token) -> Answer {
        let oauth = &wanted.oauth;
        let endpoint = match discovery::endpoint(&self.wire, wanted).await {
            Ok(endpoint) => endpoint,
            Err(reason) => return Answer::Failed(reason),
        };
        let refresh = wanted.refresh(claimed);
        let assertion = match (endpoint.method, &oauth.private_key, &oauth.client_id) {
            (AuthMethod::PrivateKeyJwt, Some(key), Some(id)) => {
                match self.assertion(wanted, &endpoint, key, id) {
                    Ok(assertion) => Some(assertion),
                    Err(reason) => return Answer::Failed(reason.to_owned()),
                }
            }
            _ => None,
        };
        let asked = Asked {
            method: endpoint.method,
            refresh: refresh.as_ref(),
            resource: endpoint.resource.as_deref(),
            scope: endpoint.scope.as_deref(),
            assertion,
        };
        let request = TokenRequest::new(oauth, asked);
        let target = match endpoint.target(wanted, &request) {
            Ok(target) => target,
            Err(reason) => return Answer::Failed(reason),
        };
        let fields: Vec<(&str, &str)> =
            request.fields.iter().map(|(name, value)| (name.as_str(), value.expose_secret())).collect();
        // Again, because finding the endpoint takes time and a function may have been frozen meanwhile: what another process
        // may be presenting must not be presented by this one too.
        if !claimed.is_held_for(ASKING, self.ports.clock.now()) {
            return Answer::Failed(
                "the process stood still while it asked for a token; try again".to_owned(),
            );
        }
        match self.wire.form(&target, &fields).await {
            Ok(plain) => answer::read(oauth, plain.status, &plain.body),
            Err(failure) => Answer::Failed(match failure.fault {
                CallFault::Broken => format!("the token server: {}", failure.message),
                _ => format!("the token server {}", failure.message),
            }),
        }
    }

    fn assertion(
        &self,
        wanted: &Wanted,
        endpoint: &Endpoint,
        key: &SecretString,
        id: &SecretString,
    ) -> Result<SecretString, &'static str> {
        let mut nonce = [0; 16];
        self.ports.random.fill(&mut nonce);
        let audience = endpoint.issuer.as_deref().unwrap_or_else(|| endpoint.url.as_str());
        let claims = Claims { client_id: id.expose_secret(), audience, now: self.ports.clock.now(), nonce };
        assertion::sign(&claims, key, wanted.oauth.private_key_id.as_ref(), wanted.oauth.signing_algorithm)
    }
}
