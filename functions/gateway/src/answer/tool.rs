//! Tools: as they are listed, and what a call brings.

use std::collections::BTreeMap;

use pudu_app::catalog::{Role, ServerPart, ServerState, Tool};
use pudu_app::deferral::CatalogHash;
use pudu_app::ports::CallFault;
use pudu_app::tools::{Invoked, Submitted};
use pudu_config::Mode;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::openapi::schema::{AnyOfBuilder, Object, Schema};
use utoipa::openapi::{Ref, RefOr, Type};
use utoipa::{PartialSchema, ToSchema};

/// Every tool, and every server's state.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Listing {
    /// By visible name.
    pub(crate) tools: Vec<ToolEntry>,
    /// By server name, disabled ones too.
    pub(crate) servers: BTreeMap<String, ServerEntry>,
    /// Changes when the tools do.
    #[schema(value_type = String)]
    pub(crate) catalog_hash: CatalogHash,
}

/// The tools that a search found.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Found {
    /// The best first.
    pub(crate) tools: Vec<ToolEntry>,
    /// Changes when there are other tools to search.
    #[schema(value_type = String)]
    pub(crate) catalog_hash: CatalogHash,
}

/// A tool: its server's definition, and our own words for what is ours.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ToolEntry {
    /// By which it is called here.
    name: String,
    description: String,
    /// Whose it is.
    server: String,
    /// Whether every call becomes a durable task.
    durable: bool,
    becomes_task: BecomesTask,
    /// When it should be preferred; absent when nobody says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    routing: Option<RoutingHint>,
    /// What else its server says of it, unchanged: `inputSchema`, `outputSchema`, `annotations`, ….
    #[serde(flatten)]
    #[schema(value_type = BTreeMap<String, Value>)]
    definition: Map<String, Value>,
}

/// When a call becomes a durable task.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BecomesTask {
    Never,
    Always,
    /// Each call anew.
    ServerDecides,
    /// With `"durable": true`.
    OnRequest,
}

impl From<&Role> for BecomesTask {
    fn from(role: &Role) -> Self {
        match role {
            Role::Call => Self::Never,
            Role::Submit(_) | Role::Core { always: true } => Self::Always,
            Role::MayBecomeTask => Self::ServerDecides,
            Role::Core { always: false } => Self::OnRequest,
        }
    }
}

/// When a tool should be preferred.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RoutingHint {
    /// `prefer`.
    mode: &'static str,
    /// 0 to 100; higher goes first.
    #[schema(maximum = 100)]
    priority: u8,
    keywords: Vec<String>,
}

impl From<&Tool> for ToolEntry {
    fn from(tool: &Tool) -> Self {
        let mut definition = tool.definition().as_object().cloned().unwrap_or_default();
        // Fields of the server's own by these names would be taken for ours.
        for ours in ["name", "description", "server", "durable", "becomes_task", "routing"] {
            definition.remove(ours);
        }
        let routing = tool.routing();
        let routing = (routing.mode == Mode::Prefer).then_some(RoutingHint {
            mode: "prefer",
            priority: routing.priority,
            keywords: routing.keywords,
        });
        let becomes_task = BecomesTask::from(&tool.role);
        Self {
            name: tool.name.clone(),
            description: tool.description.clone(),
            server: tool.server.name.clone(),
            durable: matches!(becomes_task, BecomesTask::Always),
            becomes_task,
            routing,
            definition,
        }
    }
}

/// How a server takes part.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ServerWord {
    /// Its tools are here.
    Ok,
    /// It is switched off.
    Disabled,
    /// It did not list its tools in time.
    Timeout,
    /// Its tools could not be listed.
    Error,
}

/// A server's part in the catalogue.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ServerEntry {
    state: ServerWord,
    /// How many of its tools are here.
    tools: usize,
    /// What went wrong.
    reason: Option<String>,
    /// Toolsets that cannot be used, with the reason.
    toolset_problems: Vec<String>,
}

impl From<&ServerPart> for ServerEntry {
    fn from(part: &ServerPart) -> Self {
        let (state, reason) = match &part.state {
            ServerState::Ok => (ServerWord::Ok, None),
            ServerState::Disabled => (ServerWord::Disabled, None),
            ServerState::Failed(error) if error.fault == CallFault::Timeout => {
                (ServerWord::Timeout, Some(error.message.clone()))
            }
            ServerState::Failed(error) => (ServerWord::Error, Some(error.message.clone())),
        };
        Self { state, tools: part.tools, reason, toolset_problems: part.toolset_problems.clone() }
    }
}

/// What a call brings: the server's result object, unchanged, or a durable task.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Called {
    /// The task's id, and where it stands.
    Task(SubmittedTask),
    /// As the server gave it.
    Result(Value),
}

/// A call that goes on in the background.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SubmittedTask {
    /// The local id.
    #[schema(example = "mcp-task-0193a1b2c3d400112233445566778899")]
    task_id: String,
    /// The name of its toolset, or of its tool.
    task_name: String,
    /// Where it stands, as in a list of tasks.
    status: &'static str,
    /// For people.
    message: &'static str,
}

impl From<Invoked> for Called {
    fn from(invoked: Invoked) -> Self {
        match invoked {
            Invoked::Result(result) => Self::Result(result),
            Invoked::Submitted(Submitted { task_id, task_name, status, .. }) => Self::Task(SubmittedTask {
                task_id,
                task_name,
                status,
                message: "The task runs in the background and is watched until it ends; the thread is told when it needs attention.",
            }),
        }
    }
}

// By hand: a result may be any object, so that `oneOf`, which the derive makes, would not hold for a task.
impl PartialSchema for Called {
    fn schema() -> RefOr<Schema> {
        let task = Ref::from_schema_name(SubmittedTask::name());
        AnyOfBuilder::new().item(task).item(Object::with_type(Type::Object)).into()
    }
}

impl ToSchema for Called {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((SubmittedTask::name().into_owned(), SubmittedTask::schema()));
        SubmittedTask::schemas(schemas);
    }
}
