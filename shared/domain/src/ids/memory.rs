//! Identifiers of what is remembered.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{InvalidId, RunId};

const FACT_ID_CHARS: usize = 64;
const AGENT_NAME_CHARS: usize = 128;
/// Bytes of a fact's id that were drawn, or are a digest.
const FACT_BYTES: usize = 8;

text_id!(
    /// A fact that is remembered of a user.
    FactId, "fact's id", "must be 1 to 64 characters of A-Z, a-z, 0-9, _ and -",
    |t| (1..=FACT_ID_CHARS).contains(&t.len()) && t.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
);

text_id!(
    /// A custom agent.
    AgentName, "agent_name", "must be 1 to 128 characters of a-z, 0-9 and -",
    |t| (1..=AGENT_NAME_CHARS).contains(&t.len())
        && t.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
);

impl FactId {
    /// The id of these random bytes.
    pub fn new(random: [u8; FACT_BYTES]) -> Self {
        Self(format!("fact_{}", hex::encode(random)))
    }

    /// The id of a fact that a run learnt: always the same, so that what is learnt anew is no second fact.
    pub fn learnt(run: &RunId, number: usize) -> Self {
        let digest = Sha256::digest(format!("{run}#{number}"));
        Self(format!("fact_{}", hex::encode(digest.iter().copied().take(FACT_BYTES).collect::<Vec<_>>())))
    }
}
