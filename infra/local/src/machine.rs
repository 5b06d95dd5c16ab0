//! A running machine: the gateway and the example server on their listeners, the workers as loops, and one way to stop
//! all of it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use pudu_app::ports::Background;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::engine::Engine;
use crate::example::{self, Example};
use crate::house::House;
use crate::workers;

/// How long requests in flight may take to end after a stop.
const GRACE: Duration = Duration::from_millis(300);

/// A port that could not be had.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Somebody else listens there.
    #[error("port {port} for {what} is taken: stop what listens on it, or choose another with {option}")]
    Taken {
        /// The port.
        port: u16,
        /// Whose it would be.
        what: &'static str,
        /// The option that chooses it.
        option: &'static str,
    },
    /// The system does not give it.
    #[error(
        "port {port} for {what} cannot be used: choose another with {option}, or another address with --bind"
    )]
    Refused {
        /// The port.
        port: u16,
        /// Whose it would be.
        what: &'static str,
        /// The option that chooses it.
        option: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Listens for `what`, whose port is chosen by `option`; 0 is a free one.
pub async fn listen(
    address: (IpAddr, u16),
    what: &'static str,
    option: &'static str,
) -> Result<TcpListener, ListenError> {
    let (_, port) = address;
    TcpListener::bind(address).await.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => ListenError::Taken { port, what, option },
        _ => ListenError::Refused { port, what, option, source },
    })
}

/// Listens on 127.0.0.1 at any free port.
pub async fn listen_anywhere() -> anyhow::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("127.0.0.1 has no free port")
}

/// Everything that runs. Dropping it stops it without grace.
pub struct Machine {
    /// The composition.
    pub house: Arc<House>,
    /// Where the gateway listens.
    pub gateway: SocketAddr,
    stop: CancellationToken,
    parts: JoinSet<&'static str>,
}

impl Machine {
    /// Serves the gateway on `listener`; workers and the example server are added.
    pub fn start(house: Arc<House>, listener: TcpListener) -> io::Result<Self> {
        let gateway = listener.local_addr()?;
        let stop = CancellationToken::new();
        let mut parts = JoinSet::new();
        let (front, router, stopped) = (house.front().clone(), house.gateway(), stop.clone());
        parts.spawn(async move {
            front.serve(listener, router, stopped).await;
            "the gateway"
        });
        Ok(Self { house, gateway, stop, parts })
    }

    /// Runs the task-poller.
    pub fn poll(&mut self) {
        let (house, stop) = (Arc::clone(&self.house), self.stop.clone());
        let poller = house.poller("task-poller");
        self.parts.spawn(async move {
            let mailbox = house.mailbox(Background::Poller);
            workers::poll(poller, mailbox, house.clock().as_ref(), house.random().as_ref(), stop).await;
            "the task-poller"
        });
    }

    /// Runs the notifier.
    pub fn notify(&mut self) {
        let (house, stop) = (Arc::clone(&self.house), self.stop.clone());
        let notifier = house.notifier("notifier");
        self.parts.spawn(async move {
            let mailbox = house.mailbox(Background::Notifier);
            workers::notify(notifier, mailbox, house.clock().as_ref(), house.random().as_ref(), stop).await;
            "the notifier"
        });
    }

    /// Runs the agent.
    pub fn act(&mut self) {
        let (house, stop) = (Arc::clone(&self.house), self.stop.clone());
        let agent = house.agent("agent");
        self.parts.spawn(async move {
            let mailbox = house.mailbox(Background::Agent);
            workers::act(agent, mailbox, house.clock().as_ref(), house.random().as_ref(), stop).await;
            "the agent"
        });
    }

    /// Removes expired rows of the embedded engine.
    pub fn sweep(&mut self, engine: Engine) {
        let (house, stop) = (Arc::clone(&self.house), self.stop.clone());
        self.parts.spawn(async move {
            workers::sweep(engine, house.clock().as_ref(), stop).await;
            "the sweep of expired rows"
        });
    }

    /// Serves the example server, and returns the URL of its MCP endpoint.
    pub fn example(&mut self, example: Example, listener: TcpListener) -> io::Result<String> {
        let url = format!("http://{}{}", listener.local_addr()?, example::PATH);
        let stopped = self.stop.clone().cancelled_owned();
        self.parts.spawn(async move {
            if let Err(error) = example.serve(listener, stopped).await {
                tracing::error!(%error, "the example server failed");
            }
            "the example server"
        });
        Ok(url)
    }

    /// Returns when a part has ended by itself, which none does, with what is known of it.
    pub async fn broken(&mut self) -> anyhow::Error {
        match self.parts.join_next().await {
            Some(Ok(part)) => anyhow::anyhow!("{part} has stopped by itself; see the log above"),
            Some(Err(error)) => anyhow::Error::new(error).context("a part has failed; see the log above"),
            None => std::future::pending().await,
        }
    }

    /// Stops everything: workers at once, servers after requests in flight, within half a second; then the processes of
    /// stdio servers, which mostly takes a moment and never more than 10 s.
    pub async fn stop(mut self) {
        self.stop.cancel();
        let ended = async { while self.parts.join_next().await.is_some() {} };
        if tokio::time::timeout(GRACE, ended).await.is_err() {
            tracing::debug!("requests in flight were cut off");
        }
        self.house.wiring.close().await;
    }
}

#[cfg(test)]
mod tests;
