//! The `oauth` block at the moment of use.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::{AuthMethod, GrantType, Oauth, SigningAlgorithm};
use crate::canonical::canonical;
use crate::seal::SealKey;
use crate::server::{ConnectError, Server};
use crate::setting::{Secrets, Setting};

/// Everything with its value; an empty text counts as not given.
#[derive(Clone, Debug)]
pub struct ResolvedOauth {
    /// The token endpoint; `None` when it is to be found.
    pub token_url: Option<SecretString>,
    /// How a token is got.
    pub grant_type: GrantType,
    /// The client's id.
    pub client_id: Option<SecretString>,
    /// The client's secret.
    pub client_secret: Option<SecretString>,
    /// The first refresh token.
    pub refresh_token: Option<SecretString>,
    /// Asked scope.
    pub scope: Option<SecretString>,
    /// Asked audience.
    pub audience: Option<SecretString>,
    /// Which field of the answer is the token.
    pub token_field: String,
    /// Which field of the answer is its type.
    pub token_type_field: String,
    /// Which field of the answer is its lifetime in seconds.
    pub expires_in_field: String,
    /// The type when the answer has none.
    pub default_token_type: String,
    /// How long before its end a token is renewed.
    pub refresh_skew: Duration,
    /// Sent with the token request, below what is ours.
    pub extra_token_params: Vec<(String, SecretString)>,
    /// How the client says who it is, when the block says it.
    pub auth_method: Option<AuthMethod>,
    /// The key that signs assertions, in PEM.
    pub private_key: Option<SecretString>,
    /// Its id.
    pub private_key_id: Option<SecretString>,
    /// How assertions are signed.
    pub signing_algorithm: SigningAlgorithm,
}

impl Server {
    /// The server's OAuth with its values; `None` when it uses none: switched off, or a server without headers. Errors name
    /// fields, never values.
    pub fn oauth(&self, secrets: &dyn Secrets) -> Option<Result<ResolvedOauth, ConnectError>> {
        let block = self.oauth.as_ref().filter(|block| block.enabled && self.transport.takes_headers())?;
        Some(block.resolve(secrets))
    }
}

impl Oauth {
    fn resolve(&self, secrets: &dyn Secrets) -> Result<ResolvedOauth, ConnectError> {
        if let Some(field) = self.missing().first() {
            return Err(ConnectError::Oauth { field });
        }
        let one = |field: &str, setting: &Option<Setting>| match setting {
            None => Ok(None),
            Some(setting) => {
                let value = value(field, setting, secrets)?;
                Ok(Some(value).filter(|value| !value.expose_secret().is_empty()))
            }
        };
        let extra = self.extra_token_params.iter().map(|(name, setting)| {
            Ok((name.clone(), value(&format!("extra_token_params.{name}"), setting, secrets)?))
        });
        let resolved = ResolvedOauth {
            token_url: one("token_url", &self.token_url)?,
            grant_type: self.grant_type,
            client_id: one("client_id", &self.client_id)?,
            client_secret: one("client_secret", &self.client_secret)?,
            refresh_token: one("refresh_token", &self.refresh_token)?,
            scope: one("scope", &self.scope)?,
            audience: one("audience", &self.audience)?,
            token_field: self.token_field.clone(),
            token_type_field: self.token_type_field.clone(),
            expires_in_field: self.expires_in_field.clone(),
            default_token_type: self.default_token_type.clone(),
            refresh_skew: self.refresh_skew,
            extra_token_params: extra.collect::<Result<_, _>>()?,
            auth_method: self.auth_method,
            private_key: one("private_key", &self.private_key)?,
            private_key_id: one("private_key_id", &self.private_key_id)?,
            signing_algorithm: self.signing_algorithm,
        };
        resolved.checked()
    }
}

impl ResolvedOauth {
    /// A variable may stand for the empty text.
    fn checked(self) -> Result<Self, ConnectError> {
        let by_key = self.auth_method == Some(AuthMethod::PrivateKeyJwt);
        let grant = self.grant_type == GrantType::ClientCredentials;
        let needed = [
            ("refresh_token", !grant, &self.refresh_token),
            ("client_id", grant || by_key, &self.client_id),
            ("private_key", by_key, &self.private_key),
            ("client_secret", grant && !by_key, &self.client_secret),
        ];
        let missing = needed.into_iter().find(|(_, needed, value)| *needed && value.is_none());
        let missing = missing.map(|(field, ..)| field);
        missing.map_or(Ok(self), |field| Err(ConnectError::Oauth { field }))
    }

    /// The digest (32 hex characters) of whose tokens these are: another digest, another row. Keyed, because it is part of
    /// a stored key. A grant by refresh token is the same as long as the token server, the client and the configured token
    /// are: a new client secret or scope must not lose the token that replaced the configured one, which is nowhere else.
    pub fn identity(&self, key: &SealKey, server_url: &SecretString) -> String {
        if self.grant_type == GrantType::ClientCredentials {
            return self.terms(key, server_url);
        }
        let all = json!([
            self.place(server_url),
            plain(self.client_id.as_ref()),
            plain(self.refresh_token.as_ref())
        ]);
        key.keyed_hash("pudu oauth grant v1", &canonical(&all))
    }

    /// The digest of everything that an access token depends on: one that was given under other terms is not used.
    /// `server_url` counts where the token endpoint is found by it; `refresh_skew` does not.
    pub fn terms(&self, key: &SealKey, server_url: &SecretString) -> String {
        let extra: Vec<Value> = self
            .extra_token_params
            .iter()
            .map(|(name, value)| json!([name, value.expose_secret()]))
            .collect();
        let all = json!([
            self.place(server_url),
            self.grant_type == GrantType::RefreshToken,
            plain(self.client_id.as_ref()),
            plain(self.client_secret.as_ref()),
            plain(self.refresh_token.as_ref()),
            plain(self.scope.as_ref()),
            plain(self.audience.as_ref()),
            [&self.token_field, &self.token_type_field, &self.expires_in_field, &self.default_token_type],
            extra,
            self.auth_method.map(AuthMethod::as_str),
            plain(self.private_key.as_ref()),
            plain(self.private_key_id.as_ref()),
            self.signing_algorithm.as_str(),
        ]);
        key.keyed_hash("pudu oauth identity v1", &canonical(&all))
    }

    fn place(&self, server_url: &SecretString) -> Value {
        plain(self.token_url.as_ref()).map_or_else(|| json!([server_url.expose_secret()]), Value::from)
    }

    /// Every value that no text may show.
    pub fn secrets(&self) -> Vec<SecretString> {
        let own = [&self.client_secret, &self.refresh_token, &self.private_key];
        let own = own.into_iter().filter_map(Clone::clone);
        own.chain(self.extra_token_params.iter().map(|(_, value)| value.clone())).collect()
    }
}

fn plain(value: Option<&SecretString>) -> Option<&str> {
    value.map(ExposeSecret::expose_secret)
}

fn value(field: &str, setting: &Setting, secrets: &dyn Secrets) -> Result<SecretString, ConnectError> {
    let field = || format!("oauth.{field}");
    setting.resolve(secrets).map_err(|source| ConnectError::Setting { field: field(), source })
}

#[cfg(test)]
mod tests;
