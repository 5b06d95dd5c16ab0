//! A world of one thread, in virtual time: the fake table, a model that follows a plan, the fake server, one tool of ours.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use pudu_app::changes::ListChanges;
use pudu_app::configs::TableSource;
use pudu_app::deadline::Deadline;
use pudu_app::drivers::Drivers;
use pudu_app::known::Known;
use pudu_app::limits::Limits;
use pudu_app::ports::{
    Applied, Blobs, Clock, ItemKey, McpClient, ModelCall, Models, RunStore, TaskDriver, ToolDefinition,
};
use pudu_app::runs::checkpoints::Checkpoints;
use pudu_app::wiring::{Ports, Wiring};
use pudu_app::worker::{Ran, Work};
use pudu_config::{Document, NoSecrets};
use pudu_domain::chat::{Message, Speaker, ToolCall, ToolStatus};
use pudu_domain::run::{Admission, Command, Ending, Notice, Origin, Outcome, Seen, admit, decide};
use pudu_domain::state::State;
use pudu_domain::{Lane, Policy, Run, RunId, RunKey, RunSpec, Scope};
use pudu_testkit::fixture::{self, thread};
use pudu_testkit::{
    FakeModels, FakeServer, FakeTable, FakeWaker, FixedKeys, Gate, Gated, SeededRandom, Speech, Trace,
    VirtualClock,
};
use serde_json::{Map, Value, json};

use crate::chain;
use crate::middleware::Middleware;
use crate::options::Options;
use crate::own_tools::own_tools;
use crate::runner::{Parts, Runner};
use crate::tool::{Bench, Brought, Tool};

/// A tool of ours that remembers how often it was called.
pub(super) const COUNT: &str = "count";

pub(super) struct Stage {
    pub(super) clock: VirtualClock,
    pub(super) table: FakeTable,
    pub(super) server: FakeServer,
    pub(super) models: FakeModels,
    pub(super) waker: FakeWaker,
    pub(super) counted: Counting,
    pub(super) chain: Vec<Arc<dyn Middleware>>,
    /// Whether runs have everything that they have outside of tests.
    pub(super) is_whole: bool,
    pub(super) blobs: pudu_testkit::FakeBlobs,
    random: SeededRandom,
}

/// The tool, and its calls.
#[derive(Clone, Default)]
pub(super) struct Counting(Arc<Mutex<Vec<String>>>);

impl Counting {
    pub(super) fn calls(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

#[async_trait]
impl Tool for Counting {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: COUNT.into(),
            description: "counts".into(),
            schema: json!({"type": "object"}),
            server: None,
        }
    }

    fn is_offered(&self, _: &Options) -> bool {
        true
    }

    async fn call(&self, _: Bench<'_>, call: &ToolCall) -> Brought {
        self.0.lock().unwrap().push(named(&call.id).to_owned());
        if call.args.contains_key("hang") {
            std::future::pending::<()>().await;
        }
        Brought::only(Message::tool(call, ToolStatus::Success, "counted"))
    }
}

impl Stage {
    pub(super) async fn new(plan: impl FnMut(&ModelCall) -> Speech + Send + 'static) -> Self {
        Self::configured(json!({}), plan).await
    }

    /// The same with these blocks in the config.
    pub(super) async fn configured(
        blocks: Value,
        plan: impl FnMut(&ModelCall) -> Speech + Send + 'static,
    ) -> Self {
        let clock = VirtualClock::start();
        let server = FakeServer::new(Arc::new(clock), |_| {
            pudu_testkit::server::Plan::completes_after(Duration::from_secs(600))
        });
        let stage = Self {
            clock,
            table: FakeTable::new(),
            server,
            models: FakeModels::new(Arc::new(clock), plan),
            waker: FakeWaker::default(),
            counted: Counting::default(),
            chain: Vec::new(),
            is_whole: false,
            blobs: pudu_testkit::FakeBlobs::default(),
            random: SeededRandom::new(7),
        };
        let mut config = fixture::config();
        config["models"] = json!([{"name": "fake", "use": "langchain_openai:ChatOpenAI", "model": "fake"}]);
        config.as_object_mut().unwrap().extend(blocks.as_object().unwrap().clone());
        stage.wiring(&Gate::open()).configs.seed(Document::parse(config).unwrap()).await.unwrap();
        stage
    }

    pub(super) fn wiring(&self, gate: &Gate) -> Wiring {
        let clock: Arc<dyn Clock> = Arc::new(self.clock);
        let random = Arc::new(self.random.fork());
        let store = Arc::new(self.table.store(Arc::clone(&clock), gate.clone()));
        let keys = Arc::new(FixedKeys);
        let config = TableSource::new(store.clone(), keys.clone(), Arc::clone(&clock), random.clone());
        let driver: Arc<dyn TaskDriver> = Arc::new(self.server.driver());
        let client: Arc<dyn McpClient> = Arc::new(self.server.client());
        let client = Arc::new(Gated::new(client, gate.clone()));
        let mcp = Known::new(client, store.clone(), ListChanges::default(), Arc::clone(&clock));
        let ports = Ports {
            tasks: store.clone(),
            notes: store.clone(),
            threads: store.clone(),
            runs: store.clone(),
            memories: store.clone(),
            blobs: Arc::new(self.blobs.clone()),
            due: store.clone(),
            beacons: store.clone(),
            audit: store.clone(),
            api_keys: store,
            verifier: None,
            waker: Some(Arc::new(self.waker.clone())),
            config: Arc::new(config),
            keys,
            secrets: Arc::new(NoSecrets),
            mcp,
            drivers: Drivers::new(vec![Arc::new(Gated::new(driver, gate.clone()))]),
            launcher: None,
            clock,
            random,
        };
        Wiring::new(ports, Policy::default(), Limits::default(), "agent".to_owned())
    }

    pub(super) fn store(&self) -> Arc<dyn RunStore> {
        Arc::new(self.table.store(Arc::new(self.clock), Gate::open()))
    }

    fn checkpoints(&self, gate: &Gate) -> Checkpoints {
        let blobs: Arc<dyn Blobs> = Arc::new(self.blobs.clone());
        Checkpoints {
            store: Arc::new(self.table.store(Arc::new(self.clock), gate.clone())),
            blobs: Some(Arc::new(Gated::new(blobs, gate.clone()))),
        }
    }

    /// A worker of its own, with its calls passing `gate`.
    pub(super) fn runner(&self, gate: &Gate) -> Runner {
        let wiring = self.wiring(gate);
        let models: Arc<dyn Models> = Arc::new(self.models.clone());
        let checkpoints = self.checkpoints(gate);
        let mut own: Vec<Arc<dyn Tool>> = vec![Arc::new(self.counted.clone())];
        let (mut lead, mut subagent) = (self.chain.clone(), self.chain.clone());
        if self.is_whole {
            own.extend(own_tools(&wiring.tasks(), &wiring.memories(), &wiring.results()));
            lead.extend(chain::lead(&wiring.results()));
            subagent.extend(chain::subagent(&wiring.results()));
        }
        Runner::new(Parts {
            worker: "agent".to_owned(),
            runs: Arc::clone(&checkpoints.store),
            checkpoints,
            memories: wiring.memories(),
            models: Arc::new(Gated::new(models, gate.clone())),
            tools: wiring.tools(),
            keys: Arc::new(FixedKeys),
            own,
            lead,
            subagent,
            clock: Arc::new(self.clock),
            random: Arc::new(self.random.fork()),
            policy: Policy::default(),
            limits: Limits::default(),
            wakeups: wiring.wakeups(),
        })
    }

    pub(super) fn gate(&self, script: impl pudu_testkit::Script + 'static) -> Gate {
        Gate::new("agent", Arc::new(self.clock), Trace::off(), script)
    }

    /// Admits a run that says `text`.
    pub(super) async fn admit(&self, id: &str, text: &str, options: &Value) -> RunKey {
        self.admit_with(id, text, options, Scope::All, None).await
    }

    /// The same that says other messages, and of which that is told.
    pub(super) async fn admit_saying(&self, id: &str, input: Vec<Message>, options: &Value) -> RunKey {
        self.admit_whole(id, input, options, Scope::All, None).await
    }

    /// The same with the servers that its caller may use, and the sealed secrets that he brought.
    pub(super) async fn admit_with(
        &self,
        id: &str,
        text: &str,
        options: &Value,
        scope: Scope,
        secrets: Option<String>,
    ) -> RunKey {
        let input = vec![Message::new(Speaker::Human, "", text)];
        self.admit_whole(id, input, options, scope, secrets).await
    }

    async fn admit_whole(
        &self,
        id: &str,
        input: Vec<Message>,
        options: &Value,
        scope: Scope,
        secrets: Option<String>,
    ) -> RunKey {
        let modes = options.get("stream_mode").cloned().unwrap_or_default();
        let spec = RunSpec {
            input,
            options: options.as_object().cloned().unwrap(),
            kwargs: Map::from_iter([("stream_mode".to_owned(), modes)]),
            scope,
            secrets: secrets.is_some(),
            ..RunSpec::of("lead_agent")
        };
        let run = RunId::parse(id).unwrap();
        let key = RunKey { thread: thread("t"), id: run.clone() };
        let conversation = self.store().conversation(&key.thread).await.unwrap();
        let seen = Seen { conversation: conversation.as_ref(), ..Seen::default() };
        let wanted = Admission { thread: key.thread.clone(), run, spec, secrets, key: None };
        let change = admit(wanted, &seen, self.clock.now(), &Policy::default()).unwrap();
        assert_eq!(self.store().commit(&change).await.unwrap(), Applied::Done);
        key
    }

    /// Works on it, with that much time.
    pub(super) async fn work(&self, runner: &Runner, key: &RunKey, time: Duration) -> Ran {
        let deadline = Deadline::at(self.clock.now() + time);
        runner.run(Lane::Run, &ItemKey::Run(key.clone()), deadline).await
    }

    /// Works on it, and on its children, by fresh workers without mishaps until it has ended.
    pub(super) async fn rest(&self, key: &RunKey) -> Run {
        for _ in 0..20 {
            let run = self.load(key).await;
            if run.end().is_some() {
                return run;
            }
            for run in self.table.runs() {
                self.work(&self.runner(&Gate::open()), &run.key, Duration::from_secs(900)).await;
            }
            self.clock.sleep(Duration::from_secs(130)).await;
        }
        panic!("it does not end: {:?}", self.load(key).await);
    }

    /// The child that began for the call that the model named so.
    pub(super) fn child(&self, parent: &RunKey, name: &str) -> RunKey {
        let is_it = |run: &Run| match &run.origin {
            Origin::Child { parent: id, call, .. } => *id == parent.id && named(call) == name,
            Origin::Lead | Origin::Aside => false,
        };
        self.table.runs().into_iter().find(is_it).unwrap().key
    }

    pub(super) async fn load(&self, key: &RunKey) -> Run {
        self.store().load(key).await.unwrap().unwrap()
    }

    /// The state that stands.
    pub(super) async fn state(&self, key: &RunKey) -> State {
        match self.load(key).await.head() {
            Some(head) => self.checkpoints(&Gate::open()).state(key, head.number).await.unwrap(),
            None => State::default(),
        }
    }

    /// The frames that were told: their names, and their data.
    pub(super) async fn frames(&self, key: &RunKey) -> Vec<(String, Value)> {
        let page = self.store().frames(key, 0, 1000).await.unwrap();
        let frames = page.told.into_iter().map(|told| match told.notice {
            Notice::Frame { event, data } => (event, data),
            Notice::Values { number, .. } => ("values".to_owned(), json!(number)),
            Notice::Record { .. } => unreachable!(),
        });
        frames.collect()
    }

    pub(super) async fn cancel(&self, key: &RunKey) {
        let (run, store) = (self.load(key).await, self.store());
        let conversation = store.conversation(&key.thread).await.unwrap();
        let seen = Seen { conversation: conversation.as_ref(), ..Seen::default() };
        let ending = Ending::new(Outcome::Interrupted, Some("cancelled by the user"));
        let change =
            decide(&run, Command::Cancel(ending), &seen, self.clock.now(), &Policy::default()).unwrap();
        assert_eq!(store.commit(&change).await.unwrap(), Applied::Done);
    }
}

/// How the model called it: behind that is what tells the call from every other.
pub(super) fn named(id: &str) -> &str {
    id.rsplit_once('-').map_or(id, |(name, _)| name)
}

/// What a tool answered to the call that the model named so.
pub(super) fn answer<'a>(state: &'a State, name: &str) -> Option<&'a Message> {
    state.messages.iter().find(|message| message.tool_call_id.as_deref().map(named) == Some(name))
}

pub(super) fn call(id: &str, name: &str, args: Value) -> ToolCall {
    let Value::Object(args) = args else { panic!("arguments are an object") };
    ToolCall::new(id, name, args)
}
