//! The gateway as it is composed in the cloud.

use std::sync::Arc;

use pudu_lambda::settings::Settings;

use crate::guard::{Access, Door};
use crate::state::Gateway;

/// Builds the context from the settings; opens no connection and reads no row.
pub async fn compose(settings: &Settings) -> Result<Gateway, lambda_http::Error> {
    let pudu_compose::Cloud { table, wiring } = pudu_compose::cloud(settings, "gateway").await?;
    let callers = Access::Callers(Arc::new(wiring.callers()));
    Ok(Gateway::new(&wiring, table.clone(), table, Door::Anywhere, callers))
}
