//! Calls that other people's servers turn into tasks: FastMCP's background tasks (the extension of 2026-07-28), and the official
//! example server's (the core tasks of 2025-11-25).

use std::time::Duration;

use acceptance::{Peer, World};
use http::Method;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::transports::{knowing, stdio};

/// Longer than any task here takes, by the wall's clock: the peers have no other.
const LONGEST: Duration = Duration::from_secs(60);

/// Polls until the task has this status, which must come by polling alone. No poll may fail on the way.
async fn polled_until(world: &World, thread: &str, id: &str, status: &str) -> Value {
    let polling = async {
        loop {
            // A hint of the server is never longer than this.
            world.advance(60);
            world.tick_poller().await;
            let task = world.task(thread, id).await;
            assert_eq!(task["last_poll_error"], Value::Null, "{task}");
            if task["status"] == status {
                return task;
            }
            let over = ["completed", "failed", "cancelled"].iter().any(|end| task["status"] == *end);
            assert!(!over, "{task}");
        }
    };
    timeout(LONGEST, polling).await.expect("the task gets there")
}

async fn submitted(world: &World, thread: &str, tool: &str, arguments: &Value) -> String {
    let answer = world.invoke(thread, tool, arguments).await.expect(200);
    answer["task_id"].as_str().unwrap_or_else(|| panic!("no task: {answer}")).to_owned()
}

async fn becomes_task(world: &World, name: &str) -> Value {
    let listed = world.get("/api/tools").await;
    let tools = listed["tools"].as_array().unwrap();
    tools.iter().find(|tool| tool["name"] == name).unwrap()["becomes_task"].clone()
}

/// What a thread was told of each task, once all is delivered.
async fn told(world: &World, thread: &str) -> Vec<String> {
    world.tick_notifier().await;
    world.told(thread).await
}

async fn background_tasks_live_to_each_end(world: &World) {
    assert_eq!(becomes_task(world, "peer_research").await, "server_decides");
    for (thread, outcome, status) in [
        ("t1", "completed", "completed"),
        ("t2", "tool_error", "completed"),
        ("t3", "protocol_error", "failed"),
    ] {
        let arguments = json!({"topic": "deer", "seconds": 0.2, "outcome": outcome});
        let id = submitted(world, thread, "peer_research", &arguments).await;
        assert_eq!(world.task(thread, &id).await["task_name"], "peer_research");
        let task = polled_until(world, thread, &id, status).await;
        match outcome {
            // The whole result, as the call would have brought it.
            "completed" => assert_eq!(
                task["result"]["structuredContent"],
                json!({"topic": "deer", "text": "All about deer"}),
                "{task}"
            ),
            "tool_error" => {
                assert_eq!(task["result"]["isError"], true, "{task}");
                assert_eq!(task["result"]["content"][0]["text"], "Nothing is known about deer");
            }
            _ => assert_eq!(task["error"], "The library about deer burnt down"),
        }
        assert_eq!(told(world, thread).await, [status]);
    }
}

async fn a_call_that_is_answered_at_once_is_no_task(world: &World) {
    for (topic, is_error) in [("deer", false), ("nothing", true)] {
        let answered = world.invoke("t1", "peer_lookup", &json!({"topic": topic})).await.expect(200);
        assert_eq!(answered["isError"], is_error, "{answered}");
    }
    let listed = world.get("/api/threads/t1/mcp-tasks").await;
    assert!(listed.as_array().unwrap().is_empty(), "{listed}");
    assert!(told(world, "t1").await.is_empty());
    world.nothing_is_pending().await;
}

async fn a_background_task_is_cancelled(world: &World) {
    let arguments = json!({"topic": "deer", "seconds": 3600});
    let id = submitted(world, "t1", "peer_research", &arguments).await;
    polled_until(world, "t1", &id, "working").await;
    world.cancel("t1", &id).await;
    polled_until(world, "t1", &id, "cancelled").await;
    assert_eq!(told(world, "t1").await, ["cancelled"]);
    world.nothing_is_pending().await;
}

async fn a_question_is_answered(world: &World) {
    for (thread, answer, expected) in [
        ("t1", json!({"action": "accept", "content": {"year": 2026}}), json!(2026)),
        ("t2", json!({"action": "decline"}), Value::Null),
    ] {
        let id = submitted(world, thread, "peer_interview", &json!({"topic": "deer"})).await;
        let task = polled_until(world, thread, &id, "input_required").await;
        let asked = task["input_required"].as_object().unwrap();
        let (key, request) = asked.iter().next().unwrap();
        assert_eq!(request["params"]["message"], "Which year of deer?");
        let path = format!("/api/threads/{thread}/mcp-tasks/{id}/input");
        let give = async |answer: &Value| {
            let input = json!({"input": {key.as_str(): answer}});
            world.call(Method::POST, &path, Some(&input)).await
        };
        let wrong = json!({"action": "accept", "content": {"year": "soon"}});
        assert!(give(&wrong).await.refused(422).contains("year"));
        give(&answer).await.expect(200);
        give(&answer).await.refused(409);
        let task = polled_until(world, thread, &id, "completed").await;
        let action = &answer["action"];
        let result = json!({"topic": "deer", "action": action, "year": expected});
        assert_eq!(task["result"]["structuredContent"], result, "{task}");
        assert_eq!(told(world, thread).await.last().unwrap(), "completed");
    }
}

async fn core_tasks_live_in_their_threads_session(world: &World) {
    let tool = "peer_simulate-research-query";
    assert_eq!(becomes_task(world, tool).await, "always");
    let first = submitted(world, "t1", tool, &json!({"topic": "deer"})).await;
    let second = submitted(world, "t2", tool, &json!({"topic": "elk"})).await;
    polled_until(world, "t2", &second, "working").await;
    world.cancel("t2", &second).await;
    polled_until(world, "t2", &second, "cancelled").await;
    let task = polled_until(world, "t1", &first, "completed").await;
    let text = task["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("Research Report: deer"), "{text}");
    assert_eq!(
        (told(world, "t1").await, told(world, "t2").await),
        (vec!["completed".into()], vec!["cancelled".into()])
    );
    // A plain tool of the same server stays one, and says so.
    let path = "/api/threads/t1/tools/peer_echo";
    let call = |durable: bool| json!({"arguments": {"message": "hi"}, "durable": durable});
    world.call(Method::POST, path, Some(&call(false))).await.expect(200);
    let refused = world.call(Method::POST, path, Some(&call(true))).await.refused(422);
    assert!(refused.contains("peer_echo") && refused.contains("durable"), "{refused}");
    world.nothing_is_pending().await;
}

/// Measured: the official example server keeps tasks in the session, and a session of ours over HTTP ends with its call.
async fn core_tasks_that_die_with_their_session_are_refused_at_once(world: &World) {
    let refused =
        world.invoke("t1", "peer_simulate-research-query", &json!({"topic": "deer"})).await.refused(504);
    assert!(refused.contains("over stdio"), "{refused}");
    assert_eq!(told(world, "t1").await, ["failed"]);
}

async fn fastmcp() -> (Peer, World) {
    let peer = Peer::start(&["fastmcp-tasks"]).await;
    let world = knowing(json!({"type": "http", "url": peer.url()})).await;
    (peer, world)
}

peers! {
    fastmcp_tasks_live_to_each_end: "FastMCP with background tasks" => async {
        let (_peer, world) = fastmcp().await;
        background_tasks_live_to_each_end(&world).await;
    };
    fastmcp_answers_at_once: "FastMCP with background tasks, a plain tool" => async {
        let (_peer, world) = fastmcp().await;
        a_call_that_is_answered_at_once_is_no_task(&world).await;
    };
    fastmcp_cancels: "FastMCP with background tasks, cancelled" => async {
        let (_peer, world) = fastmcp().await;
        a_background_task_is_cancelled(&world).await;
    };
    fastmcp_asks: "FastMCP with background tasks, which ask" => async {
        let (_peer, world) = fastmcp().await;
        a_question_is_answered(&world).await;
    };
    core_tasks_over_stdio: "server-everything's tasks over stdio" => async {
        core_tasks_live_in_their_threads_session(&knowing(stdio(&["everything", "stdio"])).await).await;
    };
    core_tasks_over_streamable_http: "server-everything's tasks over Streamable HTTP" => async {
        let peer = Peer::start(&["everything", "streamableHttp"]).await;
        let world = knowing(json!({"type": "http", "url": peer.url()})).await;
        core_tasks_that_die_with_their_session_are_refused_at_once(&world).await;
    };
}
