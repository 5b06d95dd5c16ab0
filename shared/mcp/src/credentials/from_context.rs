//! `headers_from_context`: headers from the secrets that a request brought (reference 5.6). A worker has no request, so
//! status and cancel calls of a task go without.

use std::collections::BTreeSet;

use async_trait::async_trait;
use pudu_app::ports::{CallError, RequestSecrets};
use pudu_config::{Headers, HeadersFromContext, OnMissing, Server, illegal_value};
use secrecy::ExposeSecret;
use serde_json::Value;

use crate::interceptor::{Interceptor, Next, Request};

/// The block of one server.
pub(crate) struct FromContext<'a>(&'a HeadersFromContext);

impl<'a> FromContext<'a> {
    /// Of a server that uses it.
    pub(crate) fn of(server: &'a Server) -> Option<Self> {
        let block = server.headers_from_context.as_ref();
        block.filter(|block| block.enabled && server.transport.takes_headers()).map(Self)
    }

    /// What to set for the request.
    fn credentials(&self, request: &Request<'_>) -> Result<Headers, CallError> {
        let mut found = Headers::default();
        let secrets = match &request.caller.secrets {
            RequestSecrets::Given(secrets) => secrets,
            RequestSecrets::Background => return Ok(found),
            RequestSecrets::Gone if self.0.headers.is_empty() => return Ok(found),
            // Whoever brought them is not served as if he had none.
            RequestSecrets::Gone => {
                return Err(request.denied(
                    "The request-scoped credentials of the run are not kept any more; begin a new run with them".to_owned(),
                ));
            }
        };
        let mut missing = BTreeSet::new();
        for (header, key) in &self.0.headers {
            match secrets.get(key).filter(|value| !value.expose_secret().is_empty()) {
                Some(value) => found.set(header, value.clone()),
                None => drop(missing.insert(key.as_str())),
            }
        }
        if self.0.on_missing == OnMissing::Deny && !missing.is_empty() {
            let keys: Vec<&str> = missing.into_iter().collect();
            return Err(request.denied(format!(
                "This server needs request-scoped credential(s) that the request did not bring: {}; send each as a string in 'context.secrets' of the call",
                keys.join(", ")
            )));
        }
        for (header, key) in &self.0.headers {
            let value = found.get(header).filter(|value| !value.expose_secret().is_empty());
            if let Some(reason) = value.and_then(|value| illegal_value(value.expose_secret())) {
                return Err(request.denied(format!(
                    "The request-scoped credential {key} cannot be sent as header '{header}': {reason}"
                )));
            }
        }
        Ok(found)
    }
}

#[async_trait]
impl Interceptor for FromContext<'_> {
    async fn intercept(&self, mut request: Request<'_>, next: Next<'_>) -> Result<Value, CallError> {
        let found = self.credentials(&request)?;
        request.headers = request.headers.overlaid(&found);
        next.call(request).await
    }
}
