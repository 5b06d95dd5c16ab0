//! The gateway as it is composed in the cloud.

use std::sync::Arc;

use pudu_lambda::settings::{Answers, Settings};

use crate::guard::{Access, Door};
use crate::state::Gateway;
use crate::streams::Streams;

/// Builds the context from the settings; opens no connection and reads no row.
pub async fn compose(settings: &Settings) -> Result<Gateway, lambda_http::Error> {
    let pudu_compose::Cloud { table, wiring, .. } = pudu_compose::cloud(settings, "gateway").await?;
    let callers = Access::Callers(Arc::new(wiring.callers()));
    let streams = match settings.answers {
        Answers::Buffered => Streams::that_end_at_once(),
        Answers::Stream { lasting } => Streams::lasting(lasting),
    };
    let gateway = Gateway::new(&wiring, table.clone(), table.clone(), table.clone(), Door::Anywhere, callers);
    Ok(Gateway { streams, ..gateway.held_to(&settings.admission, &wiring, table) })
}
