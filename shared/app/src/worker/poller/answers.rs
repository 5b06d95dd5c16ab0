//! Handing an answer over: it is sent, then the task is polled in the same claim, and both are one commit.
//!
//! Whoever may not be the first to send it polls before that, and sends it only if its question still stands: a worker may
//! have died, or never have heard, after the server took it.

use pudu_domain::Snapshot;
use pudu_domain::task::{Answer, Command, Heard, Sent, question_digest};
use serde_json::Value;

use super::{GiveBack, Held, Poller, Reached, Stop, overdue, plain};
use crate::ports::{AnswerError, StoreError};

impl Poller {
    pub(super) async fn hand_over(
        &self,
        held: &Held<'_>,
        reached: &Reached<'_>,
        answer: &Answer,
    ) -> Result<Command, Stop> {
        let stored = if answer.is_fresh(held.task.durable.generation) {
            self.stored(held, answer).await?
        } else {
            None
        };
        let asked = match stored {
            Some(question) => question,
            None => match self.ask(held, reached).await? {
                Heard::Status(Snapshot { input_required: Some(question), status, .. })
                    if status == pudu_domain::Status::InputRequired
                        && question_digest(&question) == answer.question =>
                {
                    question
                }
                heard => return Ok(plain(heard)),
            },
        };
        let Some(input) = self.settle.tasks.answer(&held.task.key).await? else {
            return Err(Stop::PutAside("the row of its answer is missing"));
        };
        let sent = self.send(held, reached, &asked, &input).await?;
        let id = &held.task.key.id;
        match &sent {
            Sent::Taken => tracing::debug!(task.id = %id, "an answer was taken"),
            Sent::Refused(error) => tracing::info!(task.id = %id, error, "a server refused an answer"),
            Sent::Unsure(error) => {
                tracing::warn!(task.id = %id, error, "it is not known whether an answer was taken; it is sent again while its question stands");
            }
        }
        // What was sent is recorded even when there is no time left to look.
        let heard = self.ask(held, reached).await.ok();
        Ok(Command::RecordAnswer { sent, heard })
    }

    /// The question as it was when it was answered, if it is stored.
    async fn stored(&self, held: &Held<'_>, answer: &Answer) -> Result<Option<Value>, StoreError> {
        let payload = self.settle.tasks.payload(&held.task.key).await?;
        Ok(payload.input_required.filter(|question| question_digest(question) == answer.question))
    }

    /// Sends it once. Nothing was sent when this gives the claim back.
    async fn send(
        &self,
        held: &Held<'_>,
        reached: &Reached<'_>,
        asked: &Value,
        input: &Value,
    ) -> Result<Sent, GiveBack> {
        let Reached { server, driver, remote, caller } = reached;
        let limit = held.limit(server, self.settle.clock.now())?.time;
        let call = driver.answer(server, caller, &held.spec.driver_data, remote, asked, input, limit);
        Ok(match tokio::time::timeout(limit, call).await {
            Ok(Ok(())) => Sent::Taken,
            Ok(Err(AnswerError::Refused(why))) => Sent::Refused(why),
            Ok(Err(AnswerError::Retry(why))) => Sent::Unsure(why),
            Err(_) => Sent::Unsure(overdue("answer", limit)),
        })
    }
}
