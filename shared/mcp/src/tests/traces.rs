//! What is logged at its most talkative, by us and by everything below: no credential of any tier.

use std::io;
use std::sync::Mutex;

use pudu_app::ports::RequestSecrets;
use secrecy::SecretString;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;

use super::host::{Host, result};
use super::*;

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Written {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// On this thread only; the runtime of a test is its thread.
#[tokio::test]
async fn no_credential_is_logged_at_trace_level() {
    let written = Written::default();
    let layer = tracing_subscriber::fmt::layer().with_writer(written.clone());
    let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));
    let tokens = Host::scripted(|_| async {
        super::host::json_body(json!({"access_token": "canary-access"}).to_string())
    })
    .await;
    for era in [Era::Stateless, Era::Session] {
        let host =
            Host::of_era(era, |seen| async move { result(&seen.message, json!({"content": []})) }).await;
        let server = entry(json!({
            "type": "http", "url": host.url, "headers": {"X-Static": "canary-static"},
            "oauth": {"token_url": tokens.url, "client_id": "me", "client_secret": "canary-secret"},
            "user_auth": {"header": "X-User", "users": {"local:default": "canary-user"}},
            "headers_from_context": {"headers": {"X-Request": "KEY"}},
        }));
        let given = [("KEY".to_owned(), SecretString::from("canary-request"))];
        let caller = Caller { secrets: RequestSecrets::Given(given.into()), ..caller() };
        client().call_tool(&server, &caller, tool("echo", json!({})), LONG).await.expect("a result");
        let sent = host.seen().into_iter().find(|seen| seen.what() == "tools/call").expect("the call");
        assert_eq!(sent.headers["authorization"], "Bearer canary-access");
    }
    drop(guard);
    let text = String::from_utf8(written.0.lock().unwrap().clone()).expect("text");
    assert!(text.contains("TRACE"), "the lines are captured: {text}");
    assert!(!text.contains("canary"), "{text}");
}
