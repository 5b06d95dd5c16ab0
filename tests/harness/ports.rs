//! The use cases over fakes: one process's wiring on a fake table and a fake server, with its calls passing a gate.

use std::sync::Arc;
use std::time::Duration;

use pudu_app::changes::ListChanges;
use pudu_app::configs::TableSource;
use pudu_app::drivers::Drivers;
use pudu_app::known::Known;
use pudu_app::limits::Limits;
use pudu_app::ports::{McpClient, TaskDriver, TaskProtocol, Vault, Waker};
use pudu_app::wiring::{Ports, Wiring};
use pudu_config::NoSecrets;
use pudu_domain::Policy;
use pudu_mcp::{CoreTasks, McpTasks};
use pudu_testkit::gate::Gated;
use pudu_testkit::server::FakeClient;
use pudu_testkit::{FakeBlobs, FakeServer, FakeTable, FixedKeys, Gate, SeededRandom, VirtualClock};

/// The wiring of one process. It does not linger, so that a tick ends when nothing is due.
pub fn wired(clock: VirtualClock, table: &FakeTable, server: &FakeServer, gate: &Gate) -> Wiring {
    wired_with(clock, table, server, gate, Arc::new(NoSecrets))
}

/// The same, of a process with nonces of its own.
pub fn wired_by(
    seed: u64,
    clock: VirtualClock,
    table: &FakeTable,
    server: &FakeServer,
    gate: &Gate,
) -> Wiring {
    compose(clock, table, server, gate, (server.client(), Arc::new(NoSecrets), seed))
}

/// The same, with variables.
pub fn wired_with(
    clock: VirtualClock,
    table: &FakeTable,
    server: &FakeServer,
    gate: &Gate,
    secrets: Arc<dyn Vault>,
) -> Wiring {
    compose(clock, table, server, gate, (server.client(), secrets, 1))
}

/// The same, whose server lets calls become tasks in this way.
pub fn wired_speaking(
    clock: VirtualClock,
    table: &FakeTable,
    server: &FakeServer,
    gate: &Gate,
    tasks: TaskProtocol,
) -> Wiring {
    compose(clock, table, server, gate, (server.client_with(tasks), Arc::new(NoSecrets), 1))
}

/// The same, of a process with nonces of its own that lingers as in the cloud and wakes others by `waker`.
pub fn wired_waking(
    seed: u64,
    clock: VirtualClock,
    table: &FakeTable,
    server: &FakeServer,
    gate: &Gate,
    waker: Arc<dyn Waker>,
) -> Wiring {
    let ports = ports(clock, table, server, gate, (server.client(), Arc::new(NoSecrets), seed));
    let ports = Ports { waker: Some(waker), ..ports };
    Wiring::new(ports, Policy::default(), Limits::default(), "it".to_owned())
}

fn compose(
    clock: VirtualClock,
    table: &FakeTable,
    server: &FakeServer,
    gate: &Gate,
    rest: (FakeClient, Arc<dyn Vault>, u64),
) -> Wiring {
    let limits = Limits { linger: Duration::ZERO, ..Limits::default() };
    Wiring::new(ports(clock, table, server, gate, rest), Policy::default(), limits, "it".to_owned())
}

fn ports(
    clock: VirtualClock,
    table: &FakeTable,
    server: &FakeServer,
    gate: &Gate,
    (client, secrets, seed): (FakeClient, Arc<dyn Vault>, u64),
) -> Ports {
    let store = Arc::new(table.store(Arc::new(clock), gate.clone()));
    let (keys, random) = (Arc::new(FixedKeys), Arc::new(SeededRandom::new(seed)));
    let mcp = Known::new(Arc::new(client), store.clone(), ListChanges::default(), Arc::new(clock));
    let speaks: Arc<dyn McpClient> = Arc::new(mcp.clone());
    let drivers: [Arc<dyn TaskDriver>; 3] = [
        Arc::new(server.driver()),
        Arc::new(McpTasks::new(Arc::clone(&speaks), Arc::new(NoSecrets))),
        Arc::new(CoreTasks::new(speaks, Arc::new(NoSecrets))),
    ];
    let drivers = drivers.map(|driver| -> Arc<dyn TaskDriver> { Arc::new(Gated::new(driver, gate.clone())) });
    Ports {
        tasks: store.clone(),
        notes: store.clone(),
        threads: store.clone(),
        runs: store.clone(),
        memories: store.clone(),
        blobs: Arc::new(FakeBlobs::default()),
        due: store.clone(),
        beacons: store.clone(),
        audit: store.clone(),
        api_keys: store.clone(),
        verifier: None,
        waker: None,
        config: Arc::new(TableSource::new(store, keys.clone(), Arc::new(clock), random.clone())),
        keys,
        secrets,
        mcp,
        drivers: Drivers::new(drivers.into()),
        launcher: None,
        clock: Arc::new(clock),
        random,
    }
}
