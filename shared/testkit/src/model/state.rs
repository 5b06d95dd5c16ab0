//! One state of the world, small enough to keep millions of.

use pudu_domain::Lane;

use super::Bounds;
use super::images::Image;

/// How many workers there are.
pub(super) const WORKERS: usize = 3;

/// Everything that is true at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) row: Image,
    pub(super) remote: Remote,
    pub(super) workers: [Worker; WORKERS],
    /// Who asks to cancel, and who answers.
    pub(super) askers: [Asker; 2],
    /// A write that is on its way to the table while its writer has gone on.
    pub(super) late: Option<Late>,
    pub(super) left: Left,
    /// Whether a holder has committed in the row's generation.
    pub(super) committed: bool,
    /// Whether somebody was told that the request to cancel stands.
    pub(super) cancel_stands: bool,
    /// Whether the server took the answer.
    pub(super) taken: bool,
}

/// How much may still go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Left {
    pub(super) unanswered: u8,
    pub(super) faults: u8,
    pub(super) crashes: u8,
    pub(super) late: u8,
    pub(super) questions: u8,
}

/// The task at its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Remote {
    Absent,
    Working,
    Asking,
    Completed,
    Cancelled,
}

/// What a command is, with what it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Op {
    Took,
    Refused,
    Unknown,
    Working,
    Asking,
    Completed,
    Cancelled,
    PollFailed,
    CancelEnded {
        completed: bool,
    },
    CancelFailed,
    Recover,
    GiveBack,
    RequestCancel,
    GiveAnswer,
    /// The answer was sent. Whether the server surely took it, and whether it asked all the same when it was looked at then.
    Answered {
        sure: bool,
        asking: bool,
    },
}

/// What somebody wants who holds nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Wants {
    Cancel,
    Answer,
}

/// The lanes that a worker serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Serves {
    Poll,
    Cancel,
    Intent,
    /// Not a lane: the submitter, who holds the intent from its birth.
    Submit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Worker {
    Idle,
    /// A claim of its got no answer. The lease that it asked for ends at `until`, relative to now.
    Claiming {
        serves: Serves,
        nonce: u8,
        until: i8,
    },
    /// It holds the row, as it believes, and has not called the server yet.
    Holds {
        serves: Serves,
        image: Image,
    },
    /// It has a command, and has not decided yet.
    Has {
        op: Op,
        image: Image,
    },
    /// A commit of its got no answer.
    Unanswered(Writing),
    /// It was told that it was woken, and reads the row.
    Woken {
        op: Op,
        image: Image,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Asker {
    Idle,
    Read { image: Image },
    Unanswered(Writing),
    Gone,
}

/// A write that was decided, and has been tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Writing {
    pub(super) op: Op,
    pub(super) image: Image,
    /// When it was decided, relative to now.
    pub(super) decided: i8,
    /// Whether it has been applied: what nobody in the world can know.
    pub(super) applied: bool,
}

/// Who writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Who {
    Worker(usize),
    Asker(Wants),
}

/// A write on its way. Its condition was written down at `sent`, by its writer's clock, relative to now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Late {
    /// Whose; none when its writer has gone on to something else.
    pub(super) who: Option<Who>,
    pub(super) what: Delayed,
    pub(super) sent: i8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Delayed {
    Claim { worker: usize, serves: Serves, nonce: u8, until: i8 },
    Write(Writing),
}

impl State {
    /// A submitter holds the intent that it has just written; nothing has been sent.
    pub(super) fn first(intent: Image, bounds: &Bounds) -> Self {
        let mut workers = [Worker::Idle; WORKERS];
        workers[0] = Worker::Holds { serves: Serves::Submit, image: intent };
        let Bounds { unanswered, faults, crashes, late, questions, .. } = *bounds;
        Self {
            row: intent,
            remote: Remote::Absent,
            workers,
            askers: [bounds.cancel, bounds.answer].map(|comes| if comes { Asker::Idle } else { Asker::Gone }),
            late: None,
            left: Left { unanswered, faults, crashes, late, questions },
            committed: false,
            cancel_stands: false,
            taken: false,
        }
    }

    /// Every image that somebody remembers.
    pub(super) fn images(&mut self) -> impl Iterator<Item = &mut Image> {
        let workers = self.workers.iter_mut().filter_map(Worker::image);
        let askers = self.askers.iter_mut().filter_map(|asker| match asker {
            Asker::Read { image } | Asker::Unanswered(Writing { image, .. }) => Some(image),
            Asker::Idle | Asker::Gone => None,
        });
        let late = match &mut self.late {
            Some(Late { what: Delayed::Write(writing), .. }) => Some(&mut writing.image),
            _ => None,
        };
        workers.chain(askers).chain(late)
    }

    /// Every command that a worker has, with the image that it is for.
    pub(super) fn commands(&mut self) -> impl Iterator<Item = (&mut Op, Image)> {
        let workers = self.workers.iter_mut().filter_map(|worker| match worker {
            Worker::Has { op, image }
            | Worker::Woken { op, image }
            | Worker::Unanswered(Writing { op, image, .. }) => Some((op, *image)),
            Worker::Idle | Worker::Claiming { .. } | Worker::Holds { .. } => None,
        });
        let late = match &mut self.late {
            Some(Late { what: Delayed::Write(Writing { op, image, .. }), .. }) => Some((op, *image)),
            _ => None,
        };
        workers.chain(late.filter(|(op, _)| op.wants().is_none()))
    }

    /// Every moment that somebody remembers.
    pub(super) fn moments(&mut self) -> impl Iterator<Item = &mut i8> {
        let workers = self.workers.iter_mut().filter_map(|worker| match worker {
            Worker::Claiming { until, .. } => Some(until),
            Worker::Unanswered(writing) => Some(&mut writing.decided),
            _ => None,
        });
        let askers = self.askers.iter_mut().filter_map(|asker| match asker {
            Asker::Unanswered(writing) => Some(&mut writing.decided),
            _ => None,
        });
        let (sent, what) = match &mut self.late {
            Some(Late { sent, what, .. }) => (
                Some(sent),
                Some(match what {
                    Delayed::Claim { until, .. } => until,
                    Delayed::Write(writing) => &mut writing.decided,
                }),
            ),
            None => (None, None),
        };
        workers.chain(askers).chain(sent).chain(what)
    }
}

impl State {
    /// Every write that is being tried.
    pub(super) fn writings(&mut self) -> impl Iterator<Item = &mut Writing> {
        let workers = self.workers.iter_mut().filter_map(|worker| match worker {
            Worker::Unanswered(writing) => Some(writing),
            _ => None,
        });
        let askers = self.askers.iter_mut().filter_map(|asker| match asker {
            Asker::Unanswered(writing) => Some(writing),
            _ => None,
        });
        let late = match &mut self.late {
            Some(Late { what: Delayed::Write(writing), .. }) => Some(writing),
            _ => None,
        };
        workers.chain(askers).chain(late)
    }

    pub(super) fn asker(&self, wants: Wants) -> Asker {
        self.askers.get(wants as usize).copied().unwrap_or(Asker::Gone)
    }

    pub(super) fn ask(&mut self, wants: Wants, asker: Asker) {
        if let Some(place) = self.askers.get_mut(wants as usize) {
            *place = asker;
        }
    }

    pub(super) fn set(&mut self, at: usize, worker: Worker) {
        if let Some(place) = self.workers.get_mut(at) {
            *place = worker;
        }
    }

    /// The writer goes on: what is under way of it is nobody's any more.
    pub(super) fn leave(&mut self, who: Who) {
        if let Some(late) = &mut self.late
            && late.who == Some(who)
        {
            late.who = None;
        }
    }

    /// The writer has got no answer.
    pub(super) fn wait(&mut self, who: Who, writing: Writing) {
        match who {
            Who::Worker(at) => self.set(at, Worker::Unanswered(writing)),
            Who::Asker(wants) => self.ask(wants, Asker::Unanswered(writing)),
        }
    }

    pub(super) fn mark_applied(&mut self, who: Who, applied: bool) {
        let writing = match who {
            Who::Worker(at) => match self.workers.get_mut(at) {
                Some(Worker::Unanswered(writing)) => Some(writing),
                _ => None,
            },
            Who::Asker(wants) => match self.askers.get_mut(wants as usize) {
                Some(Asker::Unanswered(writing)) => Some(writing),
                _ => None,
            },
        };
        if let Some(writing) = writing {
            writing.applied |= applied;
        }
    }
}

impl Wants {
    pub(super) const ALL: [Self; 2] = [Self::Cancel, Self::Answer];

    pub(super) const fn op(self) -> Op {
        match self {
            Self::Cancel => Op::RequestCancel,
            Self::Answer => Op::GiveAnswer,
        }
    }
}

impl Op {
    /// Who wants it, if it is nothing that a holder does.
    pub(super) fn wants(self) -> Option<Wants> {
        Wants::ALL.into_iter().find(|wants| wants.op() == self)
    }
}

impl Serves {
    /// The lane; none for the submitter, who never claims.
    pub(super) const fn lane(self) -> Option<Lane> {
        match self {
            Self::Poll => Some(Lane::Poll),
            Self::Cancel => Some(Lane::Cancel),
            Self::Intent => Some(Lane::Intent),
            Self::Submit => None,
        }
    }
}

impl Worker {
    fn image(&mut self) -> Option<&mut Image> {
        match self {
            Self::Idle | Self::Claiming { .. } => None,
            Self::Holds { image, .. }
            | Self::Has { image, .. }
            | Self::Unanswered(Writing { image, .. })
            | Self::Woken { image, .. } => Some(image),
        }
    }
}
