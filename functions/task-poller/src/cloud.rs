//! The task-poller as it is composed in the cloud.

use std::sync::Arc;

use lambda_runtime::Error;
use pudu_app::drivers::Drivers;
use pudu_app::limits::Limits;
use pudu_app::wiring::{Ports, Wiring};
use pudu_config::NoSecrets;
use pudu_domain::Policy;
use pudu_dynamo::Table;
use pudu_lambda::clock::SystemClock;
use pudu_lambda::random::OsRandom;
use pudu_lambda::settings::Settings;
use pudu_lambda::{aws, seal_keys};
use pudu_mcp::{Client, OrdinaryTools};

use crate::TaskPoller;

/// Builds the context from the settings; opens no connection and reads no row.
pub async fn compose(settings: &Settings) -> Result<TaskPoller, Error> {
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
        keys: seal_keys::from_settings(settings, &aws, table, random.clone())?,
        secrets: Arc::new(NoSecrets),
        drivers: Drivers::new(vec![Arc::new(OrdinaryTools::new(mcp.clone(), Arc::new(NoSecrets)))]),
        mcp,
        clock,
        random,
    };
    let limits = Limits { lease: settings.lease, ..Limits::default() };
    let wiring = Wiring::new(ports, Policy::default(), limits, "task-poller".to_owned());
    Ok(TaskPoller::new(wiring.drain(), wiring.poller()))
}
