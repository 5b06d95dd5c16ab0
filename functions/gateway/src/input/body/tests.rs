use axum::body::to_bytes;
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::json;

use super::*;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it is only read")]
struct Outer {
    list: Vec<Inner>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it is only read")]
struct Inner {
    size: u8,
}

impl Shape for Outer {
    const EXPECTED: &'static str = "a list of sizes";
}

async fn refused(body: &[u8]) -> (u16, String) {
    let response = read::<Outer>(body).unwrap_err().into_response();
    let status = response.status().as_u16();
    let bytes = to_bytes(response.into_body(), 10_000).await.unwrap();
    let body: Value = serde_json::from_slice(&bytes).unwrap();
    (status, body["detail"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_wrong_shape_names_the_place_and_never_the_value() {
    for (body, place) in [
        (json!({"list": [{"size": 1}, {"size": "s3cret"}]}), "; list[1].size is wrong"),
        (json!({"list": [{"size": 1, "more": "s3cret"}]}), "; list[0].more is wrong"),
        (json!({"list": [{}]}), "; list[0] is wrong"),
        (json!({"list": "s3cret"}), "; list is wrong"),
    ] {
        let (status, detail) = refused(body.to_string().as_bytes()).await;
        assert_eq!(status, 422, "{detail}");
        assert!(
            detail.starts_with("the body must be a list of sizes; ") && detail.contains(place),
            "{detail}"
        );
        assert!(!detail.contains("s3cret"), "{detail}");
    }
    for body in [json!("s3cret"), json!(null), json!([[]]), json!({})] {
        let told = refused(body.to_string().as_bytes()).await;
        assert_eq!(told, (422, "the body must be a list of sizes".to_owned()), "all of it is wrong");
    }
    let long = json!({ "x".repeat(10_000): 1 }).to_string();
    let (_, detail) = refused(long.as_bytes()).await;
    assert!(detail.chars().count() < 320, "a caller's own names are cut: {}", detail.len());
}

#[tokio::test]
async fn broken_json_says_where_it_breaks_and_repeats_nothing_of_it() {
    for body in [&b"{\"list\": s3cret}"[..], b"\"s3cret", b"", b"{} s3cret"] {
        let (status, detail) = refused(body).await;
        assert_eq!(status, 400, "{detail}");
        assert!(detail.contains("at line") && !detail.contains("s3cret"), "{detail}");
    }
}
