//! Ten thousand messages that are none, to `/mcp` of a real process: each is answered, none by a 500, and nothing of them stays.

use acceptance::Pudu;
use http::StatusCode;
use pudu_testkit::SeededRandom;
use reqwest::Client;
use serde_json::{Value, json};
use tokio::task::JoinSet;

const MESSAGES: u64 = 10_000;
/// Callers at once, each with messages of its own.
const CALLERS: u64 = 8;
const SEED: u64 = 0x6d63_7020_7075_6475;
/// Most that the process may grow by while it is asked, in KiB: some bodies of a mebibyte at once, parsed.
const GROWTH: u64 = 64 * 1024;

/// One body, how it is sent, and whether a result would be wrong.
struct Sent {
    body: Vec<u8>,
    fields: Vec<(&'static str, String)>,
    malformed: bool,
}

const MODERN: &str = "2026-07-28";

/// A good message of either era, as a start.
fn good(random: &SeededRandom) -> (Value, Vec<(&'static str, String)>) {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "harm", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let (method, name, params) = match random.below(4) {
        0 => ("tools/list", None, json!({"_meta": meta})),
        1 => ("server/discover", None, json!({"_meta": meta})),
        2 => (
            "tools/call",
            Some("example_echo"),
            json!({"name": "example_echo", "arguments": {"text": "x"}, "_meta": meta}),
        ),
        _ => ("tasks/get", Some("mcp-x~y"), json!({"taskId": "mcp-x~y", "_meta": meta})),
    };
    let message =
        json!({"jsonrpc": "2.0", "id": random.below(1_000_000), "method": method, "params": params});
    let mut fields = vec![("mcp-protocol-version", MODERN.to_owned()), ("mcp-method", method.to_owned())];
    fields.extend(name.map(|name| ("mcp-name", name.to_owned())));
    (message, fields)
}

/// Anything, of a size that is seldom large.
fn anything(random: &SeededRandom, room: u32) -> Value {
    match random.below(if room == 0 { 8 } else { 10 }) {
        0 => Value::Null,
        1 => json!(random.chance(50)),
        2 => json!(random.next()),
        3 => json!(-1.5e300),
        4 => json!(i64::MIN),
        5 => json!(text(random)),
        6 => json!(""),
        7 => json!("2.0"),
        8 => (0..random.below(5)).map(|_| anything(random, room - 1)).collect(),
        _ => {
            Value::Object((0..random.below(5)).map(|_| (text(random), anything(random, room - 1))).collect())
        }
    }
}

fn text(random: &SeededRandom) -> String {
    let words =
        ["method", "tools/call", "\u{0}", "\u{202e}", "<script>", "$VAR", "../..", "id", "a\r\nb: c", "名"];
    let length = if random.chance(2) { 100_000 } else { random.below(4) };
    (0..length).filter_map(|_| random.pick(&words).copied()).collect()
}

/// Puts something else into one of the message's own places.
fn wrong(random: &SeededRandom, message: &mut Value) -> bool {
    let place =
        ["/jsonrpc", "/method", "/params", "/id", "/params/_meta", "/params/name", "/params/arguments"];
    let Some(at) = random.pick(&place).and_then(|place| message.pointer_mut(place)) else { return false };
    let before = at.take();
    *at = anything(random, 3);
    // Some of it may still be good.
    let fits = *at == before || *at == json!("2.0") || *at == Value::Null || at.is_object();
    let id = message["id"].is_u64()
        || message["id"].is_i64()
        || message["id"].is_f64()
        || message["id"].is_string();
    !fits && !id
}

fn malformed(random: &SeededRandom) -> Sent {
    let (mut message, mut fields) = good(random);
    let whole = |message: &Value| message.to_string().into_bytes();
    let (body, malformed) = match random.below(12) {
        0 => {
            let mut body = whole(&message);
            body.truncate(usize::try_from(random.below(body.len() as u64)).unwrap());
            (body, true)
        }
        1 | 2 => {
            let certainly = wrong(random, &mut message);
            (whole(&message), certainly)
        }
        3 => {
            let batch: Vec<Value> = (0..random.below(200)).map(|_| good(random).0).collect();
            (whole(&Value::Array(batch)), true)
        }
        4 => {
            let mut body = whole(&message);
            let at = usize::try_from(random.below(body.len() as u64)).unwrap();
            body[at] = 0xff;
            (body, true)
        }
        5 => ((0..random.below(300)).map(|_| random.next().to_le_bytes()[0]).collect(), true),
        6 => {
            message["method"] = json!(format!("no/{}", text(random)));
            (whole(&message), true)
        }
        7 => (whole(&message).repeat(2), true),
        8 => {
            let deep = "[".repeat(usize::try_from(random.below(100_000)).unwrap() + 64);
            (
                message
                    .to_string()
                    .replacen("\"jsonrpc\"", &format!("\"x\":{deep},\"jsonrpc\""), 1)
                    .into_bytes(),
                true,
            )
        }
        9 => (message.to_string().replacen('{', r#"{"method":"ping","#, 1).into_bytes(), true),
        10 => {
            // The revision that a request is in must be one, and said alike in its two places.
            let versions = ["1999-01-01", "", "latest", "2026-07-28, 2025-11-25", "2099-12-31"];
            fields[0].1 = random.pick(&versions).unwrap().to_string();
            (whole(&message), true)
        }
        _ => {
            "tools/listen".clone_into(&mut fields[1].1);
            (whole(&message), true)
        }
    };
    Sent { body, fields, malformed }
}

/// Sends one and judges the answer.
async fn judged(client: &Client, url: &str, key: &str, sent: Sent, seed: u64) {
    let Sent { body, fields, malformed } = sent;
    let shown = String::from_utf8_lossy(&body).chars().take(300).collect::<String>();
    let mut request = client
        .post(url)
        .bearer_auth(key)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    for (name, value) in &fields {
        request = request.header(*name, value);
    }
    let answer = request.body(body).send().await.unwrap();
    let status = answer.status();
    let text = answer.text().await.unwrap();
    let place = format!("seed {seed}: {shown} {fields:?} got {status} {text}");
    assert!(status.is_success() || status.is_client_error(), "{place}");
    if status == StatusCode::ACCEPTED {
        assert_eq!(text, "", "{place}");
        return;
    }
    let json: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {place}"));
    assert_eq!(json["jsonrpc"], "2.0", "{place}");
    assert!(json["id"].is_string() || json["id"].is_number() || json["id"].is_null(), "{place}");
    if malformed {
        assert!(json.get("result").is_none(), "{place}");
        assert!(json["error"]["code"].is_i64() && json["error"]["message"].is_string(), "{place}");
        // What is refused is not handed back: an answer is never longer because the question was.
        assert!(text.len() < 4096, "{place}");
    }
    let told = json.as_object().unwrap().keys().filter(|key| ["result", "error"].contains(&key.as_str()));
    assert_eq!(told.count(), 1, "{place}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_malformed_messages_are_answered_and_nothing_of_them_stays() {
    let pudu = Pudu::start(&[], &[]).await;
    let (url, client) = (pudu.url("/mcp"), Client::builder().no_proxy().build().unwrap());
    let key = pudu.key().expect("it asks for one").to_owned();
    // What every process holds once it has been asked.
    for seed in 0..200 {
        judged(&client, &url, &key, malformed(&SeededRandom::new(seed)), seed).await;
    }
    let before = pudu.resident();
    let mut calling = JoinSet::new();
    for caller in 0..CALLERS {
        let (url, client, key) = (url.clone(), client.clone(), key.clone());
        calling.spawn(async move {
            for number in 0..MESSAGES / CALLERS {
                let seed = SEED + caller * MESSAGES + number;
                judged(&client, &url, &key, malformed(&SeededRandom::new(seed)), seed).await;
            }
        });
    }
    while let Some(called) = calling.join_next().await {
        called.unwrap();
    }
    let (after, most) = (pudu.resident(), pudu.most_resident());
    assert!(most < before + GROWTH, "{before} KiB before, at most {most} KiB, {after} KiB after");
    // It serves on.
    let random = SeededRandom::new(SEED);
    for _ in 0..20 {
        let (message, fields) = good(&random);
        let known = message["method"] != "tasks/get";
        let mut request = client
            .post(&url)
            .bearer_auth(&key)
            .json(&message)
            .header("accept", "application/json, text/event-stream");
        for (name, value) in fields {
            request = request.header(name, value);
        }
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        assert_eq!(answer["id"], message["id"], "{answer}");
        assert!(answer.get(if known { "result" } else { "error" }).is_some(), "{answer}");
    }
}
