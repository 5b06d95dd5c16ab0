//! A server behind a real token server with rotating refresh tokens: a refresh token that is used twice ends the whole
//! grant, so every mistake about who refreshes, and with what, is seen at once.

use std::time::Duration;

use acceptance::{Answer, Peer, World, request, send, skipped};
use http::Method;
use serde_json::{Value, json};

use super::HOW;

const TOOL: &str = "peer_whoami";
/// An access token of the client `lasting` lives for an hour; this is beyond it.
const BEYOND: u64 = 4000;

struct Scene {
    tokens: Peer,
    first: String,
    world: World,
    _server: Peer,
}

impl Scene {
    /// With the credentials of one of its clients.
    async fn of(client: &str) -> Self {
        let tokens = Peer::start(&["token-server"]).await;
        let first = tokens.said(2).await.remove(usize::from(client == "brief"));
        let server = Peer::start(&["fastmcp", "--issuer", tokens.url()]).await;
        let world = World::without_servers().await;
        let oauth = json!({
            "token_url": format!("{}/token", tokens.url()), "grant_type": "refresh_token", "refresh_token": first,
            "client_id": client, "client_secret": "canary-client-secret", "refresh_skew_seconds": 0,
        });
        let entry = json!({"type": "http", "url": server.url(), "oauth": oauth});
        world.put_config(&json!({ "peer": entry })).await.expect(200);
        Self { tokens, first, world, _server: server }
    }

    async fn call(&self) -> Answer {
        self.world.invoke("t1", TOOL, &json!({})).await
    }

    /// What the token server did, once that are at least `count` things.
    async fn done(&self, count: usize) -> Vec<String> {
        self.tokens.said(count + 2).await.split_off(2)
    }
}

#[track_caller]
fn served(answer: &Answer) {
    let client = &answer.expect(200)["structuredContent"]["client"];
    assert!(client == "lasting" || client == "brief", "{}", answer.text);
}

#[tokio::test]
async fn a_token_is_got_once_and_again_when_its_time_is_over() {
    if !Peer::wanted() {
        return skipped("a server behind OAuth", HOW);
    }
    let scene = Scene::of("lasting").await;
    served(&scene.call().await);
    served(&scene.call().await);
    assert_eq!(scene.done(1).await, ["granted refresh_token"]);
    // By our clock its time is over.
    scene.world.advance(BEYOND);
    served(&scene.call().await);
    assert_eq!(scene.done(2).await, ["granted refresh_token"; 2]);
}

#[tokio::test]
async fn a_token_that_only_the_server_finds_too_old_is_renewed_within_the_call() {
    if !Peer::wanted() {
        return skipped("a token that ran out", HOW);
    }
    let scene = Scene::of("brief").await;
    // Time stands still on our side: it is a 401 of the server that says so, and no caller sees it.
    let mut granted = 0;
    while granted < 2 {
        served(&scene.call().await);
        let done = scene.done(1).await;
        assert!(done.iter().all(|line| line == "granted refresh_token"), "{done:?}");
        granted = done.len();
    }
}

/// Five times as fast as it does.
async fn time_passes(world: &World) {
    let mut beat = tokio::time::interval(Duration::from_millis(20));
    loop {
        beat.tick().await;
        world.clock.advance(Duration::from_millis(100));
    }
}

#[tokio::test]
async fn two_processes_share_one_rotating_refresh_token() {
    if !Peer::wanted() {
        return skipped("a rotating refresh token", HOW);
    }
    let scene = Scene::of("lasting").await;
    let other = scene.world.second_house();
    let gateway = other.gateway();
    let path = format!("/api/threads/t1/tools/{TOOL}");
    let call_there = || send(&gateway, request(Method::POST, &path, Some(&json!({"arguments": {}}))));
    for round in 0..3 {
        scene.world.advance(BEYOND);
        served(&scene.call().await);
        scene.world.advance(BEYOND);
        served(&call_there().await);
        // Both need a new one at the same moment: one refreshes, both have it.
        scene.world.advance(BEYOND);
        let both = async { tokio::join!(scene.call(), call_there()) };
        let (here, there) = tokio::select! {
            both = both => both,
            // Who waits for the other one's token waits by the clock.
            () = time_passes(&scene.world) => unreachable!("it goes on for ever"),
        };
        served(&here);
        served(&there);
        let done = scene.done((round + 1) * 3).await;
        assert!(done.iter().all(|line| line == "granted refresh_token"), "{done:?}");
    }
}

#[tokio::test]
async fn a_grant_that_has_ended_is_seen_and_not_asked_for_again() {
    if !Peer::wanted() {
        return skipped("an ended grant", HOW);
    }
    let scene = Scene::of("lasting").await;
    served(&scene.call().await);
    // Somebody else uses the first refresh token again: the token server ends the grant.
    let first = &scene.first;
    let client = "client_id=lasting&client_secret=canary-client-secret";
    let body = format!("grant_type=refresh_token&refresh_token={first}&{client}");
    let stolen = reqwest::Client::builder().no_proxy().build().unwrap();
    let stolen = stolen.post(format!("{}/token", scene.tokens.url()));
    let stolen =
        stolen.header("content-type", "application/x-www-form-urlencoded").body(body).send().await.unwrap();
    assert_eq!(stolen.status(), 400);
    assert_eq!(scene.done(2).await[1], "refused invalid_grant");

    scene.world.advance(BEYOND);
    let refused = scene.call().await;
    assert!(refused.status.is_client_error() || refused.status.is_server_error(), "{}", refused.text);
    let told = refused.json()["detail"].as_str().unwrap().to_owned();
    assert!(told.contains("peer") && told.contains("invalid_grant"), "{told}");
    assert_eq!(scene.done(3).await[2], "refused invalid_grant");
    // It is final: the token server is left alone, and the operator sees why.
    scene.call().await;
    assert_eq!(scene.done(3).await.len(), 3);
    let listed: Value = scene.world.get("/api/tools").await;
    assert!(listed["servers"].to_string().contains("invalid_grant"), "{listed}");
}
