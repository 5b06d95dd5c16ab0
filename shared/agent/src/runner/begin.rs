//! The first step: what the run begins with becomes its first checkpoint.

use std::sync::Arc;

use pudu_domain::chat::{ANSWER, HIDDEN, Message, Speaker};
use pudu_domain::run::Notice;
use serde_json::json;

use super::progress::{NAME, Progress};
use super::session::{Did, Session, Stop};
use crate::turn::{Turn, record};

impl Session {
    pub(super) async fn begin(&mut self) -> Result<Did, Stop> {
        let (spec, options, run) = (Arc::clone(&self.spec), Arc::clone(&self.options), self.run.clone());
        let chain = self.chain().to_vec();
        let mut turn = Turn::new(&run, &spec, &options, self.state.clone(), self.now());
        turn.count(NAME, &Progress::default());
        let ids = json!({ "run_id": run.key.id, "thread_id": run.key.thread.thread });
        turn.tell(Notice::Frame { event: "metadata".to_owned(), data: ids });
        turn.tell(record("run.start", "trace", json!({ "assistant_id": spec.assistant }), json!({})));
        for (number, message) in spec.input.iter().enumerate() {
            let mut message = identified(message.clone(), &run.key.id.to_string(), number);
            if message.answers().is_some_and(|id| !turn.state().is_open_question(id)) {
                // It answers nothing that was asked: it is what its user says, for all to see.
                message.additional_kwargs.remove(ANSWER);
                message.additional_kwargs.remove(HIDDEN);
            }
            if message.speaker == Speaker::Human {
                turn.tell(record("llm.human.input", "message", json!(message), json!({})));
            }
            turn.say(message);
        }
        self.watched(async {
            for middleware in &chain {
                middleware.before_run(&mut turn).await;
            }
        })
        .await?;
        self.keep(turn, &[], true).await?;
        Ok(Did::On)
    }
}

/// The message with an id: the same one however often the step is done.
fn identified(mut message: Message, run: &str, number: usize) -> Message {
    if message.id.is_empty() {
        message.id = format!("{run}:input-{number}");
    }
    message
}
