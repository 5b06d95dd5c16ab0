//! Models, as every process calls them: under the egress rule that holds for servers too, behind breakers that all share.

use std::sync::Arc;

use aws_credential_types::provider::SharedCredentialsProvider;
use pudu_app::models::{Blaming, Guarded};
use pudu_app::ports::{Breakers, Clock, Models, Random};
use pudu_mcp::{BuildError, Egress, http_client};
use pudu_models::{Clients, Http};

/// Whoever speaks with models. `role` signs what goes to Amazon Bedrock where a model has no API key. Opens no connection; fails
/// when the process cannot make HTTP requests.
pub fn models(
    egress: &Egress,
    role: Option<SharedCredentialsProvider>,
    breakers: Arc<dyn Breakers>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
) -> Result<Arc<dyn Models>, BuildError> {
    let rule = egress.clone();
    let permits = move |url: &url::Url| rule.url(url).map_err(|refusal| refusal.to_string());
    let clients = Clients::new(Http::new(http_client(egress.clone())?, permits), Arc::clone(&clock));
    let clients = match role {
        Some(role) => clients.with_credentials(role),
        None => clients,
    };
    Ok(Arc::new(Guarded::new(Arc::new(Blaming::new(Arc::new(clients))), breakers, clock, random)))
}
