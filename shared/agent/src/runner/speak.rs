//! One call of a model: what it says is told while it speaks, and it ends when the run is taken away.

use std::pin::pin;
use std::sync::Arc;

use pudu_app::ports::{ModelCall, ModelError, ModelFault, Piece};
use pudu_domain::Timestamp;
use pudu_domain::chat::Message;
use pudu_domain::run::Notice;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::chunks::Chunks;
use super::session::{Session, Stop};
use super::watch::LOOK;

/// Pieces that wait to be told before the model has to.
const PIECES: usize = 256;

/// What a model said, and what is still to be told of it.
pub(super) struct Spoken {
    pub(super) message: Message,
    pub(super) frames: Vec<Notice>,
}

impl Session {
    /// Makes `call` once. Nobody watches a subagent speak, so its pieces are not told.
    pub(super) async fn speak(&mut self, call: &ModelCall) -> Result<Result<Spoken, ModelError>, Stop> {
        let (clock, models) = (Arc::clone(&self.parts.clock), Arc::clone(&self.parts.models));
        let mut chunks = Chunks::new(call.id.clone(), self.frame_metadata(&call.entry.name));
        let quiet = self.spec.subagent.is_some();
        let (send, mut pieces) = mpsc::channel(PIECES);
        let mut calling = pin!(models.call(call, send));
        let began = self.now();
        let mut heard = began;
        let mut next_look = began + LOOK;
        let answer = loop {
            // Looked for on every turn: a model that never pauses would put off a time that began anew with each piece.
            let now = self.now();
            if now >= next_look {
                self.look().await?;
                if let Some(error) = overdue(call, began, heard, now) {
                    break Err(error);
                }
                next_look = self.now() + LOOK;
            }
            let until_look = next_look.since(self.now());
            let wait = chunks.wait(self.now()).map_or(until_look, |wait| wait.min(until_look));
            tokio::select! {
                biased;
                answer = &mut calling => break answer,
                Some(piece) = pieces.recv() => {
                    heard = self.now();
                    if !quiet && chunks.take(piece, heard) {
                        self.tell(chunks.flush()).await?;
                    }
                }
                () = clock.sleep(wait) => {
                    let frames = chunks.flush();
                    if !frames.is_empty() {
                        self.tell(frames).await?;
                    }
                }
            }
        };
        let message = match answer {
            Ok(message) => message,
            // What was said so far is told: the next try says something else, under another id.
            Err(error) => {
                let frames = chunks.flush();
                if !frames.is_empty() {
                    self.tell(frames).await?;
                }
                return Ok(Err(error));
            }
        };
        while let Ok(piece) = pieces.try_recv() {
            if !quiet {
                chunks.take(piece, heard);
            }
        }
        let mut frames = chunks.flush();
        if !chunks.told && !quiet && !message.content.is_blank() {
            frames.extend(self.spoken(&message, &call.entry.name));
        }
        Ok(Ok(Spoken { message, frames }))
    }

    /// A whole message as frames, where nothing was told while it came.
    pub(super) fn spoken(&self, message: &Message, model: &str) -> Vec<Notice> {
        let mut chunks = Chunks::new(message.id.clone(), self.frame_metadata(model));
        chunks.take(Piece::Text(message.content.text()), self.now());
        chunks.flush()
    }

    fn frame_metadata(&self, model: &str) -> Value {
        json!({
            "thread_id": self.run.key.thread.thread, "run_id": self.run.key.id,
            "langgraph_node": "model", "langgraph_step": self.run.checkpoints, "ls_model_name": model,
        })
    }
}

/// Whether the call takes too long as a whole, or was silent for too long.
fn overdue(call: &ModelCall, began: Timestamp, heard: Timestamp, now: Timestamp) -> Option<ModelError> {
    let entry = &call.entry;
    let (fault, message) = if now.since(began) >= entry.timeout {
        (ModelFault::Transient, format!("no answer within {} s (request_timeout)", entry.timeout.as_secs()))
    } else if now.since(heard) >= entry.chunk_timeout {
        let silent = entry.chunk_timeout.as_secs();
        (ModelFault::Stalled, format!("nothing was heard for {silent} s (stream_chunk_timeout)"))
    } else {
        return None;
    };
    Some(ModelError { model: entry.name.clone(), fault, message, retry_after: None })
}
