//! What servers declare of their tools: it goes with each call, and results are held to it.

use std::sync::Arc;

use pudu_app::ports::{CallFault, Caller, SubmitError, TaskDriver};
use pudu_config::NoSecrets;
use pudu_mcp::OrdinaryTools;
use pudu_testkit::fixture;
use serde_json::{Map, Value, json};

use super::shop::{LIMIT, Says, Shop, server, tools, toolset, with};

async fn declaring(schema: Value) -> Shop {
    let shop = Shop::new(json!({"s": server(1)}), &[]).await;
    shop.says("s", Says::Tools(vec![json!({"name": "t", "outputSchema": schema})], None));
    shop.now().await;
    shop
}

fn schema() -> Value {
    json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}, "in": {"type": "object"}}})
}

#[tokio::test(start_paused = true)]
async fn a_call_carries_what_its_tool_declares() {
    let shop = declaring(schema()).await;
    shop.answers(json!({"structuredContent": {"n": 1}}));
    shop.call("s", "t").await.unwrap();
    shop.answers(json!({"content": []}));
    shop.call("s", "unknown").await.unwrap();
    let calls = shop.lists.calls.lock().unwrap();
    assert_eq!(calls[0].definition.as_ref().unwrap()["outputSchema"], schema());
    assert_eq!(calls[1].definition, None);
}

/// Names the tool, the place and the rule; never what was there.
#[tokio::test(start_paused = true)]
async fn structured_content_that_breaks_the_declared_schema_is_a_violation() {
    let shop = declaring(schema()).await;
    for (content, place) in [
        (json!({"n": "canary-17"}), "structuredContent/n breaks the rule 'type'"),
        (json!({"canary-17": 1}), "structuredContent breaks the rule 'required'"),
        (json!("canary-17"), "structuredContent breaks the rule 'type'"),
        (Value::Null, "structuredContent breaks the rule 'type'"),
    ] {
        shop.answers(json!({"content": [], "structuredContent": content}));
        let error = shop.call("s", "t").await.unwrap_err();
        assert_eq!(error.fault, CallFault::Violation);
        assert!(error.message.contains("'t'") && error.message.contains(place), "{error}");
        assert!(!error.message.contains("canary"), "{error}");
    }
    shop.answers(json!({"content": [{"type": "text", "text": "{\"n\": 1}"}]}));
    let error = shop.call("s", "t").await.unwrap_err();
    assert!(error.fault == CallFault::Violation && error.message.contains("there is no structuredContent"));
}

#[tokio::test(start_paused = true)]
async fn what_keeps_its_promise_or_made_none_passes_unchanged() {
    let shop = declaring(schema()).await;
    for result in [
        json!({"structuredContent": {"n": 1, "more": [1]}, "x-own": 1}),
        json!({"isError": true, "content": []}),
        json!({"isError": true, "structuredContent": {"n": "no"}}),
        json!({"resultType": "input_required", "inputRequests": {}}),
        json!({"resultType": "complete", "structuredContent": {"n": 1}}),
    ] {
        shop.answers(result.clone());
        assert_eq!(shop.call("s", "t").await, Ok(result));
    }
    // A schema that is none, or too much to check, is no promise that could be broken.
    for schema in [json!(7), json!({"type": "nothing"}), json!({"$ref": "http://127.0.0.1:1/x"}), Value::Null]
    {
        let shop = declaring(schema).await;
        let result = json!({"structuredContent": {"n": "any"}});
        shop.answers(result.clone());
        assert_eq!(shop.call("s", "t").await, Ok(result));
    }
    let shop = Shop::new(json!({"s": server(1)}), &[("s", Ok(vec!["t"]))]).await;
    shop.now().await;
    shop.answers(json!({"content": []}));
    assert!(shop.call("s", "t").await.is_ok());
}

/// A result that breaks its promise ends a task for good, so it is not condemned by a promise of yesterday.
#[tokio::test(start_paused = true)]
async fn a_result_is_held_to_what_the_tool_declares_today() {
    let shop = declaring(schema()).await;
    shop.says("s", Says::Tools(vec![json!({"name": "t", "outputSchema": {"type": "object"}})], None));
    shop.answers(json!({"structuredContent": {"n": "text"}}));
    shop.pass(20).await;
    assert!(shop.call("s", "t").await.is_ok());
    assert_eq!(shop.asked(), 2);
    assert!(shop.call("s", "t").await.is_ok());
    assert_eq!(shop.asked(), 2, "that is known now");
    // When the server cannot be asked, the result is not condemned, but it is not passed on either. Nor does it count as a
    // call that was not executed, however the question failed: it was.
    shop.answers(json!({"structuredContent": 7}));
    for says in [Says::Fails("it broke"), Says::Unreachable, Says::Hangs] {
        shop.says("s", says);
        shop.pass(20).await;
        let error = shop.call("s", "t").await.unwrap_err();
        assert_eq!(error.fault, CallFault::Broken, "{error}");
        assert!(
            error.message.contains("'t'") && error.message.contains("could not be asked for again"),
            "{error}"
        );
    }
}

/// What a server started can only be ended by its handle, and that stands in the result that breaks the promise. It does as
/// well when nobody can say whether the promise is broken.
#[tokio::test(start_paused = true)]
async fn a_submission_that_breaks_its_promise_can_be_undone_by_its_handle() {
    let shop = declaring(schema()).await;
    let driver = OrdinaryTools::new(Arc::new(shop.known.clone()), Arc::new(NoSecrets));
    let server = shop.server("s").await;
    let data = json!({"submit_tool": "t", "status_tool": "ask", "cancel_tool": "stop"});
    let submit = async || {
        let caller = Caller::background(fixture::thread("t"));
        driver.submit(&server, &caller, &data, Map::new(), LIMIT).await.unwrap_err()
    };
    shop.pass(20).await;
    for (says, content, expected) in [
        (None, json!({"task_id": "r1", "status": "running"}), Some("r1")),
        (None, json!({"task_id": ""}), None),
        (None, json!({"task_id": 7}), None),
        (None, json!("r1"), None),
        (Some(Says::Unreachable), json!({"task_id": "r1", "status": "running"}), Some("r1")),
    ] {
        if let Some(says) = says {
            shop.says("s", says);
            shop.pass(20).await;
        }
        shop.answers(json!({"content": [], "structuredContent": content}));
        match submit().await {
            SubmitError::Violation { handle, message } => {
                assert_eq!(handle.as_deref(), expected);
                assert!(message.contains("output schema"), "{message}");
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A poll costs its server nothing but the poll.
#[tokio::test(start_paused = true)]
async fn a_worker_never_asks_for_a_list() {
    let shop = Shop::new(json!({"s": server(1)}), &[("s", Ok(vec!["t"]))]).await;
    shop.answers(json!({"content": []}));
    for _ in 0..3 {
        shop.call("s", "t").await.unwrap();
        shop.pass(700).await;
    }
    assert_eq!(shop.asked(), 0);
    shop.cold().now().await;
    shop.call("s", "t").await.unwrap();
    assert!(shop.lists.calls.lock().unwrap()[3].definition.is_some(), "what others learnt is in the table");
    assert_eq!(shop.asked(), 1);
}

/// A worker never asks by itself, so nothing else would heal its calls while no front door is used.
#[tokio::test(start_paused = true)]
async fn a_call_that_does_not_fit_a_stale_definition_renews_it_for_everybody() {
    let shop = declaring(schema()).await;
    let worker = shop.cold();
    worker.answers(json!({"content": [], "structuredContent": {"n": 1}}));
    worker.call("s", "t").await.unwrap();
    let today = json!({"name": "t", "outputSchema": schema(), "x-own": "today"});
    shop.says("s", Says::Tools(vec![today.clone()], None));
    shop.pass(20).await;
    *shop.lists.refuses.lock().unwrap() = Some(worker.changes.clone());
    for _ in 0..3 {
        let error = worker.call("s", "t").await.unwrap_err();
        assert_eq!(error.fault, CallFault::Refused, "{error}");
    }
    assert_eq!(shop.asked(), 2, "a server that refuses everything is not asked with each call");
    *shop.lists.refuses.lock().unwrap() = None;
    worker.call("s", "t").await.unwrap();
    shop.cold().call("s", "t").await.unwrap();
    let calls = shop.lists.calls.lock().unwrap();
    let last: Vec<_> = calls[calls.len() - 2..].iter().map(|call| call.definition.as_deref()).collect();
    assert_eq!(last, [Some(&today), Some(&today)]);
}

#[tokio::test(start_paused = true)]
async fn toolsets_of_a_server_that_cannot_be_polled_here_are_off_with_the_reason() {
    let set = json!({"task_toolsets": [toolset("report", "cancel")]});
    let config = json!({"s": with(server(1), &set), "other": with(server(2), &set)});
    let shop = Shop::new(config, &[]).await;
    for name in ["s", "other"] {
        shop.says(name, tools(&["submit", "status", "cancel", "search"]));
    }
    *shop.lists.obstacle.lock().unwrap() = Some(("s", "its tasks can be polled on one machine only"));
    let catalogue = shop.now().await;
    assert_eq!(catalogue.tools.keys().collect::<Vec<_>>(), ["other_search", "other_submit", "s_search"]);
    assert_eq!(
        catalogue.servers["s"].toolset_problems,
        ["toolset 'report' is off: its tasks can be polled on one machine only"]
    );
    assert!(catalogue.servers["other"].toolset_problems.is_empty());
}
