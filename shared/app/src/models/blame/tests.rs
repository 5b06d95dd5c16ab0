use std::sync::Mutex;

use serde_json::json;

use super::*;
use crate::ports::Dialect;

/// A provider that takes no call with one of these tools, and says or does not say which.
struct Picky {
    bad: &'static [&'static str],
    says: bool,
    most: usize,
    down_after: Option<usize>,
    calls: Mutex<usize>,
}

impl Picky {
    fn of(bad: &'static [&'static str]) -> Self {
        Self { bad, says: false, most: 5000, down_after: None, calls: Mutex::default() }
    }
}

#[async_trait]
impl Models for Picky {
    async fn call(&self, call: &ModelCall, _pieces: mpsc::Sender<Piece>) -> Result<Message, ModelError> {
        let mut calls = self.calls.lock().unwrap();
        *calls += 1;
        let bad = call.tools.iter().find(|tool| self.bad.contains(&&*tool.name));
        let fault = match bad {
            _ if self.down_after.is_some_and(|most| *calls > most) => ModelFault::Transient,
            Some(tool) => {
                ModelFault::Schema { tool: self.says.then(|| tool.name.clone()), path: Some("$.x".into()) }
            }
            None if call.tools.len() > self.most => ModelFault::Schema { tool: None, path: None },
            None => return Ok(Message::new(Speaker::Ai, &*call.id, "hi")),
        };
        Err(ModelError { model: "m".into(), fault, message: "no".into(), retry_after: None })
    }
}

/// What a call with that many tools comes to, and how many calls it took.
async fn blamed(picky: Picky, tools: usize) -> (Result<Message, ModelFault>, usize) {
    let picky = Arc::new(picky);
    let tool = |at: usize| ToolDefinition {
        name: format!("t{at}"),
        description: String::new(),
        schema: json!({}),
        server: None,
    };
    let call = ModelCall {
        entry: ModelEntry::new("m", "m", Dialect::OpenAi),
        messages: Vec::new(),
        tools: (0..tools).map(tool).collect(),
        id: "a".to_owned(),
        reasoning_effort: None,
    };
    let said = Blaming::new(picky.clone()).call(&call, mpsc::channel(1).0).await;
    let calls = *picky.calls.lock().unwrap();
    (said.map_err(|error| error.fault), calls)
}

fn schema(tool: Option<&str>, path: Option<&str>) -> Result<Message, ModelFault> {
    Err(ModelFault::Schema { tool: tool.map(str::to_owned), path: path.map(str::to_owned) })
}

#[tokio::test]
async fn one_bad_tool_among_many_is_found_in_a_few_calls() {
    for bad in [&["t0"], &["t499"], &["t999"]] {
        let (said, calls) = blamed(Picky::of(bad), 1000).await;
        assert_eq!(said, schema(Some(bad[0]), Some("$.x")));
        assert!(calls <= 12, "{calls} calls");
    }
    assert_eq!(
        blamed(Picky::of(&["t3", "t5"]), 8).await.0,
        schema(Some("t3"), Some("$.x")),
        "one after the other"
    );
    assert_eq!(blamed(Picky::of(&["t0"]), 1).await.0, schema(Some("t0"), Some("$.x")));
}

#[tokio::test]
async fn a_provider_that_names_it_is_not_asked_again() {
    let picky = Picky { says: true, ..Picky::of(&["t3"]) };
    assert_eq!(blamed(picky, 8).await, (schema(Some("t3"), Some("$.x")), 1));
    assert_eq!(blamed(Picky::of(&[]), 8).await.1, 1);
}

#[tokio::test]
async fn nobody_is_blamed_for_what_all_are_or_when_it_cannot_be_found_out() {
    let too_many = Picky { most: 4, ..Picky::of(&[]) };
    assert_eq!(blamed(too_many, 8).await.0, schema(None, None));
    let down = Picky { down_after: Some(2), ..Picky::of(&["t3"]) };
    assert_eq!(blamed(down, 8).await.0, schema(None, Some("$.x")));
}

/// A provider that thinks, and takes no limit that leaves it no room.
struct Thinker;

#[async_trait]
impl Models for Thinker {
    async fn call(&self, call: &ModelCall, _pieces: mpsc::Sender<Piece>) -> Result<Message, ModelError> {
        let is_small = call.entry.max_tokens.is_some_and(|most| most <= 1024);
        let fault = if is_small && call.entry.extra.contains_key("thinking") {
            ModelFault::Other
        } else if call.tools.iter().any(|tool| tool.name == "t2") {
            ModelFault::Schema { tool: None, path: None }
        } else {
            return Ok(Message::new(Speaker::Ai, &*call.id, "hi"));
        };
        Err(ModelError { model: "m".into(), fault, message: "no".into(), retry_after: None })
    }
}

#[tokio::test]
async fn a_short_call_does_not_think() {
    let mut entry = ModelEntry::new("m", "m", Dialect::Anthropic);
    entry.extra =
        json!({"thinking": {"type": "enabled", "budget_tokens": 2000}}).as_object().unwrap().clone();
    let tool = |name: &str| ToolDefinition {
        name: name.to_owned(),
        description: String::new(),
        schema: json!({}),
        server: None,
    };
    let call = ModelCall {
        entry,
        messages: vec![Message::new(Speaker::Human, "h", "hi")],
        tools: vec![tool("t1"), tool("t2"), tool("t3")],
        id: "a".to_owned(),
        reasoning_effort: None,
    };
    let error = Blaming::new(Arc::new(Thinker)).call(&call, mpsc::channel(1).0).await.unwrap_err();
    assert_eq!(error.fault, ModelFault::Schema { tool: Some("t2".to_owned()), path: None });
}
