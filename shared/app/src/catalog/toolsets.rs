//! Which tools of a server are shown: of a usable toolset only the submit tool, in the server's order. A toolset that cannot
//! be used disables itself and nothing else (reference 3.1 and 3.3, the better half of vector 27).

use std::sync::Arc;

use pudu_config::{Server, Toolset};

use super::Role;
use crate::listings::{Listed, ListedTool};

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
    let mut problems = Vec::new();
    let mut usable = Vec::new();
    for set in &server.task_toolsets {
        match problem(set, list, obstacle) {
            None => usable.push(set),
            Some(problem) => problems.push(format!("toolset '{}' is off: {problem}", set.name)),
        }
    }
    let broken = |raw: &str| {
        server.task_toolsets.iter().any(|set| set.tools().contains(&raw) && !usable.contains(&set))
    };
    let shown = list.tools.iter().filter_map(|tool| {
        let raw = tool.name.as_str();
        if broken(raw) || usable.iter().any(|set| set.status_tool == raw || set.cancel_tool == raw) {
            return None;
        }
        let submits = usable.iter().find(|set| set.submit_tool == raw);
        Some((Arc::clone(tool), submits.map_or(Role::Call, |set| Role::Submit((*set).clone()))))
    });
    Offer { tools: shown.collect(), problems }
}

fn problem(set: &Toolset, list: &Listed, obstacle: Option<&str>) -> Option<String> {
    if let Some(obstacle) = obstacle {
        return Some(obstacle.to_owned());
    }
    let mut missing: Vec<&str> = set.tools().into_iter().filter(|raw| list.tool(raw).is_none()).collect();
    missing.sort_unstable();
    (!missing.is_empty()).then(|| format!("the server has no tool {}", missing.join(", ")))
}
