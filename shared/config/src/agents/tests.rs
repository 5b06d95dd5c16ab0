use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::Document;

fn read(raw: Value) -> Agents {
    Document::parse(raw).unwrap().agents().clone()
}

#[test]
fn without_a_word_everything_has_its_default() {
    let agents = read(json!({}));
    assert_eq!(agents, Agents::default());
    assert_eq!(agents.subagents.timeout, Duration::from_secs(1800));
    assert_eq!(agents.subagents.max_total_per_run, 6);
    assert!(!agents.summarization.enabled && agents.title.enabled);
}

#[test]
fn types_of_ones_own_are_read_with_their_defaults() {
    let agents = read(json!({"subagents": {
        "timeout_seconds": 60, "max_turns": 7, "max_total_per_run": 99, "future": {"kept": true},
        "custom_agents": {"analyst": {
            "description": "Reads tables.", "system_prompt": "You read tables.", "tools": ["sql_query"], "model": "inherit",
        }},
        "agents": {"bash": {"timeout_seconds": 5, "model": "small", "token_budget": 10}},
    }}));
    let subagents = agents.subagents;
    assert_eq!((subagents.timeout, subagents.max_turns), (Duration::from_secs(60), Some(7)));
    assert_eq!(subagents.max_total_per_run, 50);
    let analyst = &subagents.custom["analyst"];
    assert_eq!((analyst.max_turns, analyst.timeout, &analyst.model), (50, Duration::from_secs(900), &None));
    assert_eq!(
        (analyst.tools.as_deref(), &analyst.disallowed_tools),
        (Some(&["sql_query".to_owned()][..]), &None)
    );
    let bash = &subagents.overrides["bash"];
    assert_eq!(
        (bash.timeout, bash.model.as_deref(), bash.token_budget),
        (Some(Duration::from_secs(5)), Some("small"), Some(10))
    );
}

#[test]
fn a_trigger_is_one_or_many() {
    let read = |trigger: Value| {
        read(json!({"summarization": {"enabled": true, "trigger": trigger}})).summarization.triggers
    };
    assert_eq!(read(json!({"type": "messages", "value": 50})), [Trigger::Messages(50)]);
    let many = json!([{"type": "tokens", "value": 10}, {"type": "fraction", "value": 0.8}]);
    assert_eq!(read(many), [Trigger::Tokens(10), Trigger::Fraction(0.8)]);
    assert_eq!(read(json!(null)), Summarization::default().triggers);
    assert_eq!(read(json!([])), Summarization::default().triggers);
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let raw = json!({
        "subagents": {"custom_agents": {"a": {"tools": "x"}}, "agents": []},
        "summarization": {"trigger": [{"type": "words"}], "keep": {"type": "fraction", "value": 1}},
        "title": {"max_chars": "many"},
    });
    let problems = Document::parse(raw).unwrap_err();
    let places: Vec<String> = problems.iter().map(ToString::to_string).collect();
    for place in
        ["custom_agents.a.tools", "subagents.agents", "trigger[0].type", "keep.type", "title.max_chars"]
    {
        assert!(places.iter().any(|told| told.contains(place)), "{place} is not in {places:#?}");
    }
}

#[test]
fn what_is_out_of_bounds_is_clamped_with_a_warning() {
    let document = Document::parse(json!({"title": {"max_chars": 1}})).unwrap();
    assert_eq!(document.agents().title.max_chars, 10);
    assert_eq!(document.warnings().len(), 1);
}

#[test]
fn no_type_of_ones_own_has_the_name_of_a_built_in_one() {
    let document = Document::parse(json!({"subagents": {"custom_agents": {"bash": {}, "own": {}}}})).unwrap();
    assert_eq!(document.agents().subagents.custom.keys().collect::<Vec<_>>(), ["own"]);
    assert!(
        document.warnings()[0].to_string().contains("subagents.custom_agents.bash"),
        "{:?}",
        document.warnings()
    );
}

#[test]
fn limits_are_read_by_the_names_of_the_reference_and_the_rest_has_its_default() {
    let agents = read(json!({
        "loop_detection": {"window_size": 8, "warn_threshold": 2, "hard_limit": 4, "tool_freq_hard_limit": 60,
            "tool_freq_overrides": {"bash": {"warn": 150, "hard_limit": 300}, "ls": {"hard_limit": 40}}, "max_tracked_threads": 7},
        "token_budget": {"enabled": true, "max_tokens": 5000, "warn_threshold": 0.5},
        "tool_output": {"externalize_min_chars": 4000, "preview_head_chars": 100, "exempt_tools": ["cat"]},
    }));
    let (loops, limits) = (agents.loop_detection, |warn, stop| Limits { warn, stop });
    assert_eq!((loops.enabled, loops.window, loops.repeated), (true, 8, limits(2, 4)));
    assert_eq!(loops.frequent, limits(30, 60));
    assert_eq!(
        loops.by_tool,
        [("bash".to_owned(), limits(150, 300)), ("ls".to_owned(), limits(30, 40))].into()
    );
    let budget = agents.token_budget;
    assert_eq!((budget.enabled, budget.warns_at(), budget.stops_at()), (true, 2500, 5000));
    let output = agents.tool_output;
    assert_eq!((output.keep_from, output.preview), (4000, Ends { head: 100, tail: 1000 }));
    assert_eq!((output.most, output.exempt), (30_000, vec!["cat".to_owned()]));
}

#[test]
fn limits_that_contradict_each_other_are_told_with_their_places() {
    let raw = json!({
        "loop_detection": {"warn_threshold": 6, "tool_freq_overrides": {"bash": {"warn": 60}}},
        "token_budget": {"warn_threshold": 0.9, "hard_stop_threshold": 0.5, "max_tokens": "many"},
        "tool_output": {"externalize_min_chars": 2000, "fallback_max_chars": 9000},
    });
    let document = Document::parse(raw).unwrap();
    let places: Vec<String> = document.warnings().iter().map(ToString::to_string).collect();
    for place in [
        "loop_detection.hard_limit",
        "tool_freq_overrides.bash.hard_limit",
        "hard_stop_threshold",
        "token_budget.max_tokens",
        "externalize_min_chars",
        "fallback_max_chars",
    ] {
        assert!(places.iter().any(|told| told.contains(place)), "{place} is not in {places:#?}");
    }
    let agents = document.agents();
    assert_eq!(agents.loop_detection.repeated, LoopDetection::default().repeated);
    assert_eq!(agents.loop_detection.by_tool["bash"], LoopDetection::default().frequent);
    assert_eq!(agents.token_budget, TokenBudget::default());
    assert_eq!(agents.tool_output, ToolOutput::default());
    let narrow = Document::parse(json!({"loop_detection": {"window_size": 4}})).unwrap();
    assert_eq!(narrow.warnings().len(), 1, "it would never stop a run");
}

#[test]
fn limits_of_one_tool_that_contradict_each_other_are_those_of_every_tool() {
    let raw = json!({"loop_detection": {
        "tool_freq_warn": 10, "tool_freq_hard_limit": 20, "tool_freq_overrides": {"bash": {"warn": 25}},
    }});
    let document = Document::parse(raw).unwrap();
    let told: Vec<String> = document.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "loop_detection.tool_freq_overrides.bash.hard_limit: is less than warn; tool_freq_warn and tool_freq_hard_limit hold"
        ]
    );
    let loops = &document.agents().loop_detection;
    assert_eq!(loops.by_tool["bash"], Limits { warn: 10, stop: 20 });
    assert_eq!(loops.by_tool["bash"], loops.frequent);
}

#[test]
fn nothing_is_remembered_unless_it_is_wanted() {
    let memory = read(json!({})).memory;
    assert!(!memory.enabled && !memory.extracts() && !memory.tells());
    assert_eq!((memory.max_facts, memory.fact_confidence_threshold), (100, 0.7));
    assert_eq!((memory.debounce, memory.max_injection_tokens), (Duration::from_secs(30), 2000));
    assert!(read(json!({"memory": {"enabled": true}})).memory.extracts());
}

#[test]
fn a_memory_is_kept_by_tools_or_by_looking_back() {
    let memory = read(json!({"memory": {
        "enabled": true, "mode": "tool", "model_name": "small", "debounce_seconds": 5, "max_facts": 9999,
        "fact_confidence_threshold": 0, "max_injection_tokens": 500, "injection_enabled": false, "storage_path": "kept",
    }}))
    .memory;
    assert!(memory.enabled && !memory.extracts() && !memory.tells());
    assert_eq!((memory.mode, memory.model.as_deref()), (MemoryMode::Tool, Some("small")));
    assert_eq!((memory.debounce, memory.max_facts), (Duration::from_secs(5), 500));
    assert_eq!((memory.fact_confidence_threshold, memory.max_injection_tokens), (0.0, 500));
    for (wrong, place) in [
        (json!({"mode": "both"}), "memory.mode"),
        (json!({"fact_confidence_threshold": 1.5}), "memory.fact_confidence_threshold"),
        (json!({"fact_confidence_threshold": "high"}), "memory.fact_confidence_threshold"),
        (json!({"debounce_seconds": "soon"}), "memory.debounce_seconds"),
        (json!([]), "memory"),
    ] {
        let document = Document::parse(json!({"memory": wrong})).unwrap();
        let warnings = document.warnings();
        assert!(warnings[0].to_string().contains(place), "{place}: {warnings:?}");
        assert_eq!(document.agents().memory, Memory::default(), "{place}");
    }
}
