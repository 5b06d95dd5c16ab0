//! A worker as a process: the function's own library in a loop, until it is killed or its parent is gone.

use std::io::{self, Read};
use std::time::Duration;

use anyhow::{Context, bail};
use aws_sdk_dynamodb::Client;
use pudu::house::{House, Plan, limits};
use pudu::workers;
use pudu_app::ports::Background;
use pudu_domain::Policy;
use pudu_lambda::env::Process;
use pudu_lambda::random::OsRandom;
use pudu_lambda::settings::{SEAL_KEY_FILE, SealSource, Settings};
use pudu_lambda::{aws, telemetry};
use rustix::process::{Signal, set_parent_process_death_signal};
use tokio_util::sync::CancellationToken;

use crate::Role;

/// The numbers of a soak: those that would make a run of a minute wait for minutes are shorter, the rest is as always.
pub(crate) fn policy() -> Policy {
    Policy {
        input_required_interval: Duration::from_secs(4),
        max_backoff: Duration::from_secs(10),
        ..Policy::default()
    }
}

/// Works until the end.
pub(crate) async fn run(role: Role, name: &str) -> anyhow::Result<()> {
    // Also while it is stopped, when it would not see the end of its input.
    set_parent_process_death_signal(Some(Signal::KILL)).context("the parent's end cannot be watched")?;
    let settings = Settings::read(&Process)?;
    telemetry::init(settings.log, telemetry::Format::Json);
    let Some(SealSource::File(seal_key)) = settings.seal else { bail!("{SEAL_KEY_FILE} is not set") };
    let dynamo = Client::new(&aws::config().await);
    let plan = Plan {
        policy: policy(),
        limits: limits(settings.numbers.limits.lease),
        ..Plan::new(dynamo, settings.table, seal_key)
    };
    let house = House::new(plan)?;
    // The parent holds the other end and writes nothing: it ends with the parent, or when the parent wants no more.
    let dismissed = tokio::task::spawn_blocking(|| io::stdin().lock().read(&mut [0]));
    let work = async {
        let (clock, never) = (house.clock().as_ref(), CancellationToken::new());
        match role {
            Role::Poller => {
                let mailbox = house.mailbox(Background::Poller);
                workers::poll(house.poller(name), mailbox, clock, &OsRandom, never).await;
            }
            Role::Notifier => {
                let mailbox = house.mailbox(Background::Notifier);
                workers::notify(house.notifier(name), mailbox, clock, &OsRandom, never).await;
            }
        }
    };
    tokio::select! {
        () = work => {}
        _ = dismissed => {}
    }
    Ok(())
}
