//! The main job against servers that nobody here wrote the wire of, in every protocol revision and over every transport.

/// Tests that need something of somebody else's, and say so where it is not there.
macro_rules! peers {
    ($($name:ident: $what:literal => $body:expr;)+) => {
        $(#[tokio::test]
        async fn $name() {
            if !acceptance::Peer::wanted() {
                return acceptance::skipped($what, $crate::peers::HOW);
            }
            $body.await;
        })+
    };
}

mod agents;
mod clients;
mod oauth;
mod tasks;
mod tokens;
mod transports;

use acceptance::{Peer, World, skipped};
use serde_json::{Value, json};

const HOW: &str = "run .ci/setup-peers, set PUDU_TEST_PEERS=1, run again";

/// Ticks until a report of a twentieth of a second must have ended; each makes a real call.
const MOST_TICKS: usize = 2000;

fn toolset() -> Value {
    json!([{
        "name": "report", "submit_tool": "submit_report", "status_tool": "get_report_status", "cancel_tool": "cancel_report",
    }])
}

async fn world_with(peer: &Peer, task_toolsets: Value) -> World {
    let world = World::without_servers().await;
    let entry = json!({"type": "http", "url": peer.url(), "task_toolsets": task_toolsets});
    world.put_config(&json!({ "peer": entry })).await.expect(200);
    world
}

/// Submits, polls to the end and delivers; returns the task and what the thread was told.
async fn lived(world: &World, thread: &str, arguments: &Value) -> (Value, Value) {
    let submitted = world.invoke(thread, "peer_submit_report", arguments).await.expect(200);
    let id = submitted["task_id"].as_str().unwrap().to_owned();
    for _ in 0..MOST_TICKS {
        // A hint of the server is never longer than this.
        world.advance(60);
        world.tick_poller().await;
        let task = world.task(thread, &id).await;
        assert_eq!(task["last_poll_error"], Value::Null);
        if ["completed", "failed", "cancelled"].iter().any(|end| task["status"] == *end) {
            world.tick_notifier().await;
            return (task, world.get(&format!("/api/threads/{thread}/events")).await);
        }
    }
    panic!("task {id} did not end");
}

async fn the_whole_story_with(revision: &str) {
    let peer = Peer::start(&["fastmcp", revision]).await;
    let world = world_with(&peer, toolset()).await;

    let listed = world.get("/api/tools").await;
    let names: Vec<&str> =
        listed["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["peer_echo", "peer_submit_report", "peer_temperature", "peer_whoami"], "{listed}");
    let echoed = world.invoke("t1", "peer_echo", &json!({"text": "größer"})).await.expect(200);
    assert_eq!(echoed["structuredContent"], json!({"text": "größer", "protocol_revision": revision}));

    let (task, told) = lived(&world, "t1", &json!({"title": "Deer", "seconds": 0.05})).await;
    assert_eq!((&task["status"], &task["result"]["title"]), (&json!("completed"), &json!("Deer")));
    assert_eq!(told.as_array().unwrap().len(), 1);
    assert_eq!(told[0]["event"]["result"]["text"], "All about Deer");

    let (task, told) = lived(&world, "t2", &json!({"title": "Elk", "seconds": 0, "outcome": "failed"})).await;
    assert_eq!((&task["status"], &told[0]["event"]["status"]), (&json!("failed"), &json!("failed")));
    assert!(task["error"].as_str().unwrap().contains("Elk"), "{task}");

    let submitted =
        world.invoke("t3", "peer_submit_report", &json!({"title": "Moose", "seconds": 3600})).await;
    let id = submitted.expect(200)["task_id"].as_str().unwrap().to_owned();
    world.cancel("t3", &id).await;
    world.tick_poller().await;
    world.tick_notifier().await;
    assert_eq!(world.told("t3").await, ["cancelled"]);
    world.nothing_is_pending().await;
}

macro_rules! revisions {
    ($($name:ident $revision:literal),+ $(,)?) => {
        $(#[tokio::test]
        async fn $name() {
            if !Peer::wanted() {
                return skipped(concat!("FastMCP in revision ", $revision), HOW);
            }
            the_whole_story_with($revision).await;
        })+
    };
}

revisions! {
    fastmcp_in_2024_11_05 "2024-11-05",
    fastmcp_in_2025_03_26 "2025-03-26",
    fastmcp_in_2025_06_18 "2025-06-18",
    fastmcp_in_2025_11_25 "2025-11-25",
    fastmcp_in_2026_07_28 "2026-07-28",
}

#[tokio::test]
async fn a_server_that_speaks_every_revision_is_spoken_to_in_the_newest() {
    if !Peer::wanted() {
        return skipped("FastMCP in all revisions", HOW);
    }
    let peer = Peer::start(&["fastmcp"]).await;
    let world = world_with(&peer, toolset()).await;
    let echoed = world.invoke("t1", "peer_echo", &json!({"text": "x"})).await.expect(200);
    assert_eq!(echoed["structuredContent"]["protocol_revision"], "2026-07-28");
}
