//! `pudu demo`: one task's whole story, told by a Pudu of its own on free ports, each step checked in the table.
//!
//! What is run is what `pudu` runs; only the poll interval is shorter. A step that is not seen ends the demo with an
//! error that names it.

mod agent;
mod crash;
mod stage;
mod steps;
mod story;
mod worker;

use std::time::Duration;

use pudu_domain::Policy;

use crate::cli::DemoArgs;
use crate::run::Signals;

pub use worker::{agent, poller};

use stage::Stage;
use steps::Steps;

/// How long the whole story may take.
const LIMIT: Duration = Duration::from_secs(60);

/// The interval that makes the story short.
fn policy() -> Policy {
    Policy { poll_interval: Duration::from_secs(1), ..Policy::default() }
}

/// Tells the story. Fails unless every step was seen.
pub async fn run(args: DemoArgs) -> anyhow::Result<()> {
    let mut signals = Signals::watch()?;
    let steps = Steps::begin();
    let mut stage = Stage::set(&args).await?;
    let told = tokio::select! {
        () = signals.next() => Err(steps.failed(None)),
        told = tokio::time::timeout(LIMIT, tell(&mut stage, &steps, args.crash)) => match told {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(steps.failed(Some(error))),
            Err(_) => Err(steps.failed(Some(anyhow::anyhow!("it was not seen within {} s", LIMIT.as_secs())))),
        },
    };
    stage.close().await;
    told
}

async fn tell(stage: &mut Stage, steps: &Steps, crash: bool) -> anyhow::Result<()> {
    if crash {
        return crash::tell(stage, steps).await;
    }
    story::tell(stage, steps).await?;
    agent::tell(stage, steps).await
}
