//! The first step: what the run begins with becomes its first checkpoint.

use std::sync::Arc;

use pudu_domain::chat::{Message, Speaker};
use pudu_domain::run::Notice;
use serde_json::{Value, json};

use super::progress::{NAME, Progress};
use super::session::{Did, Session, Stop};
use crate::turn::Turn;

/// Most bytes of what a record holds, as JSON: it is a row.
const RECORD: usize = 100 * 1024;

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
            let message = identified(message.clone(), &run.key.id.to_string(), number);
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

/// A record for the thread's history. One that is too large for a row says so in place of what happened; the checkpoint has it.
pub(super) fn record(event_type: &str, category: &str, content: Value, metadata: Value) -> Notice {
    let size = content.to_string().len();
    let content = if size <= RECORD { content } else { json!({ "truncated": true, "bytes": size }) };
    Notice::Record { event_type: event_type.to_owned(), category: category.to_owned(), content, metadata }
}
