//! Sessions over pipes in memory, with a scripted peer at the other end.

use std::future::{pending, ready};
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use pudu_app::ports::CallFault;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::*;
use crate::session::Session;
use crate::wire::MAX_ANSWER_BYTES;

/// Far longer than anything here takes.
const LONG: Duration = Duration::from_secs(30);

type Incoming = mpsc::UnboundedSender<Result<Vec<u8>, Failure>>;

/// The peer's ends of a pipe.
struct Far {
    say: Incoming,
    heard: mpsc::UnboundedReceiver<Value>,
    changes: ListChanges,
}

struct Channel(mpsc::UnboundedSender<Value>);

/// An outlet that never gets rid of a request of ours.
struct Clogged(Channel);

#[async_trait]
impl Outlet for Channel {
    async fn send(&self, message: Vec<u8>) -> Result<(), Failure> {
        let message = serde_json::from_slice(&message).expect("JSON");
        self.0.send(message).map_err(|_| Failure::new(CallFault::Broken, "gone"))
    }

    async fn close(&self) {}
}

#[async_trait]
impl Outlet for Clogged {
    async fn send(&self, message: Vec<u8>) -> Result<(), Failure> {
        let ours = String::from_utf8_lossy(&message).contains("tools/call");
        if ours {
            Err(Failure::new(CallFault::NotSent, "the way out is closed"))
        } else {
            self.0.send(message).await
        }
    }

    async fn close(&self) {}
}

fn pipe(wrap: impl FnOnce(Channel) -> Arc<dyn Outlet>) -> (Pipe, Far) {
    let (say, said) = mpsc::unbounded_channel();
    let (hear, heard) = mpsc::unbounded_channel();
    let changes = ListChanges::default();
    let peer = Peer {
        server: "peer".to_owned(),
        digest: "digest".to_owned(),
        redactor: Redactor::default(),
        changes: changes.clone(),
    };
    let inlet = stream::unfold(said, |mut said| async { Some((said.recv().await?, said)) }).boxed();
    (Pipe::new(peer, inlet, wrap(Channel(hear))), Far { say, heard, changes })
}

impl Far {
    fn say(&self, message: &Value) {
        self.say.send(Ok(message.to_string().into_bytes())).expect("an open pipe");
    }

    fn answer(&self, request: &Value, result: &Value) {
        self.say(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }

    async fn next(&mut self) -> Value {
        timeout(LONG, self.heard.recv()).await.expect("in time").expect("an open pipe")
    }

    async fn initialize(&mut self) {
        let asked = self.next().await;
        assert_eq!(asked["method"], "initialize");
        let info = json!({"name": "scripted", "version": "1"});
        let result =
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info});
        self.answer(&asked, &result);
        assert_eq!(self.next().await["method"], "notifications/initialized");
    }
}

async fn opened() -> (Session, Far) {
    let (pipe, mut far) = pipe(|channel| Arc::new(channel));
    let (session, ()) = tokio::join!(Session::over(pipe, Arc::default()), far.initialize());
    (session.expect("a session"), far)
}

fn ask(headers: &[(&str, &str)]) -> Ask {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), SecretString::from(*value)));
    let params = Map::from_iter([("name".to_owned(), json!("echo"))]);
    Ask {
        method: "tools/call",
        params,
        headers: Headers(headers.collect()),
        sent: Arc::default(),
        relayed: None,
    }
}

async fn call(session: &Session) -> Result<Value, Failure> {
    timeout(LONG, session.ask(ask(&[]), pending())).await.expect("in time").expect("not stopped")
}

#[tokio::test]
async fn results_come_through_unchanged_between_messages_that_mean_nothing() {
    let (session, mut far) = opened().await;
    let strange = json!({
        "content": [{"type": "hologram", "data": [1, 2.5, null]}], "structuredContent": {"big": u64::MAX},
        "unknownTop": {"kept": "yes"}, "tools": [], "pudu/raw": 1,
    });
    let peer = async {
        let asked = far.next().await;
        let noise: [&[u8]; 7] = [
            b"Listening on stdio...",
            b"",
            b"\xff\xfe{}",
            b"7",
            b"{\"jsonrpc\":\"2.0\"}",
            b"{\"jsonrpc\":\"2.0\",\"id\":\"not asked\",\"result\":{}}",
            b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/vendor\",\"params\":{\"x\":1}}",
        ];
        for noise in noise {
            far.say.send(Ok(noise.to_vec())).expect("an open pipe");
        }
        far.answer(&asked, &strange);
    };
    let (got, ()) = tokio::join!(call(&session), peer);
    assert_eq!(got.expect("a result").to_string(), strange.to_string());
}

#[tokio::test]
async fn a_batch_is_read_message_by_message() {
    let (session, mut far) = opened().await;
    let peer = async {
        let asked = far.next().await;
        let note = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}});
        far.say(&json!([note, {"jsonrpc": "2.0", "id": asked["id"], "result": {"n": 1}}]));
    };
    let (got, ()) = tokio::join!(call(&session), peer);
    assert_eq!(got, Ok(json!({"n": 1})));
}

#[tokio::test]
async fn requests_of_the_server_that_nobody_supports_are_answered_by_the_sdk() {
    let (_session, mut far) = opened().await;
    far.say(&json!({"jsonrpc": "2.0", "id": "s1", "method": "ping"}));
    assert_eq!(far.next().await, json!({"jsonrpc": "2.0", "id": "s1", "result": {}}));
    far.say(&json!({"jsonrpc": "2.0", "id": "s2", "method": "vendor/unknown", "params": {"a": 1}}));
    assert_eq!(far.next().await["error"]["code"], -32601);
}

#[tokio::test]
async fn a_change_of_the_tools_is_reported_under_the_servers_digest() {
    let (session, mut far) = opened().await;
    let before = far.changes.mark("digest");
    for asked in [false, true] {
        if asked {
            let peer = async {
                let asked = far.next().await;
                far.answer(&asked, &json!({}));
            };
            let (got, ()) = tokio::join!(call(&session), peer);
            got.expect("a result");
        }
        far.say(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
        // Messages are read in order: when the ping is answered the change was read.
        far.say(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
        far.next().await;
        assert_eq!(
            far.changes.mark("digest") != before,
            asked,
            "what is said before anything was asked is a start"
        );
    }
}

#[tokio::test]
async fn a_server_of_the_newest_revision_only_is_asked_to_discover() {
    let (pipe, mut far) = pipe(|channel| Arc::new(channel));
    let peer = async {
        let refused = far.next().await;
        assert_eq!(refused["method"], "initialize");
        let error = json!({"code": -32601, "message": "no such method"});
        far.say(&json!({"jsonrpc": "2.0", "id": refused["id"], "error": error}));
        let asked = far.next().await;
        assert_eq!(asked["method"], "server/discover");
        let found = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {},
                           "ttlMs": 0, "cacheScope": "private"});
        far.answer(&asked, &found);
    };
    let (session, ()) = tokio::join!(Session::over(pipe, Arc::default()), peer);
    let session = session.expect("a session");
    let peer = async {
        let asked = far.next().await;
        let meta = asked["params"]["_meta"].as_object().expect("each request says who asks");
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert!(!meta.contains_key("progressToken"));
        far.answer(&asked, &json!({}));
    };
    let (got, ()) = tokio::join!(call(&session), peer);
    assert_eq!(got, Ok(json!({})));
}

#[tokio::test]
async fn a_refused_handshake_says_what_the_server_said() {
    let (pipe, mut far) = pipe(|channel| Arc::new(channel));
    let peer = async {
        for message in ["licence is missing", "what?"] {
            let asked = far.next().await;
            let error = json!({"code": -32600, "message": message});
            far.say(&json!({"jsonrpc": "2.0", "id": asked["id"], "error": error}));
        }
    };
    let (session, ()) = tokio::join!(Session::over(pipe, Arc::default()), peer);
    let failure = session.err().expect("a failure");
    assert!(failure.message.contains("licence is missing"), "{failure}");
}

#[tokio::test]
async fn the_end_of_a_pipe_is_the_failure_of_every_open_request_and_of_later_ones() {
    let (session, mut far) = opened().await;
    let calls = join_all((0..3).map(|_| call(&session)));
    let peer = async {
        for _ in 0..3 {
            far.next().await;
        }
        let last = Failure::new(CallFault::Broken, "its process ended");
        far.say.send(Err(last)).expect("an open pipe");
    };
    let (got, ()) = tokio::join!(calls, peer);
    for failure in got.into_iter().map(|got| got.expect_err("a failure")) {
        assert_eq!((failure.fault, failure.message.as_str()), (CallFault::Broken, "its process ended"));
    }
    assert!(session.is_closed());
    assert_eq!(call(&session).await.expect_err("a failure").message, "its process ended");
}

#[tokio::test]
async fn a_message_over_the_bound_ends_the_conversation_with_that_reason() {
    let (session, mut far) = opened().await;
    let peer = async {
        far.next().await;
        far.say.send(Ok(vec![b' '; MAX_ANSWER_BYTES + 1])).expect("an open pipe");
    };
    let (got, ()) = tokio::join!(call(&session), peer);
    let failure = got.expect_err("a failure");
    assert_eq!(failure.fault, CallFault::Protocol);
    assert!(failure.message.contains("more than 8388608 bytes"), "{failure}");
}

#[tokio::test]
async fn errors_of_the_server_keep_their_code_and_their_text_for_the_request_that_they_answer() {
    let (session, mut far) = opened().await;
    far.say(
        &json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32601, "message": "for the notification"}}),
    );
    let peer = async {
        for id in [true, false] {
            let asked = far.next().await;
            let mut error = json!({"jsonrpc": "2.0", "error": {"code": -32602, "message": "which city?"}});
            if id {
                error["id"] = asked["id"].clone();
            }
            far.say(&error);
        }
    };
    let calls = async { [call(&session).await, call(&session).await] };
    let (got, ()) = tokio::join!(calls, peer);
    for failure in got.map(|got| got.expect_err("a failure")) {
        assert_eq!((failure.fault, failure.code), (CallFault::Refused, Some(-32602)));
        assert!(failure.message.ends_with("which city?"), "{failure}");
    }
}

/// Many a server answers what it does not know, and 'notifications/initialized' has no id to repeat.
#[tokio::test]
async fn an_error_for_a_notification_is_not_taken_for_the_answer_to_a_request() {
    let (session, mut far) = opened().await;
    let peer = async {
        let asked = far.next().await;
        far.say(
            &json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32601, "message": "no such method"}}),
        );
        far.answer(&asked, &json!({"n": 1}));
    };
    let (got, ()) = tokio::join!(call(&session), peer);
    assert_eq!(got, Ok(json!({"n": 1})));
}

#[tokio::test]
async fn results_that_are_no_objects_are_refused() {
    for wrong in [json!(null), json!("text"), json!([1])] {
        let (session, mut far) = opened().await;
        let peer = async {
            let asked = far.next().await;
            far.answer(&asked, &wrong);
        };
        let (got, ()) = tokio::join!(call(&session), peer);
        assert_eq!(got.expect_err("a failure").fault, CallFault::Protocol, "{wrong}");
    }
}

#[tokio::test]
async fn a_request_that_cannot_leave_was_not_sent() {
    let (pipe, mut far) = pipe(|channel| Arc::new(Clogged(channel)));
    let (session, ()) = tokio::join!(Session::over(pipe, Arc::default()), far.initialize());
    let failure = call(&session.expect("a session")).await.expect_err("a failure");
    assert_eq!((failure.fault, failure.message.as_str()), (CallFault::NotSent, "the way out is closed"));
}

#[tokio::test]
async fn the_mark_of_sending_is_set_by_the_request_that_it_belongs_to() {
    let (session, mut far) = opened().await;
    let (first, second) = (ask(&[]), ask(&[]));
    let marks = [Arc::clone(&first.sent), Arc::clone(&second.sent)];
    let peer = async {
        let asked = far.next().await;
        far.answer(&asked, &json!({}));
    };
    let (got, ()) = tokio::join!(session.ask(first, pending()), peer);
    assert_eq!(got, Some(Ok(json!({}))));
    assert_eq!(marks.map(|mark| mark.load(Ordering::Acquire)), [true, false]);
}

#[tokio::test]
async fn a_request_that_is_stopped_is_cancelled_at_its_server_and_a_late_answer_harms_nobody() {
    let (session, mut far) = opened().await;
    let session = Arc::new(session);
    let mut tasks = JoinSet::new();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let asking = Arc::clone(&session);
    tasks.spawn(async move { asking.ask(ask(&[]), async move { drop(stopped.await) }).await });
    let asked = far.next().await;
    stop.send(()).expect("somebody waits");
    let told = far.next().await;
    assert_eq!(told["method"], "notifications/cancelled");
    assert_eq!(told["params"]["requestId"], asked["id"]);
    assert_eq!(tasks.join_next().await.expect("a task").expect("no panic"), None);
    let peer = async {
        far.answer(&asked, &json!({"late": true}));
        let next = far.next().await;
        far.answer(&next, &json!({"late": false}));
    };
    let (got, ()) = tokio::join!(call(&session), peer);
    assert_eq!(got, Ok(json!({"late": false})));
}

#[tokio::test]
async fn what_is_stopped_before_it_begins_asks_nothing() {
    let (session, mut far) = opened().await;
    let got = session.ask(ask(&[]), ready(())).await;
    let told = async {
        // Whatever was begun is also taken back.
        far.say(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
        loop {
            let heard = far.next().await;
            if heard.get("result").is_some() {
                break;
            }
        }
    };
    told.await;
    assert_eq!(got, None);
}

#[tokio::test]
async fn headers_travel_as_metadata_and_only_when_there_are_any() {
    let (session, mut far) = opened().await;
    let peer = async {
        let mut seen = Vec::new();
        for _ in 0..2 {
            let asked = far.next().await;
            seen.push(asked["params"].clone());
            far.answer(&asked, &json!({}));
        }
        seen
    };
    let calls = async {
        for headers in [&[("X-Tenant", "t-1")][..], &[]] {
            session.ask(ask(headers), pending()).await.expect("not stopped").expect("a result");
        }
    };
    let ((), seen) = tokio::join!(calls, peer);
    assert_eq!(seen[0], json!({"name": "echo", "_meta": {"headers": {"X-Tenant": "t-1"}}}));
    assert_eq!(seen[1], json!({"name": "echo"}));
}
