//! What is looked back at: what was said to that agent, is still behind the conversation, and was said to its end.

use pudu_app::ports::Applied;
use pudu_domain::run::{Command, Notice, Seen, decide};
use pudu_domain::{AgentName, Conversation, Policy};

use super::*;

/// What models are asked once it is quiet.
async fn asked_later(stage: &Stage) -> Vec<String> {
    stage.clock.sleep(Duration::from_secs(30)).await;
    look_back(stage, &Gate::open()).await;
    asked(stage)
}

async fn says_to(stage: &Stage, agent: &Value, id: &str, text: &str) {
    let key = stage.admit(id, text, &json!({"agent_name": agent})).await;
    stage.work(&stage.runner(&Gate::open()), &key, LONG).await;
    assert_eq!(outcome(&stage.load(&key).await), Some(Outcome::Success));
}

#[tokio::test(start_paused = true)]
async fn what_was_said_to_one_agent_is_remembered_by_no_other() {
    for backwards in [false, true] {
        let stage = stage_with(&json!({}), |_| {
            Speech::text(r#"{"new_facts": [{"content": "spoke", "confidence": 1}]}"#)
        })
        .await;
        let (lead, medic) = (Value::Null, json!("medic"));
        for (agent, id, text) in [
            (&lead, "r1", "to the lead"),
            (&medic, "r2", "is ill"),
            (&lead, "r3", "more to the lead"),
            (&medic, "r4", "is well"),
        ] {
            says_to(&stage, agent, id, text).await;
        }
        stage.clock.sleep(Duration::from_secs(30)).await;
        let mut due = asides(&stage);
        if backwards {
            due.reverse();
        }
        for run in due {
            stage.work(&stage.runner(&Gate::open()), &run.key, LONG).await;
        }
        let mut heard = asked(&stage);
        heard.sort_by_key(|asked| asked.contains("is ill"));
        assert_eq!(heard.len(), 2);
        assert!(heard[0].contains(&said("user", "to the lead")), "{}", heard[0]);
        assert!(heard[0].contains(&said("user", "more to")) && !heard[0].contains("is well"), "{}", heard[0]);
        assert!(heard[1].contains(&said("user", "is ill")) && heard[1].contains(&said("user", "is well")));
        assert!(!heard[1].contains("the lead"), "{}", heard[1]);
        let memories = stage.wiring(&Gate::open()).memories();
        for agent in [None, AgentName::parse("medic").ok()] {
            let memory = memories.read(&MemoryKey { agent, ..key() }).await.unwrap();
            assert_eq!((contents(&memory), memory.revision), (vec!["spoke"], 1));
        }
        says_to(&stage, &lead, "r5", "once more").await;
        let last = asked_later(&stage).await.pop().unwrap();
        assert!(last.contains(&said("user", "once more")) && !last.contains("to the lead"), "{last}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_edit_or_an_older_checkpoint_left_behind_is_not_looked_at() {
    let stage = stage().await;
    let first = says(&stage, "r1", "stays").await;
    says(&stage, "r2", "a wrong word").await;
    let mut conversation = stage.store().conversation(&thread("t")).await.unwrap().unwrap();
    let read = conversation.clone();
    conversation.head = stage.load(&first).await.head();
    let kept = Conversation::kept(Some(&read), conversation, stage.clock.now());
    stage.store().keep(&kept, None).await.unwrap();
    says(&stage, "r3", "the right word").await;
    let asked = asked_later(&stage).await.remove(0);
    assert!(asked.contains(&said("user", "stays")) && asked.contains(&said("user", "the right word")));
    assert!(!asked.contains("a wrong word"), "{asked}");
}

#[tokio::test(start_paused = true)]
async fn nobody_looks_back_while_somebody_is_at_work() {
    let stage = stage().await;
    says(&stage, "r1", "hello").await;
    let busy = stage.admit("r2", "and more", &json!({})).await;
    for _ in 0..4 {
        assert_eq!(asked_later(&stage).await.len(), 0);
    }
    assert_eq!(asides(&stage)[0].end(), None);
    stage.work(&stage.runner(&Gate::open()), &busy, LONG).await;
    let asked = asked_later(&stage).await;
    assert_eq!(asked.len(), 1);
    assert!(asked[0].contains(&said("user", "hello")) && asked[0].contains(&said("user", "and more")));

    let stage = self::stage().await;
    says(&stage, "r1", "hello").await;
    stage.admit("r2", "and never done", &json!({})).await;
    for _ in 0..130 {
        asked_later(&stage).await;
    }
    assert_eq!(self::asked(&stage).len(), 1, "not for ever");
    assert_eq!(contents(&memory(&stage).await), ["likes tea"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_of_many_records_is_looked_at_from_its_beginning() {
    let stage = stage().await;
    says(&stage, "r1", "at the very beginning").await;
    let run = stage.admit("r2", "and the end", &json!({})).await;
    for _ in 0..25 {
        let record = Notice::Record {
            event_type: "middleware:test".into(),
            category: "trace".into(),
            content: json!({}),
            metadata: json!({}),
        };
        let command = Command::Relay(vec![record; 100]);
        let held = stage.load(&run).await;
        let change = decide(&held, command, &Seen::default(), stage.clock.now(), &Policy::default()).unwrap();
        assert_eq!(stage.store().commit(&change).await.unwrap(), Applied::Done);
    }
    stage.work(&stage.runner(&Gate::open()), &run, LONG).await;
    assert_eq!(outcome(&stage.load(&run).await), Some(Outcome::Success));
    let asked = asked_later(&stage).await.remove(0);
    assert!(asked.contains(&said("user", "at the very beginning")), "{asked}");
}
