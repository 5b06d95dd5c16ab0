use std::sync::{Arc, Mutex};

use pudu_config::{Keep, Summarization as Settings};
use pudu_domain::chat::{Speaker, ToolStatus};
use pudu_domain::state::State;

use super::*;
use crate::fixture::{World, ai, call, human, said};

/// Answers, and remembers what it was asked.
#[derive(Default)]
struct Asked {
    says: Option<&'static str>,
    prompts: Mutex<Vec<String>>,
}

#[async_trait]
impl Aside for Asked {
    async fn ask(&self, _: &mut Turn<'_>, _: Option<&str>, prompt: String) -> Option<String> {
        self.prompts.lock().unwrap().push(prompt);
        self.says.map(str::to_owned)
    }
}

fn world(triggers: Vec<Trigger>, keep: u64) -> World {
    let mut world = World::new(&json!({}));
    let settings = Settings { enabled: true, triggers, keep: Keep::Messages(keep), ..Settings::default() };
    Arc::make_mut(&mut world.options.house).agents.summarization = settings;
    world
}

/// A user's words, then steps of a call and its answer, then the model's words.
fn conversation(steps: usize) -> State {
    let mut messages = vec![human("u", "do it")];
    for step in 0..steps {
        let made = call(&format!("c{step}"), "ls", &json!({"path": "/"}));
        messages.push(ai(&format!("a{step}"), "", [made.clone()]));
        messages.push(Message::tool(&made, ToolStatus::Success, format!("result {step}")));
    }
    messages.push(ai("end", "done", []));
    said(messages)
}

async fn shortened(world: &World, state: &State, asked: &Asked) -> State {
    let mut turn = world.turn(state.clone());
    Summarization.before_model(&mut turn, asked).await;
    turn.finish().state
}

fn ids(state: &State) -> Vec<&str> {
    state.messages.iter().map(|message| message.id.as_str()).collect()
}

#[tokio::test]
async fn old_messages_give_way_to_a_summary_and_the_users_words_stay() {
    let asked = Asked { says: Some(" sum "), ..Asked::default() };
    let mut state = conversation(3);
    state.summary_text = Some("earlier <x>".into());
    let after = shortened(&world(vec![Trigger::Messages(5)], 3), &state, &asked).await;
    assert_eq!(ids(&after), ["u", "a2", "tool:c2", "end"]);
    assert_eq!(after.summary_text.as_deref(), Some("sum"));
    let prompts = asked.prompts.lock().unwrap();
    let [prompt] = prompts.as_slice() else { panic!("{prompts:?}") };
    assert!(prompt.contains("<existing_summary>\nearlier &lt;x&gt;\n</existing_summary>"), "{prompt}");
    assert!(
        prompt.contains("[calls ls with {\"path\":\"/\"}]") && prompt.contains("tool: result 1"),
        "{prompt}"
    );
    assert!(!prompt.contains("result 2"), "{prompt}");
}

#[tokio::test]
async fn calls_and_their_answers_stay_together() {
    let asked = Asked { says: Some("sum"), ..Asked::default() };
    // Two would begin with the answer of c2.
    let after = shortened(&world(vec![Trigger::Messages(1)], 2), &conversation(3), &asked).await;
    assert_eq!(ids(&after), ["u", "a2", "tool:c2", "end"]);
    for message in after.messages.iter().filter(|message| message.speaker == Speaker::Tool) {
        let caller = after.messages.iter().flat_map(|other| &other.tool_calls);
        assert!(caller.into_iter().any(|call| Some(&call.id) == message.tool_call_id.as_ref()));
    }
}

#[test]
fn wherever_the_cut_falls_no_answer_loses_its_call() {
    let state = conversation(4);
    for keep in 0..=state.messages.len() as u64 {
        let dropped: Vec<&str> = cut::dropped(&state.messages, Keep::Messages(keep))
            .iter()
            .map(|message| message.id.as_str())
            .collect();
        let kept: Vec<&Message> =
            state.messages.iter().filter(|message| !dropped.contains(&message.id.as_str())).collect();
        let made: Vec<&str> =
            kept.iter().flat_map(|message| &message.tool_calls).map(|call| call.id.as_str()).collect();
        let answered: Vec<&str> = kept.iter().filter_map(|message| message.tool_call_id.as_deref()).collect();
        assert_eq!(made, answered, "keeping {keep}");
        assert!(kept.iter().any(|message| message.is_users()), "keeping {keep}");
    }
}

#[tokio::test]
async fn the_newest_reminder_of_the_day_stays() {
    let asked = Asked { says: Some("sum"), ..Asked::default() };
    let mut state = conversation(3);
    state.messages.insert(0, Message::new(Speaker::System, "d", "today").named("dynamic_context").hidden());
    let after = shortened(&world(vec![Trigger::Messages(1)], 1), &state, &asked).await;
    assert_eq!(ids(&after), ["d", "u", "end"]);
}

#[tokio::test]
async fn a_summary_that_fails_changes_nothing_and_is_not_tried_at_once_again() {
    let (asked, state) = (Asked::default(), conversation(3));
    let world = world(vec![Trigger::Messages(1)], 1);
    let after = shortened(&world, &state, &asked).await;
    assert_eq!((&after.messages, &after.summary_text), (&state.messages, &None));
    shortened(&world, &after, &asked).await;
    assert_eq!(asked.prompts.lock().unwrap().len(), 1);
    let longer = State { messages: conversation(9).messages, ..after };
    shortened(&world, &longer, &asked).await;
    assert_eq!(asked.prompts.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn nothing_happens_unless_it_is_on_and_due() {
    let asked = Asked { says: Some("sum"), ..Asked::default() };
    let state = conversation(3);
    assert_eq!(shortened(&World::new(&json!({})), &state, &asked).await, state);
    for trigger in [Trigger::Messages(100), Trigger::Tokens(100_000), Trigger::Fraction(0.1)] {
        assert_eq!(shortened(&world(vec![trigger], 1), &state, &asked).await, state, "{trigger:?}");
    }
    let mut small = world(vec![Trigger::Fraction(0.1)], 1);
    Arc::make_mut(&mut small.options.house).context_window = Some(50);
    assert_ne!(shortened(&small, &state, &asked).await, state);
}

#[tokio::test]
async fn only_the_newest_of_what_goes_is_summed_up() {
    let asked = Asked { says: Some("sum"), ..Asked::default() };
    let mut world = world(vec![Trigger::Messages(1)], 1);
    Arc::make_mut(&mut world.options.house).agents.summarization.trim_tokens = Some(10);
    shortened(&world, &conversation(5), &asked).await;
    let prompts = asked.prompts.lock().unwrap();
    assert!(prompts[0].contains("result 4") && !prompts[0].contains("result 2"), "{}", prompts[0]);
}

#[test]
fn text_that_is_not_ascii_is_longer_than_it_looks() {
    assert_eq!(size::tokens(&[human("h", "abcdefgh")]), 5);
    assert_eq!(size::tokens(&[human("h", "任务任务")]), 7);
}
