//! Runs that compact their thread.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pudu_app::ports::{Clock, ModelCall, ModelFault};
use pudu_app::runs::Wanted;
use pudu_app::worker::Ran;
use pudu_domain::chat::{Message, Speaker};
use pudu_domain::conversation::Status;
use pudu_domain::run::{Compacted, Compaction, Keep, Operation, Outcome, Strategy, Untouched};
use pudu_domain::{RunKey, Scope};
use pudu_testkit::fixture::thread;
use pudu_testkit::gate::CrashAt;
use pudu_testkit::{Gate, Speech};
use serde_json::{Map, json};

use super::LONG;
use super::stage::Stage;

const FORCED: Compaction = Compaction { force: true, keep: Some(Keep::Messages(2)) };
/// Of a conversation of two messages the user's stays all the same.
const FORCED_WHOLE: Compaction = Compaction { force: true, keep: Some(Keep::Messages(0)) };

/// A thread of three exchanges, where summaries are on.
async fn talked(summary: impl Fn() -> Speech + Send + 'static) -> Stage {
    let block = json!({"summarization": {"enabled": true, "keep": {"type": "messages", "value": 4}}});
    let mut stage = Stage::configured(block, move |model: &ModelCall| {
        let text = model.messages[0].content.text();
        match (model.tools.is_empty(), text.contains("<existing_summary>")) {
            (true, true) => summary(),
            (true, false) => Speech::text("Name"),
            (false, _) => Speech::text("answered"),
        }
    })
    .await;
    stage.is_whole = true;
    for n in 1..=3 {
        let key = stage.admit(&format!("r{n}"), &format!("question {n}"), &json!({})).await;
        stage.rest(&key).await;
    }
    stage
}

fn wanted(operation: Operation) -> Wanted {
    Wanted {
        operation,
        thread: thread("t"),
        must_exist: true,
        assistant: "lead_agent".into(),
        input: Vec::new(),
        options: Map::new(),
        metadata: Map::new(),
        kwargs: Map::new(),
        strategy: Strategy::Reject,
        scope: Scope::All,
        base: None,
        secrets: std::collections::BTreeMap::new(),
        key: None,
    }
}

async fn compact(stage: &Stage, compaction: Compaction) -> RunKey {
    let wanted = wanted(Operation::Compact(compaction));
    stage.wiring(&Gate::open()).runs().admit(wanted).await.unwrap().run.key
}

/// What is told of it.
async fn told(stage: &Stage, key: &RunKey) -> Vec<Compacted> {
    stage.frames(key).await.iter().filter_map(|(_, data)| Compacted::read(data)).collect()
}

/// What is said in the thread, as everybody sees it.
async fn thread_says(stage: &Stage) -> (Vec<String>, Option<String>) {
    let view = stage.wiring(&Gate::open()).runs().state(&thread("t"), None).await.unwrap().unwrap();
    let texts = view.state.messages.iter().map(|message| message.content.text()).collect();
    (texts, view.state.summary_text)
}

fn summaries(stage: &Stage) -> usize {
    let is_one = |model: &&ModelCall| model.messages[0].content.text().contains("<existing_summary>");
    stage.models.heard().iter().filter(is_one).count()
}

#[tokio::test(start_paused = true)]
async fn older_messages_give_way_and_nobody_speaks() {
    let stage = talked(|| Speech::text("they asked")).await;
    let before = stage.wiring(&Gate::open()).runs().state(&thread("t"), None).await.unwrap().unwrap();
    let key = compact(&stage, FORCED).await;
    let run = stage.rest(&key).await;
    assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Success));
    let (texts, summary) = thread_says(&stage).await;
    assert_eq!(texts[texts.len() - 2..], ["question 3", "answered"], "{texts:?}");
    assert_eq!(summary.as_deref(), Some("they asked"));
    let compacted = told(&stage, &key).await;
    let removed = before.state.messages.len() - texts.len();
    let size = compacted[0].total_tokens;
    assert_eq!(compacted, [Compacted::new(None, removed, texts.len(), size)]);
    assert!(removed >= 3 && size > 10, "{removed} {size}");
    assert_eq!((run.totals.calls, run.totals.messages, run.totals.lead), (1, 0, 0));
    assert!(run.totals.middleware > 0);
    let frames = stage.frames(&key).await;
    let names: Vec<&str> = frames.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["metadata", "custom", "values", "end"]);
    // Its checkpoint is an edit of the one before it, and the next run goes on from it.
    let runs = stage.wiring(&Gate::open()).runs();
    let history = runs.history(&thread("t"), None, 2).await.unwrap().unwrap();
    assert_eq!(json!(history[0].0.source), "update");
    assert_eq!(history[0].0.parent, Some(before.checkpoint.head));
    let conversation = stage.store().conversation(&thread("t")).await.unwrap().unwrap();
    assert_eq!((conversation.active, conversation.title.as_deref()), (None, Some("Name")));
    let next = stage.admit("r9", "question 9", &json!({})).await;
    stage.rest(&next).await;
    let heard = stage.models.heard();
    let last: Vec<String> =
        heard.last().unwrap().messages.iter().map(|message| message.content.text()).collect();
    assert!(last.iter().any(|text| text.contains("they asked")), "{last:?}");
    assert!(!last.iter().any(|text| text.contains("question 1")), "{last:?}");
}

#[tokio::test(start_paused = true)]
async fn where_there_is_nothing_to_leave_out_the_thread_stays_as_it_is() {
    let stage = talked(|| Speech::text("sum")).await;
    let before = stage.wiring(&Gate::open()).runs().state(&thread("t"), None).await.unwrap();
    for (compaction, reason) in [
        (Compaction { force: false, keep: FORCED.keep }, Untouched::NotDue),
        (Compaction { force: true, keep: Some(Keep::Messages(100)) }, Untouched::NotEnoughMessages),
        (Compaction { force: true, keep: Some(Keep::Tokens(100_000)) }, Untouched::NotEnoughMessages),
    ] {
        let key = compact(&stage, compaction).await;
        let run = stage.rest(&key).await;
        assert_eq!((run.end().map(|end| end.outcome), run.checkpoints), (Some(Outcome::Success), 0));
        let compacted = told(&stage, &key).await;
        assert_eq!((compacted[0].reason, compacted[0].removed), (Some(reason), 0));
        let after = stage.wiring(&Gate::open()).runs().state(&thread("t"), None).await.unwrap();
        assert_eq!(
            after.map(|view| (view.state, view.checkpoint)),
            before.clone().map(|view| (view.state, view.checkpoint))
        );
    }
    assert_eq!(summaries(&stage), 0);
}

#[tokio::test(start_paused = true)]
async fn what_the_operator_keeps_is_kept_where_nobody_says() {
    let stage = talked(|| Speech::text("sum")).await;
    let key = compact(&stage, Compaction { force: true, keep: None }).await;
    stage.rest(&key).await;
    let (texts, _) = thread_says(&stage).await;
    assert_eq!(texts[texts.len() - 4..], ["question 2", "answered", "question 3", "answered"], "{texts:?}");
    assert!(!texts.iter().any(|text| text == "question 1"), "{texts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_nobody_writes_fails_the_run_and_changes_nothing() {
    let stage = talked(|| Speech::fails(ModelFault::Auth)).await;
    let before = thread_says(&stage).await;
    let key = compact(&stage, FORCED).await;
    let run = stage.rest(&key).await;
    let end = run.end().unwrap();
    assert_eq!(end.outcome, Outcome::Error);
    assert!(end.error.as_ref().unwrap().as_str().contains("no model wrote a summary"));
    assert_eq!(thread_says(&stage).await, before);
    assert!(told(&stage, &key).await.is_empty());
    assert_eq!(stage.store().conversation(&thread("t")).await.unwrap().unwrap().status, Status::Idle);
}

/// A text whose model did not end it of its own will.
fn cut(text: &str, reason: &str) -> Speech {
    let mut message = Message::new(Speaker::Ai, "", text);
    message.response_metadata.insert("finish_reason".into(), reason.into());
    Speech::Says { pieces: vec![], pause: Duration::ZERO, message: Box::new(message) }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_and_half_a_summary_take_no_conversations_place() {
    for speech in [
        cut("This was blocked.", "content_filter"),
        cut("they asked for a", "length"),
        Speech::text("<think>they asked"),
    ] {
        let stage = talked(move || speech.clone()).await;
        let before = thread_says(&stage).await;
        let key = compact(&stage, FORCED).await;
        let run = stage.rest(&key).await;
        let end = run.end().unwrap();
        assert_eq!(end.outcome, Outcome::Error);
        assert!(end.error.as_ref().unwrap().as_str().contains("no model wrote a summary"));
        assert_eq!(thread_says(&stage).await, before);
    }
}

#[tokio::test(start_paused = true)]
async fn a_summary_is_without_what_was_thought_on_the_way() {
    let stage = talked(|| Speech::text("<think>who was it?</think> they asked")).await;
    let key = compact(&stage, FORCED).await;
    stage.rest(&key).await;
    assert_eq!(thread_says(&stage).await.1.as_deref(), Some("they asked"));
}

#[tokio::test(start_paused = true)]
async fn killed_anywhere_it_is_compacted_once_or_is_done_again() {
    for number in 0..200 {
        let mut died = false;
        for after in [false, true] {
            let stage = talked(|| Speech::text("sum")).await;
            let key = compact(&stage, FORCED).await;
            let gate = stage.gate(CrashAt { number, after });
            let runner = stage.runner(&gate);
            tokio::select! {
                biased;
                () = gate.crashed() => died = true,
                _ = Box::pin(stage.work(&runner, &key, LONG)) => {}
            }
            let (stands, asked) = (stage.load(&key).await.end().is_some(), summaries(&stage));
            let run = stage.rest(&key).await;
            let at = format!("killed at call {number}, after it: {after}");
            assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Success), "{at}");
            assert_eq!(summaries(&stage) - asked, usize::from(!stands), "{at}");
            let compacted = told(&stage, &key).await;
            assert_eq!((compacted.len(), compacted[0].reason, run.checkpoints), (1, None, 1), "{at}");
            assert_eq!(thread_says(&stage).await.1.as_deref(), Some("sum"), "{at}");
        }
        if !died {
            return;
        }
    }
    panic!("the run makes more calls than are killed here");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_one_leaves_the_thread_as_it_was() {
    let stage = talked(|| Speech::Hangs).await;
    let before = thread_says(&stage).await;
    let key = compact(&stage, FORCED).await;
    let runner = stage.runner(&Gate::open());
    let cancel = async {
        stage.clock.sleep(Duration::from_secs(10)).await;
        stage.cancel(&key).await;
    };
    let began = stage.clock.elapsed();
    let (ran, ()) = tokio::join!(stage.work(&runner, &key, LONG), cancel);
    assert_eq!(ran, Ran::Worked);
    assert!(stage.clock.elapsed().saturating_sub(began) < Duration::from_secs(12));
    assert_eq!(stage.load(&key).await.end().map(|end| end.outcome), Some(Outcome::Interrupted));
    assert_eq!(thread_says(&stage).await, before);
}

#[tokio::test(start_paused = true)]
async fn while_it_works_the_thread_is_taken() {
    let stage = talked(|| Speech::text("sum")).await;
    let key = compact(&stage, FORCED).await;
    let runs = stage.wiring(&Gate::open()).runs();
    let input = vec![Message::new(Speaker::Human, "", "later")];
    let said = Wanted { input, strategy: Strategy::Enqueue, ..wanted(Operation::Run) };
    assert!(runs.admit(Wanted { strategy: Strategy::Reject, ..said.clone() }).await.is_err());
    let queued = runs.admit(said).await.unwrap().run.key;
    stage.rest(&key).await;
    stage.rest(&queued).await;
    let (texts, _) = thread_says(&stage).await;
    assert_eq!(texts[texts.len() - 2..], ["later", "answered"], "it goes on from what was compacted");
    let listed = runs.list(&thread("t"), None, 0, 10).await.unwrap();
    let kinds: Vec<&str> = listed.iter().map(|(_, spec)| spec.operation.kind()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "compact").count(), 1, "{kinds:?}");
}

#[tokio::test(start_paused = true)]
async fn without_time_it_is_handed_over_and_another_does_it() {
    let tries = AtomicUsize::new(0);
    let stage = talked(move || match tries.fetch_add(1, Ordering::SeqCst) {
        0 => Speech::Hangs,
        _ => Speech::text("sum"),
    })
    .await;
    let key = compact(&stage, FORCED).await;
    stage.waker.take();
    let ran = stage.work(&stage.runner(&Gate::open()), &key, Duration::from_secs(30)).await;
    assert_eq!((ran, stage.waker.take().len()), (Ran::Worked, 1));
    stage.work(&stage.runner(&Gate::open()), &key, LONG).await;
    assert_eq!(stage.load(&key).await.end().map(|end| end.outcome), Some(Outcome::Success));
    assert_eq!(thread_says(&stage).await.1.as_deref(), Some("sum"));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_is_named_writes_the_summary_and_else_the_operators() {
    let model = |name: &str| json!({"name": name, "use": "langchain_openai:ChatOpenAI", "model": name});
    let block = json!({
        "models": [model("first"), model("second"), model("short")],
        "summarization": {"enabled": true, "model_name": "short"},
    });
    for (named, asked) in [(None, "short"), (Some("second"), "second")] {
        let stage = Stage::configured(block.clone(), |_| Speech::text("said")).await;
        let key = stage.admit("r1", "hello", &json!({})).await;
        stage.rest(&key).await;
        let options = named.map(|name| ("model_name".to_owned(), json!(name)));
        let wanted =
            Wanted { options: options.into_iter().collect(), ..wanted(Operation::Compact(FORCED_WHOLE)) };
        let key = stage.wiring(&Gate::open()).runs().admit(wanted).await.unwrap().run.key;
        stage.rest(&key).await;
        assert_eq!(stage.models.heard().last().unwrap().entry.name, asked);
    }
}

#[tokio::test(start_paused = true)]
async fn where_summaries_were_turned_off_meanwhile_it_fails_and_asks_nobody() {
    let stage = Stage::new(|_| Speech::text("said")).await;
    let key = stage.admit("r1", "hello", &json!({})).await;
    stage.rest(&key).await;
    let (key, heard) = (compact(&stage, FORCED_WHOLE).await, stage.models.heard().len());
    let run = stage.rest(&key).await;
    let error = run.end().and_then(|end| end.error.as_ref()).unwrap().as_str().to_owned();
    assert!(error.contains("summarization is disabled"), "{error}");
    assert_eq!(stage.models.heard().len(), heard);
}
