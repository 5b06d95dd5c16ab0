//! The stream of a thread's tasks: server-sent events over the whole house.

use std::time::Duration;

use acceptance::{World, request, send};
use axum::Router;
use axum::body::Body;
use http::{HeaderValue, Method, StatusCode};
use http_body_util::BodyExt;
use pudu_gateway::{Access, Door, Gateway, Streams};
use pudu_testkit::fixture;
use serde_json::{Value, json};
use tower::ServiceExt;

fn running() -> Value {
    json!({"title": "Deer", "duration_seconds": 86_400})
}

const PATH: &str = "/api/threads/t1/mcp-tasks/stream";
/// How long a test waits for an event before it lets time pass: real time, which only a loop that goes on anyway sees.
const MOMENT: Duration = Duration::from_millis(20);

/// One event as a client reads it.
#[derive(Debug, Clone, Default, PartialEq)]
struct Heard {
    event: String,
    data: String,
    id: Option<String>,
    retry: Option<String>,
}

impl Heard {
    fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("{error}: {}", self.data))
    }

    /// Which task it tells, and how it stands.
    fn told(&self) -> (String, String) {
        assert_eq!(self.event, "task");
        let text = |field: &str| self.json()[field].as_str().unwrap().to_owned();
        (text("task_id"), text("status"))
    }
}

/// A client of a stream.
struct Client {
    body: Body,
    text: String,
    /// The id of the last event that was heard.
    last: Option<String>,
    /// Whether the answer broke off.
    broken: bool,
}

impl Client {
    async fn open(gateway: &Router, last: Option<&str>) -> Self {
        let mut asking = request(Method::GET, PATH, None);
        if let Some(last) = last {
            asking.headers_mut().insert("last-event-id", HeaderValue::from_str(last).unwrap());
        }
        let response = gateway.clone().oneshot(asking).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { body: response.into_body(), text: String::new(), last: None, broken: false }
    }

    /// The next event, however long it takes in the house's time; none when the stream has ended.
    async fn next(&mut self, world: &World) -> Option<Heard> {
        for _ in 0..500 {
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let (heard, rest) = (read(event), rest.to_owned());
                self.text = rest;
                if let Some(heard) = heard {
                    self.last = heard.id.clone().or(self.last.take());
                    return Some(heard);
                }
            }
            match tokio::time::timeout(MOMENT, self.body.frame()).await {
                Ok(None) => return None,
                Ok(Some(Err(_))) => {
                    self.broken = true;
                    return None;
                }
                Ok(Some(Ok(frame))) => {
                    self.text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
                }
                Err(_) => world.advance(1),
            }
        }
        panic!("nothing is heard");
    }

    /// The next event that tells something.
    async fn told(&mut self, world: &World) -> Option<Heard> {
        loop {
            match self.next(world).await {
                Some(heard) if heard.event.is_empty() => {}
                heard => return heard,
            }
        }
    }
}

/// An event of lines; none for a comment.
fn read(text: &str) -> Option<Heard> {
    let mut heard = Heard::default();
    let mut any = false;
    for line in text.lines().filter(|line| !line.starts_with(':')) {
        let (field, value) = line.split_once(':').unwrap();
        let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
        any = true;
        match field {
            "event" => heard.event = value,
            "data" => heard.data.push_str(&value),
            "id" => heard.id = Some(value),
            "retry" => heard.retry = Some(value),
            other => panic!("{other}"),
        }
    }
    any.then_some(heard)
}

/// The same house with other streams.
fn with_streams(world: &World, streams: Streams) -> Router {
    let table = || world.house.table.clone();
    let everyone = Access::Everyone(fixture::principal());
    pudu_gateway::router(Gateway {
        streams,
        ..Gateway::new(&world.house.wiring, table(), table(), table(), Door::Loopback, everyone)
    })
}

#[tokio::test]
async fn a_stream_tells_each_change_and_goes_on_where_it_ended() {
    let world = World::new().await;
    let first = world.submit("t1", &running()).await;
    let mut client = Client::open(&world.gateway, None).await;
    let begun = client.next(&world).await.unwrap();
    assert_eq!((begun.retry.as_deref(), begun.id), (Some("1000"), None), "no id before everything was told");
    let heard = client.told(&world).await.unwrap();
    assert_eq!(heard.told(), (first.clone(), "submitted".to_owned()));
    let listed = world.get("/api/threads/t1/mcp-tasks").await;
    let mut shown = heard.json();
    assert_eq!(shown["event_version"], 0);
    assert_eq!(shown["input_required"], Value::Null);
    shown.as_object_mut().unwrap().retain(|field, _| field != "event_version" && field != "input_required");
    assert_eq!(shown, listed[0], "as in the list");
    let second = world.submit("t1", &json!({"title": "Elk", "duration_seconds": 1})).await;
    assert_eq!(client.told(&world).await.unwrap().told(), (second.clone(), "submitted".to_owned()));
    world.advance(5);
    world.tick_poller().await;
    let mut told = vec![client.told(&world).await.unwrap().told(), client.told(&world).await.unwrap().told()];
    told.sort();
    let mut wanted = vec![(first.clone(), "working".to_owned()), (second.clone(), "completed".to_owned())];
    wanted.sort();
    assert_eq!(told, wanted);
    let last = client.last.clone().unwrap();
    drop(client);
    world.advance(60);
    world.tick_poller().await;
    world.cancel("t1", &first).await;
    world.tick_poller().await;
    let mut client = Client::open(&world.gateway, Some(&last)).await;
    let mut told = Vec::new();
    while told.last() != Some(&(first.clone(), "cancelled".to_owned())) {
        told.push(client.told(&world).await.unwrap().told());
    }
    assert!(told.iter().all(|(id, status)| id == &first || status == "completed"), "{told:?}");
}

/// What a task asks comes with the change.
#[tokio::test]
async fn a_question_is_told_with_its_task() {
    let world = World::new().await;
    let asking =
        json!({"title": "Deer", "duration_seconds": 8, "ask": "Which year?", "answer_after_seconds": 3600});
    let id = world.submit("t1", &asking).await;
    let mut client = Client::open(&world.gateway, None).await;
    client.told(&world).await.unwrap();
    world.advance(5);
    world.tick_poller().await;
    let heard = client.told(&world).await.unwrap();
    assert_eq!(heard.told(), (id.clone(), "input_required".to_owned()));
    let detail = world.task("t1", &id).await;
    assert_eq!(heard.json()["input_required"], detail["input_required"]);
    assert_eq!(heard.json()["event_version"], 1);
}

#[tokio::test]
async fn a_stream_ends_with_its_thread_and_with_its_time() {
    let world = World::new().await;
    world.submit("t1", &running()).await;
    let mut client = Client::open(&world.gateway, None).await;
    client.told(&world).await.unwrap();
    world.call(Method::DELETE, "/api/threads/t1", None).await.expect(202);
    let end = client.told(&world).await.unwrap();
    assert_eq!((end.event.as_str(), end.id), ("end", None));
    assert_eq!(client.next(&world).await, None);
    assert!(!client.broken, "nothing is missing");
    world.call(Method::GET, PATH, None).await.refused(404);

    let short = with_streams(&world, Streams::lasting(Duration::from_secs(30)));
    let mut asking = request(Method::GET, "/api/threads/t2/mcp-tasks/stream", None);
    asking.headers_mut().insert("last-event-id", HeaderValue::from_static("0"));
    let response = short.oneshot(asking).await.unwrap();
    let mut client = Client { body: response.into_body(), text: String::new(), last: None, broken: false };
    while client.next(&world).await.is_some() {}
    assert!(client.broken, "its client would take it for the end");
    assert!(client.last.is_some(), "and its client knows where to go on, although it heard of no task");
}

/// Where an answer is sent only when it is whole, the stream is as long as what there is.
#[tokio::test]
async fn a_buffered_stream_tells_how_things_stand_and_ends() {
    let world = World::new().await;
    let id = world.submit("t1", &running()).await;
    let gateway = with_streams(&world, Streams::that_end_at_once());
    let answer = send(&gateway, request(Method::GET, PATH, None)).await;
    assert_eq!(answer.status, StatusCode::OK);
    let heard: Vec<Heard> = answer.text.split("\n\n").filter_map(read).collect();
    assert_eq!(heard[0].retry.as_deref(), Some("5000"), "its client comes again as often as a look is");
    assert_eq!(heard[1].told(), (id, "submitted".to_owned()));
    assert_eq!(heard.len(), 3, "{heard:?}");
}

#[tokio::test]
async fn streams_are_bounded_and_one_that_is_left_makes_room() {
    let world = World::new().await;
    let mut open = Vec::new();
    let refused = loop {
        let response = world.gateway.clone().oneshot(request(Method::GET, PATH, None)).await.unwrap();
        if response.status() != StatusCode::OK {
            break response.status();
        }
        open.push(response);
        assert!(open.len() < 100);
    };
    assert_eq!(refused, StatusCode::TOO_MANY_REQUESTS);
    open.pop();
    // It is noticed without anything being sent.
    let mut tries = 0;
    while send_head(&world).await != StatusCode::OK {
        tries += 1;
        assert!(tries < 1_000, "the place is never free again");
        tokio::task::yield_now().await;
    }
}

async fn send_head(world: &World) -> StatusCode {
    world.gateway.clone().oneshot(request(Method::GET, PATH, None)).await.unwrap().status()
}

/// A client that takes nothing more is given up, and what it missed is not counted as heard.
#[tokio::test]
async fn a_client_that_takes_nothing_more_is_not_waited_for() {
    let world = World::new().await;
    for _ in 0..70 {
        world.submit("t1", &running()).await;
    }
    let mut slow = Client::open(&world.gateway, None).await;
    assert!(slow.next(&world).await.is_some());
    // Its own patience is in the house's time; what is on the way to it is bounded.
    for _ in 0..100 {
        world.advance(1);
        tokio::task::yield_now().await;
    }
    let mut heard = 0;
    while slow.next(&world).await.is_some() {
        heard += 1;
        assert!(heard < 70, "it goes on as if nothing had been");
    }
    assert_eq!((slow.last, slow.broken), (None, true));
}

#[tokio::test]
async fn what_is_no_event_of_a_stream_is_refused() {
    let world = World::new().await;
    for wrong in ["x", "-1", "1.5", "99999999999999999999999"] {
        let mut asking = request(Method::GET, PATH, None);
        asking.headers_mut().insert("last-event-id", HeaderValue::from_static(wrong));
        assert!(send(&world.gateway, asking).await.refused(422).contains("Last-Event-ID"), "{wrong}");
    }
}
