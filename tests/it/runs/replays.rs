//! Answers that are made anew, and questions that are asked otherwise: over HTTP, with the built-in script, by a whole Pudu.

use acceptance::{Pudu, Silent};
use http::Method;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::said;

/// A Pudu, and a thread of it.
struct Scene {
    pudu: Pudu,
    thread: String,
    silent: Silent,
}

impl Scene {
    async fn new() -> Self {
        let (pudu, silent) = (Pudu::start(&[], &[]).await, Silent::start().await);
        let scene = Self { pudu, thread: String::new(), silent };
        // A title is how the user began, so that it says what it was made of.
        let title = json!({ "enabled": false });
        let config = json!({ "mcpServers": {}, "models": scene.silent.models(), "title": title });
        scene.pudu.import(&config).await;
        let made = scene.call(Method::POST, "/api/threads", Some(&json!({}))).await;
        Self { thread: made["thread_id"].as_str().unwrap().to_owned(), ..scene }
    }

    async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> (StatusCode, Value) {
        let request =
            self.pudu.http().request(method, self.pudu.url(path)).bearer_auth(self.pudu.key().unwrap());
        let request = if let Some(body) = body { request.json(body) } else { request };
        let answer = request.send().await.unwrap();
        let status = answer.status();
        (status, answer.json().await.unwrap_or_default())
    }

    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Value {
        let (status, answer) = self.ask(method, path, body).await;
        assert!(status.is_success(), "{path}: {status} {answer}");
        answer
    }

    fn path(&self, rest: &str) -> String {
        format!("/api/threads/{}/{rest}", self.thread)
    }

    async fn post(&self, rest: &str, body: Value) -> Value {
        self.call(Method::POST, &self.path(rest), Some(&body)).await
    }

    async fn refused(&self, rest: &str, body: Value) -> u16 {
        self.ask(Method::POST, &self.path(rest), Some(&body)).await.0.as_u16()
    }

    /// Begins a run with what was prepared, exactly, and returns its values.
    async fn replayed(&self, prepared: &Value) -> Value {
        let body = json!({
            "assistant_id": "lead_agent", "input": prepared["input"], "checkpoint": prepared["checkpoint"],
            "metadata": prepared["metadata"],
        });
        self.post("runs/wait", body).await
    }
}

/// What users and the model said, as id and text.
fn spoken(values: &Value) -> Vec<(String, String)> {
    let text = |message: &Value, field: &str| message[field].as_str().unwrap_or_default().to_owned();
    let messages = values["messages"].as_array().unwrap().iter();
    let shown = messages.filter(|message| message["additional_kwargs"]["hide_from_ui"] != json!(true));
    shown.map(|message| (text(message, "id"), text(message, "content"))).collect()
}

#[tokio::test]
async fn an_answer_is_made_anew_and_a_question_asked_otherwise() {
    let scene = Scene::new().await;
    let fresh = scene.call(Method::GET, &scene.path("state"), None).await;
    assert_eq!((&fresh["metadata"]["step"], &fresh["values"]["messages"]), (&json!(-1), &json!([])));

    // The first answer of all is made anew from the checkpoint before everything.
    let first = spoken(&scene.post("runs/wait", said("one")).await);
    let prepare = |answer: &str| json!({ "message_id": answer });
    scene.post("state", json!({ "values": { "title": "Mine" } })).await;
    let prepared = scene.post("runs/regenerate/prepare", prepare(&first[1].0)).await;
    assert_eq!(prepared["checkpoint"]["checkpoint_id"], fresh["checkpoint_id"]);
    let said_as = first[0].0.strip_suffix("__user").expect("the reminder of the day has the id");
    assert_eq!(prepared["input"]["messages"][0]["id"], said_as, "the next reminder has it as well");
    assert_eq!(prepared["source_message_ids"].as_array().unwrap().last().unwrap(), &json!(first[1].0));
    let values = scene.replayed(&prepared).await;
    let again = spoken(&values);
    assert_eq!((again.len(), &again[0].1, &again[1].1), (2, &first[0].1, &first[1].1), "{again:?}");
    assert_ne!(again[1].0, first[1].0, "another answer");
    assert_eq!(values["title"], "Mine", "it is still called what its user calls it");

    // The second one goes on behind the first.
    let second = spoken(&scene.post("runs/wait", said("two")).await);
    assert_eq!(scene.refused("runs/regenerate/prepare", prepare(&again[1].0)).await, 409);
    assert_eq!(scene.refused("runs/regenerate/prepare", prepare(&second[2].0)).await, 409);
    assert_eq!(scene.refused("runs/regenerate/prepare", prepare("none")).await, 404);
    let prepared = scene.post("runs/regenerate/prepare", prepare(&second[3].0)).await;
    let runs = scene.call(Method::GET, &scene.path("runs"), None).await;
    assert_eq!(prepared["target_run_id"], runs[0]["run_id"]);
    let values = spoken(&scene.replayed(&prepared).await);
    assert_eq!(values[..3], second[..3]);
    assert_ne!(values[3].0, second[3].0);

    // What was said last is said otherwise.
    let edit = |said: &str, text: &str| json!({ "human_message_id": said, "replacement_text": text });
    for (said, text, status) in [
        (&values[0].0, "x", 409),
        (&values[2].0, " ", 422),
        (&values[2].0, " two ", 409),
        (&values[3].0, "x", 409),
    ] {
        assert_eq!(
            scene.refused("runs/edit-regenerate/prepare", edit(said, text)).await,
            status,
            "{said} {text}"
        );
    }
    let prepared = scene.post("runs/edit-regenerate/prepare", edit(&values[2].0, "three")).await;
    assert_eq!(prepared["replacement_human_message_id"], prepared["input"]["messages"][0]["id"]);
    let edited = spoken(&scene.replayed(&prepared).await);
    assert_eq!(edited[..2], values[..2]);
    assert_eq!((edited.len(), edited[2].1.as_str()), (4, "three"));
    assert!(edited[3].1.contains("\"three\""), "{edited:?}");
    let kept = scene.call(Method::GET, &scene.path("state"), None).await;
    assert_eq!(spoken(&kept["values"]), edited, "it is the thread's state");

    // Not while somebody is at work.
    let mut slow = said("more");
    slow["config"] = json!({ "configurable": { "model_name": "silent" } });
    let run = scene.post("runs", slow).await;
    assert_eq!(scene.refused("runs/regenerate/prepare", prepare(&edited[3].0)).await, 409);
    let cancel = scene.path(&format!("runs/{}/cancel?wait=1", run["run_id"].as_str().unwrap()));
    let (status, _) = scene.ask(Method::POST, &cancel, None).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn what_came_into_the_thread_with_the_question_stays() {
    let mut scene = Scene::new().await;
    let message = |role: &str, id: &str| json!({ "role": role, "id": id, "content": id });
    let talk = [message("user", "h1"), message("assistant", "a1"), message("user", "h2")];
    let first = scene.post("runs/wait", json!({ "input": { "messages": talk } })).await;
    let first = spoken(&first);
    let prepare = |answer: &str| json!({ "message_id": answer });
    let prepared = scene.post("runs/regenerate/prepare", prepare(&first[3].0)).await;
    let again = spoken(&scene.replayed(&prepared).await);
    assert_eq!((again.len(), &again[..3]), (4, &first[..3]), "{prepared}");
    assert_ne!(again[3].0, first[3].0);

    // A branch has a checkpoint before its last question.
    let made = scene.post("branches", prepare(&again[3].0)).await;
    scene.thread = made["thread_id"].as_str().unwrap().to_owned();
    scene.post("state", json!({ "values": { "artifacts": ["x"] } })).await;
    let prepared = scene.post("runs/regenerate/prepare", prepare(&again[3].0)).await;
    assert_eq!(prepared["input"]["messages"].as_array().unwrap().len(), 1, "{prepared}");
    let there = spoken(&scene.replayed(&prepared).await);
    assert_eq!((there.len(), &there[..2]), (4, &again[..2]));
    assert_eq!(there[2].1, "h2", "which a reminder of the branch's own stands before");
    assert_ne!(there[3].0, again[3].0);

    // A thread that was written, not said.
    scene.thread = "written".to_owned();
    scene.call(Method::POST, "/api/threads", Some(&json!({ "thread_id": "written" }))).await;
    let talk: Vec<Value> = talk.into_iter().chain([message("assistant", "a2")]).collect();
    let written = scene.post("state", json!({ "values": { "messages": talk } })).await;
    assert!(written["checkpoint_id"].is_string() || written["checkpoint"].is_object(), "{written}");
    let prepared = scene.post("runs/regenerate/prepare", prepare("a2")).await;
    let told = spoken(&scene.replayed(&prepared).await);
    let texts: Vec<&str> = told.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!((told.len(), &texts[..3]), (4, ["h1", "a1", "h2"].as_slice()));
}

#[tokio::test]
async fn a_question_is_known_by_the_id_under_which_it_was_said() {
    let scene = Scene::new().await;
    let mut body = said("one");
    body["input"]["messages"][0]["id"] = json!("u1");
    let first = spoken(&scene.post("runs/wait", body).await);
    let branch = scene.post("branches", json!({ "message_id": "u1" })).await;
    let path = format!("/api/threads/{}/state", branch["thread_id"].as_str().unwrap());
    assert_eq!(spoken(&scene.call(Method::GET, &path, None).await["values"]), first[..1]);
    let edit = json!({ "human_message_id": "u1", "replacement_text": "two" });
    let prepared = scene.post("runs/edit-regenerate/prepare", edit).await;
    let edited = spoken(&scene.replayed(&prepared).await);
    assert_eq!((edited.len(), edited[0].1.as_str()), (2, "two"));
    let said = prepared["replacement_human_message_id"].as_str().unwrap();
    let edit = json!({ "human_message_id": said, "replacement_text": "three" });
    let prepared = scene.post("runs/edit-regenerate/prepare", edit).await;
    assert_eq!(prepared["metadata"]["edit_from_message_id"], json!(edited[0].0));
}

#[tokio::test]
async fn an_edit_of_the_first_words_names_the_conversation_anew() {
    let scene = Scene::new().await;
    let values = scene.post("runs/wait", said("apples")).await;
    assert!(values["title"].as_str().unwrap().contains("apples"), "{}", values["title"]);
    let used = scene.call(Method::GET, &scene.path("token-usage"), None).await;
    let (all, scripted) = (used["total_tokens"].as_u64().unwrap(), &used["by_model"]["scripted"]);
    assert!(all > 0 && scripted["tokens"] == all && scripted["runs"] == 1, "{used}");
    assert_eq!(used["by_caller"], json!({ "lead_agent": all, "subagent": 0, "middleware": 0 }));
    let said = spoken(&values);
    let edit = json!({ "human_message_id": said[0].0, "replacement_text": "pears" });
    let prepared = scene.post("runs/edit-regenerate/prepare", edit).await;
    let values = scene.replayed(&prepared).await;
    assert!(values["title"].as_str().unwrap().contains("pears"), "{}", values["title"]);
}
