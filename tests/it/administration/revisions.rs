//! The history of the config: who made it what it was, what that changed, and the way back.

use acceptance::Logs;
use pudu_app::ports::{ConfigStore, Made, Revision};
use pudu_domain::Timestamp;

use super::*;

fn config() -> Value {
    json!({"mcpServers": {
        "web": {"type": "http", "url": "https://u:canary-url@h/mcp", "headers": {"A": "canary-one"}, "enabled": false},
    }, "own": {"token": "canary-own"}})
}

/// A house with three revisions: the operator's, another header by PUT, and one server more.
async fn world() -> World {
    let world = with_config(config()).await;
    let mut entry = world.get(CONFIG).await["mcp_servers"]["web"].clone();
    entry["headers"] = json!({"A": "canary-two", "B": "$B"});
    world.advance(1);
    world.call(Method::PUT, &format!("{SERVERS}/web"), Some(&entry)).await.expect(200);
    world.advance(1);
    world
        .call(Method::POST, SERVERS, Some(&json!({"mcp_servers": {"new": http("https://n")}})))
        .await
        .expect(200);
    world
}

#[tokio::test]
async fn revisions_are_told_newest_first_with_who_and_what() {
    let world = world().await;
    let page = world.get(REVISIONS).await;
    let told = page["revisions"].as_array().unwrap();
    let by = json!({"user": "local:default", "tag": told[0]["by"]["tag"]});
    assert_eq!(
        told[0],
        json!({"number": 3, "at": told[0]["at"], "by": by, "action": "server.create", "target": "new"})
    );
    assert_eq!(
        told[1],
        json!({"number": 2, "at": told[1]["at"], "by": by, "action": "server.replace", "target": "web"})
    );
    assert_eq!(
        told[2],
        json!({"number": 1, "at": told[2]["at"], "by": null, "action": null, "target": null})
    );
    assert!(told[0]["at"].as_str().unwrap() > told[1]["at"].as_str().unwrap());
    assert_eq!((told.len(), &page["next_before"]), (3, &Value::Null));

    let first = world.get(&format!("{REVISIONS}?limit=2")).await;
    assert_eq!(
        (first["revisions"].as_array().unwrap().as_slice(), &first["next_before"]),
        (&told[..2], &json!(2))
    );
    let last = world.get(&format!("{REVISIONS}?limit=2&before=2")).await;
    assert_eq!(
        (last["revisions"].as_array().unwrap().as_slice(), last.get("next_before")),
        (&told[2..], None)
    );
    for (query, status) in [("limit=0", 422), ("limit=101", 422), ("limit=x", 422), ("before=-1", 422)] {
        world.call(Method::GET, &format!("{REVISIONS}?{query}"), None).await.refused(status);
    }
}

#[tokio::test]
async fn a_revision_and_what_it_changed_are_shown_without_secrets() {
    let logs = Logs::capture();
    let world = world().await;
    let first = world.call(Method::GET, &format!("{REVISIONS}/1"), None).await;
    let mut expected = config();
    expected["mcpServers"]["web"]["url"] = json!("https://***@h/mcp");
    expected["mcpServers"]["web"]["headers"]["A"] = json!("***");
    expected["own"]["token"] = json!("***");
    assert_eq!(first.expect(200)["config"], expected);

    let second = world.get(&format!("{REVISIONS}/2/diff")).await;
    assert_eq!((&second["number"], &second["against"]), (&json!(2), &json!(1)));
    assert_eq!(
        second["changes"],
        json!([
            {"path": "mcpServers.web.headers.A", "change": "replaced", "before": "***", "after": "***"},
            {"path": "mcpServers.web.headers.B", "change": "added", "after": "$B"},
        ])
    );
    let back = world.get(&format!("{REVISIONS}/1/diff?against=3")).await;
    let changes: Vec<_> = back["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| (c["path"].as_str().unwrap(), c["change"].as_str().unwrap()))
        .collect();
    assert_eq!(
        changes,
        [
            ("mcpServers.web.headers.A", "replaced"),
            ("mcpServers.web.headers.B", "removed"),
            ("mcpServers.new", "removed")
        ]
    );
    assert_eq!(world.get(&format!("{REVISIONS}/3/diff?against=3")).await["changes"], json!([]));
    let from_nothing = world.get(&format!("{REVISIONS}/1/diff")).await;
    assert_eq!(from_nothing["against"], 0);
    assert_eq!(
        from_nothing["changes"][0],
        json!({"path": "mcpServers.web", "change": "added", "after": expected["mcpServers"]["web"]})
    );

    for path in ["0", "4", "99999999999", "4/diff", "2/diff?against=9"] {
        world.call(Method::GET, &format!("{REVISIONS}/{path}"), None).await.refused(404);
    }
    for path in ["x", "-1", "1.5", "2/diff?against=x"] {
        world.call(Method::GET, &format!("{REVISIONS}/{path}"), None).await.refused(422);
    }
    for text in [
        first.text,
        second.to_string(),
        back.to_string(),
        from_nothing.to_string(),
        logs.text(),
        world.rows().await.text(),
    ] {
        assert!(!text.contains("canary-"), "{text}");
    }
}

#[tokio::test]
async fn a_way_back_is_a_new_revision_with_its_old_secrets() {
    let world = world().await;
    let before = etag(&world.call(Method::GET, CONFIG, None).await);
    let back = |number: u64| format!("{REVISIONS}/{number}/rollback");
    let made = over(&world.gateway, Method::POST, &back(1), &before, None).await;
    assert_eq!(made.expect(200), world.get(CONFIG).await);
    assert_eq!((revision(&world).await, stored(&world).await), (4, config()));
    let newest = world.get(&format!("{REVISIONS}?limit=1")).await["revisions"][0].clone();
    assert_eq!((&newest["action"], &newest["target"]), (&json!("config.rollback"), &json!("revision 1")));
    assert_eq!(world.get(&format!("{REVISIONS}/4/diff?against=1")).await["changes"], json!([]));
    over(&world.gateway, Method::POST, &back(2), &before, None).await.refused(412);
    world.call(Method::POST, &back(9), None).await.refused(404);
    assert_eq!(revision(&world).await, 4);
}

/// Today's rules, not those of the day on which it was stored.
#[tokio::test]
async fn what_would_not_be_taken_today_does_not_come_back() {
    let stdio = json!({"mcpServers": {"sh": {"command": "/bin/sh", "args": ["--token", "canary-arg"], "enabled": false}}});
    let world = with_config(stdio.clone()).await;
    // A revision of a time that knew other rules.
    let made = Made { number: 2, at: Timestamp::from_millis(1), author: None };
    let old = Revision {
        made,
        sealed: json!({"mcpServers": {"x": {"enabled": "perhaps", "headers": {"A": "plain"}}}}),
    };
    world.house.table.append(&old).await.unwrap();
    let document = Document::parse(json!({"mcpServers": {}})).unwrap();
    world.house.stored.import(document, None).await.unwrap();
    assert_eq!(revision(&world).await, 3);

    let shown = world.get(&format!("{REVISIONS}/2")).await;
    assert_eq!(
        shown["config"],
        json!({"mcpServers": {"x": {"enabled": "perhaps", "headers": {"A": "***"}}}})
    );
    assert_eq!(world.get(&format!("{REVISIONS}/3/diff")).await["changes"][0]["change"], "removed");
    let refused = world.call(Method::POST, &format!("{REVISIONS}/2/rollback"), None).await.refused(422);
    assert!(refused.contains("mcpServers.x.enabled"), "{refused}");
    let screened = world.call(Method::POST, &format!("{REVISIONS}/1/rollback"), None).await.refused(400);
    assert!(screened.contains("mcpServers.sh") && !screened.contains("canary"), "{screened}");
    let args = &world.get(&format!("{REVISIONS}/1")).await["config"]["mcpServers"]["sh"]["args"];
    assert_eq!(args, &json!(["--token", "***"]));
    assert!(!world.rows().await.text().contains("canary"), "arguments are sealed, too");
    assert_eq!(revision(&world).await, 3);
}

#[tokio::test]
async fn a_config_file_has_its_history_where_it_is_kept() {
    let world = World::on_file(|_| json!({"mcpServers": {"web": http("https://h")}})).await;
    for (method, path) in [
        (Method::GET, REVISIONS.to_owned()),
        (Method::GET, format!("{REVISIONS}/1")),
        (Method::GET, format!("{REVISIONS}/1/diff")),
        (Method::POST, format!("{REVISIONS}/1/rollback")),
    ] {
        let detail = world.call(method, &path, None).await.refused(409);
        assert!(detail.contains("version control") && detail.contains("extensions_config.json"), "{detail}");
    }
    // Its changes have their records all the same.
    world
        .call(Method::PATCH, CONFIG, Some(&json!({"server_name": "web", "enabled": true})))
        .await
        .expect(200);
    let records = world.house.wiring.audit().log.list(9, None).await.unwrap();
    assert!(records.iter().any(|record| record.action == "server.enable" && record.target == "web"));
}
