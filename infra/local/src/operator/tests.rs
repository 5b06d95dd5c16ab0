//! The operator's door opens for its key and for nothing else.

use axum::body::Body;
use http::{Method, Request};
use pudu_lambda::random::OsRandom;
use tower::ServiceExt;

use super::*;
use crate::house::testing::house;
use crate::house::{House, new_api_key};

async fn put(house: &House, key: Option<&str>, body: &str) -> StatusCode {
    let mut request = Request::builder().method(Method::PUT).uri(IMPORT).header(header::HOST, "localhost");
    if let Some(key) = key {
        request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
    }
    house.gateway().oneshot(request.body(Body::from(body.to_owned())).unwrap()).await.unwrap().status()
}

#[tokio::test]
async fn an_import_needs_the_key_also_where_the_gateway_does_not() {
    let (_folder, house) = house();
    house.create_table().await.unwrap();
    let config = r#"{"mcpServers": {"child": {"command": "npx"}}}"#;
    let right = house.key().expose();
    let longer = format!("{right}x");
    let other = new_api_key(&OsRandom);
    for key in [None, Some(""), Some("wrong"), Some(longer.as_str()), Some(other.expose())] {
        assert_eq!(put(&house, key, config).await, StatusCode::UNAUTHORIZED);
    }
    assert_eq!(house.stored.current().await.unwrap().version.number, 0);
    assert_eq!(put(&house, Some(right), config).await, StatusCode::OK);
    assert!(house.stored.current().await.unwrap().servers.contains_key("child"));
    let records = house.wiring.audit().log.list(10, None).await.unwrap();
    let [record] = &records[..] else { panic!("who shows no key changes nothing: {records:?}") };
    assert_eq!((record.action.as_str(), record.tag.as_str()), ("config.import", "operator"));
}

#[tokio::test]
async fn what_is_no_config_is_refused() {
    let (_folder, house) = house();
    house.create_table().await.unwrap();
    for body in ["", "{", "[]", r#"{"mcpServers": {"a": {"env": {"K": "***"}}}}"#] {
        assert_eq!(
            put(&house, Some(house.key().expose()), body).await,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{body}"
        );
    }
    assert_eq!(house.stored.current().await.unwrap().version.number, 0);
}
