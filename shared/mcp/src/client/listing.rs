//! Listing a server's tools: with its own credentials, never with a user's or a request's (DESIGN section 5).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use futures_util::FutureExt;
use http::header::AUTHORIZATION;
use pudu_app::ports::{CallError, Listing};
use pudu_config::{Headers, Server};
use secrecy::SecretString;
use tokio::time::{Instant, timeout_at};

use super::way::Way;
use super::{Client, list};
use crate::credentials::{Watch, of_server, with_token};
use crate::target::{LONGEST, Target};
use crate::wire::Failure;

/// One listing over HTTP.
struct Asking<'a> {
    client: &'a Client,
    server: &'a Server,
    /// With the static headers only.
    target: Target,
    watch: Watch,
    until: Instant,
}

/// Lists within `limit`.
pub(super) async fn list(client: &Client, server: &Server, limit: Duration) -> Result<Listing, CallError> {
    // One limit for all of a discovery (reference 2.4).
    let limit = limit.min(server.init_timeout()).min(LONGEST);
    let until = Instant::now() + limit;
    match Way::of(client, server)?.knowing(&of_server(server, client.secrets.as_ref())) {
        Way::Remote(target) => {
            let asking = Asking { client, server, target: *target, watch: Watch::default(), until };
            let Ok(answer) = timeout_at(until, asking.authorized()).await else {
                // The listing itself has the same limit and is asked first: it is the token that did not come.
                return Err(asking.target.error(&Failure::timeout(limit).before_sending()));
            };
            // What a token server said is told here for the first time.
            let told = |text: &str| asking.target.redactor.text(text);
            answer.map_err(|error| CallError { message: told(&error.message), ..error })
        }
        Way::Child(stdio, recipe) => {
            let job = stdio.apart(&recipe, until, |session, recipe| {
                list::all(session, &recipe.server, &recipe.redactor).boxed()
            });
            job.await.map_err(|failure| recipe.error(&failure))
        }
    }
}

impl Asking<'_> {
    async fn authorized(&self) -> Result<Listing, CallError> {
        let (keeper, server) = (&self.client.tokens, &self.server.name);
        let wanted = keeper.wanted(self.server, self.client.secrets.as_ref()).await;
        match wanted.map_err(|error| error.of(server))? {
            None => self.ask(None).await,
            Some(wanted) => {
                let send = |header| self.ask(Some(header)).boxed();
                with_token(keeper, &wanted, &self.watch, server, send).await
            }
        }
    }

    async fn ask(&self, header: Option<SecretString>) -> Result<Listing, CallError> {
        let token = header.map(|header| ("Authorization".to_owned(), header));
        let target = self.target.with(&token.into_iter().collect::<Headers>())?;
        let sent = Arc::new(AtomicBool::new(false));
        let job = self.client.converse(&target, self.until, &sent, LONGEST, |link, target| {
            list::all(link, &target.server, target).boxed()
        });
        let answer = job.await;
        let status = answer.as_ref().err().and_then(|failure| failure.status);
        self.watch.saw(status, target.headers.get(AUTHORIZATION));
        answer.map_err(|failure| target.error(&failure))
    }
}
