//! Answers to what an agent asked: each is to a question that is open.

use acceptance::Talk;
use pudu_domain::run::Outcome;
use serde_json::{Value, json};

use super::said;

/// An answer to a question, as the reference's page sends it.
fn answer(question: &str, text: &str) -> Value {
    json!({
        "role": "user",
        "content": text,
        "additional_kwargs": {
            "hide_from_ui": true,
            "human_input_response": { "kind": "human_input_response", "request_id": question, "value": text },
        },
    })
}

fn answering(question: &str) -> Value {
    json!({ "input": { "messages": [answer(question, "this")] } })
}

/// A thread whose agent asked `q1` last.
async fn asked() -> Talk {
    let talk = Talk::new();
    let run = talk.begin(said("hi")).await;
    talk.take(&run).await;
    talk.ask(&run, "q1").await;
    talk.end(&run, Outcome::Success, None).await;
    talk
}

#[tokio::test(start_paused = true)]
async fn a_run_answers_the_question_that_is_open_and_no_other() {
    let talk = asked().await;
    for path in ["/api/threads/t/runs", "/api/threads/t/runs/stream", "/api/threads/t/runs/wait"] {
        let detail = talk.post(path, answering("q2")).await.refused(409);
        assert!(detail.contains("no open question"), "{detail}");
    }
    talk.post("/api/threads/never/runs", answering("q1")).await.refused(409);
    assert_eq!(talk.get("/api/threads/t").await["status"], "idle", "nothing was begun");
    let run = talk.begin(answering("q1")).await;
    talk.take(&run).await;
    talk.end(&run, Outcome::Success, None).await;
    talk.post("/api/threads/t/runs", answering("q1")).await.refused(409);
    let mut earlier = answering("q1");
    let history = talk.post("/api/threads/t/history", json!({})).await.expect(200);
    earlier["checkpoint_id"] = history[1]["checkpoint_id"].clone();
    talk.begin(earlier).await;
}

#[tokio::test(start_paused = true)]
async fn a_state_takes_no_answer_to_what_was_not_asked() {
    let talk = asked().await;
    let path = "/api/threads/t/state";
    let writing = |messages: Value| json!({ "values": { "messages": messages } });
    talk.post(path, writing(json!([answer("q2", "x")]))).await.refused(409);
    talk.post(path, writing(json!([answer("q1", "x"), answer("q1", "y")]))).await.refused(409);
    let state = talk.post(path, writing(json!([answer("q1", "x")]))).await.expect(200);
    let mut same = state["values"]["messages"].as_array().unwrap().last().unwrap().clone();
    talk.post(path, writing(json!([answer("q1", "y")]))).await.refused(409);
    // Said again under its id it is the same answer in other words.
    same["content"] = json!("z");
    let state = talk.post(path, writing(json!([same]))).await.expect(200);
    assert_eq!(state["values"]["messages"].as_array().unwrap().last().unwrap()["content"], "z");
}
