//! Two clocks: one that follows the runtime's (paused) time, one that is moved by hand.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use pudu_app::ports::Clock;
use pudu_domain::Timestamp;
use tokio::time::Instant;

/// Where simulated time begins: 2026-11-01T00:00:00Z. A date as in production, so that ids have their real shape.
pub const EPOCH: Timestamp = Timestamp::from_millis(1_793_491_200_000);

/// A worker's clock in a runtime with paused time: [`EPOCH`] plus the time that the runtime let pass, plus the worker's
/// own skew. Waiting is free: the runtime jumps when nothing else can run.
#[derive(Debug, Clone, Copy)]
pub struct VirtualClock {
    origin: Instant,
    skew_ms: i64,
}

impl VirtualClock {
    /// A clock that begins now, without skew.
    pub fn start() -> Self {
        Self { origin: Instant::now(), skew_ms: 0 }
    }

    /// The same time as seen by a worker whose clock is `skew_ms` ahead (or behind, if negative).
    #[must_use]
    pub const fn skewed(self, skew_ms: i64) -> Self {
        Self { skew_ms, ..self }
    }

    /// Time since the start, without skew.
    pub fn elapsed(&self) -> Duration {
        self.origin.elapsed()
    }
}

#[async_trait]
impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        let now = EPOCH + self.elapsed();
        Timestamp::from_millis(now.as_millis().saturating_add_signed(self.skew_ms))
    }

    #[expect(clippy::disallowed_methods, reason = "this is the `Clock::sleep` that the ban points to")]
    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// A clock that stands still until it is moved; whoever sleeps moves it. For suites whose store may be a real engine.
#[derive(Debug)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// A clock that stands at [`EPOCH`].
    pub const fn start() -> Self {
        Self(AtomicU64::new(EPOCH.as_millis()))
    }

    /// Moves it to `at`, forwards or backwards.
    pub fn set(&self, at: Timestamp) {
        self.0.store(at.as_millis(), Ordering::SeqCst);
    }

    /// Moves it forwards.
    pub fn pass(&self, duration: Duration) {
        self.set(self.now() + duration);
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }

    async fn sleep(&self, duration: Duration) {
        self.pass(duration);
        tokio::task::yield_now().await;
    }
}
