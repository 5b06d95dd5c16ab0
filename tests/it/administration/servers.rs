//! One server of the config: made, replaced, switched and taken away, and nothing beside it touched.

use pudu_app::ports::Outcome;

use super::*;

/// A config with everything that a change of one server must not lose.
fn config() -> Value {
    json!({
        "own": {"key": [1, 2.5, null]},
        "mcpServers": {
            "good": {"transport": "http", "url": "https://h/mcp", "headers": {"A": "secret-a", "B": "$TOK"}, "enabled": false, "x": {"apiKey": "secret-b"}},
            "sh": {"command": "/bin/sh", "args": ["-c", "x", "--token", "secret-c"], "env": {"K": "secret-d"}},
        },
        "skills": {"s": {"enabled": false, "more": 1}},
    })
}

#[tokio::test]
async fn a_server_is_made_replaced_and_taken_away() {
    let world = with_config(config()).await;
    let body = json!({"mcp_servers": {"new": http("https://n/mcp")}});
    let made = world.call(Method::POST, SERVERS, Some(&body)).await;
    assert_eq!(made.expect(200)["mcp_servers"]["new"]["url"], "https://n/mcp");
    assert_eq!(made.json(), world.get(CONFIG).await);
    let again = world.call(Method::POST, SERVERS, Some(&body)).await.refused(409);
    assert!(again.contains("'new'"), "{again}");

    let entry = json!({"url": "https://h/mcp", "headers": {"A": "***", "C": "secret-e"}, "description": "d"});
    let replaced = world.call(Method::PUT, &format!("{SERVERS}/good"), Some(&entry)).await;
    assert_eq!(replaced.expect(200)["mcp_servers"]["good"]["headers"], json!({"A": "***", "C": "***"}));
    let mut expected = config();
    expected["mcpServers"]["good"]["headers"] = json!({"A": "secret-a", "C": "secret-e"});
    expected["mcpServers"]["good"]["description"] = json!("d");
    expected["mcpServers"]["new"] = http("https://n/mcp");
    assert_eq!(stored(&world).await, expected);

    world.call(Method::DELETE, &format!("{SERVERS}/good"), None).await.expect(200);
    expected["mcpServers"].as_object_mut().unwrap().shift_remove("good");
    assert_eq!(stored(&world).await.to_string(), expected.to_string(), "also the order of what is left");
    for (method, body) in [(Method::DELETE, None), (Method::PUT, Some(&entry))] {
        let detail = world.call(method, &format!("{SERVERS}/good"), body).await.refused(404);
        assert!(detail.contains("'good'"), "{detail}");
    }
}

#[tokio::test]
async fn vector_103_a_good_server_is_switched_while_a_sibling_would_not_be_taken() {
    let world = with_config(config()).await;
    let patch = async |name: &str, enabled: bool| {
        world.call(Method::PATCH, CONFIG, Some(&json!({"server_name": name, "enabled": enabled}))).await
    };
    let shown = patch("good", true).await;
    assert_eq!(shown.expect(200)["mcp_servers"]["good"]["enabled"], true);
    let mut expected = config();
    expected["mcpServers"]["good"]["enabled"] = json!(true);
    assert_eq!(stored(&world).await.to_string(), expected.to_string(), "one boolean and nothing else");
    // Off is never screened; on is.
    patch("sh", false).await.expect(200);
    expected["mcpServers"]["sh"]["enabled"] = json!(false);
    assert_eq!(stored(&world).await.to_string(), expected.to_string());
    let before = revision(&world).await;
    let refused = patch("sh", true).await.refused(400);
    assert!(refused.contains("mcpServers.sh"), "{refused}");
    let unknown = patch("nobody", true).await.refused(404);
    assert!(unknown.contains("'nobody'"), "{unknown}");
    patch("", true).await.refused(422);
    for body in [
        json!({"server_name": "good"}),
        json!({"server_name": 5, "enabled": true}),
        json!({"enabled": "false", "server_name": "good"}),
    ] {
        world.call(Method::PATCH, CONFIG, Some(&body)).await.refused(422);
    }
    assert_eq!(revision(&world).await, before, "nothing was written");
}

/// What the sibling holds is not looked at, whatever is done to a server beside it.
#[tokio::test]
async fn changes_beside_a_server_that_no_api_would_take_are_made() {
    let mut config = config();
    config["mcpServers"]["no_url"] = json!({"type": "http"});
    let world = with_config(config).await;
    world
        .call(Method::POST, SERVERS, Some(&json!({"mcp_servers": {"n": http("https://n")}})))
        .await
        .expect(200);
    world.call(Method::PUT, &format!("{SERVERS}/n"), Some(&json!({"description": "d"}))).await.expect(200);
    world.call(Method::DELETE, &format!("{SERVERS}/n"), None).await.expect(200);
}

#[tokio::test]
async fn what_would_not_load_is_refused_and_nothing_is_stored() {
    let world = with_config(config()).await;
    let roles = json!([{"name": "n", "submit_tool": "a", "status_tool": "a", "cancel_tool": "c"}]);
    let long = "n".repeat(129);
    let sets = json!([{"name": "n", "submit_tool": "a", "status_tool": "b", "cancel_tool": "c"}]);
    let mut too_long = http("https://h");
    too_long["task_toolsets"] = sets;
    for (body, status, word) in [
        (
            json!({"good": {"transport": "http", "url": "https://h", "task_toolsets": roles}}),
            400,
            "must be unique across task_toolsets",
        ),
        (json!({ long.clone(): too_long }), 400, "128"),
        (json!({"w": {"type": "http", "url": "https://h", "headers": {"A": "a\nb"}}}), 400, "headers.A"),
        (json!({"w": {"type": "http"}}), 400, "requires 'url' field"),
        (json!({"w": {"command": "/bin/sh"}}), 400, "mcpServers.w"),
        (json!({"w": {"type": "http", "url": "https://h", "headers": {"A": "***"}}}), 400, "headers.A"),
        (json!({"w": {"type": "http", "url": 5}}), 422, "mcpServers.w.url"),
        (json!({"w": null}), 422, "mcpServers.w"),
    ] {
        let (name, entry) = body.as_object().unwrap().iter().next().unwrap();
        let body = json!({"mcp_servers": body.clone()});
        let detail = world.put_config(&body["mcp_servers"]).await.refused(status);
        assert!(detail.contains(word), "{detail}");
        if name == "good" {
            let detail =
                world.call(Method::PUT, &format!("{SERVERS}/good"), Some(entry)).await.refused(status);
            assert!(detail.contains(word), "vector 61: {detail}");
        } else {
            let detail = world.call(Method::POST, SERVERS, Some(&body)).await.refused(status);
            assert!(detail.contains(word), "{detail}");
        }
    }
    for body in [json!({}), json!({"mcp_servers": {}}), json!({"mcp_servers": []}), json!("x")] {
        world.call(Method::POST, SERVERS, Some(&body)).await.refused(422);
    }
    assert_eq!((revision(&world).await, stored(&world).await), (1, config()));
}

#[tokio::test]
async fn a_put_touches_no_skill_and_no_key_of_others() {
    let world = with_config(config()).await;
    let body = json!({"mcp_servers": {}, "skills": {"s": {"enabled": true}}, "own": null, "new": 1});
    world.call(Method::PUT, CONFIG, Some(&body)).await.expect(200);
    let mut expected = config();
    expected["mcpServers"] = json!({});
    assert_eq!(stored(&world).await, expected);
}

#[tokio::test]
async fn every_change_is_made_over_the_config_that_its_caller_read_or_not_at_all() {
    let mut config = config();
    // The way back would be refused for it.
    config["mcpServers"].as_object_mut().unwrap().shift_remove("sh");
    let world = with_config(config).await;
    let read = etag(&world.call(Method::GET, CONFIG, None).await);
    let entry = http("https://h/mcp");
    let all = json!({"mcp_servers": {"good": entry}});
    let one = json!({"mcp_servers": {"new": entry}});
    let switch = json!({"server_name": "good", "enabled": false});
    let (good, back) = (format!("{SERVERS}/good"), format!("{REVISIONS}/1/rollback"));
    let changes = [
        (Method::PATCH, CONFIG, Some(&switch)),
        (Method::POST, SERVERS, Some(&one)),
        (Method::PUT, good.as_str(), Some(&entry)),
        (Method::PUT, CONFIG, Some(&all)),
        (Method::DELETE, good.as_str(), None),
        (Method::POST, back.as_str(), None),
    ];
    let mut now = read.clone();
    for (method, path, body) in changes {
        // Something is different each time, so that no etag comes back.
        let text = format!("{method} {path}");
        let touch = json!({"mcp_servers": {"touch": {"type": "http", "url": "https://t", "enabled": false, "description": text}}});
        let body = body.cloned();
        let before = revision(&world).await;
        for stale in ["\"0123\"", "W/\"1\"", "\"\""].into_iter().chain((now != read).then_some(read.as_str()))
        {
            let refused = over(&world.gateway, method.clone(), path, stale, body.as_ref()).await;
            let detail = refused.refused(412);
            assert!(detail.contains("read it again"), "{text}: {detail}");
        }
        assert_eq!(revision(&world).await, before, "{text}");
        let made = over(&world.gateway, method, path, &format!("\"x\", {now}"), body.as_ref()).await;
        assert_eq!(made.expect(200), world.get(CONFIG).await, "{text}");
        now = etag(&made);
        assert_eq!(now, etag(&world.call(Method::GET, CONFIG, None).await), "{text}");
        let created = world.call(Method::POST, SERVERS, Some(&touch)).await;
        created.expect(200);
        let gone = over(&world.gateway, Method::DELETE, &format!("{SERVERS}/touch"), "*", None).await;
        gone.expect(200);
        now = etag(&gone);
    }
}

#[tokio::test]
async fn who_has_the_config_already_is_not_sent_it_again() {
    let world = with_config(config()).await;
    let get = async |known: &str| {
        let mut request = request(Method::GET, CONFIG, None);
        request.headers_mut().insert(header::IF_NONE_MATCH, known.parse().unwrap());
        send(&world.gateway, request).await
    };
    let now = etag(&world.call(Method::GET, CONFIG, None).await);
    for known in [now.clone(), format!("W/{now}"), format!("\"x\", {now}")] {
        let answer = get(&known).await;
        assert_eq!(
            (answer.status.as_u16(), answer.text.as_str(), etag(&answer)),
            (304, "", now.clone()),
            "{known}"
        );
    }
    get("\"x\"").await.expect(200);
}

#[tokio::test]
async fn every_change_has_its_record_also_one_that_was_refused() {
    let world = with_config(config()).await;
    world
        .call(
            Method::POST,
            SERVERS,
            Some(&json!({"mcp_servers": {"n": http("https://n"), "m": http("https://m")}})),
        )
        .await
        .expect(200);
    world.call(Method::PUT, &format!("{SERVERS}/n"), Some(&json!({"description": "d"}))).await.expect(200);
    world.call(Method::PATCH, CONFIG, Some(&json!({"server_name": "n", "enabled": true}))).await.expect(200);
    world
        .call(Method::PATCH, CONFIG, Some(&json!({"server_name": "gone", "enabled": false})))
        .await
        .refused(404);
    world.call(Method::DELETE, &format!("{SERVERS}/n"), None).await.expect(200);
    world.put_config(&json!({})).await.expect(200);
    world.call(Method::POST, &format!("{REVISIONS}/1/rollback"), None).await.refused(400);
    let mut records = world.house.wiring.audit().log.list(50, None).await.unwrap();
    records.reverse();
    let told: Vec<_> = records
        .iter()
        .map(|record| (record.action.as_str(), record.target.as_str(), record.outcome == Outcome::Done))
        .collect();
    let mut expected = vec![
        ("server.create", "n, m", true),
        ("server.replace", "n", true),
        ("server.enable", "n", true),
        ("server.disable", "gone", false),
        ("server.remove", "n", true),
        ("config.put", "every server", true),
        ("config.rollback", "revision 1", false),
    ];
    // The clock stands still: what was recorded in one instant has no order.
    let mut told = told;
    told.sort_unstable();
    expected.sort_unstable();
    assert_eq!(told, expected);
    assert!(records.iter().all(|record| record.user.as_str() == "local:default"));
    assert!(!format!("{records:?}").contains("secret-"));
}
