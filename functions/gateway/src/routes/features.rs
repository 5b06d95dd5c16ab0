//! `GET /api/features`: what works here now (reference 8.3).

use axum::Json;
use axum::extract::State;
use futures_util::future::try_join;
use pudu_app::ports::Background;
use pudu_config::Provider;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::Failure;
use crate::guard::Who;
use crate::state::Gateway;

/// What works here.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Features {
    mcp_tasks: Feature,
    agents: Agents,
    /// Off: custom agents run by their names, and nothing here manages them.
    agents_api: Feature,
}

/// What agents can do here.
#[derive(Debug, Serialize, ToSchema)]
#[expect(clippy::struct_excessive_bools, reason = "they are features, each on its own")]
pub(super) struct Agents {
    /// As with tasks: somebody was seen at work on runs.
    enabled: bool,
    /// The models that runs may choose, the default one first.
    models: Vec<String>,
    /// Whether the default one is no language model but the built-in script.
    scripted: bool,
    /// Whether a run is told while it goes on; else an answer is sent when it is whole.
    streaming: bool,
    /// Whether a run may work by a plan (`is_plan_mode`).
    plan_mode: bool,
    subagents: Delegation,
    /// Whether old messages of a long conversation give way to a summary by themselves.
    summarization: bool,
    /// Whether a model is asked for titles.
    titles: bool,
    /// Whether runs are held to the goal of their thread.
    goals: bool,
    /// Whether agents remember their users from one thread to the next.
    memory: bool,
    /// Whether agents have somewhere to run commands and keep files.
    sandbox: bool,
}

/// What runs may delegate (`subagent_enabled`).
#[derive(Debug, Serialize, ToSchema)]
struct Delegation {
    enabled: bool,
    /// Types beside those that are built in.
    custom_types: Vec<String>,
    /// Most of one run.
    max_total_per_run: u32,
}

/// Whether it works.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Feature {
    /// Not whether it is configured: somebody was seen at work within two periods of the schedule.
    enabled: bool,
}

/// What works here now.
#[utoipa::path(
    get,
    path = "/api/features",
    operation_id = "get_features",
    tag = "service",
    responses((status = OK, description = "What works", body = Features), Failure)
)]
pub(super) async fn get(State(gateway): State<Gateway>, _: Who) -> Result<Json<Features>, Failure> {
    let wakeups = &gateway.tasks.settle.wakeups;
    let (polled, worked) =
        try_join(wakeups.is_attended(Background::Poller), wakeups.is_attended(Background::Agent)).await?;
    let document = &gateway.configs.current().await?.document;
    let (roster, house) = (gateway.configs.roster().await?, document.agents());
    let models: Vec<String> = roster.models().map(|model| model.name.clone()).collect();
    let agents = Agents {
        enabled: worked,
        scripted: roster.models().next().is_some_and(|model| model.provider == Provider::Scripted),
        models,
        streaming: !gateway.streams.lifetime().is_zero(),
        plan_mode: true,
        subagents: Delegation {
            enabled: true,
            custom_types: house.subagents.custom.keys().cloned().collect(),
            max_total_per_run: house.subagents.max_total_per_run,
        },
        summarization: house.summarization.enabled,
        titles: house.title.enabled,
        goals: true,
        memory: house.memory.enabled,
        sandbox: false,
    };
    let mcp_tasks = Feature { enabled: polled };
    Ok(Json(Features { mcp_tasks, agents, agents_api: Feature { enabled: false } }))
}
