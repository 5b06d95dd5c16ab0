//! Identifiers as types: each is checked once, where it enters, and can be trusted afterwards.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::key_part;
use crate::time::Timestamp;

/// Longest name of a server with task toolsets, in characters (reference 1.9).
pub const SERVER_NAME_CHARS: usize = 128;
/// Longest remote task id, in characters (reference 1.9).
pub const REMOTE_TASK_ID_CHARS: usize = 255;
/// Longest task name, in characters (reference 1.9).
pub const TASK_NAME_CHARS: usize = 255;
/// Longest key of a repeatable submission, in characters.
pub const IDEMPOTENCY_KEY_CHARS: usize = 255;
const THREAD_ID_CHARS: usize = 64;
const RUN_ID_CHARS: usize = 128;
const TASK_ID_PREFIX: &str = "mcp-task-";
const TASK_ID_HEX: usize = 32;
/// Of those, the ones that are the time.
const TASK_ID_TIME: usize = 12;
/// Characters of an API key's id.
pub const KEY_ID_CHARS: usize = 12;
const KEY_NAME_CHARS: usize = 64;
const KEY_USER_CHARS: usize = 64;
/// Bytes of a digest that names a user's credential.
const TAG_BYTES: usize = 8;
/// Characters of its parent's id that a child's id begins with.
const CHILD_HEAD: usize = 64;
/// Bytes of the digest that the rest of it is.
const CHILD_BYTES: usize = 12;
/// Longest tag, so that a thread named after it is legal.
const TAG_CHARS: usize = 32;

/// Why a text is no such identifier. It names the rule and never repeats the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {rule}")]
pub struct InvalidId {
    /// Which identifier was meant.
    pub what: &'static str,
    /// The rule that it breaks.
    pub rule: &'static str,
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $what:literal, $rule:literal, $ok:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks and takes the text.
            pub fn parse(text: impl Into<String>) -> Result<Self, InvalidId> {
                let text = text.into();
                let ok: fn(&str) -> bool = $ok;
                if ok(&text) { Ok(Self(text)) } else { Err(InvalidId { what: $what, rule: $rule }) }
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;

            fn try_from(text: String) -> Result<Self, InvalidId> {
                Self::parse(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    };
}

mod memory;

pub use memory::{AgentName, FactId};

text_id!(
    /// A chat thread (reference 8.2).
    ThreadId, "thread id", "must be 1 to 64 characters of A-Z, a-z, 0-9, _ and -",
    |t| (1..=THREAD_ID_CHARS).contains(&t.len()) && t.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
);

text_id!(
    /// Who owns a thread: `<authority>:<subject>`, for example `local:default`. No caller chooses it.
    ///
    /// Bounded so that a key built from it can always be read back; who makes ids from longer subjects hashes them.
    UserId, "user id", "must be <authority>:<subject>, both non-empty, at most 128 bytes percent-encoded",
    |t| key_part::is_reversible(t) && t.split_once(':').is_some_and(|(a, s)| !a.is_empty() && !s.is_empty())
);

text_id!(
    /// The key of a server in the config.
    ServerName, "server name", "must not be blank and have at most 128 characters",
    |t| !t.trim().is_empty() && t.chars().count() <= SERVER_NAME_CHARS
);

text_id!(
    /// What the user calls the task: the name of its toolset.
    TaskName, "task name", "must not be blank and have at most 255 characters",
    |t| !t.trim().is_empty() && t.chars().count() <= TASK_NAME_CHARS
);

text_id!(
    /// The handle by which the remote server knows the task; never shown to a caller or a model.
    RemoteTaskId, "remote_task_id", "must not be empty and have at most 255 characters",
    |t| !t.trim().is_empty() && t.chars().count() <= REMOTE_TASK_ID_CHARS
);

text_id!(
    /// By what a caller repeats a submission: chosen by the caller, unique in its thread (the header `Idempotency-Key`).
    IdempotencyKey, "Idempotency-Key", "must be 1 to 255 visible ASCII characters",
    |t| (1..=IDEMPOTENCY_KEY_CHARS).contains(&t.len()) && t.bytes().all(|b| b.is_ascii_graphic())
);

text_id!(
    /// The local id of a task: `mcp-task-` and 32 hex digits, the first 12 of which are its creation time.
    TaskId, "task id", "must be mcp-task- followed by 32 lower-case hex digits",
    |t| t.strip_prefix(TASK_ID_PREFIX).is_some_and(|h| {
        h.len() == TASK_ID_HEX && h.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    })
);

text_id!(
    /// A run of an agent, as whoever runs agents named it.
    RunId, "run id", "must be 1 to 128 characters of A-Z, a-z, 0-9, _, -, . and :",
    |t| (1..=RUN_ID_CHARS).contains(&t.len())
        && t.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':'))
);

text_id!(
    /// A short name of the credential by which a caller came in: an API key's id, or a digest. Never secret.
    CredentialTag, "credential's id", "must be 1 to 32 characters of a-z, 0-9 and -",
    |t| (1..=TAG_CHARS).contains(&t.len())
        && t.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
);

text_id!(
    /// An API key, without its secret.
    KeyId, "key's id", "must be 12 characters of a-z and 0-9",
    |t| t.len() == KEY_ID_CHARS && t.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
);

text_id!(
    /// What whoever made an API key calls it.
    KeyName, "key's name", "must be 1 to 64 characters, not all blank and none a control character",
    |t| !t.trim().is_empty() && t.chars().count() <= KEY_NAME_CHARS && !t.chars().any(char::is_control)
);

impl KeyId {
    /// The id of these bytes, of which 62 bits matter.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        let mut number = bytes.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        let digits = std::iter::repeat_with(|| {
            let digit = u32::try_from(number % 36).unwrap_or(0);
            number /= 36;
            char::from_digit(digit, 36).unwrap_or('0')
        });
        Self(digits.take(KEY_ID_CHARS).collect())
    }
}

impl UserId {
    /// The user of a key that was made for nobody else.
    pub fn of_key(id: &KeyId) -> Self {
        Self(format!("key:{id}"))
    }

    /// The user of keys that were made for `name`.
    pub fn of_keys_for(name: &str) -> Result<Self, InvalidId> {
        let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'@');
        if (1..=KEY_USER_CHARS).contains(&name.len()) && name.bytes().all(legal) {
            return Ok(Self(format!("key:{name}")));
        }
        Err(InvalidId {
            what: "key's user",
            rule: "must be 1 to 64 characters of A-Z, a-z, 0-9, ., _, - and @",
        })
    }
}

impl CredentialTag {
    /// The tag of a key.
    pub fn of_key(id: &KeyId) -> Self {
        Self(id.0.clone())
    }

    /// The tag of a user who came in without a key of ours: a digest of the user's id.
    pub fn of_user(user: &UserId) -> Self {
        let digest = Sha256::digest(user.as_str());
        Self(hex::encode(digest.iter().copied().take(TAG_BYTES).collect::<Vec<_>>()))
    }
}

impl ThreadId {
    /// The thread of calls that name none: `mcp-<tag>`.
    pub fn of_credential(tag: &CredentialTag) -> Self {
        Self(format!("mcp-{tag}"))
    }
}

impl IdempotencyKey {
    /// SHA-256 in hex: what is stored of it. Callers put anything into a key.
    pub fn digest(&self) -> String {
        hex::encode(Sha256::digest(&self.0))
    }
}

impl RunId {
    /// A new id in the form of a UUID of version 7: ordered by `at` (48 bits of milliseconds), then random.
    pub fn new(at: Timestamp, random: [u8; 10]) -> Self {
        let mut digits = format!("{:012x}{}", at.as_millis() & 0xffff_ffff_ffff, hex::encode(random));
        digits.replace_range(12..13, "7");
        digits.replace_range(16..17, "8");
        let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
        Self(format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)))
    }

    /// When it was made, by the clock of whoever made it; none for what has no such form.
    pub fn made_at(&self) -> Option<Timestamp> {
        let (high, rest) = self.0.split_at_checked(8)?;
        let low = rest.strip_prefix('-')?.get(..4)?;
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit());
        if !digits(high) || !digits(low) || !rest.get(5..)?.starts_with("-7") {
            return None;
        }
        u64::from_str_radix(&format!("{high}{low}"), 16).ok().map(Timestamp::from_millis)
    }
}

impl RunId {
    /// The id of the child that `parent` began by that call: always the same, so that a child whose birth is repeated is not
    /// begun twice, and its parent finds it by the call alone.
    pub fn of_child(parent: &Self, call: &str) -> Self {
        let digest = Sha256::new().chain_update(&parent.0).chain_update([0]).chain_update(call).finalize();
        let head = parent.0.get(..CHILD_HEAD).unwrap_or(&parent.0);
        Self(format!("{head}.{}", hex::encode(digest.iter().copied().take(CHILD_BYTES).collect::<Vec<_>>())))
    }
}

impl TaskId {
    /// A new id, ordered by `at` (48 bits of milliseconds), then random.
    pub fn new(at: Timestamp, random: [u8; 10]) -> Self {
        Self(format!("{TASK_ID_PREFIX}{:012x}{}", at.as_millis() & 0xffff_ffff_ffff, hex::encode(random)))
    }

    /// When it was made, by the clock of whoever made it.
    pub fn made_at(&self) -> Timestamp {
        let digits = self.0.get(TASK_ID_PREFIX.len()..TASK_ID_PREFIX.len() + TASK_ID_TIME);
        let millis = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        Timestamp::from_millis(millis.unwrap_or_default())
    }
}

/// A server's name in the form in which it stands in keys and in the hot row: at most 129 bytes, equal exactly when
/// the names are ([`key_part::encode`]).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ServerTag(String);

impl ServerTag {
    /// The tag of `name`.
    pub fn of(name: &ServerName) -> Self {
        Self(key_part::encode(name.as_str()))
    }

    /// A tag as it was stored.
    pub fn stored(text: String) -> Self {
        Self(text)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A thread of one user: what every row of a thread hangs on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ThreadKey {
    /// The owner.
    pub user: UserId,
    /// The thread.
    pub thread: ThreadId,
}

/// A task, addressed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskKey {
    /// Where it belongs.
    pub thread: ThreadKey,
    /// Its local id.
    pub id: TaskId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_ids_are_a_closed_alphabet() {
        assert!(ThreadId::parse("a-B_9").is_ok());
        for bad in ["", "a b", "a#b", "ü", &"x".repeat(65)] {
            assert!(ThreadId::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn blank_and_long_names_are_refused() {
        assert!(ServerName::parse("   ").is_err());
        assert!(ServerName::parse("x".repeat(129)).is_err());
        assert!(ServerName::parse("ü".repeat(128)).is_ok());
        assert!(RemoteTaskId::parse("r".repeat(256)).is_err());
        assert!(RemoteTaskId::parse(" ").is_err());
    }

    #[test]
    fn a_key_of_a_repeatable_submission_is_visible_ascii() {
        for good in ["a", "~!\"#", &"k".repeat(255)] {
            assert!(IdempotencyKey::parse(good).is_ok(), "{good:?}");
        }
        for bad in ["", " ", "a b", "a\t", "ü", "\u{7f}", &"k".repeat(256)] {
            assert!(IdempotencyKey::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn run_ids_are_a_closed_alphabet() {
        assert!(RunId::parse("run-1:a.B_2").is_ok());
        for bad in ["", "a b", "a#b", "a/b", "ü", &"x".repeat(129)] {
            assert!(RunId::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_childs_id_follows_from_its_parent_and_its_call() {
        let parent = RunId::parse("p".repeat(128)).unwrap();
        let child = RunId::of_child(&parent, "call_1");
        assert_eq!(child, RunId::of_child(&parent, "call_1"));
        assert_ne!(child, RunId::of_child(&parent, "call_2"));
        assert_eq!(RunId::parse(child.as_str()), Ok(child));
    }

    #[test]
    fn new_run_ids_are_uuids_ordered_by_time() {
        let (early, late) = (
            RunId::new(Timestamp::from_millis(5), [0xff; 10]),
            RunId::new(Timestamp::from_millis(6), [0; 10]),
        );
        assert!(early < late);
        assert_eq!(early.as_str(), "00000000-0005-7fff-8fff-ffffffffffff");
        assert_eq!(early.made_at(), Some(Timestamp::from_millis(5)));
        assert_eq!(RunId::of_child(&late, "call_1").made_at(), late.made_at());
        for other in ["r1", "00000000-0005", "00000000-0005-4fff-8fff-ffffffffffff", "0000000g-0005-7fff"] {
            assert_eq!(RunId::parse(other).unwrap().made_at(), None, "{other}");
        }
        assert_eq!(RunId::parse(early.as_str()), Ok(early));
    }

    #[test]
    fn keys_have_short_ids_printable_names_and_plain_users() {
        let id = KeyId::of_bytes(&[0xff; 8]);
        assert_eq!(KeyId::parse(id.as_str()), Ok(id.clone()));
        assert_ne!(KeyId::of_bytes(&[0; 8]), KeyId::of_bytes(&[0, 0, 0, 0, 0, 0, 0, 1]));
        assert_eq!(CredentialTag::parse(CredentialTag::of_key(&id).as_str()), Ok(CredentialTag::of_key(&id)));
        assert_eq!(UserId::parse(UserId::of_key(&id).as_str()), Ok(UserId::of_key(&id)));
        for bad in ["", "A", &"a".repeat(11), &"a".repeat(13), "aaaaaaaaaaa-", "aaaaaaaaaaaA", "aaaaaaaaaaü"]
        {
            assert!(KeyId::parse(bad).is_err(), "{bad}");
        }
        for good in ["ci", "Ann's laptop", "größer", &"x".repeat(64)] {
            assert!(KeyName::parse(good).is_ok(), "{good}");
        }
        for bad in ["", " ", "a\nb", "\u{1b}[31m", &"x".repeat(65)] {
            assert!(KeyName::parse(bad).is_err(), "{bad}");
        }
        for good in ["ann", "ann@example.com", "A.b_c-1", &"x".repeat(64)] {
            let user = UserId::of_keys_for(good).unwrap();
            assert_eq!(UserId::parse(user.as_str()), Ok(user));
        }
        for bad in ["", "a:b", "local:default", "a b", "ü", "a#b", &"x".repeat(65)] {
            assert!(UserId::of_keys_for(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn tags_are_short_and_plain_and_name_legal_threads() {
        for bad in ["", "A", "a_b", "a b", "é", &"a".repeat(33)] {
            assert!(CredentialTag::parse(bad).is_err(), "{bad}");
        }
        let of_user = CredentialTag::of_user(&UserId::parse("oidc:i:s").unwrap());
        for tag in ["a", "0-9", &"z".repeat(32), of_user.as_str()] {
            let thread = ThreadId::of_credential(&CredentialTag::parse(tag).unwrap());
            assert_eq!(ThreadId::parse(thread.as_str()), Ok(thread));
        }
    }

    #[test]
    fn task_ids_sort_by_time_and_parse_back() {
        let early = TaskId::new(Timestamp::from_millis(5), [0xff; 10]);
        let late = TaskId::new(Timestamp::from_millis(6), [0; 10]);
        assert!(early < late);
        assert_eq!(early.as_str().len(), 41);
        assert_eq!((early.made_at(), late.made_at()), (Timestamp::from_millis(5), Timestamp::from_millis(6)));
        assert_eq!(TaskId::parse(early.as_str()), Ok(early));
    }

    #[test]
    fn an_invalid_id_never_repeats_its_text() {
        let error = RemoteTaskId::parse("  ").unwrap_err().to_string();
        assert!(error.contains("remote_task_id") && error.contains("255"));
    }
}
