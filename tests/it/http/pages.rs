//! A thread's tasks page by page: cursors in headers, so that a client which knows of none goes on working (reference 8.2).

use acceptance::{Answer, World};
use http::Method;
use serde_json::{Value, json};

async fn get(world: &World, path: &str) -> Answer {
    world.call(Method::GET, path, None).await
}

fn cursor(answer: &Answer) -> Option<String> {
    answer.headers.get("pudu-next-cursor").map(|cursor| cursor.to_str().unwrap().to_owned())
}

/// Where `Link` says that the next page is.
fn next(answer: &Answer) -> Option<String> {
    let link = answer.headers.get("link")?.to_str().unwrap().to_owned();
    let (address, rest) = link.strip_prefix('<').unwrap().split_once('>').unwrap();
    assert_eq!(rest, "; rel=\"next\"");
    Some(address.to_owned())
}

fn ids(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|task| task["task_id"].as_str().unwrap().to_owned()).collect()
}

/// Seven tasks, the newest first; every second one has ended.
async fn seven(world: &World) -> Vec<String> {
    let mut newest = Vec::new();
    for n in 0..7 {
        let seconds = if n % 2 == 0 { 600 } else { 1 };
        newest.insert(0, world.submit("t1", &json!({"title": "Deer", "duration_seconds": seconds})).await);
        world.advance(1);
    }
    world.advance(10);
    world.tick_poller().await;
    newest
}

#[tokio::test]
async fn pages_are_found_by_link_and_by_cursor() {
    let world = World::new().await;
    let newest = seven(&world).await;
    let mut path = Some("/api/threads/t1/mcp-tasks?limit=3".to_owned());
    let mut seen = Vec::new();
    while let Some(at) = path {
        let answer = get(&world, &at).await;
        seen.extend(ids(&answer.expect(200)));
        path = next(&answer);
        assert_eq!(path.is_some(), cursor(&answer).is_some());
        if let (Some(path), Some(cursor)) = (&path, cursor(&answer)) {
            assert_eq!(*path, format!("/api/threads/t1/mcp-tasks?limit=3&cursor={cursor}"));
        }
    }
    assert_eq!(seen, newest);
    let whole = get(&world, "/api/threads/t1/mcp-tasks").await;
    assert_eq!((ids(&whole.expect(200)), next(&whole)), (newest, None));
}

#[tokio::test]
async fn a_cursor_survives_new_tasks() {
    let world = World::new().await;
    let newest = seven(&world).await;
    let first = get(&world, "/api/threads/t1/mcp-tasks?limit=3").await;
    for _ in 0..4 {
        world.submit("t1", &json!({"title": "Elk", "duration_seconds": 600})).await;
        world.advance(1);
    }
    let second = get(&world, &next(&first).unwrap()).await;
    assert_eq!(ids(&second.expect(200)), newest[3..6]);
}

#[tokio::test]
async fn a_list_can_be_of_some_statuses_only() {
    let world = World::new().await;
    let newest = seven(&world).await;
    let working: Vec<&String> = newest.iter().step_by(2).collect();
    let ended: Vec<&String> = newest.iter().skip(1).step_by(2).collect();
    let list = async |query: &str| ids(&world.get(&format!("/api/threads/t1/mcp-tasks?{query}")).await);
    assert_eq!(list("status=working").await.iter().collect::<Vec<_>>(), working);
    assert_eq!(list("status=completed").await.iter().collect::<Vec<_>>(), ended);
    assert_eq!(list("status=completed,working").await, newest);
    assert_eq!(list("status=working&status=completed,failed").await, newest);
    assert_eq!(list("status=cancelled").await, [] as [&str; 0]);
    let first = get(&world, "/api/threads/t1/mcp-tasks?status=working&limit=2").await;
    let second = get(&world, &next(&first).unwrap()).await;
    assert_eq!(
        [ids(&first.expect(200)), ids(&second.expect(200))].concat().iter().collect::<Vec<_>>(),
        working
    );
}

#[tokio::test]
async fn what_is_no_page_is_refused() {
    let world = World::new().await;
    seven(&world).await;
    world.submit("t2", &json!({"title": "Elk", "duration_seconds": 600})).await;
    let of_this = cursor(&get(&world, "/api/threads/t1/mcp-tasks?limit=3").await).unwrap();
    for query in [
        "cursor=x",
        "cursor=",
        "cursor=%F0%9F%A6%8C",
        &format!("cursor={}", &of_this[1..]),
        &format!("cursor={of_this}A"),
        &format!("cursor={of_this}&cursor={of_this}"),
        "status=",
        "status=done",
        "status=Working",
        "status=working,",
        "limit=0",
        "limit=101",
        "limit=-1",
        "limit=x",
        "limit=1&limit=2",
    ] {
        get(&world, &format!("/api/threads/t1/mcp-tasks?{query}")).await.refused(422);
    }
    let elsewhere = get(&world, &format!("/api/threads/t2/mcp-tasks?cursor={of_this}")).await.refused(422);
    assert!(elsewhere.contains("cursor"), "{elsewhere}");
}
