//! The notifier as it is composed in the cloud: the table, and whoever wakes the agent for a run that tells an event.

use std::sync::Arc;

use async_trait::async_trait;
use pudu_app::ports::{SealKeyError, SealKeys, Waker};
use pudu_app::runs::{Checkpoints, Launcher, Runs};
use pudu_app::wakeups::Wakeups;
use pudu_app::worker::{self, Drain};
use pudu_config::SealKey;
use pudu_dynamo::Table;
use pudu_lambda::aws;
use pudu_lambda::clock::SystemClock;
use pudu_lambda::random::OsRandom;
use pudu_lambda::settings::{Numbers, Settings};
use pudu_lambda::waker::LambdaWaker;

use crate::Notifier;

/// This function opens and seals nothing: it has no right to the key.
struct NoKey;

#[async_trait]
impl SealKeys for NoKey {
    async fn current(&self) -> Result<SealKey, SealKeyError> {
        Err(SealKeyError::new("the notifier has none; a run that tells an event has no secrets"))
    }
}

/// Builds the context from the settings; opens no connection and reads no row.
pub async fn compose(settings: &Settings) -> Notifier {
    let aws = aws::config().await;
    let (clock, random) = (Arc::new(SystemClock), Arc::new(OsRandom));
    let dynamo = aws_sdk_dynamodb::Client::new(&aws);
    let table = Arc::new(Table::new(&dynamo, &settings.table, clock.clone(), random.clone()));
    settings.numbers.warn();
    let Numbers { policy, limits, .. } = settings.numbers.clone();
    let waker = LambdaWaker::from_settings(settings, &aws).map(|waker| -> Arc<dyn Waker> { Arc::new(waker) });
    let wakeups = Wakeups { beacons: table.clone(), waker, clock: clock.clone(), limits: limits.clone() };
    let runs = Runs {
        store: table.clone(),
        checkpoints: Checkpoints { store: table.clone(), blobs: None },
        keys: Arc::new(NoKey),
        clock: clock.clone(),
        random: random.clone(),
        wakeups: wakeups.clone(),
        policy: policy.clone(),
    };
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
        launcher: Some(Arc::new(Launcher::new(runs))),
        clock,
        random,
        policy,
        limits,
    };
    Notifier::new(drain, work)
}
