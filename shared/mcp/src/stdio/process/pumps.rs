//! Reading a child's output, so that it never waits for us.

use std::time::Duration;

use tokio::io::{AsyncRead, BufReader, copy, sink};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::super::lines::{Line, Lines};
use super::obituary::Death;
use crate::redact::Redactor;
use crate::wire::{Failure, MAX_ANSWER_BYTES};

/// Most bytes of a line on stderr. A longer one is not shown: where it is cut a secret could begin, and not be known.
const MAX_ERROR_LINE: usize = 16 * 1024;
/// How long what a child said before its end may take to be read.
const REST: Duration = Duration::from_secs(2);
/// Most lines on stderr that are logged for one process.
const LOGGED: usize = 1000;

/// Hands each line of stdout on, then why there are no more. What nobody takes any more is read and dropped.
pub(super) async fn messages(
    stdout: ChildStdout,
    to: mpsc::Sender<Result<Vec<u8>, Failure>>,
    redactor: Redactor,
    death: Death,
) {
    let mut stdout = BufReader::new(stdout);
    let forwarding = forward(&mut stdout, &to, &redactor);
    let end = {
        let mut forwarding = std::pin::pin!(forwarding);
        tokio::select! {
            biased;
            end = &mut forwarding => end,
            () = death.over() => timeout(REST, forwarding).await.unwrap_or(End::Output),
        }
    };
    match end {
        End::Output => drop(to.send(Err(death.failure().await)).await),
        End::Message(failure) => drop(to.send(Err(failure)).await),
        End::Session => {}
    }
    drain(stdout).await;
}

/// What ended a conversation.
enum End {
    /// There is no more output.
    Output,
    /// A message that cannot be taken.
    Message(Failure),
    /// Nobody listens any more.
    Session,
}

async fn forward(
    stdout: &mut BufReader<ChildStdout>,
    to: &mpsc::Sender<Result<Vec<u8>, Failure>>,
    redactor: &Redactor,
) -> End {
    let mut lines = Lines::new(stdout, MAX_ANSWER_BYTES);
    while let Ok(Some(line)) = lines.next().await {
        match line {
            Line::Whole(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => {}
            Line::Whole(bytes) => {
                if to.send(Ok(bytes)).await.is_err() {
                    return End::Session;
                }
            }
            Line::Cut(_) => return End::Message(Failure::too_large(redactor)),
        }
    }
    End::Output
}

/// Logs what comes on stderr and remembers the last of it.
pub(super) async fn errors(stderr: ChildStderr, server: String, death: Death) {
    let mut lines = Lines::new(BufReader::new(stderr), MAX_ERROR_LINE);
    let mut logged = 0_usize;
    while let Ok(Some(line)) = lines.next().await {
        let text = match &line {
            Line::Whole(bytes) => String::from_utf8_lossy(bytes),
            Line::Cut(_) => format!("(a line of more than {MAX_ERROR_LINE} bytes)").into(),
        };
        let Some(line) = death.said(&text) else { continue };
        if logged < LOGGED {
            tracing::debug!(server, line, "a stdio server wrote to stderr");
        } else if logged == LOGGED {
            tracing::debug!(
                server,
                "what this process of a stdio server still writes to stderr is not logged"
            );
        }
        logged = logged.saturating_add(1);
    }
    death.fell_silent();
}

async fn drain(mut from: impl AsyncRead + Unpin) {
    // An error is an end as well.
    let _ = copy(&mut from, &mut sink()).await;
}
