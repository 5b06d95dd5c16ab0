//! Pages of `tools/list` that go wrong.

use pudu_app::ports::CallFault;

use super::host::{Host, result};
use super::*;

async fn listed(
    page: impl Fn(&Value) -> Value + Clone + Send + Sync + 'static,
) -> (Host, Result<Vec<String>, CallError>) {
    let host = Host::of_era(Era::Stateless, move |seen| {
        let page = page(&seen.message["params"]["cursor"]);
        async move { result(&seen.message, page) }
    })
    .await;
    let tools = client().list_tools(&http(&host.url), LONG).await.map(|listing| listing.tools);
    (host, tools.map(|tools| tools.into_iter().map(|tool| tool.name).collect()))
}

#[tokio::test]
async fn an_empty_or_null_cursor_ends_the_list() {
    for end in [json!(""), json!(null)] {
        let (_host, tools) = listed(move |_| json!({"tools": [{"name": "a"}], "nextCursor": end})).await;
        assert_eq!(tools, Ok(vec!["a".to_owned()]));
    }
}

#[tokio::test]
async fn a_nameless_tool_hides_no_other() {
    let (_host, tools) = listed(|_| json!({"tools": [{"name": ""}, 7, {"title": "x"}, {"name": "a"}]})).await;
    assert_eq!(tools, Ok(vec!["a".to_owned()]));
}

#[tokio::test]
async fn a_repeated_cursor_is_a_protocol_error() {
    let (host, tools) = listed(|_| json!({"tools": [], "nextCursor": "again"})).await;
    let error = tools.expect_err("an endless list");
    assert_eq!((error.fault, host.count("tools/list")), (CallFault::Protocol, 2), "{error}");
}

#[tokio::test]
async fn pages_end_at_a_thousand() {
    let (host, tools) = listed(|cursor| {
        let page: u32 = cursor.as_str().map_or(0, |text| text.parse().expect("our cursor"));
        json!({"tools": [], "nextCursor": (page + 1).to_string()})
    })
    .await;
    let error = tools.expect_err("an endless list");
    assert_eq!((error.fault, host.count("tools/list")), (CallFault::Protocol, 1000), "{error}");
}

/// Each page is within its bound, and there is always another.
#[tokio::test]
async fn pages_do_not_fill_the_memory() {
    let (host, tools) = listed(|cursor| {
        let page: u32 = cursor.as_str().map_or(0, |text| text.parse().expect("our cursor"));
        let tool = json!({"name": format!("t{page}"), "description": "x".repeat(6 * 1024 * 1024)});
        json!({"tools": [tool], "nextCursor": (page + 1).to_string()})
    })
    .await;
    let error = tools.expect_err("too much");
    assert_eq!((error.fault, host.count("tools/list")), (CallFault::Protocol, 3), "{error}");
    assert!(error.message.contains("more than 16777216 bytes"), "{error}");
}

#[tokio::test]
async fn a_list_that_is_none_is_a_protocol_error() {
    for page in [json!({}), json!({"tools": {}}), json!({"tools": [], "nextCursor": 3})] {
        let (_host, tools) = listed(move |_| page.clone()).await;
        assert_eq!(tools.expect_err("no list").fault, CallFault::Protocol);
    }
}
