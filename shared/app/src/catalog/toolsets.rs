//! Which tools of a server are shown, and what each does: of a usable toolset only the submit tool, in the server's order. A
//! toolset that cannot be used disables itself and nothing else (reference 3.1 and 3.3, the better half of vector 27), and so
//! does a tool that runs only as a task where none can be run.

use std::sync::Arc;

use pudu_config::{Server, Toolset};
use pudu_domain::ServerName;

use super::Role;
use crate::listings::{Listed, ListedTool};
use crate::ports::TaskProtocol;

/// What a server offers.
#[derive(Debug, Default)]
pub(super) struct Offer {
    /// The tools that are shown.
    pub(super) tools: Vec<(Arc<ListedTool>, Role)>,
    /// Toolsets that are off, with the reason.
    pub(super) problems: Vec<String>,
}

/// What `server` offers of its list; `obstacle` is why none of its tasks can be run here.
pub(super) fn with_toolsets(server: &Server, list: &Listed, obstacle: Option<&str>) -> Offer {
    // A task keeps its server's name, which the config bounds only for servers with toolsets.
    let unnameable = ServerName::parse(server.name.as_str()).err().map(|error| format!("the {error}"));
    let obstacle = obstacle.or(unnameable.as_deref());
    let mut problems = Vec::new();
    let mut usable = Vec::new();
    for set in &server.task_toolsets {
        match problem(set, list, obstacle) {
            None => usable.push(set),
            Some(problem) => problems.push(format!("toolset '{}' is off: {problem}", set.name)),
        }
    }
    let broken = |raw: &str| {
        server.task_toolsets.iter().any(|set| set.tools().any(|tool| tool == raw) && !usable.contains(&set))
    };
    let shown = list.tools.iter().filter_map(|tool| {
        let raw = tool.name.as_str();
        if broken(raw) || usable.iter().any(|set| set.hidden_tools().any(|tool| tool == raw)) {
            return None;
        }
        let submits = usable.iter().find(|set| set.submit_tool == raw);
        Some((tool, submits.map(|set| Role::Submit((*set).clone()))))
    });
    let mut tools = Vec::new();
    let mut off = Vec::new();
    for (tool, role) in shown {
        match (role, by_its_server(tool, list.tasks), obstacle) {
            (Some(role), _, _) => tools.push((Arc::clone(tool), role)),
            (None, role, None) => tools.push((Arc::clone(tool), role.unwrap_or(Role::Call))),
            (None, Some(Role::Core { always: true }), Some(obstacle)) => {
                off.push(format!("tool '{}', which runs only as a task, is off: {obstacle}", tool.name));
            }
            (None, _, Some(_)) => tools.push((Arc::clone(tool), Role::Call)),
        }
    }
    problems.extend(off);
    Offer { tools, problems }
}

/// What a tool does by its server's own way with tasks.
fn by_its_server(tool: &ListedTool, tasks: Option<TaskProtocol>) -> Option<Role> {
    match (tasks?, tool.task_support()) {
        (TaskProtocol::Extension, _) => Some(Role::MayBecomeTask),
        (TaskProtocol::Core, Some("required")) => Some(Role::Core { always: true }),
        (TaskProtocol::Core, Some("optional")) => Some(Role::Core { always: false }),
        (TaskProtocol::Core, _) => None,
    }
}

fn problem(set: &Toolset, list: &Listed, obstacle: Option<&str>) -> Option<String> {
    if let Some(obstacle) = obstacle {
        return Some(obstacle.to_owned());
    }
    let mut missing: Vec<&str> = set.tools().filter(|raw| list.tool(raw).is_none()).collect();
    missing.sort_unstable();
    (!missing.is_empty()).then(|| format!("the server has no tool {}", missing.join(", ")))
}
