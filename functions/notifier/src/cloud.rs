//! The notifier as it is composed in the cloud: the table, and nothing else.

use std::sync::Arc;

use pudu_app::wakeups::Wakeups;
use pudu_app::worker::{self, Drain};
use pudu_dynamo::Table;
use pudu_lambda::aws;
use pudu_lambda::clock::SystemClock;
use pudu_lambda::random::OsRandom;
use pudu_lambda::settings::{Numbers, Settings};

use crate::Notifier;

/// Builds the context from the settings; opens no connection and reads no row.
pub async fn compose(settings: &Settings) -> Notifier {
    let aws = aws::config().await;
    let (clock, random) = (Arc::new(SystemClock), Arc::new(OsRandom));
    let dynamo = aws_sdk_dynamodb::Client::new(&aws);
    let table = Arc::new(Table::new(&dynamo, &settings.table, clock.clone(), random.clone()));
    settings.numbers.warn();
    let Numbers { policy, limits, .. } = settings.numbers.clone();
    let wakeups =
        Wakeups { beacons: table.clone(), waker: None, clock: clock.clone(), limits: limits.clone() };
    let drain = Drain {
        due: table.clone(),
        beacons: table.clone(),
        wakeups,
        clock: clock.clone(),
        random: random.clone(),
        limits: limits.clone(),
    };
    let work = worker::Notifier {
        worker: "notifier".to_owned(),
        notes: table.clone(),
        tasks: table.clone(),
        threads: table,
        launcher: None,
        clock,
        random,
        policy,
        limits,
    };
    Notifier::new(drain, work)
}
