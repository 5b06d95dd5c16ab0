//! How servers stand, by what is known; and the connection test.

use tokio::net::TcpListener;

use super::*;

const STANDING: &str = "/api/mcp/servers";
const CANARY: &str = "canary-standing-7f3a9c";

async fn probe(world: &World, name: &str) -> Value {
    world.call(Method::POST, &format!("{STANDING}/{name}/probe"), None).await.expect(200)
}

fn row<'v>(rows: &'v Value, name: &str) -> &'v Value {
    rows.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap()
}

/// One server that answers, one where nobody listens, one that never says anything, and one that is off.
async fn world(listener: &TcpListener) -> World {
    let world = World::without_servers().await;
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let dead = format!("http://u:{CANARY}@{}/mcp?token={CANARY}", gone.local_addr().unwrap());
    drop(gone);
    let mute = format!("http://{}/mcp", listener.local_addr().unwrap());
    let secret = json!({"Authorization": format!("Bearer {CANARY}")});
    let set = |cancel: &str| json!([{"name": "report", "submit_tool": "submit_report", "status_tool": "get_report_status", "cancel_tool": cancel}]);
    world
        .import_config(&json!({
            "live": {"type": "http", "url": world.example.url(), "headers": secret, "task_toolsets": set("no_such_tool")},
            "off": {"type": "http", "url": world.example.url(), "enabled": false},
            "dead": {"type": "http", "url": dead, "headers": secret},
            "mute": {"type": "http", "url": mute, "session_init_timeout": 0.3},
            "odd": {"type": "websocket"},
        }))
        .await;
    world
}

#[tokio::test]
async fn servers_stand_as_is_known_and_none_is_asked_for_that() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let world = world(&listener).await;
    let rows = world.get(STANDING).await;
    let told: Vec<_> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["name"].as_str().unwrap(), row["status"].as_str().unwrap(), &row["tools"]))
        .collect();
    let none = &Value::Null;
    assert_eq!(
        told,
        [
            ("dead", "not_asked", none),
            ("live", "not_asked", none),
            ("mute", "not_asked", none),
            ("odd", "not_asked", none),
            ("off", "disabled", none)
        ]
    );
    assert_eq!(world.get(STANDING).await, rows, "looking changes nothing");

    let rows = world.get(&format!("{STANDING}?refresh=true")).await;
    let live = row(&rows, "live");
    assert_eq!(
        (&live["status"], &live["era"], &live["protocol"]),
        (&json!("ok"), &json!("stateless"), &json!("2026-07-28"))
    );
    assert!(live["tools"].as_u64().unwrap() >= 1 && live["asked_at"].is_string(), "{live}");
    assert!(live["toolset_problems"][0].as_str().unwrap().contains("no_such_tool"), "{live}");
    assert_eq!((&live["type"], &live["enabled"], &live["last_error"]), (&json!("http"), &json!(true), none));
    let (dead, mute) = (row(&rows, "dead"), row(&rows, "mute"));
    assert_eq!((&dead["status"], &mute["status"]), (&json!("error"), &json!("timeout")), "{rows}");
    assert!(
        dead["last_error"].is_string() && dead["asked_at"].is_string() && dead["tools"].is_null(),
        "{dead}"
    );
    assert_eq!(
        (&row(&rows, "odd")["status"], &row(&rows, "off")["status"]),
        (&json!("error"), &json!("disabled"))
    );
    assert!(!rows.to_string().contains(CANARY), "{rows}");
    // It is known from now on, also to a process that never asked.
    let other = world.second_house();
    let answer = send(&other.gateway(), request(Method::GET, STANDING, None)).await.expect(200);
    assert_eq!(
        (&row(&answer, "live")["status"], &row(&answer, "live")["tools"]),
        (&json!("ok"), &live["tools"])
    );
    assert_eq!(
        (&row(&answer, "live")["era"], &row(&answer, "dead")["status"]),
        (&json!("stateless"), &json!("not_asked"))
    );
    world.call(Method::GET, &format!("{STANDING}?refresh=perhaps"), None).await.refused(422);
}

#[tokio::test]
async fn a_connection_test_asks_one_server_now_and_says_what_it_found() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut world = world(&listener).await;
    let live = probe(&world, "live").await;
    assert_eq!(
        (&live["ok"], &live["era"], &live["error"]),
        (&json!(true), &json!("stateless"), &Value::Null),
        "{live}"
    );
    let tools: Vec<_> = live["tools"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(tools.contains(&"echo") && !tools.contains(&"submit_report"), "{tools:?}");
    assert!(live["toolset_problems"][0].as_str().unwrap().contains("no_such_tool"), "{live}");
    assert!(live["latency_ms"].is_u64() && live["refused_tools"] == json!([]), "{live}");
    assert_eq!(row(&world.get(STANDING).await, "live")["status"], "ok", "what it found is known");

    let off = probe(&world, "off").await;
    assert_eq!((&off["ok"], &off["enabled"]), (&json!(true), &json!(false)), "before it is switched on");
    let rows = world.rows().await;
    assert_eq!(
        rows.keys().iter().filter(|(pk, _)| pk.starts_with("catalog#")).count(),
        1,
        "nothing is kept of one that is off"
    );

    let (dead, mute) = (probe(&world, "dead").await, probe(&world, "mute").await);
    for (failed, word) in [(&dead, "'dead'"), (&mute, "within")] {
        assert_eq!((&failed["ok"], &failed["tools"]), (&json!(false), &json!([])), "{failed}");
        assert!(failed["error"].as_str().is_some_and(|error| !error.is_empty()), "{failed} {word}");
        assert!(!failed.to_string().contains(CANARY), "{failed}");
    }
    let unknown = world.call(Method::POST, &format!("{STANDING}/nobody/probe"), None).await.refused(404);
    assert!(unknown.contains("no such server"), "{unknown}");

    // Afresh, whatever is known.
    world.example.stop().await;
    let gone = probe(&world, "live").await;
    assert_eq!(
        (&gone["ok"], &row(&world.get(STANDING).await, "live")["status"]),
        (&json!(false), &json!("error"))
    );
    world.example.start_again().await;
    assert_eq!(probe(&world, "live").await["ok"], true);
    assert_eq!(row(&world.get(STANDING).await, "live")["status"], "ok");
}

/// What its operator has switched off does not run because an administrator of the API tests it.
#[tokio::test]
async fn a_test_starts_nothing_that_the_api_could_not_switch_on() {
    let world = World::without_servers().await;
    let mark = world.config_file().with_file_name("started");
    let entry = json!({"command": "/bin/sh", "args": ["-c", format!("touch {}", mark.display())]});
    let off = json!({"enabled": false, "command": entry["command"], "args": entry["args"]});
    world.import_config(&json!({"on": entry, "off": off})).await;
    let told = probe(&world, "off").await;
    assert!(told["error"].as_str().unwrap().contains("single executable name"), "{told}");
    assert!(!mark.exists());
    // Its operator lets that one run, so any call may start it.
    probe(&world, "on").await;
    assert!(mark.exists());
}
