//! The agent's side of a thread: which run is active in it, which wait, and which checkpoint is its state.
//!
//! One row, changed only in the transactions of runs ([`crate::run`]) and of those who edit it, each under the revision that was
//! read. So there is one active run (agent reference 2.5), and going back or branching off is a move of the head.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::{RunId, ThreadKey};
use crate::principal::Scope;
use crate::time::Timestamp;

/// Most runs that wait in a thread.
pub const QUEUE: usize = 16;

/// A checkpoint of a run: its state after that many steps.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Head {
    /// Whose chain.
    pub run: RunId,
    /// Which of it, from 0.
    pub number: u32,
}

/// Where a thread stands, as its callers see it (agent reference 2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// No run is active, and the last one ended well.
    Idle,
    /// A run is active.
    Busy,
    /// The last run was interrupted.
    Interrupted,
    /// The last run failed.
    Error,
}

/// The row.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// The thread.
    pub thread: ThreadKey,
    /// How often it was changed; whoever changes it names the one that he read.
    pub revision: u64,
    /// The run that has the thread.
    pub active: Option<RunId>,
    /// Runs that wait for it, the next one first; at most [`QUEUE`].
    pub queue: Vec<RunId>,
    /// The state; none before the first.
    pub head: Option<Head>,
    /// How many runs it had; children of runs are none of its own.
    pub runs: u32,
    /// Where it stands.
    pub status: Status,
    /// Where it stood when the active run took it, if that is none that answers: there it stands behind it, however that ends.
    pub stood: Option<Status>,
    /// What it is called.
    pub title: Option<String>,
    /// What its callers note of it.
    pub metadata: Map<String, Value>,
    /// Which assistant it was made for.
    pub assistant: Option<String>,
    /// Which servers its last caller could use: a run that nobody asks for, like one that tells an event, may use no others.
    pub scope: Scope,
    /// Up to which of its runs somebody is to look for what is worth remembering; 0 is none.
    pub to_remember: u32,
    /// Up to which of its runs somebody did.
    pub remembered: u32,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed by a run or by its callers.
    pub updated_at: Timestamp,
}

/// A write of the row.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// The revision that must be there; none for a conversation that must not be there.
    pub expect: Option<u64>,
    /// The new row.
    pub conversation: Conversation,
}

impl Head {
    /// The checkpoint before every other of a conversation that was made then: its state is empty, and it is written nowhere. Its id is
    /// no run's, since those end at random.
    pub fn beginning(made: Timestamp) -> Self {
        Self { run: RunId::new(made, [0; 10]), number: 0 }
    }

    /// Whether it is the one before every other of some conversation.
    pub fn is_beginning(&self) -> bool {
        self.run.made_at().is_some_and(|made| *self == Self::beginning(made))
    }

    /// The checkpoint's id, as callers see it: `<run>:<number>`.
    pub fn id(&self) -> String {
        format!("{}:{}", self.run, self.number)
    }

    /// The id of the task that comes after it.
    pub fn task(&self, node: &str) -> String {
        format!("{}:{node}", self.id())
    }

    /// The checkpoint of that id; none if it can be no checkpoint's.
    pub fn parse(id: &str) -> Option<Self> {
        let (run, number) = id.rsplit_once(':')?;
        let head = Self { run: RunId::parse(run).ok()?, number: number.parse().ok()? };
        (head.id() == id).then_some(head)
    }
}

impl Status {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Busy => "busy",
            Self::Interrupted => "interrupted",
            Self::Error => "error",
        }
    }
}

impl Conversation {
    /// A conversation in which nothing was said.
    pub fn new(thread: ThreadKey, scope: Scope, now: Timestamp) -> Self {
        Self {
            thread,
            revision: 0,
            active: None,
            queue: Vec::new(),
            head: None,
            runs: 0,
            status: Status::Idle,
            stood: None,
            title: None,
            metadata: Map::new(),
            assistant: None,
            scope,
            to_remember: 0,
            remembered: 0,
            created_at: now,
            updated_at: now,
        }
    }

    /// Its checkpoint before every other.
    pub fn beginning(&self) -> Head {
        Head::beginning(self.created_at)
    }

    /// The write that makes `after` of what was read; none was there if nothing was read.
    pub fn kept(read: Option<&Self>, after: Self, now: Timestamp) -> Kept {
        let expect = read.map(|read| read.revision);
        let revision = expect.map_or(1, |revision| revision + 1);
        Kept { expect, conversation: Self { revision, updated_at: now, ..after } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_known_by_its_id() {
        let at = Timestamp::from_millis(7);
        let head = Head::beginning(at);
        assert_eq!(Head::parse(&head.id()), Some(head.clone()));
        assert!(head.is_beginning() && !Head { number: 1, ..head }.is_beginning());
        let random = Head { run: RunId::new(at, [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]), number: 0 };
        assert!(!random.is_beginning());
        assert!(!Head { run: RunId::parse("r1").unwrap(), number: 0 }.is_beginning());
    }

    #[test]
    fn a_checkpoints_id_reads_back() {
        let head = Head { run: RunId::parse("a:b").unwrap(), number: 7 };
        assert_eq!(Head::parse(&head.id()), Some(head));
        for bad in ["", "a", "a:", "a:01", "a:-1", "a b:1", ":1"] {
            assert_eq!(Head::parse(bad), None, "{bad:?}");
        }
    }
}
