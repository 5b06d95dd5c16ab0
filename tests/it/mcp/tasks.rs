//! Tasks of this endpoint, from their call to their end, for clients with and without them.

use acceptance::World;
use serde_json::{Value, json};

use super::{Client, OLDER, TASKS};

fn with_tasks(world: &World) -> Client<'_> {
    Client { capabilities: json!({"extensions": {TASKS: {}}, "elicitation": {}}), ..Client::newest(world) }
}

async fn begun(client: &Client<'_>, arguments: Value) -> Value {
    let created = client.call("example_submit_report", arguments).await;
    assert_eq!(created["resultType"], "task", "{created}");
    created
}

async fn state(client: &Client<'_>, id: &Value) -> Value {
    let task = client.result("tasks/get", json!({ "taskId": id })).await;
    assert_eq!((&task["resultType"], &task["taskId"]), (&json!("complete"), id), "{task}");
    task
}

#[tokio::test]
async fn a_submission_is_a_task_of_this_endpoint_until_its_result_is_inlined() {
    let world = World::new().await;
    let client = with_tasks(&world);
    let found = client.result("server/discover", json!({})).await;
    assert!(found["capabilities"]["extensions"][TASKS].is_object(), "{found}");
    let created = begun(&client, json!({"title": "Deer", "duration_seconds": 8})).await;
    let id = &created["taskId"];
    let (thread, task) = id.as_str().unwrap().split_once('~').unwrap();
    assert_eq!((&created["status"], &created["ttlMs"]), (&json!("working"), &Value::Null));
    assert_eq!(created["createdAt"], "2026-11-01T00:00:00Z");
    for field in ["result", "error", "inputRequests", "task", "content"] {
        assert!(created.get(field).is_none(), "{created}");
    }
    assert!(thread.starts_with("mcp-"), "{thread}");
    assert_eq!(world.task(thread, task).await["status"], "submitted", "the same task by the other door");
    let now = state(&client, id).await;
    assert_eq!(now["status"], "working");
    assert_eq!(now["pollIntervalMs"], created["pollIntervalMs"]);
    world.advance(10);
    world.tick_poller().await;
    let ended = state(&client, id).await;
    assert_eq!(ended["status"], "completed");
    assert!(
        ended["result"]["content"][0]["text"].is_string()
            && ended["result"]["isError"] == false
            && ended["result"]["resultType"] == "complete",
        "{ended}"
    );
    assert_eq!(ended["ttlMs"], json!(30 * 24 * 3_600_000_u64 + 10_000), "thirty days from its end");
    // Another instance says the same.
    let second = world.second_house().gateway();
    let (params, headers) = client.dressed("tasks/get", &json!({ "taskId": id }));
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tasks/get", "params": params}).to_string();
    assert_eq!(super::post_to(&second, &body, &headers).await.expect(200)["result"], ended);
}

#[tokio::test]
async fn a_task_that_fails_tells_an_error_and_no_result() {
    let world = World::new().await;
    let client = with_tasks(&world);
    let failing = json!({"title": "Deer", "duration_seconds": 1, "fail": true, "fail_message": "no deer"});
    let created = begun(&client, failing).await;
    world.advance(5);
    world.tick_poller().await;
    let failed = state(&client, &created["taskId"]).await;
    assert_eq!((&failed["status"], &failed["error"]["message"]), (&json!("failed"), &json!("no deer")));
    assert!(failed["error"]["code"].is_i64() && failed.get("result").is_none(), "{failed}");
}

#[tokio::test]
async fn a_cancel_is_heard_at_once_and_again_after_the_end() {
    let world = World::new().await;
    let client = with_tasks(&world);
    let created = begun(&client, json!({"title": "Deer", "duration_seconds": 600})).await;
    let id = &created["taskId"];
    for _ in 0..2 {
        assert_eq!(
            client.result("tasks/cancel", json!({ "taskId": id })).await,
            json!({"resultType": "complete"})
        );
        world.tick_poller().await;
    }
    assert_eq!(state(&client, id).await["status"], "cancelled");
    assert!(world.example.inside().reports()[0].cancelled_at.is_some());
    assert_eq!(
        client.result("tasks/cancel", json!({ "taskId": id })).await,
        json!({"resultType": "complete"})
    );
}

#[tokio::test]
async fn a_client_that_did_not_declare_tasks_asks_for_none() {
    let world = World::new().await;
    let created = begun(&with_tasks(&world), json!({"title": "Deer", "duration_seconds": 600})).await;
    let without = Client::newest(&world);
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        let answer = without.ask(method, json!({"taskId": created["taskId"], "inputResponses": {}})).await;
        let said = answer.expect(400);
        assert_eq!(said["error"]["code"], -32021, "{said}");
        assert!(said["error"]["data"]["requiredCapabilities"]["extensions"][TASKS].is_object(), "{said}");
    }
}

#[tokio::test]
async fn a_task_of_somebody_else_is_as_unknown_as_one_that_is_nowhere() {
    let world = World::new().await;
    let client = with_tasks(&world);
    let created = begun(&client, json!({"title": "Deer", "duration_seconds": 600})).await;
    let id = created["taskId"].as_str().unwrap();
    let (thread, task) = id.split_once('~').unwrap();
    let mut words = Vec::new();
    for unknown in [
        format!("other~{task}"),
        format!("{thread}~mcp-task-{}", "0".repeat(32)),
        "x".into(),
        format!("a/b~{task}"),
    ] {
        let refused = client.refused(200, "tasks/get", json!({ "taskId": unknown })).await;
        assert_eq!(refused.0, -32602);
        words.push(refused.1);
    }
    words.dedup();
    assert_eq!(words.len(), 1, "the same words");
}

#[tokio::test]
async fn a_client_without_tasks_follows_them_by_tools() {
    let world = World::new().await;
    for client in [Client::older(&world, OLDER[1]), Client::newest(&world)] {
        let list = client.result("tools/list", json!({})).await;
        let names: Vec<&str> =
            list["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
        let own = ["pudu_tasks_answer", "pudu_tasks_cancel", "pudu_tasks_get", "pudu_tasks_list"];
        assert_eq!(names, [&["example_echo", "example_submit_report"], own.as_slice()].concat());
        let told =
            client.call("example_submit_report", json!({"title": "Deer", "duration_seconds": 4})).await;
        let id = told["structuredContent"]["task_id"].clone();
        let text = told["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(id.as_str().unwrap()) && text.contains("pudu_tasks_get"), "{text}");
        world.advance(5);
        world.tick_poller().await;
        let got = client.call("pudu_tasks_get", json!({ "task_id": id })).await;
        assert_eq!(got["structuredContent"]["status"], "completed");
        assert!(got["structuredContent"]["result"]["content"].is_array(), "{got}");
        let listed = client.call("pudu_tasks_list", json!({})).await;
        assert_eq!(listed["structuredContent"]["tasks"][0]["task_id"], id);
        let cancelled = client.call("pudu_tasks_cancel", json!({ "task_id": id })).await;
        assert_eq!(cancelled["structuredContent"]["status"], "completed", "an end stays what it is");
        let unknown = client.call("pudu_tasks_get", json!({"task_id": "x"})).await;
        assert_eq!(unknown["isError"], true);
    }
    let names = with_tasks(&world).result("tools/list", json!({})).await.to_string();
    assert!(!names.contains("pudu_tasks"), "who has tasks needs no tools for them");
}

#[tokio::test]
async fn a_question_is_a_form_and_its_answer_lets_the_task_go_on() {
    let world = World::new().await;
    let client = with_tasks(&world);
    let asking =
        json!({"title": "Deer", "duration_seconds": 4, "ask": "Which year?", "answer_after_seconds": 3_000});
    let created = begun(&client, asking).await;
    let id = &created["taskId"];
    world.advance(5);
    world.tick_poller().await;
    let asked = state(&client, id).await;
    let request = &asked["inputRequests"]["input"];
    assert_eq!(
        (&asked["status"], &request["method"]),
        (&json!("input_required"), &json!("elicitation/create"))
    );
    assert_eq!(request["params"]["message"], "Which year?");
    assert_eq!(request["params"]["requestedSchema"]["required"], json!(["answer"]));
    let update = async |responses: Value| {
        client.ask("tasks/update", json!({"taskId": id, "inputResponses": responses})).await
    };
    let heard = json!({"resultType": "complete"});
    assert_eq!(
        update(json!({"other": {"action": "accept"}})).await.expect(200)["result"],
        heard,
        "passed over"
    );
    assert_eq!(update(json!({"input": {"action": "decline"}})).await.expect(200)["error"]["code"], -32602);
    assert_eq!(state(&client, id).await["status"], "input_required");
    let answer = json!({"input": {"action": "accept", "content": {"answer": "deer of 2026"}}});
    assert_eq!(update(answer.clone()).await.expect(200)["result"], heard);
    let answered = state(&client, id).await;
    assert_eq!((&answered["status"], answered.get("inputRequests")), (&json!("working"), None), "{answered}");
    assert_eq!(update(answer).await.expect(200)["result"], heard, "there is nothing left to answer");
    world.tick_poller().await;
    assert_eq!(state(&client, id).await["status"], "working");
    let answer = world.example.inside().reports()[0].answer.clone();
    assert_eq!(answer.map(|answer| answer.text).as_deref(), Some("deer of 2026"));
}
