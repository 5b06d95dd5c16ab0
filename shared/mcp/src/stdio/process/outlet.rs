//! A child's stdin.

use async_trait::async_trait;
use pudu_app::ports::CallFault;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;

use super::obituary::{DEAF, Death};
use crate::pipe::Outlet;
use crate::wire::Failure;

/// Most bytes that wait for a child to read them, in units of [`UNIT`]: a child that is busy may read late, one that never
/// reads must not have the memory of a message for every call, and for every answer that it asks of us.
const MAX_WAITING: u32 = 8192;
/// Bytes; a message takes one more than fill.
const UNIT: usize = 4 * 1024;

/// One message a line.
pub(super) struct Stdin {
    pipe: Mutex<Option<ChildStdin>>,
    room: Semaphore,
    /// Lets go of a child that does not read.
    closing: CancellationToken,
    death: Death,
}

impl Stdin {
    pub(super) fn new(pipe: ChildStdin, death: Death) -> Self {
        let room = Semaphore::new(MAX_WAITING as usize);
        Self { pipe: Mutex::new(Some(pipe)), room, closing: CancellationToken::new(), death }
    }

    /// Closes it, whoever is writing.
    pub(super) async fn shut(&self) {
        self.closing.cancel();
        self.pipe.lock().await.take();
    }
}

#[async_trait]
impl Outlet for Stdin {
    async fn send(&self, mut message: Vec<u8>) -> Result<(), Failure> {
        let length = message.len();
        // One that is larger than all the room has it alone.
        let units = u32::try_from(length / UNIT + 1).unwrap_or(MAX_WAITING).min(MAX_WAITING);
        let Ok(_room) = self.room.try_acquire_many(units) else {
            let waiting =
                "its process does not read its input, and much waits for it already; call again later";
            return Err(Failure::new(CallFault::NotSent, waiting));
        };
        message.push(b'\n');
        let mut pipe = tokio::select! {
            biased;
            () = self.closing.cancelled() => return Err(gone(0, length)),
            pipe = self.pipe.lock() => pipe,
        };
        let Some(stdin) = pipe.as_mut() else { return Err(gone(0, length)) };
        let mut written = 0;
        while let Some(rest) = message.get(written..).filter(|rest| !rest.is_empty()) {
            let wrote = tokio::select! {
                biased;
                () = self.closing.cancelled() => None,
                wrote = stdin.write(rest) => Some(wrote),
            };
            if let Some(Ok(more @ 1..)) = wrote {
                written += more;
                continue;
            }
            // The rest of a message would be read as the beginning of the next.
            pipe.take();
            if wrote.is_some() {
                // Also for all other calls: nothing more can be asked in this session.
                self.death.went_deaf();
            }
            let gone = gone(written, length);
            // Who reads no more has mostly ended, and how it did says more.
            return Err(if wrote.is_some() {
                Failure { message: self.death.failure().await.message, ..gone }
            } else {
                gone
            });
        }
        Ok(())
    }

    async fn close(&self) {
        self.shut().await;
    }
}

/// A part of a message is none: only when all but its end was taken can it have been understood.
fn gone(written: usize, length: usize) -> Failure {
    let fault = if written < length { CallFault::NotSent } else { CallFault::Broken };
    Failure::new(fault, DEAF)
}
