//! How servers stand, as administrators see it: never a credential.

use pudu_app::catalog::{Overview, Probed, Standing};
use pudu_app::ports::{CallError, CallFault, Era, LeftOut};
use serde::Serialize;
use utoipa::ToSchema;

use super::moment;

/// A server, as far as it is known.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ServerRow {
    name: String,
    enabled: bool,
    /// Such as `http`.
    #[serde(rename = "type")]
    kind: String,
    status: ServerStatus,
    /// How many tools can be used by the list that it last gave; null when it never gave one.
    tools: Option<usize>,
    /// Toolsets that are off, with the reason.
    toolset_problems: Vec<String>,
    /// How it is spoken with over HTTP, as far as somebody has found out.
    era: Option<SpokenEra>,
    /// The revisions of MCP that this era stands for.
    protocol: Option<&'static str>,
    /// Why it could not be listed when it was last asked; null since it could.
    last_error: Option<String>,
    /// When it was last asked for its tools.
    asked_at: Option<String>,
}

/// How a server stands.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ServerStatus {
    /// Its tools are known.
    Ok,
    /// It is switched off.
    Disabled,
    /// It could not be listed.
    Error,
    /// It did not answer in time.
    Timeout,
    /// Nobody has asked it yet.
    NotAsked,
}

/// A way of speaking MCP over HTTP.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SpokenEra {
    /// One POST per call.
    Stateless,
    /// A handshake and a session.
    Session,
    /// The older HTTP+SSE transport.
    Events,
}

/// What a server said when it was asked.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProbeResult {
    name: String,
    enabled: bool,
    /// Such as `http`.
    #[serde(rename = "type")]
    kind: String,
    /// Whether it listed its tools.
    ok: bool,
    /// How it is spoken with over HTTP.
    era: Option<SpokenEra>,
    /// The revisions of MCP that this era stands for.
    protocol: Option<&'static str>,
    /// How long it took to connect and list the tools, or until that failed.
    latency_ms: u64,
    /// Its own names of the tools that can be used.
    tools: Vec<String>,
    /// What it listed and nobody can call; at most 100.
    refused_tools: Vec<RefusedTool>,
    /// Toolsets that are off, with the reason.
    toolset_problems: Vec<String>,
    /// Why it did not list its tools.
    error: Option<String>,
}

/// A tool that nobody can call.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RefusedTool {
    /// Its name, if it has one.
    tool: Option<String>,
    reason: &'static str,
}

impl From<Overview> for ServerRow {
    fn from(row: Overview) -> Self {
        let Overview { server, standing, tools, toolset_problems, era, asked_at } = row;
        let (status, last_error) = match standing {
            Standing::Ok => (ServerStatus::Ok, None),
            Standing::Disabled => (ServerStatus::Disabled, None),
            Standing::NotAsked => (ServerStatus::NotAsked, None),
            Standing::Failed(CallError { fault: CallFault::Timeout, message, .. }) => {
                (ServerStatus::Timeout, Some(message))
            }
            Standing::Failed(error) => (ServerStatus::Error, Some(error.message)),
        };
        Self {
            name: server.name.clone(),
            enabled: server.enabled,
            kind: server.transport.name().to_owned(),
            status,
            tools,
            toolset_problems,
            era: era.map(SpokenEra::from),
            protocol: era.map(protocol),
            last_error,
            asked_at: asked_at.map(moment),
        }
    }
}

impl From<Probed> for ProbeResult {
    fn from(probed: Probed) -> Self {
        let Probed { server, era, latency, tools, left_out, toolset_problems, error } = probed;
        let refused = |LeftOut { tool, reason }| RefusedTool { tool, reason };
        Self {
            name: server.name.clone(),
            enabled: server.enabled,
            kind: server.transport.name().to_owned(),
            ok: error.is_none(),
            era: era.map(SpokenEra::from),
            protocol: era.map(protocol),
            latency_ms: u64::try_from(latency.as_millis()).unwrap_or(u64::MAX),
            tools,
            refused_tools: left_out.into_iter().map(refused).collect(),
            toolset_problems,
            error: error.map(|error| error.message),
        }
    }
}

impl From<Era> for SpokenEra {
    fn from(era: Era) -> Self {
        match era {
            Era::Stateless => Self::Stateless,
            Era::Session => Self::Session,
            Era::Events => Self::Events,
        }
    }
}

const fn protocol(era: Era) -> &'static str {
    match era {
        Era::Stateless => "2026-07-28",
        Era::Session => "2024-11-05 to 2025-11-25",
        Era::Events => "2024-11-05",
    }
}
