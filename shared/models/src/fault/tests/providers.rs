//! Errors as each provider words them, with numbers and names of our own.

use super::*;

/// Anything else.
const OTHER: ModelFault = ModelFault::Other;

/// A status, what comes with it, and what it is.
type Case = (u16, &'static str, ModelFault);

fn check(cases: &[Case]) {
    for (status, body, fault) in cases {
        assert_eq!(of(*status, body), *fault, "{status} {body}");
    }
}

#[test]
fn errors_of_openai_and_azure() {
    check(&[
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
            ModelFault::Quota,
        ),
        (
            429,
            r#"{"error":{"message":"Rate limit reached for m in organization o on tokens per min (TPM): Limit 30000, Used 29600, Requested 1000. Please try again in 1.2s. Visit https://platform.openai.com/account/billing to add a payment method.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#,
            ModelFault::Burst,
        ),
        (
            429,
            r#"{"error":{"code":"RateLimitReached","message":"Your requests to m for m in westeurope have exceeded rate limit.","details":"…"}}"#,
            ModelFault::Transient,
        ),
        (
            401,
            r#"{"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint."}}"#,
            ModelFault::Auth,
        ),
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            OTHER,
        ),
        (
            404,
            r#"{"error":{"message":"The model `m` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#,
            OTHER,
        ),
        (
            400,
            r#"{"error":{"code":"unsupported_value","message":"Unsupported value: 'messages[0].role' does not support 'system' with this model.","param":"messages[0].role","type":"invalid_request_error"}}"#,
            OTHER,
        ),
        (
            500,
            r#"{"error":{"message":"The server had an error while processing your request.","type":"server_error","param":null,"code":null}}"#,
            ModelFault::Transient,
        ),
    ]);
}

#[test]
fn errors_of_anthropic() {
    check(&[
        (
            401,
            r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_1"}"#,
            ModelFault::Auth,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API. Please go to Plans & Billing to upgrade or purchase credits."}}"#,
            ModelFault::Quota,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."}}"#,
            ModelFault::Quota,
        ),
        (
            429,
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 30,000 input tokens per minute."}}"#,
            ModelFault::Burst,
        ),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            ModelFault::Transient,
        ),
        (
            500,
            r#"{"type":"error","error":{"type":"api_error","message":"Internal server error"}}"#,
            ModelFault::Transient,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 250000 tokens > 200000 maximum"},"request_id":"req_1"}"#,
            OTHER,
        ),
        (404, r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}"#, OTHER),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"This model does not support effort level 'xhigh'. Supported levels: high, low."}}"#,
            OTHER,
        ),
        (
            413,
            r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            OTHER,
        ),
    ]);
}

#[test]
fn errors_of_bedrock_with_the_name_that_their_header_has() {
    check(&[
        (
            403,
            r#"{"__type":"UnrecognizedClientException","message":"The security token included in the request is invalid."}"#,
            ModelFault::Auth,
        ),
        (
            403,
            r#"{"__type":"AccessDeniedException","message":"You don't have access to the model with the specified model ID."}"#,
            ModelFault::Auth,
        ),
        (
            429,
            r#"{"__type":"ThrottlingException","message":"Too many requests, please wait before trying again."}"#,
            ModelFault::Burst,
        ),
        (
            400,
            r#"{"__type":"ServiceQuotaExceededException","message":"Your request exceeds the service quota for your account."}"#,
            ModelFault::Quota,
        ),
        (
            429,
            r#"{"__type":"ModelNotReadyException","message":"The model is not ready for inference."}"#,
            ModelFault::Transient,
        ),
        (
            408,
            r#"{"__type":"ModelTimeoutException","message":"The model took too long."}"#,
            ModelFault::Transient,
        ),
        (
            503,
            r#"{"__type":"ServiceUnavailableException","message":"Bedrock is unable to process your request."}"#,
            ModelFault::Transient,
        ),
        (
            500,
            r#"{"__type":"InternalServerException","message":"The system encountered an unexpected error."}"#,
            ModelFault::Transient,
        ),
        (
            424,
            r#"{"__type":"ModelErrorException","message":"The model returned the following errors: it broke"}"#,
            OTHER,
        ),
        (
            400,
            r#"{"__type":"ValidationException","message":"The provided model identifier is invalid."}"#,
            OTHER,
        ),
        (
            400,
            r#"{"__type":"ValidationException","message":"The model returned the following errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again."}"#,
            OTHER,
        ),
    ]);
}

#[test]
fn errors_of_servers_that_are_compatible() {
    check(&[
        (401, r#"{"detail":"Invalid API Key"}"#, ModelFault::Auth),
        (
            401,
            r#"{"error":{"message":"Authentication Fails, Your api key: ****-key is invalid","type":"authentication_error","param":null,"code":"invalid_request_error"}}"#,
            ModelFault::Auth,
        ),
        (
            402,
            r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}"#,
            ModelFault::Quota,
        ),
        (
            402,
            r#"{"error":{"message":"Insufficient credits. Add more using https://x.example","code":402}}"#,
            ModelFault::Quota,
        ),
        (
            429,
            r#"{"error":{"code":429,"message":"Provider returned error","metadata":{"provider_name":"G","raw":"g/m:free is temporarily rate-limited upstream. Please retry shortly."}}}"#,
            ModelFault::Transient,
        ),
        (
            400,
            r#"{"error":{"message":"prompt too long; exceeded max context length by 1000 tokens","type":"invalid_request_error","param":null,"code":null}}"#,
            OTHER,
        ),
        (
            400,
            r#"{"error":{"message":"The total length of all messages is too long.","type":"too_many_prompt_tokens","code":400}}"#,
            OTHER,
        ),
        (
            422,
            r#"{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","x"],"msg":"Extra inputs are not permitted"}]},"type":"invalid_request_error","code":null}"#,
            OTHER,
        ),
        // What the model made is no fault of the tool, which stays.
        (
            400,
            r#"{"error":{"code":"tool_use_failed","failed_generation":"{\"name\": \"weather\"}","message":"Tool call validation failed: parameters for tool weather did not match schema: errors: [missing properties: 'place']","type":"invalid_request_error"}}"#,
            OTHER,
        ),
    ]);
}

#[test]
fn an_error_in_a_stream_may_say_its_own_status() {
    let told = |body: &str| of_answer(None, body, &tools());
    for (body, fault) in [
        (
            r#"{"id":"gen-1","provider":"P","error":{"code":502,"message":"Provider disconnected"}}"#,
            ModelFault::Transient,
        ),
        (r#"{"error":{"code":429,"message":"slow down"}}"#, ModelFault::Transient),
        (r#"{"error":{"code":400,"message":"Token limit reached"}}"#, OTHER),
        (r#"{"error":{"code":401,"message":"no"}}"#, ModelFault::Auth),
        (r#"{"error":{"message":"no","status_code":503}}"#, ModelFault::Transient),
        (r#"[{"error":{"code":503,"message":"no","status":"UNAVAILABLE"}}]"#, ModelFault::Transient),
        (r#"{"error":{"type":"modelStreamErrorException","message":"it broke"}}"#, ModelFault::Transient),
        (r#"{"error":{"type":"validationException","message":"no"}}"#, OTHER),
        (r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, ModelFault::Busy),
    ] {
        assert_eq!(told(body), fault, "{body}");
    }
}

#[test]
fn what_stands_behind_an_error_is_told_too() {
    let body = r#"{"error":{"code":429,"message":"Provider returned error","metadata":{"raw":"m is rate-limited upstream"}}}"#;
    assert_eq!(words_of(body), "Provider returned error: m is rate-limited upstream");
    let list = r#"{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","x"]}]},"code":null}"#;
    assert_eq!(words_of(list), r#"{"detail":[{"type":"extra_forbidden","loc":["body","x"]}]}"#);
    assert_eq!(words_of(r#"{"__type":"ValidationException","message":"no"}"#), "ValidationException: no");
}

#[test]
fn of_a_list_of_what_is_wrong_the_places_are_told_and_the_request_is_not() {
    let wrong = r#"[{"type":"string_type","loc":["body","messages",0,"content"],"msg":"Input should be a valid string","input":{"said":"no\none's \"business\""},"ctx":{"given":"no\none's"}},{"type":"x","msg":"Field required","input":"no"}]"#;
    let told = "body.messages.0.content: Input should be a valid string; Field required";
    assert_eq!(words_of(&format!(r#"{{"detail":{wrong}}}"#)), told);
    assert_eq!(
        words_of(&format!(r#"{{"object":"error","message":{{"detail":{wrong}}},"type":"bad"}}"#)),
        format!("bad: {told}")
    );
    let other =
        r#"{"detail":{"error":"no","request":{"said":"no\none's"},"errors":[{"loc":["x"],"input":"no"}]}}"#;
    assert_eq!(words_of(other), r#"{"error":"no","errors":[{"loc":["x"]}]}"#);
    let said = r#"{"detail":{"error":"no \"deer\"\nhere"}}"#;
    assert_eq!(words_of(said), r#"{"error":"no "deer" here"}"#, "as it stands in the conversation");
}

#[test]
fn an_error_may_say_itself_when_to_try_again() {
    let body = |delay: &str| {
        format!(
            r#"[{{"error":{{"code":429,"message":"You exceeded your current quota. quotaId: GenerateRequestsPerMinutePerProjectPerModel-FreeTier","details":[{{"@type":"x"}},{{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"{delay}"}}]}}}}]"#
        )
    };
    assert_eq!(delay(&body("34.5s")), Some(Duration::from_millis(34_500)));
    assert_eq!(of(429, &body("34s")), ModelFault::Transient);
    for nothing in ["soon", "-1s", "s", "1e999s"] {
        assert_eq!(delay(&body(nothing)), None, "{nothing}");
    }
    assert_eq!(delay("no JSON"), None);
}
