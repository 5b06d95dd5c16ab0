//! Secrets planted at every sensitive place of a config are never seen again: in no answer, no row, no log line.

use acceptance::{Answer, Logs, Rows, World};
use http::Method;
use serde_json::{Value, json};

use super::dead_url;

/// A config with a secret at each place, and the secrets.
struct Planted {
    servers: Value,
    secrets: Vec<String>,
}

fn planted(live: &str, dead: &str) -> Planted {
    let mut secrets = Vec::new();
    let mut secret = |place: &str| {
        // Unique in this process: the log that is searched is shared.
        let text = format!("canary-{place}-7f3a9c");
        secrets.push(text.clone());
        text
    };
    let with = |url: &str, user: String, parameter: String| {
        format!("{}?access_token={parameter}", url.replace("http://", &format!("http://someone:{user}@")))
    };
    let toolset = json!({
        "name": "report", "submit_tool": "submit_report", "status_tool": "get_report_status", "cancel_tool": "cancel_report",
    });
    let servers = json!({
        "live": {
            "type": "http", "url": with(live, secret("live-user"), secret("live-parameter")),
            "headers": {"Authorization": format!("Bearer {}", secret("live-header")), "X-Extra": secret("live-extra")},
            "env": {"API_KEY": secret("live-env")},
            "api_token": secret("live-sensitive-extra"),
            "task_toolsets": [toolset],
        },
        "dead": {
            "type": "http", "url": with(dead, secret("dead-user"), secret("dead-parameter")),
            "headers": {"Authorization": secret("dead-header")},
            "env": {"TOKEN": secret("dead-env")},
        },
        "off": {
            "type": "http", "url": with(dead, secret("off-user"), secret("off-parameter")), "enabled": false,
            "oauth": {
                "token_url": "https://idp.example/token", "client_id": "me",
                "client_secret": secret("oauth-secret"), "refresh_token": secret("oauth-refresh"), "private_key": secret("oauth-key"),
            },
            "user_auth": {"users": {"someone": secret("user-auth")}},
        },
    });
    Planted { servers, secrets }
}

#[tokio::test]
async fn no_secret_of_a_config_is_ever_seen_again() {
    let logs = Logs::capture();
    let mut world = World::without_servers().await;
    let Planted { servers, secrets } = planted(&world.example.url(), &dead_url().await);
    let mut answers: Vec<Answer> = vec![world.put_config(&servers).await];
    assert_eq!(answers[0].status, 200, "{}", answers[0].text);

    let get = async |world: &World, path: &str| world.call(Method::GET, path, None).await;
    answers.push(get(&world, "/api/mcp/config").await);
    answers.push(get(&world, "/api/tools").await);
    answers.push(get(&world, "/healthz").await);
    let echoed = world.invoke("t1", "live_echo", &json!({"text": "x"})).await;
    echoed.expect(200);
    answers.push(echoed);
    answers.push(world.invoke("t1", "dead_tool", &json!({})).await);
    answers.push(world.invoke("t1", "off_tool", &json!({})).await);
    let submitted =
        world.invoke("t1", "live_submit_report", &json!({"title": "Deer", "duration_seconds": 30})).await;
    let id = submitted.expect(200)["task_id"].as_str().unwrap().to_owned();
    answers.push(submitted);
    // A masked config sent back, and one that is refused for a reason beside a secret.
    let shown = answers[1].json();
    answers.push(world.call(Method::PUT, "/api/mcp/config", Some(&shown)).await);
    let mut broken = servers.clone();
    broken["live"]["headers"]["Illegal\nName"] = json!("canary-never-stored-7f3a9c");
    broken["off"]["timeout"] = json!("canary-never-stored-7f3a9c");
    answers.push(world.put_config(&broken).await);
    assert!(answers.last().unwrap().status.is_client_error());

    // The server fails, so that errors with its URL are made, stored and shown.
    world.example.stop().await;
    for pause in [5, 60, 120] {
        world.advance(pause);
        world.tick_poller().await;
    }
    world.tick_notifier().await;
    answers.push(get(&world, &format!("/api/threads/t1/mcp-tasks/{id}")).await);
    answers.push(get(&world, "/api/threads/t1/mcp-tasks").await);
    answers.push(get(&world, "/api/threads/t1/events").await);
    answers.push(world.invoke("t1", "live_submit_report", &json!({"title": "Deer"})).await);
    answers.push(world.invoke("t1", "live_echo", &json!({"text": "x"})).await);

    let secrets: Vec<&str> =
        secrets.iter().map(String::as_str).chain(["canary-never-stored-7f3a9c"]).collect();
    for answer in &answers {
        let text = format!("{:?} {}", answer.headers, answer.text);
        unseen(&secrets, "an answer", &text);
    }
    let rows: Rows = world.rows().await;
    assert!(
        rows.count("rev#") >= 1 && rows.text().contains("sealed:v1:"),
        "the scan sees inside the revisions"
    );
    unseen(&secrets, "the table", &rows.text());
    let log = logs.text();
    assert!(log.contains("the config was changed"), "the log is captured");
    unseen(&secrets, "the log", &log);
    // And yet they are all there.
    let stored = world.house.wiring.configs.current().await.unwrap().document.expose_raw().to_string();
    for secret in secrets.iter().filter(|secret| !secret.contains("never-stored")) {
        assert!(stored.contains(secret), "{secret} was lost");
    }
}

#[track_caller]
fn unseen(secrets: &[&str], place: &str, text: &str) {
    for secret in secrets {
        assert!(!text.contains(secret), "{secret} is in {place}: {text}");
    }
}

#[test]
fn the_search_finds_a_canary() {
    let found = std::panic::catch_unwind(|| unseen(&["canary-x"], "a text", "… canary-x …"));
    assert!(found.is_err());
}
