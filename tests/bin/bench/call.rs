//! One `tools/call` in three ways, interleaved: through [`pudu_mcp::Client`] as the gateway calls it, on a bare persistent
//! session of the SDK, and as a raw HTTP POST of bytes made beforehand. In both eras, against the same echo server, which
//! runs in this process on a connection of the loopback. Then the memory of as many pooled stdio sessions as there may be.

mod server;
mod sessions;
mod ways;

use std::time::Instant;

use anyhow::Context;

use crate::row::Row;
use server::EchoServer;
pub(crate) use server::Speaks;
pub(crate) use sessions::serve;
use ways::{Pudu, Sdk, Way};
pub(crate) use ways::{Raw, arguments, check};

/// Calls of each way that count, and calls before that.
const CALLS: usize = 6_000;
const WARM_UP: usize = 300;

/// Measures both eras, and then the sessions.
pub(crate) async fn run(out: &mut impl FnMut(Row)) -> anyhow::Result<()> {
    for speaks in [Speaks::Newest, Speaks::Sessions] {
        for row in era(speaks).await? {
            out(row);
        }
    }
    sessions::run(out).await
}

/// One way, its own server and what was measured of it.
struct Lane {
    name: &'static str,
    way: Box<dyn Way>,
    server: EchoServer,
    /// Milliseconds.
    took: Vec<f64>,
    requests: u64,
}

async fn era(speaks: Speaks) -> anyhow::Result<Vec<Row>> {
    // A server each, alike: so requests and connections are counted per way.
    let (a, b, c) = (
        EchoServer::start(speaks).await?,
        EchoServer::start(speaks).await?,
        EchoServer::start(speaks).await?,
    );
    let (pudu, sdk, raw) =
        (Pudu::of(&a.url)?, Sdk::connect(&b.url, speaks).await?, Raw::connect(&c.url, speaks).await?);
    let lane = |name, way: Box<dyn Way>, server| Lane { name, way, server, took: Vec::new(), requests: 0 };
    let mut lanes =
        [lane("pudu", Box::new(pudu), a), lane("sdk", Box::new(sdk), b), lane("raw", Box::new(raw), c)];
    for _ in 0..WARM_UP {
        for lane in &mut lanes {
            lane.way.call().await.context(lane.name)?;
        }
    }
    for lane in &mut lanes {
        lane.requests = lane.server.requests();
    }
    for _ in 0..CALLS {
        for lane in &mut lanes {
            let began = Instant::now();
            lane.way.call().await.context(lane.name)?;
            lane.took.push(began.elapsed().as_secs_f64() * 1000.0);
        }
        // Nobody is always the one after another.
        lanes.rotate_left(1);
    }
    Ok(lanes.iter_mut().map(|lane| lane.row(speaks)).collect())
}

impl Lane {
    fn row(&mut self, speaks: Speaks) -> Row {
        self.took.sort_by(f64::total_cmp);
        let quantile = |part: usize| self.took.get(self.took.len() * part / 100).copied().unwrap_or_default();
        let requests = (self.server.requests() - self.requests) as f64 / CALLS as f64;
        Row::of("call")
            .with("era", speaks.name())
            .with("way", self.name)
            .precise("p50_ms", quantile(50))
            .precise("p99_ms", quantile(99))
            .number("requests_per_call", requests)
            .with("connections", self.server.connections())
    }
}
