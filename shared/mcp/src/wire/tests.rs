//! The egress rule where it is enforced: names, redirects, event streams and token requests, each against a server that
//! would notice. The rule's table of addresses is in `egress/tests.rs`.

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::response::IntoResponse;
use futures_util::FutureExt;
use pudu_app::ports::CallFault;
use pudu_config::NoSecrets;
use serde_json::json;

use super::*;
use crate::tests::host::{Host, json_body};

fn target(url: &str) -> Target {
    let mut target = Target::of(&crate::tests::http("http://tools.example/"), &NoSecrets).unwrap();
    target.url = Url::parse(url).unwrap();
    target.headers.insert("authorization", HeaderValue::from_static("Bearer canary"));
    target
}

/// A lookup that answers with the next of these each time, and counts how often it was asked.
fn lookup(answers: &'static [&'static [&'static str]]) -> (Lookup, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let lookup: Lookup = Arc::new(move |_| {
        let at = count.fetch_add(1, Ordering::Relaxed).min(answers.len() - 1);
        let found = answers[at].iter().map(|text| text.parse().unwrap()).collect();
        std::future::ready(Ok(found)).boxed()
    });
    (lookup, asked)
}

fn cloud(open: &str) -> Egress {
    Egress::cloud(open, None).unwrap()
}

async fn host() -> Host {
    Host::scripted(|_| async { json_body(json!({}).to_string()) }).await
}

fn port(host: &Host) -> u16 {
    Url::parse(&host.url).unwrap().port().unwrap()
}

/// Every way of sending, and whether it was refused by the rule with nothing else to be known of it.
async fn every_way(wire: &Wire, target: &Target) -> Vec<Result<(), Failure>> {
    let none = HeaderMap::new;
    vec![
        wire.post(target, none(), b"{}".to_vec()).await.map(drop),
        wire.tell(target, none(), b"{}".to_vec()).await,
        wire.events(target, none()).await.map(drop),
        wire.delete(target, none()).await,
        wire.form(target, &[("grant_type", "client_credentials")]).await.map(drop),
        wire.json(target).await.map(drop),
    ]
}

#[tokio::test]
async fn a_refused_address_is_refused_in_every_way_of_sending() {
    let host = host().await;
    let (rebound, _) = lookup(&[&["127.0.0.1"]]);
    let (metadata, _) = lookup(&[&["169.254.169.254", "fd00:ec2::254", "::ffff:169.254.170.2"]]);
    let named = format!("http://tools.example:{}/mcp", port(&host));
    for (wire, url) in [
        (Wire::new(cloud("")).unwrap(), host.url.clone()),
        (Wire::new(cloud("")).unwrap(), host.url.replace("127.0.0.1", "0x7f.1")),
        (Wire::new(cloud("")).unwrap(), host.url.replace("127.0.0.1", "localhost")),
        (Wire::new(cloud("10.0.0.0/8")).unwrap(), host.url.replace("127.0.0.1", "[::ffff:127.0.0.1]")),
        (Wire::with_lookup(cloud(""), rebound).unwrap(), named.clone()),
        (Wire::with_lookup(Egress::machine(), metadata).unwrap(), named),
        (Wire::new(Egress::machine()).unwrap(), "http://169.254.169.254/latest/api/token".to_owned()),
        (Wire::new(Egress::machine()).unwrap(), "ftp://127.0.0.1/".to_owned()),
    ] {
        for failed in every_way(&wire, &target(&url)).await {
            let failure = failed.unwrap_err();
            assert_eq!(failure.fault, CallFault::Config, "{url}: {failure}");
            assert!(failure.message.contains("not called") && !failure.message.contains("127."), "{failure}");
            assert!(!failure.message.contains("169.254"), "{failure}");
        }
    }
    assert!(host.seen().is_empty(), "{:?}", host.asked());
}

#[tokio::test]
async fn one_machine_and_an_allowlist_reach_loopback() {
    let host = host().await;
    for egress in [Egress::machine(), cloud("127.0.0.0/8")] {
        let wire = Wire::new(egress).unwrap();
        assert_eq!(wire.json(&target(&host.url)).await.unwrap().body, b"{}");
    }
    assert_eq!(host.seen().len(), 2);
}

/// The resolver is asked once, and the connection goes to what it was allowed: a second answer has no effect.
#[tokio::test]
async fn the_address_that_is_judged_is_the_one_connected_to() {
    let host = host().await;
    // Names are judged for every port, so the address must be open for all: any but the cloud's loopback.
    let (lookup, asked) =
        lookup(&[&["169.254.169.254", "127.0.0.1", "100.100.100.200"], &["169.254.169.254"]]);
    let wire = Wire::with_lookup(Egress::machine(), lookup).unwrap();
    let target = target(&format!("http://tools.example:{}/mcp", port(&host)));
    wire.json(&target).await.unwrap();
    assert_eq!((asked.load(Ordering::Relaxed), host.seen().len()), (1, 1));
}

#[tokio::test]
async fn a_name_that_changes_its_address_between_two_connections_is_judged_again() {
    let host = Host::scripted(|_| async {
        ([("connection", "close"), ("content-type", "application/json")], "{}").into_response()
    })
    .await;
    let (lookup, asked) = lookup(&[&["127.0.0.1"], &["169.254.169.254"]]);
    let wire = Wire::with_lookup(Egress::machine(), lookup).unwrap();
    let target = target(&format!("http://tools.example:{}/mcp", port(&host)));
    wire.json(&target).await.unwrap();
    let failure = wire.json(&target).await.map(drop).unwrap_err();
    assert_eq!((failure.fault, asked.load(Ordering::Relaxed)), (CallFault::Config, 2), "{failure}");
    assert_eq!(host.seen().len(), 1);
}

/// The rule's table of redirects: where a server sends us, and whether anything goes there.
#[tokio::test]
async fn redirects_stay_at_home_and_lead_to_no_other_address() {
    let other = host().await;
    let other_port = port(&other);
    for (status, to, followed) in [
        (307, "/moved".to_owned(), true),
        (308, "/moved".to_owned(), true),
        (307, "moved".to_owned(), true),
        (307, "http://user:other@{home}/moved".to_owned(), true),
        (301, "/moved".to_owned(), false),
        (302, "/moved".to_owned(), false),
        (303, "/moved".to_owned(), false),
        (307, format!("http://127.0.0.1:{other_port}/mcp"), false),
        (308, format!("//127.0.0.1:{other_port}/mcp"), false),
        (307, format!("http://localhost:{other_port}/mcp"), false),
        (307, "https://{home}/moved".to_owned(), false),
        (307, "http://169.254.169.254/latest/meta-data".to_owned(), false),
        (307, "http://[::ffff:a9fe:a9fe]/".to_owned(), false),
        (307, "file:///etc/passwd".to_owned(), false),
        (307, "http://".to_owned(), false),
    ] {
        let place = to.clone();
        let host = Host::scripted(move |seen| {
            let home = seen.headers["host"].to_str().unwrap().to_owned();
            let to = place.replace("{home}", &home);
            async move {
                if seen.path == "/moved" {
                    return json_body("{}".to_owned());
                }
                (StatusCode::from_u16(status).unwrap(), [("location", to)]).into_response()
            }
        })
        .await;
        let wire = Wire::new(Egress::machine()).unwrap();
        let answer = wire.post(&target(&host.url), HeaderMap::new(), b"{\"a\":1}".to_vec()).await;
        assert_eq!(answer.is_ok(), followed, "{status} to {to}");
        assert_eq!(host.seen().len(), 1 + usize::from(followed), "{status} to {to}");
        if followed {
            let last = host.seen().pop().unwrap();
            assert_eq!(
                (last.http, last.message, &last.headers["authorization"]),
                (Method::POST, json!({"a": 1}), &HeaderValue::from_static("Bearer canary"))
            );
        } else {
            assert_eq!(answer.err().and_then(|failure| failure.status), Some(status), "{to}");
        }
    }
    assert!(other.seen().is_empty(), "{:?}", other.asked());
}

#[tokio::test]
async fn redirects_end() {
    let host = Host::scripted(|_| async {
        (StatusCode::TEMPORARY_REDIRECT, [("location", "/again")]).into_response()
    })
    .await;
    let wire = Wire::new(Egress::machine()).unwrap();
    let answer = wire.tell(&target(&host.url), HeaderMap::new(), b"{}".to_vec()).await;
    assert_eq!(answer.unwrap_err().status, Some(307));
    assert_eq!(host.seen().len(), 1 + MAX_REDIRECTS);
}

#[tokio::test]
async fn user_info_of_the_url_goes_along_to_a_redirect_at_home() {
    let host = Host::scripted(|seen| async move {
        if seen.path == "/moved" {
            return json_body("{}".to_owned());
        }
        let to = format!("http://{}/moved", seen.headers["host"].to_str().unwrap());
        (StatusCode::PERMANENT_REDIRECT, [("location", to)]).into_response()
    })
    .await;
    let mut target = target(&host.url.replace("http://", "http://user:pass@"));
    target.headers.clear();
    Wire::new(Egress::machine())
        .unwrap()
        .post(&target, HeaderMap::new(), b"{}".to_vec())
        .await
        .map(drop)
        .unwrap();
    let sent: Vec<_> = host.seen().iter().map(|seen| seen.headers["authorization"].clone()).collect();
    assert_eq!(sent, ["Basic dXNlcjpwYXNz", "Basic dXNlcjpwYXNz"]);
}

#[tokio::test]
async fn a_token_request_is_a_form_that_follows_no_redirect_and_has_a_bound() {
    let host = Host::scripted(|seen| async move {
        match seen.path.as_str() {
            "/moved" => (StatusCode::TEMPORARY_REDIRECT, [("location", "/token")]).into_response(),
            "/large" => json_body("x".repeat(plain::MAX_PLAIN_BYTES + 1)),
            "/no" => (StatusCode::BAD_REQUEST, "no").into_response(),
            _ => {
                assert_eq!(seen.headers["content-type"], "application/x-www-form-urlencoded");
                json_body(json!({"path": seen.path}).to_string())
            }
        }
    })
    .await;
    let wire = Wire::new(Egress::machine()).unwrap();
    let at = |path: &str| target(&host.url.replace("/mcp", path));
    let fields = [("grant_type", "client credentials"), ("scope", "a&b=c")];
    let answer = wire.form(&at("/token"), &fields).await.unwrap();
    assert_eq!(
        (answer.status, answer.body.as_slice()),
        (StatusCode::OK, b"{\"path\":\"/token\"}".as_slice())
    );
    assert_eq!(wire.form(&at("/moved"), &fields).await.unwrap().status, StatusCode::TEMPORARY_REDIRECT);
    let refused = wire.form(&at("/no"), &fields).await.unwrap();
    assert_eq!((refused.status, refused.body.as_slice()), (StatusCode::BAD_REQUEST, b"no".as_slice()));
    let failure = wire.form(&at("/large"), &fields).await.map(drop).unwrap_err();
    assert_eq!(failure.fault, CallFault::Protocol, "{failure}");
    assert_eq!(host.seen().len(), 4, "each is sent once");
    assert_eq!(host.seen()[0].body, "grant_type=client+credentials&scope=a%26b%3Dc");
}
