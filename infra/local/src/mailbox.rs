//! Invocations on one machine: the events that would wake functions in the cloud, in a queue of each function's loop.

use std::sync::Arc;

use async_trait::async_trait;
use pudu_app::ports::{Background, Wake, WakeError, Waker};
use pudu_lambda::wake_event;
use serde_json::Value;
use tokio::sync::{Mutex, mpsc};

/// Events that wait for a loop. While one is at work nobody sends it any, so there are never many; what no longer fits is
/// found by the next tick.
const WAITING: usize = 64;

/// The events for one function. Clones are the same queue.
#[derive(Debug, Clone)]
pub struct Mailbox {
    sender: mpsc::Sender<Value>,
    receiver: Arc<Mutex<mpsc::Receiver<Value>>>,
}

/// The mailboxes of the functions of one machine, as the way to wake them.
#[derive(Debug, Clone, Default)]
pub struct LocalWaker {
    poller: Mailbox,
    notifier: Mailbox,
    agent: Mailbox,
}

impl Default for Mailbox {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        Self { sender, receiver: Arc::new(Mutex::new(receiver)) }
    }
}

impl Mailbox {
    /// The next event, when there is one.
    pub async fn next(&self) -> Value {
        match self.receiver.lock().await.recv().await {
            Some(event) => event,
            // Its sender is this very mailbox.
            None => std::future::pending().await,
        }
    }
}

impl LocalWaker {
    /// The events for `function`.
    pub const fn mailbox(&self, function: Background) -> &Mailbox {
        match function {
            Background::Poller => &self.poller,
            Background::Notifier => &self.notifier,
            Background::Agent => &self.agent,
        }
    }
}

#[async_trait]
impl Waker for LocalWaker {
    async fn wake(&self, function: Background, items: &[Wake]) -> Result<(), WakeError> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| WakeError {
            function: function.as_str(),
            source,
        };
        let event = wake_event::encode(items).map_err(|error| failed(error.into()))?;
        self.mailbox(function).sender.try_send(event).map_err(|error| failed(error.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_sent_arrives_in_order_and_the_rest_is_refused() {
        let waker = LocalWaker::default();
        for _ in 0..WAITING {
            waker.wake(Background::Poller, &[]).await.unwrap();
        }
        assert!(waker.wake(Background::Poller, &[]).await.is_err(), "it never waits for a loop");
        waker.wake(Background::Notifier, &[]).await.unwrap();
        for _ in 0..WAITING {
            let event = waker.mailbox(Background::Poller).next().await;
            assert_eq!(event, wake_event::encode(&[]).unwrap());
        }
        waker.wake(Background::Poller, &[]).await.unwrap();
    }
}
