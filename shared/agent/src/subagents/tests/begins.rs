use std::sync::Arc;
use std::time::Duration;

use pudu_config::{CustomAgent, Override, Subagents};
use pudu_domain::chat::{ToolCall, ToolStatus};
use pudu_domain::run::Notice;
use pudu_domain::state::{DelegationStatus, State};
use pudu_domain::{Run, RunId, Scope};
use serde_json::{Value, json};

use super::super::*;
use crate::fixture::{NOW, World, call};
use crate::options::Options;

fn world(options: &Value) -> World {
    World::new(options)
}

fn task(id: &str, args: &Value) -> ToolCall {
    let mut whole =
        json!({"description": "look around", "prompt": "Find it.", "subagent_type": "general-purpose"});
    whole.as_object_mut().unwrap().extend(args.as_object().unwrap().clone());
    call(id, TASK, &whole)
}

fn begun(world: &World, calls: &[ToolCall]) -> (Begun, crate::turn::Outcome) {
    let mut turn = world.turn(State::default());
    let begun = begin(&mut turn, calls);
    (begun, turn.finish())
}

/// What is answered to a call that begins nobody.
fn refusal(world: &World, args: &Value) -> String {
    let (begun, outcome) = begun(world, &[task("c", args)]);
    let [refused] = begun.refused.as_slice() else { panic!("{begun:?}") };
    assert!(begun.children.is_empty() && outcome.writes.is_empty() && outcome.notices.is_empty());
    assert_eq!(refused.status, Some(ToolStatus::Error));
    assert_eq!(refused.additional_kwargs["subagent_status"], "failed");
    refused.content.text()
}

#[test]
fn a_call_begins_a_child_that_has_what_its_parent_has() {
    let mut world = world(&json!({
        "model_name": "big", "is_plan_mode": true, "subagent_enabled": true, "agent_name": "me", "user_role": "x",
    }));
    world.spec.scope = Scope::Only(["files".to_owned()].into());
    let (begun, outcome) = begun(&world, &[call("other", "ls", &json!({})), task("c", &json!({}))]);
    let [child] = begun.children.as_slice() else { panic!("{begun:?}") };
    assert_eq!((child.call.as_str(), &child.run), ("c", &RunId::of_child(&world.run.key.id, "c")));
    assert_eq!(child.until, NOW + Duration::from_secs(1800));
    assert_eq!(child.spec.scope, world.spec.scope);
    assert_eq!(child.spec.input[0].content.text(), "Find it.");
    let options = Options::read(&child.spec.options);
    assert_eq!(
        (options.model.as_deref(), options.thinking, options.non_interactive),
        (Some("big"), false, true)
    );
    assert!(!options.subagents && !options.plan_mode && options.agent.is_none());
    assert_eq!((options.recursion_limit, &child.spec.options["user_role"]), (150, &json!("x")));
    let subagent = child.spec.subagent.as_ref().unwrap();
    assert_eq!((subagent.name.as_str(), subagent.description.as_str()), ("general-purpose", "look around"));
    assert!(subagent.has("ls"));
    for withheld in WITHHELD {
        assert!(!subagent.has(withheld), "{withheld}");
    }

    let [delegation] = outcome.state.delegations.as_slice() else { panic!("{:?}", outcome.state) };
    assert_eq!((delegation.status, delegation.id.as_str()), (DelegationStatus::InProgress, "c"));
    let [Notice::Frame { data, .. }, Notice::Record { event_type, content, .. }] = outcome.notices.as_slice()
    else {
        panic!("{:?}", outcome.notices)
    };
    assert_eq!(
        data,
        &json!({
            "type": "task_started", "task_id": "c", "description": "look around", "model_name": "big",
        })
    );
    assert_eq!(
        (event_type.as_str(), content),
        ("subagent.start", &json!({"task_id": "c", "description": "look around"}))
    );
}

#[test]
fn vector_37_a_parent_waits_a_minute_longer_than_its_child_may_take() {
    for seconds in [900, 1800] {
        let settings = Subagents { timeout: Duration::from_secs(seconds), ..Subagents::default() };
        let mut world = world(&json!({}));
        Arc::make_mut(&mut world.options.house).types = Types::new(&settings, false, false);
        // The reference polls every 5 s: 192 and 372 times.
        let waits = begun(&world, &[task("c", &json!({}))]).0.until.unwrap().since(NOW);
        assert_eq!(waits.as_secs() / 5, (seconds + 60) / 5);
    }
}

#[test]
fn vector_40_of_an_unknown_type_the_available_ones_are_told() {
    let text = refusal(&world(&json!({})), &json!({"subagent_type": "x"}));
    assert_eq!(
        text,
        "Task failed. Error: Unknown subagent type 'x'. Available subagent types: general-purpose"
    );
}

#[test]
fn bash_needs_a_sandbox() {
    let text = refusal(&world(&json!({})), &json!({"subagent_type": "bash"}));
    assert!(text.contains("needs a sandbox") && text.contains("none is configured"), "{text}");
    let types = Types::new(&Subagents::default(), false, true);
    assert!(types.get("bash").unwrap().tools.as_ref().unwrap().contains(&"str_replace".to_owned()));
}

#[test]
fn what_is_missing_in_a_call_is_said() {
    let world = world(&json!({}));
    assert!(refusal(&world, &json!({"prompt": " "})).contains("'prompt' is missing"));
    for turns in [json!(0), json!(-1), json!("5")] {
        assert!(refusal(&world, &json!({ "max_turns": turns })).contains("'max_turns' must be"));
    }
}

#[test]
fn turns_and_time_are_bounded_by_the_type() {
    for (given, turns, seconds) in [(json!(5), 5, 5), (json!(5000), 150, 1800), (json!(null), 150, 1800)] {
        let args = json!({ "max_turns": given, "timeout_seconds": given });
        let (begun, _) = begun(&world(&json!({})), &[task("c", &args)]);
        let child = &begun.children[0];
        assert_eq!(child.spec.subagent.as_ref().unwrap().max_turns, turns);
        assert_eq!(child.until.since(NOW), Duration::from_secs(seconds));
    }
}

#[test]
fn a_run_begins_no_more_than_its_total_whoever_asks() {
    let mut world = world(&json!({"max_total_subagents": 2}));
    world.run = Run { children: 1, ..world.run };
    let (begun, _) = begun(&world, &[task("a", &json!({})), task("b", &json!({}))]);
    assert_eq!((begun.children.len(), begun.refused.len()), (1, 1));
    assert_eq!(begun.refused[0].tool_call_id.as_deref(), Some("b"));
}

#[test]
fn a_call_that_has_a_child_begins_no_other() {
    let world = world(&json!({}));
    let (_, outcome) = begun(&world, &[task("c", &json!({}))]);
    assert!(is_begun(&outcome.state, &world.run.key.id, "c"));
    let mut turn = world.turn(outcome.state);
    assert!(begin(&mut turn, &[task("c", &json!({}))]).children.is_empty());
}

#[test]
fn types_are_built_in_then_custom_then_overridden() {
    let custom = |description: &str| CustomAgent {
        description: description.into(),
        system_prompt: "Read.".into(),
        tools: Some(vec!["sql".into(), "present_files".into()]),
        disallowed_tools: None,
        model: Some("small".into()),
        max_turns: 50,
        timeout: Duration::from_secs(900),
    };
    let settings = Subagents {
        max_turns: Some(9),
        custom: [("analyst".to_owned(), custom("Reads."))].into(),
        overrides: [(
            "analyst".to_owned(),
            Override { timeout: Some(Duration::from_secs(5)), token_budget: Some(7), ..Override::default() },
        )]
        .into(),
        ..Subagents::default()
    };
    let types = Types::new(&settings, true, false);
    assert_eq!(
        types.usable().map(|kind| kind.name.as_str()).collect::<Vec<_>>(),
        ["general-purpose", "analyst"]
    );
    let general = types.get("general-purpose").unwrap();
    assert_eq!((general.max_turns, general.token_budget, &general.tools), (9, 1_000_000, &None));
    let analyst = types.get("analyst").unwrap();
    assert_eq!((analyst.max_turns, analyst.timeout.as_secs(), analyst.token_budget), (50, 5, 7));
    assert_eq!(analyst.model.as_deref(), Some("small"));
    assert!(analyst.without.contains(&"present_files".to_owned()));
    let schema = definition(&types).schema;
    assert_eq!(schema["properties"]["subagent_type"]["enum"], json!(["general-purpose", "analyst"]));
}
