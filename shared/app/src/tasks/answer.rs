//! Answering the question that a task waits with. The answer is written down; the server gets it in the background.

use pudu_domain::payload::PART_BYTES;
use pudu_domain::task::{Command, Context, Given, Rejected, decide, question_digest};
use pudu_domain::{Payload, TaskKey, TaskSpec};
use serde_json::Value;

use super::{Detailed, Tasks};
use crate::ports::{Committed, StoreError, Unanswerable};
use crate::schema::{Schema, Verdict};
use crate::settle::DECISIONS;

/// Most bytes of an answer, as compact JSON.
pub const INPUT_BYTES: usize = PART_BYTES;
/// Most findings that are listed.
const LISTED: usize = 5;

/// An answer that was not taken. Nothing of it is stored.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The table failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The task, as it stands, takes none.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// The question cannot be answered through us.
    #[error(transparent)]
    Unanswerable(#[from] Unanswerable),
    /// It does not fit the question. Names paths and rules, not values; at most five.
    #[error("the input does not fit the question: {}", .0.join("; "))]
    Unfit(Vec<String>),
    /// It is too large.
    #[error("the input takes {bytes} bytes, more than {INPUT_BYTES}; send less")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// Others changed the task again and again.
    #[error("the task changed while it was being answered; try again")]
    Busy,
}

impl Tasks {
    /// Answers the question that the task waits with, and returns the task as it is then. `version` is the event that the
    /// caller saw, if he says. None when the thread has no such task.
    pub async fn answer(
        &self,
        key: &TaskKey,
        input: &Value,
        version: Option<u32>,
    ) -> Result<Option<Detailed>, InputError> {
        let bytes = input.to_string().len();
        if bytes > INPUT_BYTES {
            return Err(InputError::TooLarge { bytes });
        }
        for _ in 0..DECISIONS {
            let Some(task) = self.settle.tasks.load(key).await? else { return Ok(None) };
            let Some(spec) = self.settle.tasks.spec(&task).await? else { return Ok(None) };
            let payload = match &task.payload {
                Some(_) => self.settle.tasks.payload(key).await?,
                None => Payload::default(),
            };
            // A question that changes after this was read changes the row as well, and the commit does not apply.
            let question = payload.input_required.as_ref().map(question_digest).unwrap_or_default();
            let command =
                Command::GiveAnswer(Given { question: question.clone(), version, input: input.clone() });
            let context = Context { spec: &spec, payload: &payload, policy: &self.settle.policy };
            let change = decide(&task, command, self.settle.clock.now(), context)?;
            self.check(&spec, payload.input_required.as_ref(), input)?;
            let Some(change) = change else { return Err(InputError::Busy) };
            match self.settle.tasks.commit(&change).await? {
                Committed::Done => {
                    self.settle.wake(&change.task, false).await;
                    return Ok(self.detailed(change.task).await?);
                }
                // What stands may be this very answer, whose confirmation was lost: it was taken, and is not refused as a second.
                Committed::Unknown if self.stands(key, &question, input).await? => {
                    self.settle.wake(&change.task, false).await;
                    return Ok(self.get(key).await?);
                }
                _ => {}
            }
        }
        Err(InputError::Busy)
    }

    /// Whether this answer to this question is the one that waits to be sent.
    async fn stands(&self, key: &TaskKey, question: &str, input: &Value) -> Result<bool, StoreError> {
        let task = self.settle.tasks.load(key).await?;
        let waits = task.and_then(|task| task.answer).is_some_and(|answer| answer.question == question);
        Ok(waits && self.settle.tasks.answer(key).await?.as_ref() == Some(input))
    }

    /// The JSON Schema of an answer to what the task asks, or why there can be none.
    pub fn question(&self, row: &Detailed) -> Result<Value, Unanswerable> {
        self.schema(&row.spec, row.payload.input_required.as_ref())
    }

    fn schema(&self, spec: &TaskSpec, asked: Option<&Value>) -> Result<Value, Unanswerable> {
        let none = || Unanswerable(format!("this process has no driver '{}'", spec.driver));
        let driver = self.drivers.get(&spec.driver).ok_or_else(none)?;
        driver.question(&spec.driver_data, asked.unwrap_or(&Value::Null))
    }

    /// Holds the answer to what the driver says of the question. A schema that is itself not valid, or too much to check,
    /// refuses nothing: the server judges.
    fn check(&self, spec: &TaskSpec, asked: Option<&Value>, input: &Value) -> Result<(), InputError> {
        let schema = self.schema(spec, asked)?;
        let verdict = Schema::default().judge(&schema, input, |errors| {
            let told = errors.map(|error| format!("input{}: {}", error.instance_path(), error.masked()));
            told.take(LISTED).collect::<Vec<_>>()
        });
        match verdict {
            Verdict::Unfit(findings) => Err(InputError::Unfit(findings)),
            Verdict::Fits => Ok(()),
            Verdict::Invalid | Verdict::Heavy => {
                tracing::debug!(task.name = %spec.name, "the schema of a question is not valid or too much to check; its server checks the answer");
                Ok(())
            }
        }
    }
}
