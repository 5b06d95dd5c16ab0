//! `GET /openapi.json`.

use acceptance::{World, send};
use axum::body::Body;
use http::{Method, Request, header};

#[tokio::test]
async fn what_is_served_is_the_contract_and_a_known_one_is_not_sent_again() {
    let world = World::without_servers().await;
    let answer = world.call(Method::GET, "/openapi.json", None).await;
    assert_eq!(answer.text, pudu_gateway::contract());
    let etag = answer.headers[header::ETAG].to_str().unwrap().to_owned();
    for known in [etag.clone(), format!("\"another\", {etag}")] {
        let again = Request::builder()
            .uri("/openapi.json")
            .header(header::HOST, "localhost")
            .header(header::IF_NONE_MATCH, known)
            .body(Body::empty())
            .unwrap();
        let again = send(&world.gateway, again).await;
        assert_eq!((again.status.as_u16(), again.text.as_str()), (304, ""));
        assert_eq!(again.headers[header::ETAG], etag.as_str());
    }
    let other = Request::builder()
        .uri("/openapi.json")
        .header(header::HOST, "localhost")
        .header(header::IF_NONE_MATCH, "\"another\"")
        .body(Body::empty())
        .unwrap();
    assert_eq!(send(&world.gateway, other).await.status, 200);
}
