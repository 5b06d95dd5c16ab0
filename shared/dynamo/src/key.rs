//! The keys of the table: one enum that *is* the table (DESIGN section 3, "The table").
//!
//! Every variable part goes through `key_part::encode`, so no name from outside can hold a separator or grow a key past
//! its bounds. Keys read back ([`Key::parse`]), because the due index gives nothing but keys. Renaming anything here is a
//! change of the stored format.

use pudu_app::ports::{Background, NoteKey, SHARDS, TokenKey};
use pudu_domain::{
    KeyId, Lane, MemoryKey, RemoteTaskId, RunId, RunKey, ServerName, ServerTag, TaskId, TaskKey, ThreadKey,
    Timestamp, UserId, key_part,
};
use sha2::{Digest, Sha256};

mod parse;
#[cfg(test)]
mod tests;

/// The beginning of the sort keys of a thread's tasks, hot rows and specs.
pub const TASKS: &str = "task#";
/// The beginning of the sort keys of a thread's events.
pub const EVENTS: &str = "event#";
/// The beginning of the sort keys of a thread's notifications.
pub const NOTES: &str = "note#";
/// The beginning of the sort keys of a thread's runs, hot rows and specs.
pub const RUNS: &str = "run#";
/// The first text after every sort key that begins with [`RUNS`].
pub(crate) const AFTER_RUNS: &str = "run$";
/// The beginning of the sort keys of a thread's records.
pub const RECORDS: &str = "rec#";
/// What sorts behind every digit: the end of a range of numbers.
pub(crate) const AFTER_DIGITS: &str = ":";
/// The sort key of what the lead remembers.
const LEAD_MEMORY: &str = "#";
/// The partition of API keys.
pub const API_KEYS: &str = "keys";
/// The partition of the records of changes.
pub const AUDIT: &str = "audit";
/// The shard of every thread that is being deleted.
pub const THREAD_SHARD: u8 = 0;
/// The beginning of the partition keys of what servers listed.
const CATALOGUES: &str = "catalog#";
/// Digits of a content's digest in the key of its part: enough that no two contents meet.
const CONTENT_DIGITS: usize = 32;
/// The first text after every sort key that begins with [`TASKS`].
pub(crate) const AFTER_TASKS: &str = "task$";

/// The address of one row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Key {
    /// The hot row of a task: `thread#<user>#<thread>`, `task#<id>`. Ids are ordered by time.
    Task(TaskKey),
    /// What was settled at its submission: same pk, `task#<id>#spec`. It sorts next to the hot row, so that a thread's
    /// newest tasks with their names are one backwards query.
    Spec(TaskKey),
    /// What it brought back: same pk, `result#<id>`.
    Payload(TaskKey),
    /// An answer that is to be sent: same pk, `answer#<id>`.
    Answer(TaskKey),
    /// A notification: same pk, `note#<task>#<version, 10 digits>`.
    Note(NoteKey),
    /// What a notification tells: same pk, `body#<task>#<version, 10 digits>`.
    Body(NoteKey),
    /// That an event was delivered: same pk, `event#<task>#<version, 10 digits>`.
    Event(NoteKey),
    /// The highest delivered version of a task: same pk, `notified#<task>`.
    Notified(TaskKey),
    /// A thread: same pk, `thread`.
    Thread(ThreadKey),
    /// Who owns a remote handle: `remote#<user>#<server>#<identity>#<sha256 of the handle>`, `-`.
    Handle {
        /// Whose tasks.
        user: UserId,
        /// At which server.
        server: ServerTag,
        /// The server's identity, as a key part: it is only compared, so it need not read back.
        identity: String,
        /// SHA-256 of the handle, in hex: handles are secret and long.
        digest: String,
    },
    /// Which task a caller's key stands for: `idem#<user>#<thread>#<sha256 of the key>`, `-`.
    Idempotency {
        /// In which thread.
        thread: ThreadKey,
        /// SHA-256 of the key, in hex: callers put anything into it.
        digest: String,
    },
    /// The hot row of a run: `thread#<user>#<thread>`, `run#<id>`. Ids are ordered by time.
    Run(RunKey),
    /// What was settled when it was wanted: same pk, `run#<id>#spec`. It sorts next to the hot row.
    RunSpec(RunKey),
    /// The sealed secrets of its caller: same pk, `secret#<run>`.
    Secret(RunKey),
    /// What its user thinks of it: same pk, `feedback#<run>`.
    Feedback(RunKey),
    /// A checkpoint: same pk, `ckpt#<run>#<number, 8 digits>`.
    Checkpoint(RunKey, u32),
    /// The frames of its stream that one write brought: same pk, `frame#<run>#<number of the first, 10 digits>`.
    Frames(RunKey, u64),
    /// A record of the thread's history: same pk, `rec#<ordinal of its run, 8 digits>#<number, 10 digits>`.
    Record {
        /// In which thread.
        thread: ThreadKey,
        /// Which of its runs, from 1.
        ordinal: u32,
        /// Which of the things that the run told.
        seq: u64,
    },
    /// The agent's side of the thread: same pk, `conversation`.
    Conversation(ThreadKey),
    /// Which run a caller's key stands for: `runkey#<user>#<sha256 of the key>`, `-`.
    RunKeyed {
        /// Whose.
        user: UserId,
        /// SHA-256 of the key, in hex.
        digest: String,
    },
    /// That a user has a conversation: `threads#<user>`, `<when it was made, 16 digits>#<thread>`.
    Listed {
        /// Which thread.
        thread: ThreadKey,
        /// When its conversation was made.
        made: Timestamp,
    },
    /// What is remembered of a user: `memory#<user>`, `<name of the custom agent>`, or `#` for the lead: no name has that.
    Memory(MemoryKey),
    /// Which config revision is current: `config`, `current`.
    Pointer,
    /// The key that seals credentials, wrapped by one that is not in the table: `config`, `seal`.
    WrappedKey,
    /// A config revision: `config`, `rev#<number, 20 digits>`.
    Revision(u64),
    /// A part of a revision too large for one row: `config`, `rev#<number>#<digest>#<part, 4 digits>`. The digest of the
    /// content keeps the parts of two writers that race for one number apart.
    RevisionPart {
        /// Which revision.
        number: u64,
        /// SHA-256 of the stored content, in hex.
        digest: String,
        /// Which part, from 0.
        part: u16,
    },
    /// The OAuth token of a server: `token#server#<server>#<identity>`, `-`.
    Token {
        /// Of which server; any text that is a server's name in the config.
        server: ServerTag,
        /// The digest of what the token depends on, as a key part.
        identity: String,
    },
    /// What a server listed: `catalog#<server>`, `<digest of its entry>`.
    Catalogue {
        /// At which server; any text that is a server's name in the config.
        server: ServerTag,
        /// The digest of the server's entry, as a key part.
        digest: String,
    },
    /// A part of a list too large for one row: same pk, `<digest>#<digest of the content>#<part, 4 digits>`.
    CataloguePart {
        /// At which server.
        server: ServerTag,
        /// The digest of the server's entry, as a key part.
        digest: String,
        /// The first half of the SHA-256 of the stored content, in hex.
        content: String,
        /// Which part, from 0.
        part: u16,
    },
    /// Who is awake of a background function: `meta`, `beacon#<function>`.
    Beacon(Background),
    /// How much a user may still call: `rate#<user>`, `-`.
    Bucket(UserId),
    /// The breaker of a model: `model#<its name in the config>`, `-`.
    Breaker(String),
    /// How a server is spoken with: `peer#<digest of its address, 64 hex digits>`, `-`.
    Peer(String),
    /// Who changed what: `audit`, `<id of the record, 32 hex digits, ordered by time>`.
    Audit(String),
    /// An API key: `keys`, `key#<id>`.
    ApiKey(KeyId),
}

impl Key {
    /// The key of a remote handle.
    pub fn handle(user: &UserId, server: &ServerName, identity: &str, remote: &RemoteTaskId) -> Self {
        Self::Handle {
            user: user.clone(),
            server: ServerTag::of(server),
            identity: key_part::encode(identity),
            digest: hex::encode(Sha256::digest(remote.as_str())),
        }
    }

    /// The key of a server's token.
    pub fn token(key: &TokenKey) -> Self {
        Self::Token {
            server: ServerTag::stored(key_part::encode(&key.server)),
            identity: key_part::encode(&key.identity),
        }
    }

    /// The key of a server's list.
    pub fn catalogue(server: &str, digest: &str) -> Self {
        Self::Catalogue {
            server: ServerTag::stored(key_part::encode(server)),
            digest: key_part::encode(digest),
        }
    }

    /// The key of a part of a server's list, by the SHA-256 of the list's content.
    pub fn catalogue_part(server: &str, digest: &str, content: &str, part: u16) -> Self {
        let content = content.chars().take(CONTENT_DIGITS).collect();
        let server = ServerTag::stored(key_part::encode(server));
        Self::CataloguePart { server, digest: key_part::encode(digest), content, part }
    }

    /// The partition key.
    pub fn pk(&self) -> String {
        match self {
            Self::Task(key)
            | Self::Spec(key)
            | Self::Payload(key)
            | Self::Answer(key)
            | Self::Notified(key) => thread_pk(&key.thread),
            Self::Note(key) | Self::Body(key) | Self::Event(key) => thread_pk(&key.task.thread),
            Self::Run(key)
            | Self::RunSpec(key)
            | Self::Secret(key)
            | Self::Feedback(key)
            | Self::Checkpoint(key, _)
            | Self::Frames(key, _) => thread_pk(&key.thread),
            Self::Thread(key) | Self::Conversation(key) | Self::Record { thread: key, .. } => thread_pk(key),
            Self::RunKeyed { user, digest } => {
                format!("runkey#{}#{}", key_part::encode(user.as_str()), key_part::encode(digest))
            }
            Self::Listed { thread, .. } => listed_pk(&thread.user),
            Self::Handle { user, server, identity, digest } => {
                format!("remote#{}#{}#{identity}#{digest}", key_part::encode(user.as_str()), server.as_str())
            }
            Self::Idempotency { thread, digest } => {
                let (user, id) = (thread.user.as_str(), thread.thread.as_str());
                let (user, id) = (key_part::encode(user), key_part::encode(id));
                format!("idem#{user}#{id}#{}", key_part::encode(digest))
            }
            Self::Bucket(user) => format!("rate#{}", key_part::encode(user.as_str())),
            Self::Breaker(model) => format!("model#{}", key_part::encode(model)),
            Self::Peer(digest) => format!("peer#{}", key_part::encode(digest)),
            Self::Memory(key) => format!("memory#{}", key_part::encode(key.user.as_str())),
            Self::Beacon(_) => "meta".to_owned(),
            Self::Audit(_) => AUDIT.to_owned(),
            Self::ApiKey(_) => API_KEYS.to_owned(),
            Self::Pointer | Self::WrappedKey | Self::Revision(_) | Self::RevisionPart { .. } => {
                "config".to_owned()
            }
            Self::Token { server, identity } => format!("token#server#{}#{identity}", server.as_str()),
            Self::Catalogue { server, .. } | Self::CataloguePart { server, .. } => {
                format!("{CATALOGUES}{}", server.as_str())
            }
        }
    }

    /// The sort key.
    pub fn sk(&self) -> String {
        match self {
            Self::Task(key) => format!("{TASKS}{}", id(&key.id)),
            Self::Spec(key) => format!("{TASKS}{}#spec", id(&key.id)),
            Self::Payload(key) => format!("result#{}", id(&key.id)),
            Self::Answer(key) => format!("answer#{}", id(&key.id)),
            Self::Note(key) => format!("{NOTES}{}#{:010}", id(&key.task.id), key.version),
            Self::Body(key) => format!("body#{}#{:010}", id(&key.task.id), key.version),
            Self::Event(key) => format!("{EVENTS}{}#{:010}", id(&key.task.id), key.version),
            Self::Notified(key) => format!("notified#{}", id(&key.id)),
            Self::Thread(_) => "thread".to_owned(),
            Self::Run(key) => format!("{RUNS}{}", run_id(&key.id)),
            Self::RunSpec(key) => format!("{RUNS}{}#spec", run_id(&key.id)),
            Self::Secret(key) => format!("secret#{}", run_id(&key.id)),
            Self::Feedback(key) => format!("feedback#{}", run_id(&key.id)),
            Self::Checkpoint(key, number) => format!("ckpt#{}#{number:08}", run_id(&key.id)),
            Self::Frames(key, first) => format!("frame#{}#{first:010}", run_id(&key.id)),
            Self::Record { ordinal, seq, .. } => format!("{RECORDS}{ordinal:08}#{seq:010}"),
            Self::Conversation(_) => "conversation".to_owned(),
            Self::Listed { thread, made } => {
                format!("{:016}#{}", made.as_millis(), key_part::encode(thread.thread.as_str()))
            }
            Self::Handle { .. }
            | Self::RunKeyed { .. }
            | Self::Idempotency { .. }
            | Self::Bucket(_)
            | Self::Breaker(_)
            | Self::Peer(_)
            | Self::Token { .. } => "-".to_owned(),
            Self::Memory(key) => match &key.agent {
                None => LEAD_MEMORY.to_owned(),
                Some(agent) => key_part::encode(agent.as_str()),
            },
            Self::Beacon(function) => format!("beacon#{}", function.as_str()),
            Self::Audit(id) => key_part::encode(id),
            Self::ApiKey(id) => format!("key#{id}"),
            Self::Pointer => "current".to_owned(),
            Self::WrappedKey => "seal".to_owned(),
            Self::Revision(number) => format!("rev#{number:020}"),
            Self::RevisionPart { number, digest, part } => {
                format!("rev#{number:020}#{}#{part:04}", key_part::encode(digest))
            }
            Self::Catalogue { digest, .. } => digest.clone(),
            Self::CataloguePart { digest, content, part, .. } => format!("{digest}#{content}#{part:04}"),
        }
    }
}

/// The partition of everything that a server listed.
pub fn catalogue_pk(server: &str) -> String {
    format!("{CATALOGUES}{}", key_part::encode(server))
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} / {}", self.pk(), self.sk())
    }
}

/// The partition of everything that belongs to a thread.
pub fn thread_pk(key: &ThreadKey) -> String {
    format!("thread#{}#{}", key_part::encode(key.user.as_str()), key_part::encode(key.thread.as_str()))
}

/// The shard of a task and of its notifications: the first byte of the SHA-256 of the id, modulo [`SHARDS`].
///
/// Not the id's own random bits: an id may come from elsewhere one day, and its first digits are its time.
pub fn shard_of(id: &TaskId) -> u8 {
    Sha256::digest(id.as_str()).first().copied().unwrap_or_default() % SHARDS
}

/// The shard of a run, as [`shard_of`] says.
pub fn shard_of_run(id: &RunId) -> u8 {
    Sha256::digest(id.as_str()).first().copied().unwrap_or_default() % SHARDS
}

/// The partition of everything that lists a user's conversations.
pub fn listed_pk(user: &UserId) -> String {
    format!("threads#{}", key_part::encode(user.as_str()))
}

/// The partition of the due index for one lane's shard, for example `poll#07`.
pub fn due_pk(lane: Lane, shard: u8) -> String {
    format!("{}#{shard:02}", lane.as_str())
}

/// The lane and shard of an index partition; none if it is not one of ours.
pub fn parse_due_pk(text: &str) -> Option<(Lane, u8)> {
    let (name, shard) = text.split_once('#')?;
    let lane = Lane::ALL.into_iter().find(|lane| lane.as_str() == name)?;
    let shard: u8 = shard.parse().ok()?;
    (shard < SHARDS && due_pk(lane, shard) == text).then_some((lane, shard))
}

fn id(id: &TaskId) -> String {
    key_part::encode(id.as_str())
}

fn run_id(id: &RunId) -> String {
    key_part::encode(id.as_str())
}
