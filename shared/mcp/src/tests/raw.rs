//! Results and definitions come through unchanged, in both eras, as JSON and as events.

use super::host::{Host, events, result};
use super::*;

/// Everything that the SDK's typed model would drop or refuse.
fn strange() -> Value {
    json!({
        "content": [
            {"type": "hologram", "data": {"deep": [1, 2.5, null]}},
            {"type": "text", "text": "t", "unknown": true, "annotations": {"x": 1}},
        ],
        "structuredContent": {"z": 1, "a": [], "big": u64::MAX},
        "isError": false,
        "resultType": "complete",
        "unknownTop": {"kept": "yes"},
        "_meta": {"vendor/x": 1},
    })
}

#[tokio::test]
async fn unknown_fields_and_content_kinds_of_results_are_kept() {
    for era in [Era::Stateless, Era::Session] {
        for stream in [false, true] {
            let host = Host::of_era(era, move |seen| async move {
                if !stream {
                    return result(&seen.message, strange());
                }
                let note = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}});
                events(&[note, json!({"jsonrpc": "2.0", "id": seen.message["id"], "result": strange()})])
            })
            .await;
            let got = call(&client(), &http(&host.url), LONG).await.expect("a result");
            assert_eq!(got.to_string(), strange().to_string(), "{era:?} {stream}");
        }
    }
}

#[tokio::test]
async fn results_of_every_shape_come_through_both_eras() {
    for shape in [json!({}), json!({"tools": []}), json!({"task": {"taskId": "1"}}), json!({"pudu/raw": 1})] {
        for era in [Era::Stateless, Era::Session] {
            let answer = shape.clone();
            let host = Host::of_era(era, move |seen| {
                let answer = answer.clone();
                async move { events(&[json!({"jsonrpc": "2.0", "id": seen.message["id"], "result": answer})]) }
            })
            .await;
            assert_eq!(call(&client(), &http(&host.url), LONG).await.as_ref(), Ok(&shape), "{era:?}");
        }
    }
}

#[tokio::test]
async fn unknown_fields_of_tool_definitions_are_kept() {
    let definition =
        json!({"name": "t", "inputSchema": {"type": "object", "x-vendor": 1}, "x-new": [true], "icons": 7});
    for era in [Era::Stateless, Era::Session] {
        let answer = definition.clone();
        let host = Host::of_era(era, move |seen| {
            let answer = answer.clone();
            async move { result(&seen.message, json!({"tools": [answer], "x": 1})) }
        })
        .await;
        let tools = client().list_tools(&http(&host.url), LONG).await.expect("tools").tools;
        assert_eq!(tools[0].definition.to_string(), definition.to_string());
    }
}
