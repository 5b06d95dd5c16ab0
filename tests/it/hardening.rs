//! Callers who mean harm, or know no better: too slowly, too much, too deep, and messages that are none. On real sockets, and on
//! a real process where memory counts.

mod bodies;
mod floods;
mod messages;

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// After which something that has a limit has certainly not had it.
const NEVER: Duration = Duration::from_secs(60);

/// A caller who has sent this much.
async fn sent(to: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut caller = TcpStream::connect(to).await.unwrap();
    // One that is refused early does not get everything out.
    let _ = caller.write_all(bytes).await;
    caller
}

/// What comes until the connection ends.
async fn rest(caller: &mut TcpStream) -> String {
    let mut all = Vec::new();
    // What came before a reset counts.
    let _ = timeout(NEVER, caller.read_to_end(&mut all)).await.expect("the connection ends");
    String::from_utf8(all).unwrap()
}

/// The head of a request with JSON, and these fields.
fn head(method: &str, path: &str, fields: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{fields}\r\n")
}
