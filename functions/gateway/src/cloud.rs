//! The gateway as it is composed in the cloud.

use pudu_domain::{CredentialTag, Principal, Role, Scope, UserId};
use pudu_lambda::settings::Settings;

use crate::guard::{Access, Door};
use crate::state::Gateway;

/// Whose threads these are, until callers are told apart.
const USER: &str = "local:default";

/// Builds the context from the settings; opens no connection and reads no row.
pub async fn compose(settings: &Settings) -> Result<Gateway, lambda_http::Error> {
    let pudu_compose::Cloud { table, wiring } = pudu_compose::cloud(settings, "gateway").await?;
    let user = UserId::parse(USER)?;
    let tag = CredentialTag::of_user(&user);
    let everyone = Access::Everyone(Principal { user, role: Role::Admin, tag, scope: Scope::All });
    Ok(Gateway::new(&wiring, table.clone(), table, Door::Signed, everyone))
}
