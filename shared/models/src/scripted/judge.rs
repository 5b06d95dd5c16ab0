//! What the script says of a goal: it understands none, so that a run goes on for it once, for all to see, and then ends.

use pudu_app::ports::ModelCall;
use pudu_domain::goal::{CONTINUED, QUESTION};
use serde_json::json;

use super::LABEL;

/// The judgement, if one is asked for. It is JSON and nothing else, so that what it is stands in its reason.
pub(super) fn judgement(call: &ModelCall) -> Option<String> {
    let asked = call.messages.last()?.content.text();
    if !asked.starts_with(QUESTION) {
        return None;
    }
    let met = asked.contains(CONTINUED);
    let why = if met { "the agent went on for it once" } else { "the agent has not gone on for it yet" };
    let reason = format!("{LABEL} I understand no goal; {why}.");
    Some(json!({ "met": met, "progress": true, "waits": false, "reason": reason }).to_string())
}
