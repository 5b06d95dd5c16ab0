//! Refusals, as providers word them.

use std::time::Duration;

use pudu_app::ports::{Dialect, ModelFault};
use pudu_domain::chat::{Message, Speaker};

use super::conversation::frames;
use super::provider::{Answer, Provider};
use super::{call, clients, clients_that, said};

fn asked() -> Vec<Message> {
    vec![Message::new(Speaker::Human, "h", "hello")]
}

async fn refusal(dialect: Dialect, answer: Answer) -> pudu_app::ports::ModelError {
    let provider = Provider::with(answer).await;
    said(&clients(), &call(dialect, &provider.url, asked())).await.0.unwrap_err()
}

#[tokio::test]
async fn a_refusal_says_when_to_try_again_and_what_was_said() {
    let body = r#"{"error":{"message":"Rate limit reached for requests","type":"requests","param":null,"code":null}}"#;
    let error = refusal(Dialect::OpenAi, Answer::refusal(429, "retry-after: 7\r\n", body)).await;
    assert_eq!((error.fault, error.retry_after), (ModelFault::Transient, Some(Duration::from_secs(7))));
    assert_eq!(error.message, "HTTP 429: Rate limit reached for requests");
    let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let error =
        refusal(Dialect::Anthropic, Answer::refusal(529, "retry-after-ms: 1500\r\nretry-after: 9\r\n", body))
            .await;
    assert_eq!((error.fault, error.retry_after), (ModelFault::Transient, Some(Duration::from_millis(1500))));
    let body = r#"{"message":"The security token included in the request is invalid."}"#;
    let error = refusal(Dialect::Bedrock, Answer::refusal(403, "", body)).await;
    assert_eq!(error.fault, ModelFault::Auth);
    let error =
        refusal(Dialect::OpenAi, Answer::refusal(429, "retry-after-ms: 0\r\nretry-after: 1\r\n", "{}")).await;
    assert_eq!(error.retry_after, Some(Duration::from_secs(1)), "nought is no pause");
    let error = refusal(Dialect::OpenAi, Answer::refusal(502, "", "<html>proxy</html>")).await;
    assert_eq!((error.fault, error.message.as_str()), (ModelFault::Transient, "HTTP 502"));
}

#[tokio::test]
async fn what_amazon_calls_an_error_stands_in_a_header() {
    let header =
        "x-amzn-errortype: ThrottlingException:http://internal.amazon.com/coral/com.amazon.bedrock/\r\n";
    let body = r#"{"message":"Too many tokens, please wait before trying again."}"#;
    let error = refusal(Dialect::Bedrock, Answer::refusal(429, header, body)).await;
    assert_eq!(error.fault, ModelFault::Burst);
    let wanted = "HTTP 429: ThrottlingException: Too many tokens, please wait before trying again.";
    assert_eq!(error.message, wanted);
    let header = "x-amzn-errortype: ServiceQuotaExceededException\r\n";
    let error = refusal(Dialect::Bedrock, Answer::refusal(400, header, "no")).await;
    assert_eq!(
        (error.fault, error.message.as_str()),
        (ModelFault::Quota, "HTTP 400: ServiceQuotaExceededException: no")
    );
}

#[tokio::test]
async fn a_tool_that_is_not_taken_is_named_with_its_place() {
    let body = r#"{"error":{"message":"Invalid schema for function 'weather': In context=('properties', 'place'), 'x' is not valid","type":"invalid_request_error","param":"tools[0].function.parameters","code":"invalid_function_parameters"}}"#;
    let error = refusal(Dialect::OpenAi, Answer::refusal(400, "", body)).await;
    let wanted = ModelFault::Schema { tool: Some("weather".into()), path: Some("$.properties.place".into()) };
    assert_eq!(error.fault, wanted);
    let body = r#"{"type":"error","error":{"type":"invalid_request_error","message":"tools.1.custom.input_schema.properties.a: JSON schema is invalid"}}"#;
    let error = refusal(Dialect::Anthropic, Answer::refusal(400, "", body)).await;
    assert_eq!(
        error.fault,
        ModelFault::Schema { tool: Some("time".into()), path: Some("$.properties.a".into()) }
    );
}

#[tokio::test]
async fn an_error_in_the_middle_of_a_stream_is_one() {
    let openai = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\ndata: {\"error\":{\"message\":\"The server had an error\",\"type\":\"server_error\"}}\n\n";
    let anthropic = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let bedrock = frames(
        "messageStart {\"role\":\"assistant\"}\nexception:throttlingException {\"message\":\"Too many requests, please wait\"}",
    );
    let exception = frames("exception:modelStreamErrorException {\"message\":\"it broke\"}");
    for (dialect, body, fault) in [
        (Dialect::OpenAi, openai.as_bytes().to_vec(), ModelFault::Transient),
        (Dialect::Anthropic, anthropic.as_bytes().to_vec(), ModelFault::Busy),
        (Dialect::Bedrock, bedrock, ModelFault::Burst),
        (Dialect::Bedrock, exception, ModelFault::Transient),
    ] {
        let error = refusal(dialect, Answer::stream(body, 5)).await;
        assert_eq!(error.fault, fault, "{error}");
    }
}

#[tokio::test]
async fn an_answer_that_is_no_stream_is_heard_all_the_same() {
    let json = |body: &str| Answer {
        headers: "content-type: application/json; charset=utf-8\r\n",
        ..Answer::stream(body, 5)
    };
    let body = r#"{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi","tool_calls":[
        {"id":"a","type":"function","function":{"name":"time","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"weather","arguments":"{}"}}
    ]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}"#;
    let provider = Provider::with(json(body)).await;
    let (message, pieces) = said(&clients(), &call(Dialect::OpenAi, &provider.url, asked())).await;
    let message = message.unwrap();
    assert_eq!((message.content.text().as_str(), message.tool_calls.len(), pieces.len()), ("hi", 2, 3));
    assert_eq!(message.usage_metadata.unwrap().total_tokens, 5);
    for (dialect, fault) in [(Dialect::OpenAi, ModelFault::Transient), (Dialect::Anthropic, ModelFault::Busy)]
    {
        let body = match dialect {
            Dialect::OpenAi => r#"{"error":{"code":502,"message":"no upstream"}}"#,
            _ => r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        };
        assert_eq!(refusal(dialect, json(body)).await.fault, fault);
    }
    assert_eq!(refusal(Dialect::OpenAi, json(" ")).await.message, "the answer ended in the middle");
}

#[tokio::test]
async fn what_comes_after_the_end_is_nobody_s() {
    let body = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\ndata: no JSON\n\n";
    for chunk in [1, usize::MAX] {
        let provider = Provider::with(Answer::stream(body, chunk)).await;
        let message = said(&clients(), &call(Dialect::OpenAi, &provider.url, asked())).await.0.unwrap();
        assert_eq!(message.content.text(), "hi");
    }
}

#[tokio::test]
async fn silence_is_told_from_a_broken_connection() {
    let provider =
        Provider::with(Answer { hangs: true, ..Answer::stream("data: {\"choices\":[]}\n\n", 9) }).await;
    let mut quiet = call(Dialect::OpenAi, &provider.url, asked());
    quiet.entry.chunk_timeout = Duration::from_millis(50);
    assert_eq!(said(&clients(), &quiet).await.0.unwrap_err().fault, ModelFault::Stalled);
    quiet.entry.chunk_timeout = Duration::from_secs(60);
    quiet.entry.timeout = Duration::from_millis(50);
    let provider =
        Provider::with(Answer { hangs: true, ..Answer::stream("data: {\"choices\":[]}\n\n", 9) }).await;
    quiet.entry.base_url = Some(provider.url.clone());
    let error = said(&clients(), &quiet).await.0.unwrap_err();
    assert_eq!((error.fault, error.message.as_str()), (ModelFault::Transient, "it took longer than 0 s"));
    let nobody = call(Dialect::OpenAi, "http://127.0.0.1:1", asked());
    let error = said(&clients(), &nobody).await.0.unwrap_err();
    assert_eq!(
        (error.fault, error.message.as_str()),
        (ModelFault::Transient, "it could not be connected to")
    );
}

#[tokio::test]
async fn an_address_that_the_rule_refuses_is_not_called() {
    let guarded = clients_that(|url| {
        if url.host_str() == Some("169.254.169.254") { Err("a metadata address".into()) } else { Ok(()) }
    });
    let error =
        said(&guarded, &call(Dialect::OpenAi, "http://169.254.169.254/v1", asked())).await.0.unwrap_err();
    assert_eq!(
        (error.fault, error.message.as_str()),
        (ModelFault::Other, "its address is not called: a metadata address")
    );
    let nowhere = call(Dialect::OpenAi, "no url", asked());
    assert_eq!(said(&guarded, &nowhere).await.0.unwrap_err().message, "its base_url is no URL");
}
