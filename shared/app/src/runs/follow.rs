//! Following a run: its frames in order, from stored events, so that who comes back misses nothing while they are kept.
//!
//! Looked for and not pushed, like the tasks of a thread ([`crate::tasks::follow`]): whoever streams is another function than the
//! one that works. A look hands out one frame, which may show a whole state. The frames of a step are made one by one from the state after it
//! (`Stepped`), which is kept until the next one was read: it is what the next step began with. So a follower holds two states
//! while it reads a step, and one state and one frame otherwise; of a step that nobody announced also the state before it.

use std::collections::VecDeque;
use std::fmt;

use pudu_domain::conversation::Head;
use pudu_domain::run::{Notice, StopReason, Told};
use pudu_domain::text::Snippet;
use pudu_domain::{Run, RunKey, Timestamp};
use serde_json::{Value, json};

use super::modes::{CHECKPOINTS, DEBUG, Modes, TASKS, UPDATES, VALUES};
use super::stepped::Stepped;
use super::steps::Point;
use super::{CheckpointError, Runs};
use crate::moments::moment;
use crate::ports::StoreError;

/// Rows of one page; what they show is read when they are handed out.
const AT_ONCE: usize = 25;
/// Quiet looks in a row after which the run itself is looked at: it may be gone.
const QUIET: u32 = 8;

/// The id of a frame: when it was told, and its number in the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameId {
    /// When.
    pub at: Timestamp,
    /// Which; the first thing that a run tells is 1.
    pub seq: u64,
}

/// A frame of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// Its id, of one that a client can come back behind.
    pub id: Option<FrameId>,
    /// The event's name.
    pub event: String,
    /// Its data.
    pub data: Value,
}

/// What a look found.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// The next one.
    pub frame: Option<Frame>,
    /// Whether there is more at once.
    pub more: bool,
    /// How the stream is over, if it is.
    pub over: Option<Over>,
}

/// Why nothing follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// The run has ended, and its end was told.
    Ended,
    /// What was asked for has gone; the run goes on.
    Gap,
    /// The run is gone, with its thread.
    Gone,
}

/// One who follows a run.
pub struct Follower {
    runs: Runs,
    key: RunKey,
    modes: Modes,
    /// Behind what the client comes back.
    resumed: Option<FrameId>,
    /// The last number that was handed out, or is nothing for this client.
    after: u64,
    /// The frame that was told under that number, if it was not handed out yet.
    ready: Option<Frame>,
    /// The step that was told last, with what was not handed out yet of it.
    step: Option<Stepped>,
    /// What was read behind it, and whether there was more.
    read: VecDeque<Told>,
    more: bool,
    /// Whether anything was looked at.
    begun: bool,
    /// Whether the run had ended when it was last looked at.
    ended: Option<Run>,
    quiet: u32,
}

impl FrameId {
    /// Reads one; none of another shape.
    pub fn parse(text: &str) -> Option<Self> {
        let (at, seq) = text.split_once('-')?;
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(at) || !digits(seq) {
            return None;
        }
        Some(Self { at: Timestamp::from_millis(at.parse().ok()?), seq: seq.parse().ok()? })
    }
}

impl fmt::Display for FrameId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.at.as_millis(), self.seq)
    }
}

impl Follower {
    /// Follows `run` from its beginning, or from behind a frame.
    pub fn new(runs: Runs, run: &Run, modes: Modes, resumed: Option<FrameId>) -> Self {
        let ended = run.end().is_some().then(|| run.clone());
        let after = resumed.map_or(0, |id| id.seq);
        Self {
            runs,
            key: run.key.clone(),
            modes,
            resumed,
            after,
            ready: None,
            step: None,
            read: VecDeque::new(),
            more: false,
            begun: false,
            ended,
            quiet: 0,
        }
    }

    /// The frame that begins every stream that is not one that goes on.
    pub fn greeting(&self, run: &Run) -> Option<Frame> {
        let data = json!({ "run_id": run.key.id.as_str(), "thread_id": run.key.thread.thread.as_str() });
        let id = Some(FrameId { at: run.created_at, seq: 0 });
        self.resumed.is_none().then(|| Frame { id, event: "metadata".to_owned(), data })
    }

    /// The next frame that was told, if there is one. After an error the next look goes on where this one was.
    pub async fn look(&mut self) -> Result<Look, CheckpointError> {
        if let Some(look) = self.hand_out() {
            return Ok(look);
        }
        if self.read.is_empty() {
            let page = self.runs.store.frames(&self.key, self.after, AT_ONCE).await?;
            if page.gap && !self.begun && self.resumed.is_some() {
                let frame = Some(self.gap(page.told.first()).await?);
                return Ok(Look { frame, more: false, over: Some(Over::Gap) });
            }
            self.begun = true;
            self.more = page.told.len() == AT_ONCE;
            self.quiet = if page.told.is_empty() { self.quiet + 1 } else { 0 };
            self.read = page.told.into();
        }
        while let Some(told) = self.read.front() {
            let (seq, id) = (told.seq, FrameId { at: told.at, seq: told.seq });
            match &told.notice {
                // Said by whoever streams, once, at its beginning; updates follow from states, also for a run that told them itself.
                Notice::Frame { event, .. } if event == "metadata" || event == UPDATES => {}
                Notice::Frame { event, data } => {
                    let frame = || Frame { id: Some(id), event: event.clone(), data: data.clone() };
                    self.ready = self.modes.has(event).then(frame);
                }
                Notice::Values { number, behind } => {
                    let (number, behind) = (*number, *behind);
                    match self.step(id, number, behind).await {
                        // It does not come back, and what follows is not to wait for it.
                        Ok(()) | Err(CheckpointError::Missing { .. }) => {}
                        Err(error) => return Err(error),
                    }
                }
                Notice::Record { .. } => {}
            }
            self.read.pop_front();
            self.after = seq;
            if let Some(look) = self.hand_out() {
                return Ok(look);
            }
        }
        if !self.more && (self.ended.is_some() || self.quiet >= QUIET) {
            return self.looked_up().await;
        }
        Ok(Look { frame: None, more: self.more, over: None })
    }

    /// The next frame of what was read. Only the last one of those that are told under one number has an id: a client that is cut off
    /// between them hears all of them again.
    fn hand_out(&mut self) -> Option<Look> {
        let frame = self.ready.take().or_else(|| self.step.as_mut().and_then(Stepped::hand_out))?;
        let over = (frame.event == "end").then_some(Over::Ended);
        let left = self.step.as_ref().is_some_and(|step| !step.is_over());
        let more = over.is_none() && (self.more || !self.read.is_empty() || left);
        Some(Look { frame: Some(frame), more, over })
    }

    /// What the run itself says where nothing more is told.
    async fn looked_up(&mut self) -> Result<Look, CheckpointError> {
        self.quiet = 0;
        let none = |over| Look { frame: None, more: false, over };
        let Some(run) = self.runs.store.load(&self.key).await? else { return Ok(none(Some(Over::Gone))) };
        // Its end may have been told since the look: what is found a second time not to be there has gone.
        if let Some(run) = self.ended.replace(run).filter(|run| run.end().is_some()) {
            let frame = Some(Frame { id: None, event: "end".to_owned(), data: ended(&run) });
            return Ok(Look { frame, more: false, over: Some(Over::Ended) });
        }
        if self.ended.as_ref().is_some_and(|run| run.end().is_none()) {
            self.ended = None;
        }
        Ok(Look { more: self.ended.is_some(), ..none(None) })
    }

    /// Reads the step from the checkpoint `behind` to the one of that number, as far as anybody wants it.
    async fn step(&mut self, id: FrameId, number: u32, behind: Option<u32>) -> Result<(), CheckpointError> {
        let wants = |events: &[&str]| events.iter().any(|event| self.modes.has(event));
        let does = wants(&[UPDATES, TASKS, DEBUG]);
        if !does && !wants(&[VALUES, CHECKPOINTS]) {
            return Ok(());
        }
        let head = Head { run: self.key.id.clone(), number };
        let of = if wants(&[CHECKPOINTS, DEBUG]) {
            Some(self.runs.checkpointed(&self.key.thread, &head).await?)
        } else {
            None
        };
        let after = self.point(number).await?;
        let held = self.step.as_ref().map(|step| step.after.number);
        // What was written before the one before was named leaves it to who follows. What a run begins with is nobody's step.
        let behind = behind.or(held).or(number.checked_sub(1)).filter(|behind| does && *behind < number);
        let read = match behind.filter(|behind| held != Some(*behind)) {
            Some(behind) => match self.point(behind).await {
                Err(CheckpointError::Missing { .. }) => None,
                read => Some(read?),
            },
            None => None,
        };
        let held = self.step.take().map(|step| step.after);
        let before = read.or_else(|| held.filter(|held| behind == Some(held.number)));
        let of_thread = (self.key.thread.thread.to_string(), head);
        self.step = Some(Stepped::new((id, moment(id.at)), of_thread, before, (after, of), &self.modes));
        Ok(())
    }

    async fn point(&self, number: u32) -> Result<Point, CheckpointError> {
        Ok(Point::new(number, self.runs.checkpoints.state(&self.key, number).await?))
    }

    /// The frame for a client that comes back too late.
    async fn gap(&self, earliest: Option<&Told>) -> Result<Frame, StoreError> {
        let run = self.runs.store.load(&self.key).await?;
        let id = |at: Timestamp, seq: u64| FrameId { at, seq }.to_string();
        let data = json!({
            "code": "stream_replay_gap",
            "run_id": self.key.id.as_str(),
            "requested_event_id": self.resumed.map(|id| id.to_string()),
            "earliest_available_event_id": earliest.map(|told| id(told.at, told.seq)),
            "latest_available_event_id": run.filter(|_| earliest.is_some()).map(|run| id(run.updated_at, run.told)),
            "recovery": "reload_durable_state",
        });
        Ok(Frame { id: None, event: "gap".to_owned(), data })
    }
}

/// What `end` says of a run whose own was kept no longer.
fn ended(run: &Run) -> Value {
    let end = run.end();
    json!({
        "status": run.phase.status(),
        "stop_reason": end.and_then(|end| end.stop_reason).map(StopReason::as_str),
        "error": end.and_then(|end| end.error.as_ref()).map(Snippet::as_str),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_back_and_nothing_else_is_one() {
        let id = FrameId { at: Timestamp::from_millis(1), seq: 0 };
        assert_eq!((id.to_string().as_str(), FrameId::parse("1-0")), ("1-0", Some(id)));
        for other in ["", "1", "1-", "-1", "1-1-1", "+1-1", "1-x", "99999999999999999999999-1"] {
            assert_eq!(FrameId::parse(other), None, "{other}");
        }
    }
}
