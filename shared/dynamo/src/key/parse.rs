//! Stored keys, read back.

use pudu_app::ports::{Background, NoteKey};
use pudu_domain::{
    AgentName, KeyId, MemoryKey, RunId, RunKey, ServerTag, TaskId, TaskKey, ThreadId, ThreadKey, Timestamp,
    UserId, key_part,
};

use super::{API_KEYS, AUDIT, Key, LEAD_MEMORY};

impl Key {
    /// The key that is stored as `pk` and `sk`; none if it is not one of ours. Only the spelling that [`Key::pk`] and
    /// [`Key::sk`] give is accepted, so that two spellings never count as one row.
    pub fn parse(pk: &str, sk: &str) -> Option<Self> {
        let parts: Vec<&str> = pk.split('#').collect();
        let key = match parts.as_slice() {
            ["thread", user, thread] => {
                let user = UserId::parse(key_part::decode(user)?).ok()?;
                let thread = ThreadId::parse(key_part::decode(thread)?).ok()?;
                Self::parse_in_thread(ThreadKey { user, thread }, sk)?
            }
            ["remote", user, server, identity, digest] => Self::Handle {
                user: UserId::parse(key_part::decode(user)?).ok()?,
                server: ServerTag::stored((*server).to_owned()),
                identity: (*identity).to_owned(),
                digest: (*digest).to_owned(),
            },
            ["idem", user, thread, digest] => Self::Idempotency {
                thread: ThreadKey {
                    user: UserId::parse(key_part::decode(user)?).ok()?,
                    thread: ThreadId::parse(key_part::decode(thread)?).ok()?,
                },
                digest: key_part::decode(digest)?,
            },
            ["runkey", user, digest] => Self::RunKeyed {
                user: UserId::parse(key_part::decode(user)?).ok()?,
                digest: key_part::decode(digest)?,
            },
            ["threads", user] => Self::parse_listed(UserId::parse(key_part::decode(user)?).ok()?, sk)?,
            ["model", name] => Self::Breaker(key_part::decode(name)?),
            ["rate", user] => Self::Bucket(UserId::parse(key_part::decode(user)?).ok()?),
            ["memory", user] => Self::parse_memory(UserId::parse(key_part::decode(user)?).ok()?, sk)?,
            ["peer", digest] => Self::Peer(key_part::decode(digest)?),
            ["token", "server", server, identity] => Self::Token {
                server: ServerTag::stored((*server).to_owned()),
                identity: (*identity).to_owned(),
            },
            ["meta"] => Self::parse_in_meta(sk)?,
            [AUDIT] => Self::Audit(key_part::decode(sk)?),
            [API_KEYS] => Self::ApiKey(KeyId::parse(sk.strip_prefix("key#")?).ok()?),
            ["config"] => Self::parse_in_config(sk)?,
            ["catalog", server] => Self::parse_in_catalogue(ServerTag::stored((*server).to_owned()), sk)?,
            _ => return None,
        };
        (key.pk() == pk && key.sk() == sk).then_some(key)
    }

    fn parse_in_thread(thread: ThreadKey, sk: &str) -> Option<Self> {
        let parts: Vec<&str> = sk.split('#').collect();
        match parts.as_slice() {
            ["thread"] => return Some(Self::Thread(thread)),
            ["conversation"] => return Some(Self::Conversation(thread)),
            ["rec", ordinal, seq] => {
                return Some(Self::Record { thread, ordinal: ordinal.parse().ok()?, seq: seq.parse().ok()? });
            }
            [kind @ ("run" | "secret" | "feedback" | "ckpt" | "frame"), id, rest @ ..] => {
                let run = RunKey { thread, id: RunId::parse(key_part::decode(id)?).ok()? };
                return Self::parse_of_run(run, kind, rest);
            }
            _ => {}
        }
        let task = TaskKey { thread, id: TaskId::parse(key_part::decode(parts.get(1)?)?).ok()? };
        Some(match parts.as_slice() {
            ["task", _] => Self::Task(task),
            ["task", _, "spec"] => Self::Spec(task),
            ["result", _] => Self::Payload(task),
            ["answer", _] => Self::Answer(task),
            ["notified", _] => Self::Notified(task),
            ["note", _, version] => Self::Note(NoteKey { task, version: version.parse().ok()? }),
            ["body", _, version] => Self::Body(NoteKey { task, version: version.parse().ok()? }),
            ["event", _, version] => Self::Event(NoteKey { task, version: version.parse().ok()? }),
            _ => return None,
        })
    }

    fn parse_of_run(run: RunKey, kind: &str, rest: &[&str]) -> Option<Self> {
        Some(match (kind, rest) {
            ("run", []) => Self::Run(run),
            ("run", ["spec"]) => Self::RunSpec(run),
            ("secret", []) => Self::Secret(run),
            ("feedback", []) => Self::Feedback(run),
            ("ckpt", [number]) => Self::Checkpoint(run, number.parse().ok()?),
            ("frame", [first]) => Self::Frames(run, first.parse().ok()?),
            _ => return None,
        })
    }

    fn parse_listed(user: UserId, sk: &str) -> Option<Self> {
        let (made, thread) = sk.split_once('#')?;
        let thread = ThreadId::parse(key_part::decode(thread)?).ok()?;
        let made = Timestamp::from_millis(made.parse().ok()?);
        Some(Self::Listed { thread: ThreadKey { user, thread }, made })
    }

    fn parse_memory(user: UserId, sk: &str) -> Option<Self> {
        let agent = match sk {
            LEAD_MEMORY => None,
            agent => Some(AgentName::parse(key_part::decode(agent)?).ok()?),
        };
        Some(Self::Memory(MemoryKey { user, agent }))
    }

    fn parse_in_catalogue(server: ServerTag, sk: &str) -> Option<Self> {
        let parts: Vec<&str> = sk.split('#').collect();
        Some(match parts.as_slice() {
            [digest] => Self::Catalogue { server, digest: (*digest).to_owned() },
            [digest, content, part] => Self::CataloguePart {
                server,
                digest: (*digest).to_owned(),
                content: (*content).to_owned(),
                part: part.parse().ok()?,
            },
            _ => return None,
        })
    }

    fn parse_in_meta(sk: &str) -> Option<Self> {
        let name = sk.strip_prefix("beacon#")?;
        Background::ALL.into_iter().find(|function| function.as_str() == name).map(Self::Beacon)
    }

    fn parse_in_config(sk: &str) -> Option<Self> {
        let parts: Vec<&str> = sk.split('#').collect();
        Some(match parts.as_slice() {
            ["current"] => Self::Pointer,
            ["seal"] => Self::WrappedKey,
            ["rev", number] => Self::Revision(number.parse().ok()?),
            ["rev", number, digest, part] => Self::RevisionPart {
                number: number.parse().ok()?,
                digest: key_part::decode(digest)?,
                part: part.parse().ok()?,
            },
            _ => return None,
        })
    }
}
