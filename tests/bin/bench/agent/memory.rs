//! How much memory the agent's own function takes while subagents work at once: each in an invocation of its own, as the platform
//! does it, and all of them in one process, as a tick may find them.

use std::sync::Arc;
use std::time::Duration;

use acceptance::{Offer, Platform, Speaker, Speech};
use anyhow::Context;
use pudu::engine::{Endpoint, Engine};
use pudu::workers::tick;
use pudu_app::limits::Limits;
use pudu_app::ports::RunStore;
use pudu_app::wiring::Wiring;
use pudu_compose::{Base, Egress, ports};
use pudu_config::{Document, NoSecrets};
use pudu_domain::{Policy, ThreadKey};
use pudu_dynamo::{Table, schema};
use pudu_lambda::clock::SystemClock;
use pudu_lambda::random::OsRandom;
use pudu_lambda::seal_keys::FileKeys;
use pudu_lambda::settings;
use pudu_testkit::{FakeBlobs, fixture};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::talk::wanted;
use crate::row::Row;

/// Subagents that work at once.
const CHILDREN: [usize; 3] = [1, 3, 20];
/// Most that one run has at once.
const OF_A_RUN: usize = 3;
/// How long a subagent's model takes: longer than it takes to start twenty processes.
const SLOW: Duration = Duration::from_secs(15);
const TABLE: &str = "bench";
const AGENT: &str = "the-agent";

/// A table behind HTTP, a model, and the agent's function.
struct Stack {
    _folder: TempDir,
    table: Arc<Table>,
    wiring: Wiring,
    platform: Platform,
    _endpoint: Endpoint,
    _speaker: Speaker,
}

impl Stack {
    /// `wakes` is whether whoever makes something due invokes the function; else it is left to ticks.
    async fn new(wakes: bool) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let engine = Engine::in_memory()?;
        schema::create_table(&engine.client(), TABLE, &SystemClock).await?;
        let endpoint = engine.serve("127.0.0.1:0".parse()?, "bench").await?;
        let speaker = Speaker::start(says).await;
        let (clock, random) = (Arc::new(SystemClock), Arc::new(OsRandom));
        let table = Arc::new(Table::new(&engine.client(), TABLE, clock.clone(), random.clone()));
        let seal = folder.path().join("seal.key");
        let base = Base {
            table: table.clone(),
            blobs: Arc::new(FakeBlobs::default()),
            config: None,
            keys: Arc::new(FileKeys::new(seal.clone(), random.clone())),
            secrets: Arc::new(NoSecrets),
            egress: Egress::machine(),
            waker: None,
            tokens: None,
            stdio: None,
            clock,
            random,
        };
        let wiring = Wiring::new(ports(base)?, Policy::default(), Limits::default(), "bench".to_owned());
        let config = json!({"models": [speaker.entry("main")], "mcpServers": {}});
        let config = Document::parse(config).map_err(|problems| anyhow::anyhow!("{problems:?}"))?;
        wiring.configs.import(config, None).await?;
        let platform = Platform::start(folder.path()).await;
        let mut environment = endpoint.environment().to_vec();
        environment.extend([
            (settings::TABLE, TABLE.to_owned()),
            (settings::SEAL_KEY_FILE, seal.to_str().context("a folder has a name")?.to_owned()),
            (settings::EGRESS_ALLOW, "127.0.0.0/8".to_owned()),
            (settings::BLOB_BUCKET, "nobody-needs-it".to_owned()),
            ("AWS_ENDPOINT_URL_LAMBDA", platform.url()),
        ]);
        if wakes {
            environment.push((settings::AGENT_FUNCTION, AGENT.to_owned()));
        }
        platform.offer(AGENT, Offer { package: "pudu-agent-function", environment });
        Ok(Self { _folder: folder, table, wiring, platform, _endpoint: endpoint, _speaker: speaker })
    }

    fn tick(&self) {
        self.platform.invoke(AGENT, tick(AGENT, &SystemClock, &OsRandom).payload);
    }

    /// Runs until all have ended, so that `children` subagents work at once.
    async fn play(&self, children: usize) -> anyhow::Result<()> {
        let mut keys = Vec::new();
        for first in (0..children).step_by(OF_A_RUN) {
            let thread: ThreadKey = fixture::thread(&format!("memory-{children}-{first}"));
            let of_it = OF_A_RUN.min(children - first);
            let wanted = wanted(&thread, &format!("delegate {of_it}"))?;
            keys.push(self.wiring.runs().admit(wanted).await?.run.key);
        }
        loop {
            self.tick();
            self.platform.settled().await;
            let mut all = true;
            for key in &keys {
                let run = RunStore::load(&*self.table, key).await?.context("the run is there")?;
                all &= run.end().is_some();
            }
            if all {
                return Ok(());
            }
        }
    }
}

/// Delegates as often as it is told, and is slow where it was delegated to.
fn says(body: &Value) -> Speech {
    let last = body.pointer("/messages").and_then(Value::as_array).and_then(|all| all.last());
    let text = last.map(Value::to_string).unwrap_or_default();
    let times = (1..=OF_A_RUN).find(|times| text.contains(&format!("delegate {times}")));
    if let Some(times) = times.filter(|_| body["tools"].to_string().contains("subagent_type")) {
        let task =
            json!({"description": "look", "prompt": "look around", "subagent_type": "general-purpose"});
        return Speech::calls("task", &task, times);
    }
    let after = if text.contains("look around") { SLOW } else { Duration::ZERO };
    Speech { after, ..Speech::text("done") }
}

/// Measures both.
pub(super) async fn run(out: &mut impl FnMut(Row)) -> anyhow::Result<()> {
    for wakes in [true, false] {
        for children in CHILDREN {
            let stack = Stack::new(wakes).await?;
            stack.play(children).await?;
            let failed = stack.platform.failed(AGENT);
            anyhow::ensure!(failed.is_empty(), "the function failed: {failed:?}");
            let resident = stack.platform.resident(AGENT);
            anyhow::ensure!(!resident.is_empty(), "the system does not tell what processes take");
            let mb = |kib: u64| kib as f64 / 1024.0;
            out(Row::of("agent")
                .with(
                    "what",
                    if wakes { "subagents, each in its invocation" } else { "subagents in one process" },
                )
                .with("subagents", children)
                .with("processes", resident.len())
                .number("resident_mb_most", mb(resident.iter().copied().max().unwrap_or_default()))
                .number("resident_mb_sum", mb(resident.iter().sum())));
        }
    }
    Ok(())
}
