//! What the pool stands on: something that can be started and ended. The machine's is a child process; the pool's tests
//! have one in memory.

use async_trait::async_trait;

use super::recipe::Recipe;
use super::shown::Shown;
use crate::pipe::Pipe;
use crate::wire::Failure;

/// Starts servers.
pub(super) trait Host: Send + Sync {
    /// Starts one; the conversation with it has not begun. Dropped, the body ends at once and takes all below it along.
    fn start(&self, recipe: &Recipe, shown: Shown) -> Result<(Pipe, Box<dyn Body>), Failure>;
}

/// What runs.
#[async_trait]
pub(super) trait Body: Send {
    /// Ends it and waits until nothing of it is left. The conversation has ended before.
    async fn end(self: Box<Self>);
}
