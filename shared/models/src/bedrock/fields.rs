//! Where the keys of an entry go in a request of Converse: to the service, to what all models have, or to the model as they are.

use pudu_app::ports::ModelCall;
use serde_json::{Map, Value, json};

/// Of the call, as the reference's client and the service name them.
const OF_THE_CALL: &[(&str, &str)] = &[
    ("guardrail_config", "guardrailConfig"),
    ("performance_config", "performanceConfig"),
    ("request_metadata", "requestMetadata"),
    ("service_tier", "serviceTier"),
];
/// Of every model.
const INFERENCE: &[(&str, &str)] = &[("top_p", "topP"), ("stop_sequences", "stopSequences")];
/// In which the reference's client has the model's own.
const OF_THE_MODEL: &str = "additional_model_request_fields";
/// Words of a model that thinks, in what is its own.
const THINKING: &[&str] = &["thinking", "reasoning_config", "reasoningConfig"];

/// The fields of a request.
pub(super) struct Fields {
    pub(super) inference: Map<String, Value>,
    pub(super) of_the_model: Map<String, Value>,
    pub(super) of_the_call: Map<String, Value>,
}

impl Fields {
    pub(super) fn of(call: &ModelCall) -> Self {
        let entry = &call.entry;
        let mut fields = Self { inference: Map::new(), of_the_model: Map::new(), of_the_call: Map::new() };
        if let Some(most) = entry.max_tokens {
            fields.inference.insert("maxTokens".to_owned(), most.into());
        }
        let own = entry.extra.get(OF_THE_MODEL).and_then(Value::as_object);
        let others = entry.extra.iter().filter(|(key, _)| *key != OF_THE_MODEL);
        // `null` takes a field away, so there is nothing to send.
        let given = others.chain(own.into_iter().flatten()).filter(|(_, value)| !value.is_null());
        for (key, value) in given {
            let named = |names: &[(&str, &str)]| {
                names
                    .iter()
                    .find(|(ours, theirs)| key == ours || key == theirs)
                    .map(|(_, it)| (*it).to_owned())
            };
            if let Some(name) = named(OF_THE_CALL) {
                fields.of_the_call.insert(name, value.clone());
            } else if let Some(name) = named(INFERENCE) {
                fields.inference.insert(name, value.clone());
            } else {
                fields.of_the_model.insert(key.clone(), value.clone());
            }
        }
        // A model that thinks takes no other temperature than its own.
        if let Some(temperature) = entry.temperature.filter(|_| !fields.thinks()) {
            fields.inference.insert("temperature".to_owned(), temperature.into());
        }
        if let Some(effort) = &call.reasoning_effort {
            fields.effort(&entry.model, effort);
        }
        fields
    }

    fn thinks(&self) -> bool {
        let is_on =
            |value: &Value| matches!(value.get("type").and_then(Value::as_str), Some("enabled" | "adaptive"));
        THINKING.iter().any(|key| self.of_the_model.get(*key).is_some_and(is_on))
    }

    /// Each family of models has its own word for it.
    fn effort(&mut self, model: &str, effort: &str) {
        let (key, value) = if model.contains("anthropic.") {
            ("output_config", json!({ "effort": effort }))
        } else if model.contains("amazon.nova") {
            ("reasoningConfig", json!({"type": "enabled", "maxReasoningEffort": effort}))
        } else if model.contains("qwen.") {
            ("reasoning_config", effort.into())
        } else {
            ("reasoning_effort", effort.into())
        };
        self.of_the_model.entry(key).or_insert(value);
    }
}
