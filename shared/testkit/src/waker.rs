//! A waker that only remembers what it was asked for.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pudu_app::ports::{Background, Wake, WakeError, Waker};

use crate::lock::lock;

/// What functions were to be invoked for, in order. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct FakeWaker(Arc<Mutex<Invoked>>);

#[derive(Debug, Default)]
struct Invoked {
    invocations: Vec<(Background, Vec<Wake>)>,
    down: bool,
}

impl FakeWaker {
    /// The invocations since the last look.
    pub fn take(&self) -> Vec<(Background, Vec<Wake>)> {
        std::mem::take(&mut lock(&self.0).invocations)
    }

    /// Whether it fails from now on.
    pub fn down(&self, down: bool) {
        lock(&self.0).down = down;
    }
}

#[async_trait]
impl Waker for FakeWaker {
    async fn wake(&self, function: Background, items: &[Wake]) -> Result<(), WakeError> {
        let mut invoked = lock(&self.0);
        if invoked.down {
            return Err(WakeError { function: function.as_str(), source: "injected: it is down".into() });
        }
        invoked.invocations.push((function, items.to_vec()));
        Ok(())
    }
}
