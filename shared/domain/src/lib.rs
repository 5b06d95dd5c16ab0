//! The pure centre of Pudu: what a durable task, its lease and its notification are, and every rule by which they change.
//!
//! Nothing here does I/O, waits, reads a clock or makes a random number: time and randomness arrive as arguments, effects
//! leave as values. The one place where a task changes is [`task::decide`]; for a notification it is [`note::decide`].

pub mod api_key;
pub mod backoff;
pub mod breaker;
pub mod bucket;
pub mod chat;
pub mod conversation;
pub mod durable;
pub mod event;
pub mod feedback;
pub mod goal;
pub mod ids;
pub mod key_part;
pub mod memory;
pub mod note;
pub mod payload;
pub mod policy;
pub mod principal;
pub mod run;
pub mod snapshot;
pub mod state;
pub mod task;
pub mod text;
pub mod thread;
pub mod time;
pub mod token;

pub use api_key::{ApiKey, KeyDigest};
pub use conversation::Conversation;
pub use durable::{Due, Durable, Expect, Generation, Lane, Lease, Owner, Verdict};
pub use event::Event;
pub use ids::{
    AgentName, CredentialTag, FactId, IdempotencyKey, KeyId, KeyName, RemoteTaskId, RunId, ServerName,
    ServerTag, TaskId, TaskKey, TaskName, ThreadId, ThreadKey, UserId,
};
pub use memory::{Memory, MemoryKey};
pub use note::Note;
pub use payload::Payload;
pub use policy::Policy;
pub use principal::{Principal, Role, Scope};
pub use run::{Run, RunKey, RunSpec};
pub use snapshot::{Snapshot, Status};
pub use task::{Task, TaskSpec};
pub use thread::Thread;
pub use time::Timestamp;
pub use token::Token;
