//! Models that a config names, from the file to the answer: a real `pudu` speaks with a server that plays their providers, byte for
//! byte as they speak (`shared/models/conversations`).

use std::sync::{Arc, Mutex};

use acceptance::Pudu;
use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// A provider's two answers, and what was asked.
struct Provider {
    content_type: &'static str,
    answers: [&'static [u8]; 2],
    asked: Mutex<Vec<(HeaderMap, Value)>>,
}

/// A conversation that is kept.
struct Kept {
    name: &'static str,
    entry: Value,
    /// Where its address begins.
    path: &'static str,
    content_type: &'static str,
    answers: [&'static [u8]; 2],
    thinks: bool,
}

macro_rules! answers {
    ($folder:literal) => {
        [
            include_bytes!(concat!("../../shared/models/conversations/", $folder, "/first.answer")),
            include_bytes!(concat!("../../shared/models/conversations/", $folder, "/second.answer")),
        ]
    };
}

const EVENTS: &str = "text/event-stream; charset=utf-8";

fn all() -> [Kept; 4] {
    let kept =
        |name, entry, answers| Kept { name, entry, path: "", content_type: EVENTS, answers, thinks: true };
    [
        Kept {
            path: "/v1",
            thinks: false,
            ..kept(
                "openai",
                json!({"use": "langchain_openai:ChatOpenAI", "model": "gpt-5.5"}),
                answers!("openai"),
            )
        },
        kept(
            "compatible",
            json!({"use": "deerflow.models.patched_deepseek:PatchedChatDeepSeek", "model": "deepseek-chat"}),
            answers!("compatible"),
        ),
        kept(
            "anthropic",
            json!({"use": "langchain_anthropic:ChatAnthropic", "model": "claude-opus-5"}),
            answers!("anthropic"),
        ),
        Kept {
            content_type: "application/vnd.amazon.eventstream",
            ..kept(
                "bedrock",
                json!({"use": "langchain_aws:ChatBedrockConverse", "model": "eu.anthropic.claude-sonnet-5-v1:0"}),
                answers!("bedrock"),
            )
        },
    ]
}

/// The second answer to whoever brings what the tools said, the first one to all others.
async fn answer(State(provider): State<Arc<Provider>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let asked: Value = serde_json::from_slice(&body).unwrap();
    let text = asked.to_string();
    let has_results = ["tool_call_id", "tool_use_id", "toolResult"].iter().any(|word| text.contains(word));
    let has_tools = asked.get("tools").or_else(|| asked.get("toolConfig")).is_some();
    if has_tools {
        provider.asked.lock().unwrap().push((head.headers, asked));
    }
    // What is asked beside the conversation, such as a title, is given some text.
    let at = usize::from(has_results || !has_tools);
    ([(CONTENT_TYPE, provider.content_type)], provider.answers[at]).into_response()
}

/// Where a part of a request is, in each dialect.
fn parts(name: &str, asked: &Value) -> (Value, Value, Vec<Value>) {
    let mut asked = asked.clone();
    forget_marks(&mut asked);
    let messages = asked["messages"].as_array().unwrap().clone();
    match name {
        "openai" | "compatible" => (messages[0].clone(), asked["tools"].take(), messages),
        "anthropic" => (asked["system"].take(), asked["tools"].take(), messages),
        _ => (asked["system"].take(), asked["toolConfig"].take(), messages),
    }
}

/// Marks for a cache stand at the end of each call and are no content.
fn forget_marks(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("cache_control");
            map.values_mut().for_each(forget_marks);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_marks),
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_speaks_with_the_provider_that_its_config_names() {
    let mut serving = JoinSet::new();
    let mut providers = Vec::new();
    let mut models = Vec::new();
    for kept in all() {
        let Kept { content_type, answers, .. } = kept;
        let provider = Arc::new(Provider { content_type, answers, asked: Mutex::default() });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}{}", listener.local_addr().unwrap(), kept.path);
        let app = Router::new().fallback(answer).with_state(Arc::clone(&provider));
        serving.spawn(async move { axum::serve(listener, app).await.unwrap() });
        let mut entry = kept.entry.clone();
        for (key, value) in [("name", kept.name), ("base_url", &url), ("api_key", "$PROVIDER_KEY")] {
            entry[key] = value.into();
        }
        models.push(entry);
        providers.push((kept, provider));
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("extensions_config.json");
    std::fs::write(&file, json!({"mcpServers": {}, "models": models}).to_string()).unwrap();
    let arguments = ["--no-auth", "--config-file", file.to_str().unwrap()];
    let pudu = Pudu::start(&arguments, &[("PROVIDER_KEY", "canary-key")]).await;
    for (kept, provider) in &providers {
        let name = kept.name;
        let body = json!({
            "assistant_id": "lead_agent", "context": {"model_name": name},
            "input": {"messages": [{"role": "user", "content": "Wie ist das Wetter hier, und wie spät?"}]},
        });
        let run = pudu.http().post(pudu.url(&format!("/api/threads/{name}/runs/wait")));
        let answer =
            run.header(CONTENT_TYPE, "application/json").body(body.to_string()).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{name}");
        let state: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        let messages = state["messages"].as_array().unwrap();
        // Pudu tells the model the date before the first question.
        let messages: Vec<&Value> = messages.iter().filter(|message| message["type"] != "system").collect();
        let kinds: Vec<&str> = messages.iter().map(|message| message["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["human", "ai", "tool", "tool", "ai"], "{name}: {state}");
        assert_eq!(messages[4]["content"], "Regen, 9 °C. Die Uhr ist kaputt.", "{name}");
        assert_eq!(messages[1]["usage_metadata"]["total_tokens"], 154, "{name}");
        assert_eq!(messages[4]["usage_metadata"]["total_tokens"], 192, "{name}");
        assert_eq!(messages[1].to_string().contains("Two tools will do."), kept.thinks, "{name}");
        let asked = provider.asked.lock().unwrap();
        let [(headers, first), (_, second)] = asked.as_slice() else {
            panic!("{name} was asked {} times", asked.len());
        };
        assert!(headers.values().any(|value| value.to_str().unwrap().contains("canary-key")), "{name}");
        // What the second call begins with is the first one, so that a provider may have kept it.
        let (system, tools, began) = parts(name, first);
        let (system_again, tools_again, went_on) = parts(name, second);
        assert_eq!((system, tools), (system_again, tools_again), "{name}");
        assert_eq!(went_on[..began.len()], began, "{name}");
        assert_eq!(
            went_on[began.len()..].iter().any(|said| said.to_string().contains("Two tools")),
            kept.thinks
        );
        assert_eq!(
            second.to_string().matches("cache_control").count(),
            if name == "anthropic" { 3 } else { 0 }
        );
    }
}
