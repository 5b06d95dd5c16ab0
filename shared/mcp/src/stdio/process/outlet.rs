//! A child's stdin.

use async_trait::async_trait;
use pudu_app::ports::CallFault;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::obituary::Death;
use crate::pipe::Outlet;
use crate::wire::Failure;

/// One message a line.
pub(super) struct Stdin {
    pipe: Mutex<Option<ChildStdin>>,
    /// Lets go of a child that does not read.
    closing: CancellationToken,
    death: Death,
}

impl Stdin {
    pub(super) fn new(pipe: ChildStdin, death: Death) -> Self {
        Self { pipe: Mutex::new(Some(pipe)), closing: CancellationToken::new(), death }
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
    Failure::new(fault, "its process takes no more input")
}
