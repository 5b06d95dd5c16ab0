//! The run: everything starts, workers die for a while, what is left is worked off, and then it is counted.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use acceptance::Fleet;
use acceptance::audit::{Facts, Verdict};
use anyhow::Context;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use pudu::engine::{Engine, REGION};
use pudu::house::{self, House, limits, new_key};
use pudu::machine::{Machine, listen_anywhere};
use pudu_app::ports::Clock;
use pudu_lambda::clock::SystemClock;
use pudu_lambda::random::OsRandom;
use pudu_lambda::settings::{LEASE_SECONDS, LOG, SEAL_KEY_FILE, TABLE};
use pudu_testkit::SeededRandom;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::callers::{Book, Callers};
use crate::crew::{Crew, Done};
use crate::errands::{Errand, Plan};
use crate::gather;
use crate::heard::{Heard, Words};
use crate::worker::policy;

/// A claim is held this long, so a call to a server may take half of it.
const LEASE: Duration = Duration::from_secs(5);
/// What is left after the rough time must be worked off within this.
const DRAIN: Duration = Duration::from_secs(60);
/// Pause between two looks whether it is.
const LOOK: Duration = Duration::from_millis(500);
const NAME: &str = "soak";
/// Findings that are printed; more say nothing new.
const SHOWN: usize = 20;

/// What kind of run.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// How long workers are killed and a server hangs.
    pub(crate) rough: Duration,
    /// How many tasks.
    pub(crate) tasks: usize,
    /// Over how many servers.
    pub(crate) servers: usize,
    /// What everything is drawn from.
    pub(crate) seed: u64,
}

/// Runs it and prints what came of it; whether it is clean.
pub(crate) async fn tell(settings: &Settings) -> anyhow::Result<bool> {
    println!(
        "seed {}: {} tasks over {} servers, one of which hangs; workers are killed for {} s",
        settings.seed,
        settings.tasks,
        settings.servers,
        settings.rough.as_secs()
    );
    let random = SeededRandom::new(settings.seed);
    let plan = Plan::draw(settings, &random.fork());
    let sizes = plan.threads();
    let threads: Vec<String> = sizes.keys().cloned().collect();
    let folder = tempfile::Builder::new().prefix("pudu-soak-").tempdir()?;
    let servers = Fleet::mixed(settings.servers, folder.path()).await?;
    let engine = Engine::open(&folder.path().join("table"))?;
    let access_key = new_key(&OsRandom);
    let endpoint = engine.serve(([127, 0, 0, 1], 0).into(), access_key.clone()).await?;
    let dynamo = client(&endpoint.url(), access_key);
    let house = Arc::new(house(dynamo.clone(), folder.path())?);
    house.create_table().await?;
    house.wiring.configs.seed(servers.config()?).await.context("the config cannot be stored")?;
    let machine = Machine::start(Arc::clone(&house), listen_anywhere().await?)?;

    let callers = Callers::new(machine.gateway)?;
    let mut calling = JoinSet::new();
    let later = before_it_hangs(plan.errands, &callers, &mut calling).await;
    servers.hang(true);
    let began = Instant::now();
    for errand in later {
        calling.spawn(callers.clone().run(errand, began));
    }
    for (thread, at) in plan.deletions {
        let tasks = sizes.get(&thread).copied().unwrap_or_default();
        calling.spawn(callers.clone().delete(thread, tasks, began + at));
    }
    let mut watching = JoinSet::new();
    watching.spawn(callers.clone().watch(threads.clone()));

    let heard = Heard::default();
    let mut environment = endpoint.environment().to_vec();
    environment.extend([
        (TABLE, NAME.to_owned()),
        (SEAL_KEY_FILE, seal_key(folder.path()).to_string_lossy().into_owned()),
        (LEASE_SECONDS, LEASE.as_secs().to_string()),
        (LOG, "debug".to_owned()),
    ]);
    let mut crew = Crew::start(environment, heard.clone())?;
    crew.endure(settings.rough, &random.fork()).await?;
    let calls_before = servers.answered();
    servers.hang(false);
    let drained = drain(&house, &mut calling).await?;

    let done = crew.dismiss().await?;
    watching.shutdown().await;
    for thread in &threads {
        callers.look(thread).await;
    }
    let (book, words) = (callers.until_now(), heard.until_now());
    let mut facts = gather::facts(&house, &threads, servers.all()).await?;
    facts.promised.clone_from(&book.promised);
    facts.deleted.clone_from(&book.deleted);
    facts.left_over = gather::rows_of(&dynamo, NAME, &book.deleted).await?;
    facts.refused.clone_from(&book.refused);
    facts.seen.clone_from(&book.seen);
    facts.claimed.clone_from(&words.delivered);
    machine.stop().await;
    endpoint.stop().await;
    println!("{calls_before} status calls answered in the rough time, {} in all", servers.answered());
    match drained {
        Some(took) => println!("drained {:.1} s after the last kill", took.as_secs_f64()),
        None => println!("not drained within {} s", DRAIN.as_secs()),
    }
    Ok(report(&facts, &book, &words, done))
}

/// Submits what the first server is to have, because it will not answer later; the others are returned.
async fn before_it_hangs(errands: Vec<Errand>, callers: &Callers, calling: &mut JoinSet<()>) -> Vec<Errand> {
    let (early, later): (Vec<_>, Vec<_>) = errands.into_iter().partition(|errand| errand.server == 0);
    for errand in early {
        if let Some(id) = callers.submit(&errand).await {
            let callers = callers.clone();
            calling.spawn(async move { callers.cancel(&errand, &id).await });
        }
    }
    later
}

/// Waits until all callers are answered and nothing in the table waits any more; how long that took, or none when it took
/// too long.
async fn drain(house: &House, calling: &mut JoinSet<()>) -> anyhow::Result<Option<Duration>> {
    let began = Instant::now();
    let settled = async {
        while let Some(called) = calling.join_next().await {
            called.context("a caller panicked")?;
        }
        while !gather::is_settled(house).await? {
            SystemClock.sleep(LOOK).await;
        }
        anyhow::Ok(())
    };
    match tokio::time::timeout(DRAIN, settled).await {
        Ok(settled) => settled.map(|()| Some(began.elapsed())),
        Err(_) => Ok(None),
    }
}

fn client(endpoint: &str, access_key: String) -> Client {
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(REGION))
        .endpoint_url(endpoint)
        .credentials_provider(Credentials::new(access_key, "embedded", None, None, NAME))
        .retry_config(RetryConfig::disabled());
    Client::from_conf(config.build())
}

fn house(dynamo: Client, folder: &Path) -> anyhow::Result<House> {
    let plan = house::Plan {
        policy: policy(),
        limits: limits(LEASE),
        // Its callers are on loopback, and what is soaked is not who they are.
        no_auth: true,
        ..house::Plan::new(dynamo, NAME.to_owned(), seal_key(folder))
    };
    House::new(plan)
}

fn seal_key(folder: &Path) -> std::path::PathBuf {
    folder.join("seal.key")
}

/// Prints everything, the verdict last; whether the run was clean, and rough enough to say something.
fn report(facts: &Facts, book: &Book, words: &Words, done: Done) -> bool {
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    let mut notes: BTreeMap<&str, usize> = BTreeMap::new();
    for task in &facts.tasks {
        *ends.entry(task.status.as_str()).or_default() += 1;
        for state in task.notes.values() {
            *notes.entry(state).or_default() += 1;
        }
    }
    println!(
        "ends: {}; cancels asked for: {}; threads deleted: {}",
        counted(&ends),
        book.cancels,
        book.deleted.len()
    );
    println!("event versions: {}", counted(&notes));
    for (complaint, count) in words.complaints.iter().take(SHOWN) {
        println!("logged {count} times: {complaint}");
    }
    let kills = done.pollers_killed + done.notifiers_killed;
    println!(
        "kills {kills} (pollers {}, notifiers {}), stopped for longer than a lease {}",
        done.pollers_killed, done.notifiers_killed, done.stalls
    );
    println!("dropped late results {}", words.dropped);
    let verdict: Verdict = facts.judge();
    for finding in verdict.findings.iter().take(SHOWN) {
        println!("  {finding}");
    }
    println!("{verdict}");
    verdict.is_clean() && kills > 0 && words.dropped > 0
}

fn counted(counts: &BTreeMap<&str, usize>) -> String {
    let each = counts.iter().map(|(what, count)| format!("{what} {count}"));
    each.collect::<Vec<_>>().join(", ")
}
