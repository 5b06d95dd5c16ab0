//! The interceptor that sends a server's token, and once another one when the server does not take it.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use pudu_app::ports::CallError;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::{Bearer, Keeper, Wanted};
use crate::interceptor::{Interceptor, Next, Request};

const HEADER: &str = "Authorization";

/// What the transport saw of the last attempt: the `Authorization` that a 401 came for. A later interceptor may have
/// replaced ours, and then its credential was refused, not the token.
#[derive(Debug, Default)]
pub(crate) struct Watch(Mutex<Option<SecretString>>);

/// The outermost link of a call to a server with OAuth.
pub(crate) struct Authorized<'a> {
    pub(crate) keeper: &'a Arc<Keeper>,
    pub(crate) wanted: Arc<Wanted>,
    pub(crate) watch: &'a Watch,
}

impl Watch {
    /// Notes that these headers were answered with 401, or with something else.
    pub(crate) fn saw(&self, status: Option<u16>, sent: Option<&http::HeaderValue>) {
        let refused = sent.filter(|_| status == Some(401)).and_then(|value| value.to_str().ok());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = refused.map(SecretString::from);
    }

    /// Whether this token is what the server has just refused.
    pub(crate) fn refused(&self, bearer: &Bearer) -> bool {
        let refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        refused.as_ref().is_some_and(|sent| sent.expose_secret() == bearer.header.expose_secret())
    }
}

/// Sends with the server's token, and once more with another one when the server refuses that. 401 is said before anything
/// is done, so nothing is done twice.
pub(crate) async fn with_token<'a, T: Send>(
    keeper: &Arc<Keeper>,
    wanted: &Arc<Wanted>,
    watch: &Watch,
    server: &str,
    mut send: impl FnMut(SecretString) -> BoxFuture<'a, Result<T, CallError>> + Send,
) -> Result<T, CallError> {
    let bearer = keeper.bearer(wanted).await.map_err(|error| error.of(server))?;
    let answer = send(bearer.header.clone()).await;
    if answer.is_ok() || !watch.refused(&bearer) || !keeper.rejected(wanted, &bearer).await {
        return answer;
    }
    match keeper.bearer(wanted).await {
        Ok(another) if !another.is(&bearer) => send(another.header).await,
        // A look at the row that began before the refusal may still give the refused one.
        Ok(_) | Err(_) => answer,
    }
}

#[async_trait]
impl Interceptor for Authorized<'_> {
    async fn intercept(&self, request: Request<'_>, next: Next<'_>) -> Result<Value, CallError> {
        let server = &request.server.name;
        with_token(self.keeper, &self.wanted, self.watch, server, |header| {
            let mut request = request.clone();
            request.headers.set(HEADER, header);
            next.call(request).boxed()
        })
        .await
    }
}
