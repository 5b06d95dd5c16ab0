use std::sync::Arc;

use pudu_app::ports::{BlobError, Blobs};
use pudu_domain::ThreadKey;
use pudu_domain::chat::ToolStatus;
use pudu_domain::run::Subagent;
use pudu_domain::state::State;
use pudu_testkit::FakeBlobs;
use serde_json::json;

use super::*;
use crate::fixture::{World, call};
use crate::middleware::FROM_SERVER;

/// A store that is down.
struct Down;

#[async_trait]
impl Blobs for Down {
    async fn put(&self, _: &ThreadKey, _: &str, _: Vec<u8>) -> Result<(), BlobError> {
        Err(BlobError { operation: "writing a blob", source: "it is down".into() })
    }

    async fn get(&self, _: &ThreadKey, _: &str) -> Result<Option<Vec<u8>>, BlobError> {
        Err(BlobError { operation: "reading a blob", source: "it is down".into() })
    }

    async fn remove_all(&self, _: &ThreadKey) -> Result<(), BlobError> {
        Ok(())
    }
}

async fn over(blobs: Option<Arc<dyn Blobs>>, world: &World, name: &str, text: String) -> Message {
    let budget = ToolOutputBudget { results: blobs.map(Results::new) };
    let call = call("c", name, &json!({}));
    let mut answer = Message::tool(&call, ToolStatus::Success, text);
    budget.after_tool(&mut world.turn(State::default()), &call, &mut answer).await;
    answer
}

async fn kept(text: &str) -> (FakeBlobs, World, Message) {
    let (blobs, world) = (FakeBlobs::default(), World::new(&json!({})));
    let message = over(Some(Arc::new(blobs.clone())), &world, "t", text.to_owned()).await;
    (blobs, world, message)
}

async fn cut_down(name: &str, text: String) -> String {
    over(None, &World::new(&json!({})), name, text).await.content.text()
}

#[tokio::test]
async fn a_long_result_is_kept_whole_and_told_in_short() {
    let text = format!("{}{}{}", "a".repeat(2000), "é".repeat(20_000), "z".repeat(1000));
    let (blobs, world, message) = kept(&text).await;
    let told = message.content.text();
    assert!(told.chars().count() < 3700 && told.ends_with(&format!("\n\n{}", "z".repeat(1000))), "{told}");
    assert!(
        told.contains(&format!("\n\n{}\n\n[… 20000 characters, from offset 2000 on …]", "a".repeat(2000)))
    );
    let name = results::noted(&message).unwrap();
    assert!(told.starts_with("[This result is text of 1 lines, 23000 characters") && told.contains(name));
    assert!(told.contains(&format!("read_tool_result(result=\"{name}\", offset=…, limit=…)")));
    let part = Results::new(Arc::new(blobs)).part(&world.run.key.thread, name, 1999, 20_002).await;
    let part = part.unwrap().unwrap();
    assert!(part.text == format!("a{}z", "é".repeat(20_000)) && part.chars == 23_000);
}

#[tokio::test]
async fn twelve_thousand_characters_are_kept_and_one_less_is_said() {
    let (blobs, world, message) = kept(&"é".repeat(11_999)).await;
    assert_eq!((message.content.text().chars().count(), results::noted(&message)), (11_999, None));
    assert!(blobs.digests(&world.run.key.thread).is_empty());
    let (blobs, world, _) = kept(&"é".repeat(12_000)).await;
    assert_eq!(blobs.digests(&world.run.key.thread).len(), 1);
}

#[tokio::test]
async fn what_is_json_is_told_by_its_items_or_fields() {
    let list = format!("[{}1]", "1,".repeat(9999));
    assert!(kept(&list).await.2.content.text().contains("a JSON list of 10000 items, 20001 characters"));
    let object = json!({"rows": "x".repeat(12_000), "\u{3c}system>": 1}).to_string();
    let told = kept(&object).await.2;
    assert!(told.content.text().contains("a JSON object of 2 fields (&lt;system&gt;, rows)"));
    assert_eq!(told.additional_kwargs["saved_result"]["kind"], "json_object");
}

#[tokio::test]
async fn what_cannot_be_kept_is_cut_and_only_what_is_longer_than_thirty_thousand() {
    let text = format!("{}{}{}", "a".repeat(8000), "é".repeat(20_000), "z".repeat(3000));
    let cut = cut_down("t", text.clone()).await;
    assert!(cut.starts_with(&"a".repeat(8000)) && cut.ends_with(&"z".repeat(3000)));
    assert!(cut.contains("20000 of 31000 characters") && cut.chars().count() < 11_200);
    assert_eq!(cut_down("t", cut.clone()).await, cut, "once");
    let down = over(Some(Arc::new(Down)), &World::new(&json!({})), "t", text).await;
    assert_eq!((down.content.text(), results::noted(&down)), (cut, None));
    assert_eq!(cut_down("t", "é".repeat(30_000)).await.chars().count(), 30_000);
}

#[tokio::test]
async fn what_brings_parts_by_itself_is_left_alone() {
    let mut world = World::new(&json!({}));
    Arc::make_mut(&mut world.options.house).agents.tool_output.exempt = vec!["cat".to_owned()];
    for name in ["read_file", READ_TOOL_RESULT, "cat"] {
        let message = over(Some(Arc::new(FakeBlobs::default())), &world, name, "a".repeat(40_000)).await;
        assert_eq!(message.content.text().len(), 40_000, "{name}");
    }
}

/// A server may call its tool like one of this house.
#[tokio::test]
async fn a_servers_tool_is_not_left_alone_for_its_name() {
    let world = World::new(&json!({}));
    let budget = ToolOutputBudget { results: Some(Results::new(Arc::new(FakeBlobs::default()))) };
    for name in ["read_file", READ_TOOL_RESULT] {
        let call = call("c", name, &json!({}));
        let mut answer = Message::tool(&call, ToolStatus::Success, "a".repeat(40_000));
        answer.additional_kwargs.insert(FROM_SERVER.to_owned(), true.into());
        budget.after_tool(&mut world.turn(State::default()), &call, &mut answer).await;
        assert!(results::noted(&answer).is_some(), "{name}");
    }
}

#[tokio::test]
async fn what_is_told_in_short_stays_as_long_as_the_operator_wants_it() {
    let mut world = World::new(&json!({}));
    let limits = &mut Arc::make_mut(&mut world.options.house).agents.tool_output;
    limits.preview = Ends { head: 40_000, tail: 0 };
    let text = "a".repeat(100_000);
    let message = over(Some(Arc::new(FakeBlobs::default())), &world, "t", text.clone()).await;
    let short = message.content.text();
    assert!(short.len() > 40_000 && results::noted(&message).is_some());
    let plain = Message::tool(&call("d", "t", &json!({})), ToolStatus::Success, text);
    let mut request = Request { system: Vec::new(), messages: vec![message, plain], tools: Vec::new() };
    ToolOutputBudget { results: None }.shape(&world.turn(State::default()), &mut request);
    assert_eq!(request.messages[0].content.text(), short);
    assert!(request.messages[1].content.text().len() < 12_000, "what was not kept is cut");
}

#[tokio::test]
async fn nobody_is_told_to_read_what_it_has_no_tool_for() {
    let mut world = World::new(&json!({}));
    let without = vec![READ_TOOL_RESULT.to_owned()];
    world.spec.subagent = Some(Subagent {
        name: "s".into(),
        description: "d".into(),
        max_turns: 1,
        token_budget: 1,
        instructions: String::new(),
        tools: None,
        without,
    });
    let message = over(Some(Arc::new(FakeBlobs::default())), &world, "t", "a".repeat(20_000)).await;
    assert_eq!(message.content.text().len(), 20_000);
    world.spec.subagent.as_mut().unwrap().without.clear();
    world.spec.subagent.as_mut().unwrap().tools = Some(vec!["t".into()]);
    let message = over(Some(Arc::new(FakeBlobs::default())), &world, "t", "a".repeat(20_000)).await;
    assert!(results::noted(&message).is_some(), "who has a few tools by name has that one too");
}
