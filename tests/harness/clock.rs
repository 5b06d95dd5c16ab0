//! A clock that only a test moves, so that no test waits and none depends on how fast the machine is.

use std::time::Duration;

use async_trait::async_trait;
use pudu_app::ports::Clock;
use pudu_domain::Timestamp;
use tokio::sync::watch;

/// Where a test's time begins: 2026-11-01T00:00:00Z.
const BEGIN: Timestamp = Timestamp::from_millis(1_793_491_200_000);

/// Stands still until [`HandClock::advance`]; whoever sleeps waits for that.
///
/// Not `testkit`'s manual clock, which a sleeper moves itself: here real sockets take part, and a worker that waits for
/// one must not make hours pass meanwhile.
#[derive(Debug)]
pub struct HandClock(watch::Sender<Timestamp>);

impl Default for HandClock {
    fn default() -> Self {
        Self(watch::Sender::new(BEGIN))
    }
}

impl HandClock {
    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        self.0.send_modify(|now| *now = *now + by);
    }

    /// Sets the clock back, as an operator or a time server does.
    pub fn turn_back(&self, by: Duration) {
        self.0
            .send_modify(|now| *now = Timestamp::from_millis(0) + now.since(Timestamp::from_millis(0) + by));
    }
}

#[async_trait]
impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        *self.0.borrow()
    }

    async fn sleep(&self, duration: Duration) {
        let until = self.now() + duration;
        let mut time = self.0.subscribe();
        // The sender is this clock itself, so it outlives the wait.
        let _ = time.wait_for(|now| *now >= until).await;
    }
}
