//! The example MCP server on a port of its own, that can be stopped and started again as a process would be.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pudu::example::{Example, PATH};
use pudu_app::ports::Clock;
use pudu_lambda::random::OsRandom;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// A server with its state file. Dropping it ends it at once.
pub struct ExampleServer {
    addr: SocketAddr,
    state: PathBuf,
    clock: Arc<dyn Clock>,
    running: Option<Running>,
}

struct Running {
    example: Example,
    stop: oneshot::Sender<()>,
    serving: JoinSet<()>,
}

impl ExampleServer {
    /// Starts a server whose reports go by `clock` and are kept in `folder`.
    pub async fn start(folder: &Path, clock: Arc<dyn Clock>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let mut server = Self { addr, state: folder.join("example.jsonl"), clock, running: None };
        server.serve(listener);
        server
    }

    /// Its endpoint.
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.addr)
    }

    /// The running server, for what only it knows.
    pub fn inside(&self) -> &Example {
        &self.running.as_ref().expect("the example server runs").example
    }

    /// Stops it: from now on nobody listens there.
    pub async fn stop(&mut self) {
        let Running { example, stop, mut serving } = self.running.take().expect("the example server runs");
        stop.send(()).unwrap();
        while serving.join_next().await.is_some() {}
        drop(example);
    }

    /// Starts it again on the same port, from what its state file says.
    pub async fn start_again(&mut self) {
        let listener = TcpListener::bind(self.addr).await.unwrap();
        self.serve(listener);
    }

    fn serve(&mut self, listener: TcpListener) {
        let example = Example::open(&self.state, Arc::clone(&self.clock), Arc::new(OsRandom)).unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let mut serving = JoinSet::new();
        let server = example.clone();
        serving.spawn(async move {
            let ended = async {
                let _ = stopped.await;
            };
            server.serve(listener, ended).await.unwrap();
        });
        self.running = Some(Running { example, stop, serving });
    }
}
