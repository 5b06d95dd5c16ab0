//! No credential and nothing of the conversation is in an error, whatever a provider repeats.

use pudu_app::ports::Dialect;
use pudu_domain::chat::{Message, Speaker};
use secrecy::SecretString;
use serde_json::json;

use super::provider::{Answer, Provider};
use super::{CANARY, PRIVATE, call, clients, said};

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
