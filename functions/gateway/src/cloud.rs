//! The gateway as it is composed in the cloud.

use pudu_domain::UserId;
use pudu_lambda::settings::Settings;

use crate::guard::Door;
use crate::state::Gateway;

/// Whose threads these are, until callers are told apart.
const USER: &str = "local:default";

/// Builds the context from the settings; opens no connection and reads no row.
pub async fn compose(settings: &Settings) -> Result<Gateway, lambda_http::Error> {
    let pudu_compose::Cloud { table, wiring } = pudu_compose::cloud(settings, "gateway").await?;
    Ok(Gateway::new(&wiring, table.clone(), table, Door::Signed, UserId::parse(USER)?))
}
