//! Ports that are taken, and the end of a machine.

use std::net::Ipv4Addr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Machine, listen, listen_anywhere};
use crate::house::testing::house;

#[tokio::test]
async fn a_taken_port_is_an_error_that_names_the_option() {
    let first = listen_anywhere().await.unwrap();
    let port = first.local_addr().unwrap().port();
    let error =
        listen((Ipv4Addr::LOCALHOST.into(), port), "the gateway", "--port").await.unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "port {port} for the gateway is taken: stop what listens on it, or choose another with --port"
        )
    );
}

#[tokio::test]
async fn a_caller_that_never_finishes_does_not_hold_up_the_end() {
    let (_folder, house) = house();
    house.create_table().await.unwrap();
    let mut machine = Machine::start(Arc::new(house), listen_anywhere().await.unwrap()).unwrap();
    machine.poll();
    machine.notify();
    machine.act();
    let mut caller = TcpStream::connect(machine.gateway).await.unwrap();
    caller
        .write_all(
            format!(
                "PUT /api/mcp/config HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: 9\r\nexpect: 100-continue\r\n\r\n",
                machine.house.key().expose()
            )
            .as_bytes(),
        )
        .await
        .unwrap();
    // The gateway asks for the body: from here on the request is in flight.
    let mut asked = [0; 25];
    caller.read_exact(&mut asked).await.unwrap();
    assert_eq!(&asked, b"HTTP/1.1 100 Continue\r\n\r\n");
    // Ends by itself within its own grace, or the test never does.
    machine.stop().await;
}

#[tokio::test]
async fn a_part_that_ends_is_named() {
    let (_folder, house) = house();
    let mut machine = Machine::start(Arc::new(house), listen_anywhere().await.unwrap()).unwrap();
    machine.stop.cancel();
    let error = machine.broken().await.to_string();
    assert!(error.starts_with("the gateway has stopped by itself"), "{error}");
}
