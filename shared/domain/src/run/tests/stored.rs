//! What is stored of runs reads back, also as it was stored before.

use serde_json::json;

use super::*;

#[test]
fn a_spec_reads_back_with_its_scope() {
    for scope in [Scope::All, Scope::Only([].into()), Scope::Only(["a".to_owned()].into())] {
        let spec = RunSpec { scope, ..spec(Strategy::Enqueue) };
        let stored = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<RunSpec>(&stored).unwrap(), spec);
    }
}

#[test]
fn a_subagent_has_what_it_is_allowed_and_not_denied() {
    let named = |tools: &[&str]| tools.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let mut subagent = Subagent {
        name: "a".into(),
        description: String::new(),
        max_turns: 1,
        token_budget: 1,
        instructions: String::new(),
        tools: None,
        without: named(&["task"]),
    };
    assert!(subagent.has("ls") && !subagent.has("task"));
    subagent.tools = Some(named(&["ls", "task"]));
    assert!(subagent.has("ls") && !subagent.has("task") && !subagent.has("bash"));
}

#[test]
fn a_state_that_was_told_without_the_one_before_it_is_read() {
    let stored = r#"{"values":{"number":4}}"#;
    let told: Notice = serde_json::from_str(stored).unwrap();
    assert_eq!(told, Notice::Values { number: 4, behind: None });
    assert_eq!(serde_json::to_string(&told).unwrap(), stored);
    let behind = Notice::Values { number: 4, behind: Some(2) };
    assert_eq!(serde_json::from_value::<Notice>(json!(behind)).unwrap(), behind);
}
