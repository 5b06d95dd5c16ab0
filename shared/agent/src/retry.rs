//! Whether a model is asked again after a failure, and when (agent reference 1.5). Pure.

use std::time::Duration;

use pudu_app::ports::{ModelError, ModelFault};
use pudu_domain::chat::{Message, Speaker};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Of a fallback's `additional_kwargs`: the message stands for an answer that did not come.
pub const FALLBACK: &str = "deerflow_error_fallback";

/// Most tools that are left out of one call because the provider does not take them.
const WITHOUT: usize = 16;
/// Longest pause between two tries, unless the provider names one.
const CAP: Duration = Duration::from_secs(8);

/// What is done after a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    /// The call is made again after that time.
    Wait {
        /// How long.
        wait: Duration,
        /// Which try it will be, from 2.
        attempt: u32,
        /// Of how many.
        most: u32,
    },
    /// The call is made again at once, without this tool.
    Without(String),
    /// It is not made again.
    GiveUp,
}

/// The tries of one model call: each kind of failure has a budget of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Retries {
    most: u32,
    transient: u32,
    burst: u32,
    stalled: u32,
    without: usize,
    waited: Duration,
}

impl Retries {
    /// With `retries` after the first try, as the model's entry says; what has a smaller budget keeps to that.
    pub fn of(retries: u32) -> Self {
        Self { most: retries.saturating_add(1), ..Self::default() }
    }

    /// What is done after `error`; `draw` is 64 random bits.
    pub fn after(&mut self, error: &ModelError, draw: u64) -> After {
        let (failed, most, base) = match &error.fault {
            ModelFault::Transient | ModelFault::Busy => {
                (&mut self.transient, self.most, Duration::from_secs(1))
            }
            ModelFault::Burst => (&mut self.burst, self.most.min(2), Duration::from_secs(5)),
            ModelFault::Stalled => (&mut self.stalled, self.most.min(2), Duration::from_secs(1)),
            ModelFault::Schema { tool: Some(tool), .. } if self.without < WITHOUT => {
                self.without += 1;
                return After::Without(tool.clone());
            }
            ModelFault::Schema { .. } | ModelFault::Quota | ModelFault::Auth | ModelFault::Other => {
                return After::GiveUp;
            }
        };
        *failed += 1;
        if *failed >= most {
            return After::GiveUp;
        }
        let attempt = *failed + 1;
        let wait = error.retry_after.unwrap_or_else(|| jittered(base, self.waited, draw));
        self.waited = wait;
        After::Wait { wait, attempt, most }
    }
}

/// Uniform between `base` and three times the pause before, at most [`CAP`]: decorrelated, so that callers that failed together
/// do not come back together.
fn jittered(base: Duration, before: Duration, draw: u64) -> Duration {
    let most = CAP.min(base.max(before * 3));
    let span = u64::try_from(most.saturating_sub(base).as_millis()).unwrap_or(u64::MAX);
    base + Duration::from_millis(draw % span.saturating_add(1))
}

/// The word for a failure.
pub const fn reason(fault: &ModelFault) -> &'static str {
    match fault {
        ModelFault::Quota => "quota",
        ModelFault::Auth => "auth",
        ModelFault::Burst => "rate_limited",
        ModelFault::Transient => "transient",
        ModelFault::Stalled => "stream_stalled",
        ModelFault::Busy => "busy",
        ModelFault::Schema { .. } => "tool_schema",
        ModelFault::Other => "other",
    }
}

/// The data of the frame that tells of a retry.
pub fn event(error: &ModelError, attempt: u32, most: u32, wait: Duration) -> Value {
    let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    let message = format!(
        "The model did not answer ({}). Trying again in {:.1} s, try {attempt} of {most}.",
        reason(&error.fault),
        wait.as_secs_f64(),
    );
    json!({
        "type": "llm_retry", "attempt": attempt, "max_attempts": most, "wait_ms": wait_ms,
        "reason": reason(&error.fault), "message": message,
    })
}

/// What stands in the conversation for an answer that did not come.
pub fn fallback(id: &str, error: &ModelError) -> Message {
    let text = match &error.fault {
        ModelFault::Quota => {
            "The model's account has no quota left, so I cannot answer. Top it up or choose another model, then ask again."
        }
        ModelFault::Auth => {
            "The model's provider does not accept the configured credential, so I cannot answer. Check the model's api_key, then ask again."
        }
        ModelFault::Burst | ModelFault::Busy | ModelFault::Transient | ModelFault::Stalled => {
            "The model is not available at the moment, also after trying again. Nothing that was done so far is lost; ask again in a while."
        }
        ModelFault::Schema { .. } | ModelFault::Other => {
            "The model did not take the request, so I cannot answer. The run's error says why."
        }
    };
    let mut message = Message::new(Speaker::Ai, id, text);
    let beside = &mut message.additional_kwargs;
    beside.insert(FALLBACK.to_owned(), Value::Bool(true));
    beside.insert("error_detail".to_owned(), error.message.clone().into());
    beside.insert("error_reason".to_owned(), reason(&error.fault).into());
    message.response_metadata.insert("finish_reason".to_owned(), "error".into());
    message
}

/// Whether a message stands for an answer that did not come.
pub fn is_fallback(message: &Message) -> bool {
    message.additional_kwargs.get(FALLBACK) == Some(&Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(fault: ModelFault) -> ModelError {
        ModelError { model: "m".into(), fault, message: "detail".into(), retry_after: None }
    }

    fn tries(fault: &ModelFault) -> u32 {
        let mut retries = Retries::of(2);
        let mut tries = 1;
        while retries.after(&error(fault.clone()), 7) != After::GiveUp {
            tries += 1;
        }
        tries
    }

    #[test]
    fn each_kind_of_failure_has_its_own_budget() {
        let budgets = [
            (ModelFault::Transient, 3),
            (ModelFault::Busy, 3),
            (ModelFault::Burst, 2),
            (ModelFault::Stalled, 2),
            (ModelFault::Quota, 1),
            (ModelFault::Auth, 1),
            (ModelFault::Other, 1),
            (ModelFault::Schema { tool: None, path: None }, 1),
        ];
        for (fault, most) in budgets {
            assert_eq!(tries(&fault), most, "{fault:?}");
        }
        let mut retries = Retries::of(2);
        retries.after(&error(ModelFault::Burst), 0);
        let after = retries.after(&error(ModelFault::Transient), 0);
        assert!(matches!(after, After::Wait { attempt: 2, most: 3, .. }), "a burst took nothing of it");
    }

    #[test]
    fn pauses_lie_between_the_base_and_three_times_the_one_before() {
        let (base, secs) = (Duration::from_secs(1), Duration::from_secs);
        for draw in [0, 1, 999, u64::MAX] {
            assert_eq!(jittered(base, Duration::ZERO, draw), base);
            let wait = jittered(base, secs(2), draw);
            assert!((base..=secs(6)).contains(&wait), "{wait:?}");
            assert!(jittered(base, secs(100), draw) <= CAP);
            assert!((secs(5)..=CAP).contains(&jittered(secs(5), Duration::ZERO, draw)));
        }
    }

    #[test]
    fn what_the_provider_names_is_taken_as_it_is() {
        let told = ModelError { retry_after: Some(Duration::from_secs(42)), ..error(ModelFault::Burst) };
        let after = Retries::of(2).after(&told, 0);
        assert_eq!(after, After::Wait { wait: Duration::from_secs(42), attempt: 2, most: 2 });
        let event = event(&told, 2, 2, Duration::from_millis(1500));
        assert_eq!((&event["type"], &event["wait_ms"]), (&json!("llm_retry"), &json!(1500)));
    }

    #[test]
    fn a_tool_that_the_provider_does_not_take_is_left_out() {
        let fault = ModelFault::Schema { tool: Some("t".into()), path: Some("$.x".into()) };
        assert_eq!(Retries::of(2).after(&error(fault.clone()), 0), After::Without("t".into()));
        assert_eq!(tries(&fault), 17, "but not for ever");
    }

    #[test]
    fn a_fallback_says_so_and_why() {
        let message = fallback("m", &error(ModelFault::Busy));
        assert!(is_fallback(&message) && !message.content.is_blank());
        assert_eq!(message.additional_kwargs["error_detail"], "detail");
        assert_eq!(message.additional_kwargs["error_reason"], "busy");
    }
}
