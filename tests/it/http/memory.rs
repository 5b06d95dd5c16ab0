//! `/api/memory`: what is remembered of a caller, and of nobody else.

use acceptance::{Answer, Town, World, request, send};
use http::{HeaderValue, Method, header};
use pudu_domain::Scope;
use serde_json::{Value, json};

async fn add(world: &World, body: &Value) -> Answer {
    world.call(Method::POST, "/api/memory/facts", Some(body)).await
}

fn contents(memory: &Value) -> Vec<&str> {
    memory["facts"].as_array().unwrap().iter().map(|fact| fact["content"].as_str().unwrap()).collect()
}

async fn over(world: &World, method: Method, path: &str, tag: &str, body: Option<&Value>) -> Answer {
    let mut request = request(method, path, body);
    let operator = HeaderValue::from_str(&format!("Bearer {}", world.house.key().expose())).unwrap();
    request.headers_mut().insert(header::AUTHORIZATION, operator);
    request.headers_mut().insert(header::IF_MATCH, HeaderValue::from_str(tag).unwrap());
    send(&world.gateway, request).await
}

#[tokio::test]
async fn facts_are_remembered_changed_and_forgotten() {
    let world = World::new().await;
    let nothing = world.get("/api/memory").await;
    assert_eq!(
        (&nothing["version"], &nothing["revision"], &nothing["lastUpdated"]),
        (&json!("1.0"), &json!(0), &json!(""))
    );
    assert_eq!(nothing["user"]["topOfMind"], json!({"summary": "", "updatedAt": ""}));
    let made =
        add(&world, &json!({"content": " likes\n tea ", "category": "preference", "confidence": 0.9})).await;
    let memory = made.expect(200);
    assert_eq!(made.headers[header::ETAG], "\"1\"");
    let fact = &memory["facts"][0];
    assert_eq!(
        (&fact["content"], &fact["category"], &fact["confidence"]),
        (&json!("likes tea"), &json!("preference"), &json!(0.9))
    );
    assert_eq!(fact["source"], "manual");
    let path = format!("/api/memory/facts/{}", fact["id"].as_str().unwrap());
    let changed =
        world.call(Method::PATCH, &path, Some(&json!({"content": "likes coffee"}))).await.expect(200);
    assert_eq!((contents(&changed), &changed["facts"][0]["confidence"]), (vec!["likes coffee"], &json!(0.9)));
    assert_eq!(world.call(Method::POST, "/api/memory/reload", None).await.expect(200), changed);
    assert_eq!(world.call(Method::DELETE, &path, None).await.expect(200)["facts"], json!([]));
    assert_eq!(world.call(Method::DELETE, &path, None).await.refused(404), "no such fact is remembered");
    world.call(Method::PATCH, &path, Some(&json!({}))).await.refused(404);
}

#[tokio::test]
async fn what_is_no_fact_is_refused_with_a_reason() {
    let world = World::new().await;
    add(&world, &json!({"content": "likes tea"})).await.expect(200);
    assert_eq!(
        add(&world, &json!({"content": "Likes tea."})).await.refused(409),
        "a fact with the same content is remembered already"
    );
    for body in [
        json!({"content": "  "}),
        json!({"content": "x".repeat(501)}),
        json!({"content": "x", "category": "x".repeat(41)}),
        json!({"content": "x", "confidence": 1.5}),
        json!({"content": "x", "confidence": "high"}),
        json!({"category": "x"}),
    ] {
        add(&world, &body).await.refused(422);
    }
    world.call(Method::GET, "/api/memory?agent_name=No%20Name", None).await.refused(422);
    assert_eq!(contents(&world.get("/api/memory").await), ["likes tea"]);
}

#[tokio::test]
async fn whoever_names_the_memory_that_was_read_changes_no_other() {
    let world = World::new().await;
    let made = add(&world, &json!({"content": "one"})).await;
    let tag = made.headers[header::ETAG].to_str().unwrap().to_owned();
    let body = json!({"content": "two"});
    over(&world, Method::POST, "/api/memory/facts", &tag, Some(&body)).await.expect(200);
    for (method, path, body) in [
        (Method::POST, "/api/memory/facts", Some(json!({"content": "three"}))),
        (Method::POST, "/api/memory/import", Some(json!({"version": "1.0", "facts": []}))),
        (Method::DELETE, "/api/memory", None),
    ] {
        let detail = over(&world, method, path, &tag, body.as_ref()).await.refused(412);
        assert_eq!(detail, "the memory has changed since you read it; read it again");
    }
    over(&world, Method::DELETE, "/api/memory", "\"no tag\"", None).await.refused(412);
    assert_eq!(contents(&world.get("/api/memory").await), ["one", "two"]);
    assert_eq!(
        over(&world, Method::DELETE, "/api/memory", "\"2\"", None).await.expect(200)["facts"],
        json!([])
    );
}

#[tokio::test]
async fn what_was_exported_can_be_imported() {
    let world = World::new().await;
    add(&world, &json!({"content": "one", "confidence": 0.7})).await.expect(200);
    let mut exported = world.get("/api/memory/export").await;
    exported["user"]["workContext"] =
        json!({"summary": "builds things", "updatedAt": "2026-01-02T03:04:05Z"});
    exported["facts"][0]["topics"] = json!(["what another program knows of it"]);
    world.call(Method::DELETE, "/api/memory", None).await.expect(200);
    let imported = world.call(Method::POST, "/api/memory/import", Some(&exported)).await.expect(200);
    assert_eq!(imported["user"], exported["user"]);
    for field in ["id", "content", "category", "confidence", "createdAt", "source"] {
        assert_eq!(imported["facts"][0][field], exported["facts"][0][field], "{field}");
    }
    exported["facts"][0]["content"] = json!(" ");
    let detail = world.call(Method::POST, "/api/memory/import", Some(&exported)).await.refused(422);
    assert!(detail.starts_with("facts[0]: "), "{detail}");
    assert_eq!(contents(&world.get("/api/memory").await), ["one"]);
}

#[tokio::test]
async fn what_is_no_export_takes_the_place_of_nothing() {
    let world = World::new().await;
    add(&world, &json!({"content": "one"})).await.expect(200);
    for wrong in [
        json!({}),
        json!({"facts": []}),
        json!({"version": "1.0"}),
        json!({"version": "2.0", "facts": []}),
        json!({"version": "1.0", "facts": [], "memories": []}),
        json!({"data": {"version": "1.0", "facts": []}, "version": "1.0", "facts": []}),
    ] {
        world.call(Method::POST, "/api/memory/import", Some(&wrong)).await.refused(422);
    }
    assert_eq!(contents(&world.get("/api/memory").await), ["one"]);
}

#[tokio::test]
async fn no_more_is_remembered_than_the_operator_allows() {
    let world = World::new().await;
    let facts: Vec<Value> = (0..120)
        .map(|at| json!({"id": format!("f{at}"), "content": format!("fact {at}"), "confidence": f64::from(at) / 200.0}))
        .collect();
    let imported = world
        .call(Method::POST, "/api/memory/import", Some(&json!({"version": "1.0", "facts": facts})))
        .await;
    let imported = imported.expect(200);
    assert_eq!((contents(&imported).len(), contents(&imported)[0]), (100, "fact 20"));
    let more = add(&world, &json!({"content": "mine", "confidence": 0.0})).await.expect(200);
    assert_eq!(contents(&more).len(), 100);
    assert!(contents(&more).contains(&"mine") && !contents(&more).contains(&"fact 20"));
}

#[tokio::test]
async fn each_agent_remembers_by_itself_and_the_status_tells_what_is_settled() {
    let world = World::new().await;
    let body = json!({"content": "writes short"});
    world.call(Method::POST, "/api/memory/facts?agent_name=writer", Some(&body)).await.expect(200);
    assert_eq!(contents(&world.get("/api/memory?agent_name=writer").await), ["writes short"]);
    assert_eq!(contents(&world.get("/api/memory").await), [""; 0]);
    let status = world.get("/api/memory/status?agent_name=writer").await;
    assert_eq!(status["config"], world.get("/api/memory/config").await);
    assert_eq!(contents(&status["data"]), ["writes short"]);
    let config = &status["config"];
    assert_eq!((&config["enabled"], &config["mode"]), (&json!(false), &json!("middleware")));
    assert_eq!((&config["max_facts"], &config["debounce_seconds"]), (&json!(100), &json!(30)));
}

#[tokio::test]
async fn what_is_remembered_of_a_user_is_shown_to_nobody_else() {
    let town = Town::new().await;
    let (ann, phone) = (town.key("ann", Scope::All).await, town.key("ann", Scope::All).await);
    let bob = town.key("bob", Scope::All).await;
    let ask = async |key: &str, method: Method, path: &str, body: Option<&Value>| {
        let mut request = request(method, path, body);
        let value = HeaderValue::from_str(&format!("Bearer {key}")).unwrap();
        request.headers_mut().insert(header::AUTHORIZATION, value);
        send(&town.gateway, request).await
    };
    let body = json!({"content": "ann's own"});
    let memory = ask(&ann, Method::POST, "/api/memory/facts", Some(&body)).await.expect(200);
    let path = format!("/api/memory/facts/{}", memory["facts"][0]["id"].as_str().unwrap());
    for (method, path) in [
        (Method::GET, "/api/memory"),
        (Method::GET, "/api/memory/export"),
        (Method::GET, "/api/memory/status"),
        (Method::POST, "/api/memory/reload"),
        (Method::DELETE, "/api/memory"),
    ] {
        let answer = ask(&bob, method, path, None).await;
        answer.expect(200);
        assert!(!answer.text.contains("ann's own"), "{path}");
    }
    ask(&bob, Method::DELETE, &path, None).await.refused(404);
    ask(&bob, Method::PATCH, &path, Some(&json!({"content": "bob's"}))).await.refused(404);
    let seen = ask(&phone, Method::GET, "/api/memory", None).await.expect(200);
    assert_eq!(contents(&seen), ["ann's own"], "another key of hers");
}
