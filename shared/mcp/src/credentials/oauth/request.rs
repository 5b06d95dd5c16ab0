//! The token request (reference 5.4): pure.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use pudu_config::{AuthMethod, GrantType, ResolvedOauth};
use secrecy::{ExposeSecret, SecretString};

const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// What RFC 6749 encodes in id and secret before they go into the `Basic` header.
const FORM: &AsciiSet = &NON_ALPHANUMERIC.remove(b'*').remove(b'-').remove(b'.').remove(b'_');

/// What of a request the block does not say.
pub(super) struct Asked<'a> {
    /// How the client says who it is.
    pub(super) method: AuthMethod,
    /// The refresh token that replaced the configured one.
    pub(super) refresh: Option<&'a SecretString>,
    /// For which server the token is (RFC 8707), where the token server was found by it.
    pub(super) resource: Option<&'a str>,
    /// What the server says is needed, where the block does not say it.
    pub(super) scope: Option<&'a str>,
    /// A signed assertion.
    pub(super) assertion: Option<SecretString>,
}

/// A request's form, and its `Authorization` header.
pub(super) struct TokenRequest {
    pub(super) fields: Vec<(String, SecretString)>,
    pub(super) authorization: Option<SecretString>,
}

impl TokenRequest {
    /// The request: `extra_token_params` first, then what is ours over it.
    pub(super) fn new(oauth: &ResolvedOauth, asked: Asked<'_>) -> Self {
        let mut request = Self { fields: oauth.extra_token_params.clone(), authorization: None };
        if let Some(resource) = asked.resource {
            request.set("resource", SecretString::from(resource));
        }
        let scope = oauth.scope.clone().or_else(|| asked.scope.map(SecretString::from));
        request.set_if("scope", scope);
        request.set_if("audience", oauth.audience.clone());
        match oauth.grant_type {
            GrantType::ClientCredentials => {
                request.set("grant_type", SecretString::from("client_credentials"));
            }
            GrantType::RefreshToken => {
                request.set("grant_type", SecretString::from("refresh_token"));
                request
                    .set_if("refresh_token", asked.refresh.cloned().or_else(|| oauth.refresh_token.clone()));
            }
        }
        match (asked.method, &oauth.client_id, &oauth.client_secret) {
            (AuthMethod::PrivateKeyJwt, ..) => {
                request.set_if("client_id", oauth.client_id.clone());
                request.set("client_assertion_type", SecretString::from(ASSERTION_TYPE));
                request.set_if("client_assertion", asked.assertion);
            }
            (AuthMethod::ClientSecretBasic, Some(id), Some(secret)) => {
                request.authorization = Some(basic(id, secret));
            }
            // A public client of the refresh grant has no secret, or not even an id.
            (AuthMethod::ClientSecretBasic | AuthMethod::ClientSecretPost, id, secret) => {
                request.set_if("client_id", id.clone());
                request.set_if("client_secret", secret.clone());
            }
        }
        request
    }

    fn set(&mut self, name: &str, value: SecretString) {
        self.fields.retain(|(there, _)| there != name);
        self.fields.push((name.to_owned(), value));
    }

    fn set_if(&mut self, name: &str, value: Option<SecretString>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }
}

fn basic(id: &SecretString, secret: &SecretString) -> SecretString {
    let encoded = |text: &SecretString| utf8_percent_encode(text.expose_secret(), FORM).to_string();
    let pair = format!("{}:{}", encoded(id), encoded(secret));
    SecretString::from(format!("Basic {}", BASE64_STANDARD.encode(pair)))
}

#[cfg(test)]
mod tests;
