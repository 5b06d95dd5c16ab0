//! Asking one server afresh, whatever is known of it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use pudu_config::Server;
use tokio::time::{Instant, timeout};

use super::{LISTING, Listed, Listings, stored, timed_out};
use crate::ports::{CallError, CallFault, LeftOut, MAX_LEFT_OUT, RawTool};

impl Listings {
    /// What the server itself lists now, within `limit`, and what of that nobody can call. Of a server that is on it is known
    /// from then on; of one that is off nothing is kept.
    pub async fn probe(
        &self,
        server: &Server,
        limit: Duration,
    ) -> Result<(Arc<Listed>, Vec<LeftOut>), CallError> {
        let limit = limit.min(server.init_timeout()).min(LISTING);
        let until = Instant::now() + limit;
        let wanted = self.wanted(server, None);
        let asked = timeout(limit, self.client.list_tools(server, limit)).await;
        let slot = server.enabled.then(|| self.slot(server));
        match asked.unwrap_or_else(|_| Err(timed_out(server, limit))) {
            Err(mut error) => {
                // When the time is over, that is what happened, wherever the question was then.
                if until <= Instant::now() {
                    error.fault = CallFault::Timeout;
                }
                if let Some(slot) = slot {
                    slot.failed(error.clone(), self.clock.now(), wanted.mark);
                }
                Err(error)
            }
            Ok(mut listing) => {
                let mut left_out = std::mem::take(&mut listing.left_out);
                left_out.extend(doubles(&listing.tools));
                left_out.truncate(MAX_LEFT_OUT);
                let stored = stored(listing, wanted.now);
                let listed = Arc::new(Listed::of(&server.name, stored.clone()));
                if let Some(slot) = slot {
                    slot.listed(&listed, wanted.mark);
                    self.keep(server, &slot, &stored, &listed, until).await;
                }
                Ok((listed, left_out))
            }
        }
    }
}

/// Which tools have the name of one before them.
fn doubles(tools: &[RawTool]) -> impl Iterator<Item = LeftOut> {
    let mut names = BTreeSet::new();
    let doubles = tools.iter().filter(move |tool| !names.insert(tool.name.as_str()));
    let reason = "another tool of the server has the same name";
    doubles.map(move |tool| LeftOut { tool: Some(tool.name.clone()), reason })
}
