//! Other people's clients of agents at the API of a real Pudu: threads, runs, streams, joins, cancels and states.

use acceptance::{Peer, Pudu, Silent};
use serde_json::{Value, json};

/// Runs a client of `tests/peers` and returns what it saw.
async fn saw(client: &str) -> Value {
    let (pudu, silent) = (Pudu::start(&[], &[]).await, Silent::start().await);
    pudu.import(&json!({ "mcpServers": {}, "models": silent.models() })).await;
    let url = pudu.url("");
    Peer::ran(&[client, url.trim_end_matches('/'), pudu.key().unwrap()]).await
}

/// That the whole story is as it is told.
fn fits(saw: &Value) {
    let events: Vec<&str> =
        saw["events"].as_array().unwrap().iter().map(|event| event.as_str().unwrap()).collect();
    assert_eq!((events.first(), events.last()), (Some(&"metadata"), Some(&"end")), "{saw}");
    assert!(events.contains(&"values") && events.contains(&"messages"), "{saw}");
    assert!(saw["ids"].as_array().unwrap().iter().all(Value::is_string), "{saw}");
    assert_eq!(saw["end"], json!({ "status": "success", "stop_reason": null, "error": null }), "{saw}");
    assert_eq!((&saw["status"], &saw["assistants"]), (&json!("success"), &json!(["lead_agent"])), "{saw}");
    // What the agent tells its model of the day comes before.
    let messages = saw["messages"].as_array().unwrap();
    assert!(messages.ends_with(&[json!("human"), json!("ai")]), "{saw}");
    assert_eq!(saw["first"].as_array().unwrap().last(), Some(&json!("human")), "{saw}");
    assert!(saw["history"].as_u64() >= Some(3), "{saw}");
    assert_eq!(saw["empty"], json!([-1, []]), "{saw}");
    let joined = saw["joined"].as_array().unwrap();
    assert!(joined.len() >= 3 && joined.iter().all(|event| event != "messages"), "{saw}");
    assert_eq!((&saw["behind"], &saw["same"]), (&json!(["end"]), &json!(true)), "{saw}");
    // Its model said a word and would never have come to an end.
    assert_eq!((&saw["spoke"], &saw["cancelled"]), (&json!("Well"), &json!("interrupted")), "{saw}");
    assert_eq!(saw["waited"], messages.len() + 2, "{saw}");
    assert_eq!((&saw["found"], &saw["runs"]), (&json!([[true, "Deer"]]), &json!(3)), "{saw}");
    assert_eq!(saw["stateless"].as_array().unwrap().last().unwrap(), "end", "{saw}");
}

peers! {
    the_python_sdk_of_langgraph_runs_agents: "the LangGraph SDK for Python" => async { fits(&saw("client-langgraph-python").await) };
    the_javascript_sdk_of_langgraph_runs_agents: "the LangGraph SDK for JavaScript" => async {
        fits(&saw("client-langgraph-javascript").await);
    };
}
