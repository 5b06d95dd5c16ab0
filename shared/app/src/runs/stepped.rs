//! The frames of one step, made one by one: each may show a whole state, and no two of them are in memory together.

use std::collections::VecDeque;

use pudu_domain::conversation::Head;
use serde_json::{Map, Value};

use super::Checkpointed;
use super::follow::{Frame, FrameId};
use super::modes::{CHECKPOINTS, DEBUG, Modes, TASKS, UPDATES, VALUES};
use super::steps::{self, Done, Point};

/// What there is to be told of a step, in this order, each thing in the modes that show it.
const TOLD: [(What, &str); 10] = [
    (What::Begun, DEBUG),
    (What::Begun, TASKS),
    (What::Wrote, UPDATES),
    (What::Ended, DEBUG),
    (What::Ended, TASKS),
    (What::Checkpoint, DEBUG),
    (What::Checkpoint, CHECKPOINTS),
    (What::Values, VALUES),
    (What::Next, DEBUG),
    (What::Next, TASKS),
];

/// One thing that is told of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// That it began, of a step that nobody announced.
    Begun,
    /// What it wrote.
    Wrote,
    /// That it ended.
    Ended,
    /// The checkpoint that it made.
    Checkpoint,
    /// The state after it.
    Values,
    /// That the next one begins.
    Next,
}

/// A step, with what was not handed out yet of it.
pub(super) struct Stepped {
    /// The state after it.
    pub(super) after: Point,
    id: FrameId,
    /// When it was told, in ISO 8601.
    at: String,
    /// The thread's id.
    thread: String,
    head: Head,
    /// The checkpoint that it made, if anybody wants that.
    of: Option<Checkpointed>,
    ended: Option<Ended>,
    left: VecDeque<(What, &'static str)>,
}

/// What the step did.
struct Ended {
    did: Done,
    before: Head,
    /// By which name it was announced, or who it was.
    node: &'static str,
    /// The state before it, of a step that nobody announced.
    input: Option<Map<String, Value>>,
}

impl Stepped {
    /// The step from the state `before` to the one `after`, of the thread of that id. Without a state before there is nothing to be
    /// told but where the run is.
    pub(super) fn new(
        (id, at): (FrameId, String),
        (thread, head): (String, Head),
        before: Option<Point>,
        (after, of): (Point, Option<Checkpointed>),
        modes: &Modes,
    ) -> Self {
        let ended = before.map(|before| {
            let did = Done::between(&before.values, &after.values);
            let (announced, number) = (before.next, before.number);
            let node = announced.unwrap_or(did.node);
            let input = announced.is_none().then_some(before.values);
            Ended { node, input, before: Head { run: head.run.clone(), number }, did }
        });
        let is_there = |what: What| match what {
            What::Begun => ended.as_ref().is_some_and(|ended| ended.input.is_some()),
            What::Wrote => ended.as_ref().is_some_and(|ended| !ended.did.wrote.is_empty()),
            What::Ended => ended.is_some(),
            What::Checkpoint => of.is_some(),
            What::Values => true,
            What::Next => after.next.is_some(),
        };
        let left = TOLD.into_iter().filter(|(what, event)| modes.has(event) && is_there(*what)).collect();
        Self { after, id, at, thread, head, of, ended, left }
    }

    /// Whether everything was handed out.
    pub(super) fn is_over(&self) -> bool {
        self.left.is_empty()
    }

    /// The next frame. The last one alone has an id.
    pub(super) fn hand_out(&mut self) -> Option<Frame> {
        let (what, event) = self.left.pop_front()?;
        let id = self.left.is_empty().then_some(self.id);
        let (kind, step, data) = self.shown(what)?;
        let data = if event == DEBUG { steps::debug(kind, step, &self.at, &data) } else { data };
        Some(Frame { id, event: event.to_owned(), data })
    }

    /// What that is called in `debug`, of which step it is there, and what it shows.
    fn shown(&self, what: What) -> Option<(&'static str, u32, Value)> {
        let (after, ended) = (&self.after, self.ended.as_ref());
        let step = ended.map_or(after.number, |ended| ended.before.number + 1);
        Some(match what {
            What::Begun => {
                let ended = ended?;
                ("task", step, steps::begins(&ended.before, ended.node, ended.input.as_ref()?))
            }
            What::Wrote => (UPDATES, step, ended?.did.update()?),
            What::Ended => {
                let ended = ended?;
                ("task_result", step, ended.did.result(&ended.before, ended.node))
            }
            What::Checkpoint => {
                let shown = steps::checkpoint(&self.thread, self.of.as_ref()?, after.next, &after.values);
                ("checkpoint", after.number, shown)
            }
            What::Values => (VALUES, after.number, Value::Object(after.values.clone())),
            What::Next => ("task", after.number + 1, steps::begins(&self.head, after.next?, &after.values)),
        })
    }
}
