//! The gateway over the whole house: what callers get, and what bad input gets.

mod answers;
mod bad_input;
mod callers;
mod canary;
mod config;
mod credentials;
mod features;
mod hung_up;
mod memory;
mod models;
mod operator;
mod origins;
mod owners;
mod pages;
mod random;
mod stream;
mod tasks;
mod threads;
mod tools;

use tokio::net::TcpListener;

/// The URL of a server that certainly does not run.
pub(crate) async fn dead_url() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    drop(listener);
    format!("http://{addr}/mcp")
}
