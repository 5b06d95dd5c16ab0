//! A catalogue over servers whose lists a test writes, counts and holds up.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use pudu_app::catalog::{Catalog, Catalogue, NotFound, Tool};
use pudu_app::changes::ListChanges;
use pudu_app::configs::{By, Configs, TableSource};
use pudu_app::known::Known;
use pudu_app::ports::{
    CallError, CallFault, Caller, CatalogStore, Clock, Listing, McpClient, RawTool, TaskReply, TaskRequest,
    ToolCall,
};
use pudu_config::{NoSecrets, Server};
use pudu_testkit::{FakeTable, FixedKeys, Gate, SeededRandom, VirtualClock, fixture};
use serde_json::{Map, Value, json};

/// What a server says to `tools/list`.
#[derive(Clone)]
pub(super) enum Says {
    /// These definitions, which hold for so long.
    Tools(Vec<Value>, Option<Duration>),
    /// That it is broken.
    Fails(&'static str),
    /// Nothing: it cannot be reached.
    Unreachable,
    /// Nothing.
    Hangs,
}

/// Servers that say what a map says, each after a while; one that is not in it never answers.
pub(super) struct Lists {
    pub(super) says: Mutex<BTreeMap<String, Says>>,
    /// The servers that were asked for their tools, in order.
    pub(super) asked: Mutex<Vec<String>>,
    /// What calls answer.
    pub(super) answer: Mutex<Value>,
    /// Where calls are refused because they do not fit the list, and that it is void is told.
    pub(super) refuses: Mutex<Option<ListChanges>>,
    /// The calls that were made.
    pub(super) calls: Mutex<Vec<ToolCall>>,
    /// How long a list takes.
    pub(super) takes: Mutex<Duration>,
    /// The server whose tasks cannot be run here, and why.
    pub(super) obstacle: Mutex<Option<(&'static str, &'static str)>>,
    clock: VirtualClock,
}

#[async_trait]
impl McpClient for Lists {
    async fn list_tools(&self, server: &Server, limit: Duration) -> Result<Listing, CallError> {
        self.asked.lock().unwrap().push(server.name.clone());
        let failed =
            |fault, message: &str| CallError { server: server.name.clone(), fault, message: message.into() };
        let takes = *self.takes.lock().unwrap();
        self.clock.sleep(takes).await;
        let says = self.says.lock().unwrap().get(&server.name).cloned().unwrap_or(Says::Hangs);
        match says {
            Says::Tools(tools, ttl) => {
                Ok(Listing { tools: tools.into_iter().map(raw).collect(), ttl, ..Listing::default() })
            }
            Says::Fails(message) => Err(failed(CallFault::Broken, message)),
            Says::Unreachable => Err(failed(CallFault::NotSent, "it cannot be reached")),
            Says::Hangs => {
                self.clock.sleep(limit).await;
                Err(failed(CallFault::Timeout, "it did not answer"))
            }
        }
    }

    async fn call_tool(
        &self,
        server: &Server,
        _: &Caller,
        call: ToolCall,
        _: Duration,
    ) -> Result<Value, CallError> {
        self.calls.lock().unwrap().push(call);
        if let Some(changes) = &*self.refuses.lock().unwrap() {
            changes.changed(&server.digest);
            let message = "it does not fit".to_owned();
            return Err(CallError { server: server.name.clone(), fault: CallFault::Refused, message });
        }
        Ok(self.answer.lock().unwrap().clone())
    }

    async fn ask_task(
        &self,
        server: &Server,
        _: &Caller,
        request: TaskRequest,
        _: Duration,
    ) -> Result<TaskReply, CallError> {
        let message = format!("nobody asks for '{}' here", request.method.as_str());
        Err(CallError { server: server.name.clone(), fault: CallFault::Config, message })
    }

    fn task_obstacle(&self, server: &Server) -> Option<String> {
        let obstacle = *self.obstacle.lock().unwrap();
        obstacle.filter(|(name, _)| *name == server.name).map(|(_, why)| why.to_owned())
    }
}

fn raw(definition: Value) -> RawTool {
    RawTool { name: definition["name"].as_str().unwrap_or_default().to_owned(), definition }
}

/// One process on a table.
pub(super) struct Shop {
    pub(super) clock: VirtualClock,
    pub(super) lists: Arc<Lists>,
    pub(super) configs: Arc<Configs>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) known: Known,
    pub(super) changes: ListChanges,
    pub(super) table: FakeTable,
}

/// Longest that anything here may take.
pub(super) const LIMIT: Duration = Duration::from_secs(45);

impl Shop {
    /// A config, and the names that servers list or how they fail.
    pub(super) async fn new(
        config: Value,
        tools: &[(&'static str, Result<Vec<&'static str>, &'static str>)],
    ) -> Self {
        let definitions =
            |names: &[&str]| names.iter().map(|name| json!({"name": name, "x-own": 1})).collect();
        let says = tools.iter().map(|(server, tools)| match tools {
            Ok(names) => ((*server).to_owned(), Says::Tools(definitions(names), None)),
            Err(message) => ((*server).to_owned(), Says::Fails(message)),
        });
        let clock = VirtualClock::start();
        let lists = Arc::new(Lists {
            says: Mutex::new(says.collect()),
            asked: Mutex::default(),
            answer: Mutex::default(),
            refuses: Mutex::default(),
            calls: Mutex::default(),
            takes: Mutex::default(),
            obstacle: Mutex::default(),
            clock,
        });
        let shop = Self::process(clock, lists, FakeTable::new(), Gate::open());
        shop.configs.put(&json!({ "mcp_servers": config }), By::default()).await.unwrap();
        shop
    }

    /// Another process on the same table, which knows nothing yet.
    pub(super) fn cold(&self) -> Self {
        Self::process(self.clock, Arc::clone(&self.lists), self.table.clone(), Gate::open())
    }

    /// Another process, whose way to the lists in the table goes through `gate`.
    pub(super) fn behind(&self, gate: Gate) -> Self {
        Self::process(self.clock, Arc::clone(&self.lists), self.table.clone(), gate)
    }

    fn process(clock: VirtualClock, lists: Arc<Lists>, table: FakeTable, gate: Gate) -> Self {
        let open = Arc::new(table.store(Arc::new(clock), Gate::open()));
        let (keys, random) = (Arc::new(FixedKeys), Arc::new(SeededRandom::new(1)));
        let source = Arc::new(TableSource::new(open, keys.clone(), Arc::new(clock), random));
        let configs = Arc::new(Configs::new(source, keys, Arc::new(NoSecrets), Arc::new(clock)));
        let store: Arc<dyn CatalogStore> = Arc::new(table.store(Arc::new(clock), gate));
        let changes = ListChanges::default();
        let known = Known::new(lists.clone(), store, changes.clone(), Arc::new(clock));
        let catalog = Arc::new(Catalog::new(configs.clone(), known.clone(), Arc::new(clock)));
        Self { clock, lists, configs, catalog, known, changes, table }
    }

    pub(super) async fn now(&self) -> Arc<Catalogue> {
        self.catalog.now(LIMIT).await.unwrap()
    }

    pub(super) async fn find(&self, name: &str) -> Result<Arc<Tool>, NotFound> {
        self.catalog.find(&fixture::principal(), name, LIMIT).await.unwrap()
    }

    /// Calls a tool of a server by its raw name, as a worker does.
    pub(super) async fn call(&self, server: &str, tool: &str) -> Result<Value, CallError> {
        let server = self.server(server).await;
        let caller = Caller::background(fixture::thread("t"));
        let call = ToolCall::plain(tool, Map::new());
        self.known.call_tool(&server, &caller, call, LIMIT).await
    }

    /// What the next call answers.
    pub(super) fn answers(&self, result: Value) {
        *self.lists.answer.lock().unwrap() = result;
    }

    pub(super) async fn server(&self, name: &str) -> Arc<Server> {
        Arc::clone(&self.configs.current().await.unwrap().servers[name])
    }

    /// From now on `server` says this.
    pub(super) fn says(&self, server: &str, says: Says) {
        self.lists.says.lock().unwrap().insert(server.to_owned(), says);
    }

    /// From now on lists take so long.
    pub(super) fn lists_take(&self, time: Duration) {
        *self.lists.takes.lock().unwrap() = time;
    }

    /// How often servers were asked for their tools.
    pub(super) fn asked(&self) -> usize {
        self.lists.asked.lock().unwrap().len()
    }

    pub(super) async fn pass(&self, seconds: u64) {
        self.clock.sleep(Duration::from_secs(seconds)).await;
    }
}

/// Tools of these names, for as long as usual.
pub(super) fn tools(names: &[&str]) -> Says {
    Says::Tools(names.iter().map(|name| json!({ "name": name })).collect(), None)
}

pub(super) fn server(port: u16) -> Value {
    json!({"type": "http", "url": format!("http://127.0.0.1:{port}/mcp")})
}

pub(super) fn with(mut server: Value, more: &Value) -> Value {
    server.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    server
}

pub(super) fn toolset(name: &str, cancel: &str) -> Value {
    json!({"name": name, "submit_tool": "submit", "status_tool": "status", "cancel_tool": cancel})
}
