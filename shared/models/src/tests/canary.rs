//! No credential and nothing of the conversation is in an error, whatever a provider repeats.

use std::io::Write;
use std::sync::{Arc, Mutex};

use pudu_app::ports::Dialect;
use pudu_domain::chat::{Content, Message, Speaker};
use secrecy::SecretString;
use serde_json::json;

use super::provider::{Answer, Provider};
use super::{CANARY, PRIVATE, call, clients, said};

/// Everything that is logged, at every level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn nothing_of_a_call_is_logged() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing_subscriber::filter::LevelFilter::TRACE);
    let subscriber = subscriber.with_writer(move || writer.clone()).finish();
    // The older facade's records go to whoever listens in this thread.
    let _ = tracing_log::LogTracer::init();
    let _guard = tracing_subscriber::util::SubscriberInitExt::set_default(subscriber);
    for dialect in [Dialect::OpenAi, Dialect::Anthropic, Dialect::Bedrock] {
        for answer in [Answer::refusal(400, "", PRIVATE), Answer::stream(PRIVATE, 3)] {
            let provider = Provider::with(answer).await;
            let url = provider.url.replace("http://", "http://user:canary-password@");
            let call = call(dialect, &url, vec![Message::new(Speaker::Human, "h", PRIVATE)]);
            said(&clients(), &call).await.0.unwrap_err();
        }
    }
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    for secret in ["canary", "Mrs. Fuentes"] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[tokio::test]
async fn what_a_provider_repeats_is_not_shown() {
    let other = "canary-header-98765";
    for dialect in [Dialect::OpenAi, Dialect::Anthropic, Dialect::Bedrock] {
        for status in [400, 401, 429, 500] {
            let message = format!(
                "bad key {CANARY}, header {other}, user:canary-password said: {PRIVATE}; Bearer {CANARY}"
            );
            let body = json!({"error": {"message": message, "type": "x"}}).to_string();
            let provider = Provider::with(Answer::refusal(status, "", &body)).await;
            let url = provider.url.replace("http://", "http://user:canary-password@");
            let mut call = call(dialect, &url, vec![Message::new(Speaker::Human, "h", PRIVATE)]);
            call.entry.headers = vec![("x-more".to_owned(), SecretString::from(other))];
            let error = said(&clients(), &call).await.0.unwrap_err();
            let shown = format!("{error} {error:?} {:?}", call.entry);
            for secret in [CANARY, other, "canary", PRIVATE, "Mrs. Fuentes"] {
                assert!(!shown.contains(secret), "{dialect:?} {status}: {shown}");
            }
            assert!(shown.contains("bad key ***"), "what is left is still of use: {shown}");
        }
    }
}

#[tokio::test]
async fn thoughts_and_signatures_that_a_provider_repeats_are_not_shown() {
    let signature = "canary-signature-EqQBCgIYAhIkMGUx";
    let thought = json!({"type": "thinking", "thinking": PRIVATE, "signature": signature});
    let mut blocks = Message::new(Speaker::Ai, "a", "");
    blocks.content = Content::Blocks(vec![thought]);
    let mut beside = Message::new(Speaker::Ai, "b", "yes");
    beside.additional_kwargs.insert("reasoning_content".into(), PRIVATE.into());
    beside.additional_kwargs.insert("reasoning_details".into(), json!([{ "signature": signature }]));
    for said_before in [blocks, beside] {
        for dialect in [Dialect::OpenAi, Dialect::Anthropic, Dialect::Bedrock] {
            let message = format!("bad signature {signature} of '{PRIVATE}'");
            let body = json!({"error": {"message": message, "type": "x"}}).to_string();
            let provider = Provider::with(Answer::refusal(400, "", &body)).await;
            let messages = vec![said_before.clone(), Message::new(Speaker::Human, "h", "and?")];
            let error = said(&clients(), &call(dialect, &provider.url, messages)).await.0.unwrap_err();
            assert!(error.message.contains("bad signature […]"), "{error}");
            for secret in ["canary", "Mrs. Fuentes"] {
                assert!(!error.message.contains(secret), "{dialect:?}: {error}");
            }
        }
    }
}
