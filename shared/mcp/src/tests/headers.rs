//! What the newest revision has in headers, and what any stream may say about the tools.

use pudu_app::changes::ListChanges;
use pudu_app::ports::CallFault;

use super::host::{Host, events, refused, result};
use super::*;

fn marked(mark: &str) -> Value {
    json!({"name": "deploy", "inputSchema": {"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": mark}, "count": {"type": "integer"},
    }}})
}

#[tokio::test]
async fn marked_arguments_are_headers_in_the_newest_revision_alone() {
    for era in [Era::Stateless, Era::Session] {
        let host = Host::of_era(era, |seen| async move { result(&seen.message, json!({})) }).await;
        let mut asked = tool("deploy", json!({"region": "ü", "count": 3}));
        asked.definition = Some(Arc::new(marked("Region")));
        client().call_tool(&http(&host.url), &caller(), asked, LONG).await.expect("a result");
        let call = host.seen().into_iter().find(|seen| seen.what() == "tools/call").expect("the call");
        let sent = call.headers.get("mcp-param-region").map(|value| value.to_str().unwrap());
        assert_eq!(sent, (era == Era::Stateless).then_some("=?base64?w7w=?="), "{era:?}");
        assert_eq!(call.message["params"]["arguments"], json!({"region": "ü", "count": 3}));
    }
}

#[tokio::test]
async fn a_tool_with_wrong_marks_is_left_out_in_the_newest_revision_and_hides_no_other() {
    for era in [Era::Stateless, Era::Session] {
        let host = Host::of_era(era, |seen| async move {
            result(
                &seen.message,
                json!({"tools": [marked("not a token"), marked("Region"), {"name": "plain"}]}),
            )
        })
        .await;
        let tools = client().list_tools(&http(&host.url), LONG).await.expect("tools").tools;
        let kept = if era == Era::Stateless { 2 } else { 3 };
        assert_eq!(tools.len(), kept, "{era:?}");
    }
}

/// Stale marks would otherwise be sent for as long as nobody asks for the list.
#[tokio::test]
async fn a_call_that_does_not_fit_its_definition_voids_the_list() {
    for (code, declared, voids) in
        [(-32020, true, true), (-32601, true, true), (-32602, true, false), (-32020, false, false)]
    {
        let host =
            Host::of_era(Era::Stateless, move |seen| async move { refused(&seen.message, code, "no") }).await;
        let changes = ListChanges::default();
        let (client, server) = (client().with_changes(changes.clone()), http(&host.url));
        let before = changes.mark(&server.digest);
        let mut asked = tool("deploy", json!({"region": "a"}));
        asked.definition = declared.then(|| Arc::new(marked("Region")));
        client.call_tool(&server, &caller(), asked, LONG).await.expect_err("a refusal");
        assert_eq!(changes.mark(&server.digest) != before, voids, "{code} {declared}");
    }
}

/// As many as a stranger likes: past some number a map of headers panics.
#[tokio::test]
async fn a_tool_with_too_many_marks_is_not_called_in_the_newest_revision_and_no_panic() {
    for era in [Era::Stateless, Era::Session] {
        let host = Host::of_era(era, |seen| async move { result(&seen.message, json!({})) }).await;
        let names = (0..40_000).map(|n| format!("p{n}"));
        let property = |name: &String| json!({"type": "string", "x-mcp-header": name});
        let properties: Map<String, Value> = names.map(|name| (name.clone(), property(&name))).collect();
        let arguments: Map<String, Value> =
            properties.keys().map(|name| (name.clone(), json!("x"))).collect();
        let mut asked = tool("deploy", Value::Object(arguments));
        let definition =
            json!({"name": "deploy", "inputSchema": {"type": "object", "properties": properties}});
        asked.definition = Some(Arc::new(definition));
        let called = client().call_tool(&http(&host.url), &caller(), asked, LONG).await;
        match called {
            Ok(_) => assert_eq!(era, Era::Session),
            Err(error) => {
                assert_eq!((era, error.fault), (Era::Stateless, CallFault::NotSent));
                assert!(error.message.contains("'x-mcp-header'"), "{error}");
                assert_eq!(host.count("tools/call"), 0);
            }
        }
    }
}

#[tokio::test]
async fn a_list_that_changed_is_reported_from_the_stream_of_a_call() {
    for era in [Era::Stateless, Era::Session] {
        let host = Host::of_era(era, |seen| async move {
            let change = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
            events(&[change, json!({"jsonrpc": "2.0", "id": seen.message["id"], "result": {}})])
        })
        .await;
        let changes = ListChanges::default();
        let (client, server) = (client().with_changes(changes.clone()), http(&host.url));
        let before = changes.mark(&server.digest);
        call(&client, &server, LONG).await.expect("a result");
        assert_ne!(changes.mark(&server.digest), before, "{era:?}");
    }
}
