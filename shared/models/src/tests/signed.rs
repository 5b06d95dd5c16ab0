//! Signatures, against those that another implementation of Amazon's makes of the same request at the same time.

use aws_credential_types::Credentials;
use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE};
use pudu_app::ports::Dialect;
use pudu_domain::Timestamp;
use pudu_domain::chat::{Message, Speaker};

use super::call;
use crate::bedrock::sign;
use crate::dialect::{Request, Tongue};

/// 21 September 2026, 14:13:20 UTC.
const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);
const BODY: &[u8] =
    br#"{"messages":[{"role":"user","content":[{"text":"hi"}]}],"inferenceConfig":{"maxTokens":1000,"temperature":0.5}}"#;

/// A request to that model in that place, with a body that never changes.
fn request(base_url: &str, model: &str) -> Request {
    let mut call = call(Dialect::Bedrock, base_url, vec![Message::new(Speaker::Human, "h", "hi")]);
    call.entry.api_key = None;
    model.clone_into(&mut call.entry.model);
    let request = Tongue::of(&call).unwrap().request;
    assert!(!request.headers.contains_key("authorization"));
    Request { body: BODY.to_vec(), ..request }
}

fn signed(mut request: Request, token: Option<&str>) -> HeaderMap {
    let secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
    let credentials = Credentials::new("AKIDEXAMPLE", secret, token.map(str::to_owned), None, "test");
    sign(&mut request, credentials, NOW).unwrap();
    request.headers
}

#[test]
fn a_signature_is_the_one_that_others_make() {
    let plain = request("https://bedrock-runtime.eu-central-1.amazonaws.com", "eu.amazon.nova-pro-v1:0");
    assert_eq!(plain.url.path(), "/model/eu.amazon.nova-pro-v1%3A0/converse-stream");
    assert_eq!(plain.headers[ACCEPT], "application/vnd.amazon.eventstream");
    assert_eq!(plain.headers[CONTENT_TYPE], "application/json");
    let headers = signed(plain, None);
    assert_eq!(
        headers["authorization"],
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260921/eu-central-1/bedrock/aws4_request, SignedHeaders=accept;content-type;host;x-amz-date, Signature=07b1d32594bf75eca46ffd42fe504127c392d6ef7eb29a49ecee2dad9f797fdc"
    );
    assert_eq!(headers["x-amz-date"], "20260921T141320Z");
    assert!(headers["authorization"].is_sensitive());
}

#[test]
fn a_profile_s_name_and_a_session_are_signed_too() {
    let profile = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc";
    let request = request("https://bedrock-runtime.us-east-1.amazonaws.com", profile);
    let headers = signed(request, Some("a-session-token"));
    assert_eq!(
        headers["authorization"],
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260921/us-east-1/bedrock/aws4_request, SignedHeaders=accept;content-type;host;x-amz-date;x-amz-security-token, Signature=0c5135c2cd195b772f6f4edbab49592dfb9ee582315b2c29decb642ad61c67fa"
    );
    assert_eq!(headers["x-amz-security-token"], "a-session-token");
}

#[test]
fn the_region_is_read_from_the_address() {
    for (host, region) in [
        ("bedrock-runtime.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        ("bedrock-runtime-fips.us-west-2.amazonaws.com", "us-west-2"),
        ("vpce-0a1b.bedrock-runtime.eu-west-1.vpce.amazonaws.com", "eu-west-1"),
        ("models.example", "us-east-1"),
    ] {
        let headers = signed(request(&format!("https://{host}"), "m"), None);
        let scope = format!("Credential=AKIDEXAMPLE/20260921/{region}/bedrock/aws4_request");
        assert!(headers["authorization"].to_str().unwrap().contains(&scope), "{host}");
    }
}
