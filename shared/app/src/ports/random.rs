//! Randomness, as a parameter.

use pudu_domain::{Owner, TaskId, Timestamp};

/// A source of random bytes; in production a cryptographic one, because task ids must not be guessable.
pub trait Random: Send + Sync {
    /// Fills `bytes`.
    fn fill(&self, bytes: &mut [u8]);

    /// A new task id.
    fn task_id(&self, now: Timestamp) -> TaskId {
        let mut random = [0; 10];
        self.fill(&mut random);
        TaskId::new(now, random)
    }

    /// A lease owner for one claim by `worker`.
    fn owner(&self, worker: &str) -> Owner {
        let mut nonce = [0; 8];
        self.fill(&mut nonce);
        Owner::new(worker, u64::from_be_bytes(nonce))
    }
}
