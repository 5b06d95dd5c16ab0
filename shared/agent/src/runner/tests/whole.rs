//! Runs with everything that stands around them outside of tests: plans, questions, names, delegation.

use pudu_app::ports::{ModelCall, RecordQuery};
use pudu_domain::chat::{Message, Speaker, ToolCall};
use pudu_domain::run::{Notice, Outcome};
use pudu_domain::state::TodoStatus;
use pudu_testkit::gate::CrashAt;
use pudu_testkit::{Gate, Speech};
use serde_json::{Value, json};

use super::stage::{COUNT, Stage, answer, call, named};
use super::{LONG, last, names};
use crate::clarification::ASK_CLARIFICATION;
use crate::read_tool_result::READ_TOOL_RESULT;
use crate::subagents::TASK;
use crate::todos::{COMPLETION_REMINDER, WRITE_TODOS};

async fn whole(plan: impl FnMut(&ModelCall) -> Speech + Send + 'static) -> Stage {
    let mut stage = Stage::new(plan).await;
    stage.is_whole = true;
    stage
}

fn write(id: &str, status: &str) -> ToolCall {
    call(
        id,
        WRITE_TODOS,
        json!({"todos": [{"content": "count", "status": status, "activeForm": "counting"}]}),
    )
}

/// Whether a call is one beside the conversation.
fn is_aside(model: &ModelCall) -> bool {
    model.tools.is_empty()
}

/// Plans, forgets about it, is reminded, finishes.
fn plans(model: &ModelCall) -> Speech {
    if is_aside(model) {
        return Speech::text("\"Counting\"");
    }
    let last = last(model);
    let results = model.messages.iter().filter(|message| message.speaker == Speaker::Tool).count();
    match (last.name.as_deref(), results) {
        (Some(COMPLETION_REMINDER), _) => Speech::calls("", [write("b", "completed")]),
        (_, 0) => Speech::calls("", [write("a", "in_progress"), call("c", COUNT, json!({}))]),
        (_, 2) => Speech::text("I think I am done"),
        _ => Speech::text("counted"),
    }
}

fn systems(stage: &Stage) -> Vec<Message> {
    let heard = stage.models.heard();
    heard.iter().filter(|model| !is_aside(model)).map(|model| model.messages[0].clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_planned_run_is_held_to_its_plan_and_gets_a_name() {
    let stage = whole(plans).await;
    let key = stage.admit("r1", "count for me", &json!({"is_plan_mode": true})).await;
    let run = stage.rest(&key).await;
    assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Success));
    let state = stage.state(&key).await;
    assert_eq!(state.todos.as_ref().unwrap()[0].status, TodoStatus::Completed);
    assert_eq!(state.title.as_deref(), Some("Counting"));
    assert_eq!(state.last_answer().unwrap().content.text(), "counted");
    assert!(state.messages.iter().all(|message| message.name.as_deref() != Some(COMPLETION_REMINDER)));
    let frames = stage.frames(&key).await;
    let told: Vec<&Value> =
        frames.iter().map(|(_, data)| data).filter(|data| data["type"] == "todos_updated").collect();
    let progress: Vec<_> = told.iter().map(|data| (&data["completed"], &data["current"])).collect();
    assert_eq!(
        progress,
        [(&json!(0), &json!("counting")), (&json!(1), &json!(null))],
        "{:?}",
        names(&frames)
    );
    let systems = systems(&stage);
    assert_eq!(systems.len(), 4);
    assert!(systems.iter().all(|system| *system == systems[0]), "a cache finds it each time");
    assert!(systems[0].content.text().contains("todo_list_system"));
    let conversation = stage.store().conversation(&key.thread).await.unwrap().unwrap();
    assert_eq!(conversation.title.as_deref(), Some("Counting"));
}

#[tokio::test(start_paused = true)]
async fn killed_anywhere_a_run_is_held_to_its_plan_no_more_than_twice() {
    // Never finishes its plan.
    let stubborn = |model: &ModelCall| {
        let planned = model.messages.iter().any(|message| message.speaker == Speaker::Tool);
        match (is_aside(model), planned) {
            (true, _) => Speech::text("Name"),
            (false, true) => Speech::text("done"),
            (false, false) => Speech::calls("", [write("a", "pending")]),
        }
    };
    for number in (0..400).step_by(3) {
        let stage = whole(stubborn).await;
        let key = stage.admit("r1", "count", &json!({"is_plan_mode": true})).await;
        let gate = stage.gate(CrashAt { number, after: true });
        let runner = stage.runner(&gate);
        let mut died = false;
        tokio::select! {
            biased;
            () = gate.crashed() => died = true,
            _ = Box::pin(stage.work(&runner, &key, LONG)) => {}
        }
        let run = stage.rest(&key).await;
        assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Success));
        let state = stage.state(&key).await;
        let answers = state.messages.iter().filter(|message| message.speaker == Speaker::Ai).count();
        assert_eq!(answers, 4, "killed after call {number}: the plan, and three answers");
        if !died {
            return;
        }
    }
    panic!("the run makes more calls than are killed here");
}

#[tokio::test(start_paused = true)]
async fn a_question_ends_the_run_and_its_answer_begins_the_next() {
    let stage = whole(|model| match last(model).content.text().as_str() {
        _ if is_aside(model) => Speech::text("Name"),
        text if text.contains("blue") => Speech::text("painted"),
        _ => {
            let args = json!({"question": "Which colour?", "clarification_type": "missing_info", "options": ["red", "blue"]});
            Speech::calls("", [call("q", ASK_CLARIFICATION, args)])
        }
    })
    .await;
    let key = stage.admit("r1", "paint it", &json!({})).await;
    let run = stage.rest(&key).await;
    assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Success));
    let state = stage.state(&key).await;
    let asked = state.messages.last().unwrap();
    assert_eq!(asked.artifact.as_ref().unwrap()["human_input"]["input_mode"], "choice_with_other");
    assert_eq!(asked.content.text(), "❓ Which colour?\n\n  1. red\n  2. blue");
    let next = stage.admit("r2", "blue", &json!({})).await;
    stage.rest(&next).await;
    assert_eq!(stage.state(&next).await.last_answer().unwrap().content.text(), "painted");
}

#[tokio::test(start_paused = true)]
async fn a_subagent_is_told_its_own_part_and_asks_nobody() {
    let stage = whole(|model| {
        let system = model.messages[0].content.text();
        match (is_aside(model), system.starts_with("You are a subagent"), last(model).speaker) {
            (true, ..) => Speech::text("Name"),
            (_, true, _) => Speech::text("found"),
            (_, false, Speaker::Tool) => Speech::text("all found"),
            (_, false, _) => {
                let args =
                    json!({"description": "look", "prompt": "Find it.", "subagent_type": "general-purpose"});
                Speech::calls("", [call("a", TASK, args)])
            }
        }
    })
    .await;
    let key = stage.admit("r1", "find it", &json!({"subagent_enabled": true, "is_plan_mode": true})).await;
    stage.work(&stage.runner(&Gate::open()), &key, LONG).await;
    let child = stage.child(&key, "a");
    assert_eq!(stage.rest(&child).await.end().map(|end| end.outcome), Some(Outcome::Success));
    stage.rest(&key).await;
    let state = stage.state(&key).await;
    let result = answer(&state, "a").unwrap();
    assert_eq!(result.content.text(), "Task Succeeded. Result: found");
    assert_eq!(
        result.additional_kwargs["subagent_model_name"], "fake",
        "its parent's, though nobody named one"
    );
    let heard = stage.models.heard();
    let childs =
        heard.iter().find(|model| model.messages[0].content.text().starts_with("You are a sub")).unwrap();
    let offered: Vec<&str> = childs.tools.iter().map(|tool| tool.name.as_str()).collect();
    for withheld in [TASK, ASK_CLARIFICATION, WRITE_TODOS] {
        assert!(!offered.contains(&withheld), "{withheld} in {offered:?}");
    }
    assert!(offered.contains(&COUNT) && offered.contains(&"example_echo"), "{offered:?}");
}

#[tokio::test(start_paused = true)]
async fn tools_of_servers_are_looked_for_and_then_called() {
    let mut stage = Stage::configured(json!({"tool_search": {"enabled": true}}), |model| {
        let offered = |name: &str| model.tools.iter().any(|tool| tool.name == name);
        let results = model.messages.iter().filter(|message| message.speaker == Speaker::Tool).count();
        match results {
            _ if is_aside(model) => Speech::text("Name"),
            0 if offered("tool_search") && !offered("example_echo") => {
                Speech::calls("", [call("s", "tool_search", json!({"query": "select:example_echo"}))])
            }
            1 if offered("example_echo") => {
                Speech::calls("", [call("e", "example_echo", json!({"text": "hi"}))])
            }
            _ => Speech::text("echoed"),
        }
    })
    .await;
    stage.is_whole = true;
    let key = stage.admit("r1", "hello", &json!({})).await;
    stage.rest(&key).await;
    let state = stage.state(&key).await;
    assert_eq!(state.promoted.as_ref().unwrap().names, ["example_echo"]);
    assert!(answer(&state, "e").is_some(), "{:?}", state.messages);
    let systems = systems(&stage);
    assert!(systems[0].content.text().contains("<available-deferred-tools>\nexample_echo\n"));
    assert!(systems.iter().all(|system| *system == systems[0]));
}

#[tokio::test(start_paused = true)]
async fn a_long_run_goes_on_from_a_summary_and_is_reminded_of_its_plan() {
    let summarized = json!({"summarization": {
        "enabled": true, "trigger": {"type": "messages", "value": 7}, "keep": {"type": "messages", "value": 2},
    }});
    let mut stage = Stage::configured(summarized, |model| {
        if is_aside(model) {
            return Speech::text("counted so far");
        }
        let said = |name: &str| model.messages.iter().any(|message| message.name.as_deref() == Some(name));
        let calls = model.messages.iter().flat_map(|message| &message.tool_calls);
        match calls.filter(|call| call.name == COUNT).count() {
            _ if said("todo_reminder") && said("durable_context_data") => {
                Speech::calls("", [write("z", "completed")])
            }
            _ if model
                .messages
                .iter()
                .any(|message| message.tool_call_id.as_deref().map(named) == Some("z")) =>
            {
                Speech::text("done")
            }
            0 => Speech::calls("", [write("a", "in_progress"), call("c0", COUNT, json!({}))]),
            made => Speech::calls("", [call(&format!("c{made}"), COUNT, json!({}))]),
        }
    })
    .await;
    stage.is_whole = true;
    let key = stage.admit("r1", "count", &json!({"is_plan_mode": true})).await;
    let run = stage.rest(&key).await;
    assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Success));
    let state = stage.state(&key).await;
    assert_eq!(state.summary_text.as_deref(), Some("counted so far"));
    assert_eq!(state.todos.as_ref().unwrap()[0].status, TodoStatus::Completed);
    assert!(state.message("a").is_none() && state.messages.iter().any(Message::is_users));
    assert!(run.totals.middleware > 0);
}

#[tokio::test(start_paused = true)]
async fn a_type_of_ones_own_has_the_tools_that_it_is_given() {
    let config = json!({"subagents": {"custom_agents": {"counter": {
        "description": "Counts.", "system_prompt": "You only count.", "tools": [COUNT], "max_turns": 3,
    }}}});
    let mut stage = Stage::configured(config, |model| {
        let system = model.messages[0].content.text();
        match (is_aside(model), system.starts_with("You only count."), last(model).speaker) {
            (true, ..) => Speech::text("Name"),
            (_, _, Speaker::Tool) => Speech::text("counted"),
            (_, true, _) => Speech::calls("", [call("c", COUNT, json!({}))]),
            (_, false, _) => {
                let args = json!({"description": "count", "prompt": "Count.", "subagent_type": "counter"});
                Speech::calls("", [call("a", TASK, args)])
            }
        }
    })
    .await;
    stage.is_whole = true;
    let key = stage.admit("r1", "count", &json!({"subagent_enabled": true})).await;
    stage.work(&stage.runner(&Gate::open()), &key, LONG).await;
    let child = stage.child(&key, "a");
    stage.rest(&child).await;
    stage.rest(&key).await;
    assert_eq!(stage.counted.calls(), ["c"]);
    let heard = stage.models.heard();
    let childs = heard.iter().find(|model| model.messages[0].content.text().starts_with("You only")).unwrap();
    assert_eq!(
        childs.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
        [COUNT, READ_TOOL_RESULT]
    );
    assert_eq!(stage.state(&key).await.delegations[0].subagent_type, "counter");
}

/// What a client sees of a delegation, and what the thread's history keeps of it (agent reference 2.10, A).
#[tokio::test(start_paused = true)]
async fn a_delegation_is_told_in_the_order_of_the_reference() {
    let stage = whole(|model| {
        let is_child = model.messages[0].content.text().starts_with("You are a subagent");
        match (is_aside(model), is_child, last(model).speaker) {
            (true, ..) => Speech::text("Name"),
            (_, true, Speaker::Tool) => Speech::text("found"),
            (_, true, _) => Speech::calls("", [call("c", COUNT, json!({}))]),
            (_, false, Speaker::Tool) => Speech::text("all found"),
            (_, false, _) => {
                let args =
                    json!({"description": "look", "prompt": "Find it.", "subagent_type": "general-purpose"});
                Speech::calls("I ask another", [call("a", TASK, args)])
            }
        }
    })
    .await;
    let key = stage.admit("r1", "find it", &json!({"subagent_enabled": true})).await;
    stage.work(&stage.runner(&Gate::open()), &key, LONG).await;
    stage.rest(&stage.child(&key, "a")).await;
    stage.rest(&key).await;
    let frames = stage.frames(&key).await;
    let mut told: Vec<String> = frames
        .iter()
        .map(|(name, data)| data["type"].as_str().filter(|_| name == "custom").unwrap_or(name).to_owned())
        .collect();
    told.dedup();
    assert_eq!(
        told,
        [
            "metadata",
            "values",
            "messages",
            "values",
            "task_started",
            "task_running",
            "task_completed",
            "values",
            "messages",
            "values",
            "end",
        ]
    );
    let running: Vec<&Value> =
        frames.iter().map(|(_, data)| data).filter(|data| data["type"] == "task_running").collect();
    let numbers: Vec<_> = running.iter().map(|data| data["message_index"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert_eq!(running[2]["message"]["content"], "found");

    let query = RecordQuery { limit: 100, ..RecordQuery::default() };
    let records = stage.store().records(&key.thread, &query).await.unwrap();
    let kept = records.iter().filter_map(|record| match &record.notice {
        Notice::Record { event_type, .. } => Some(event_type.as_str()),
        _ => None,
    });
    assert_eq!(
        kept.collect::<Vec<_>>(),
        [
            "run.start",
            "llm.human.input",
            "llm.ai.response",
            "subagent.start",
            "subagent.step",
            "subagent.step",
            "subagent.step",
            "subagent.end",
            "llm.tool.result",
            "llm.ai.response",
            "run.end",
        ]
    );
}

/// A child's report is a result like any other, and what its own tools bring too.
#[tokio::test(start_paused = true)]
async fn a_childs_long_report_is_kept_and_its_parent_reads_the_part_that_it_needs() {
    let report = (0..2000).map(|number| format!("deer {number:05}\n")).collect::<Vec<_>>().concat();
    let said = report.clone();
    let stage = whole(move |model: &ModelCall| {
        if is_aside(model) {
            return Speech::text("Deer");
        }
        let is_lead = model.tools.iter().any(|tool| tool.name == TASK);
        let last = last(model);
        let reads = last.additional_kwargs.get("saved_result").map(|saved| {
            call("r", READ_TOOL_RESULT, json!({"result": saved["result"], "offset": 12_000, "limit": 40}))
        });
        match (is_lead, reads, last.name.as_deref()) {
            (_, Some(reads), _) => Speech::calls("", [reads]),
            (true, _, Some(READ_TOOL_RESULT)) => Speech::text(&last.content.text()),
            (true, ..) => Speech::calls(
                "",
                [call(
                    "a",
                    TASK,
                    json!({"description": "d", "prompt": "p", "subagent_type": "general-purpose"}),
                )],
            ),
            (false, ..) => Speech::text(&said),
        }
    })
    .await;
    let key = stage.admit("r1", "look at deer", &json!({"subagent_enabled": true})).await;
    assert_eq!(stage.rest(&key).await.end().map(|end| end.outcome), Some(Outcome::Success));
    let state = stage.state(&key).await;
    let told = answer(&state, "a").unwrap();
    assert!(told.content.text().chars().count() < 3700, "{}", told.content.text());
    assert_eq!(told.additional_kwargs["subagent_status"], "completed");
    assert_eq!(
        told.additional_kwargs["saved_result"]["chars"],
        "Task Succeeded. Result: ".len() + report.trim_end().len()
    );
    let read = answer(&state, "r").unwrap().content.text();
    let whole = format!("Task Succeeded. Result: {}", report.trim_end());
    assert!(read.ends_with(&whole[12_000..12_040]), "{read}");
    assert!(read.starts_with("[Characters 12000 to 12040 of "), "{read}");
}
