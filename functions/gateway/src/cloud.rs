//! The gateway as it is composed in the cloud.

use std::sync::Arc;

use pudu_app::drivers::Drivers;
use pudu_app::limits::Limits;
use pudu_app::wiring::{Ports, Wiring};
use pudu_config::NoSecrets;
use pudu_domain::{Policy, UserId};
use pudu_dynamo::Table;
use pudu_lambda::clock::SystemClock;
use pudu_lambda::random::OsRandom;
use pudu_lambda::settings::Settings;
use pudu_lambda::{aws, seal_keys};
use pudu_mcp::{Client, OrdinaryTools};

use crate::guard::Door;
use crate::state::Gateway;

/// Whose threads these are, until callers are told apart.
const USER: &str = "local:default";

/// Builds the context from the settings; opens no connection and reads no row.
pub async fn compose(settings: &Settings) -> Result<Gateway, lambda_http::Error> {
    let aws = aws::config().await;
    let (clock, random) = (Arc::new(SystemClock), Arc::new(OsRandom));
    let dynamo = aws_sdk_dynamodb::Client::new(&aws);
    let table = Arc::new(Table::new(&dynamo, &settings.table, clock.clone(), random.clone()));
    let mcp = Arc::new(Client::new(Arc::new(NoSecrets))?);
    let ports = Ports {
        tasks: table.clone(),
        notes: table.clone(),
        due: table.clone(),
        config: table.clone(),
        keys: seal_keys::from_settings(settings, &aws, table.clone(), random.clone())?,
        secrets: Arc::new(NoSecrets),
        drivers: Drivers::new(vec![Arc::new(OrdinaryTools::new(mcp.clone(), Arc::new(NoSecrets)))]),
        mcp,
        clock,
        random,
    };
    let limits = Limits { lease: settings.lease, ..Limits::default() };
    let wiring = Wiring::new(ports.clone(), Policy::default(), limits, "gateway".to_owned());
    Ok(Gateway::new(&wiring, ports.notes, table, Door::Signed, UserId::parse(USER)?))
}
