//! From the adapters that compositions choose to the ports that all of them have.

use std::sync::Arc;

use pudu_app::changes::ListChanges;
use pudu_app::configs::TableSource;
use pudu_app::drivers::Drivers;
use pudu_app::known::Known;
use pudu_app::oidc::Rules;
use pudu_app::ports::{
    Blobs, Clock, ConfigSource, McpClient, Random, SealKeys, TaskDriver, TokenPorts, TokenVerifier, Vault,
    Waker,
};
use pudu_app::wiring::Ports;
use pudu_config::Secrets;
use pudu_dynamo::Table;
use pudu_mcp::{
    BuildError, Client, CoreTasks, Egress, Interceptors, Launcher, McpTasks, Oidc, OrdinaryTools,
};

/// What compositions differ in.
#[derive(Clone)]
pub struct Base {
    /// The table, behind every store port.
    pub table: Arc<Table>,
    /// What is too large for the table.
    pub blobs: Arc<dyn Blobs>,
    /// Where the config is, when it is not in the table.
    pub config: Option<Arc<dyn ConfigSource>>,
    /// The sealing key.
    pub keys: Arc<dyn SealKeys>,
    /// What `$VAR` stands for.
    pub secrets: Arc<dyn Vault>,
    /// Where servers may be called.
    pub egress: Egress,
    /// How background functions are invoked, where they are.
    pub waker: Option<Arc<dyn Waker>>,
    /// Whose tokens are taken, if anybody's.
    pub tokens: Option<Rules>,
    /// How stdio servers are started, where they may be.
    pub stdio: Option<Launcher>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Random numbers.
    pub random: Arc<dyn Random>,
}

/// The ports over `base`. Opens no connection and reads no row. Fails when the process cannot make HTTP requests.
pub fn ports(base: Base) -> Result<Ports, BuildError> {
    let Base { table, blobs, config, keys, secrets, egress, waker, tokens: rules, stdio, clock, random } =
        base;
    let view: Arc<dyn Secrets> = secrets.clone();
    let changes = ListChanges::default();
    let interceptors = Interceptors::shipped(Arc::clone(&random));
    let tokens = TokenPorts {
        store: table.clone(),
        keys: Arc::clone(&keys),
        clock: Arc::clone(&clock),
        random: Arc::clone(&random),
    };
    let client = Client::new(view, egress, tokens)?.with_interceptors(interceptors);
    let client = client.with_peers(table.clone()).with_changes(changes.clone());
    let client = Arc::new(match stdio {
        Some(launcher) => client.with_stdio(launcher),
        None => client,
    });
    let verifier = rules
        .map(|rules| -> Arc<dyn TokenVerifier> { Arc::new(Oidc::new(rules, &client, Arc::clone(&clock))) });
    let mcp = Known::new(client.clone(), table.clone(), changes, Arc::clone(&clock));
    let speaks: Arc<dyn McpClient> = Arc::new(mcp.clone());
    let drivers: Vec<Arc<dyn TaskDriver>> = vec![
        Arc::new(OrdinaryTools::new(Arc::clone(&speaks), client.clone())),
        Arc::new(McpTasks::new(Arc::clone(&speaks), client.clone())),
        Arc::new(CoreTasks::new(speaks, client)),
    ];
    let config = config.unwrap_or_else(|| {
        Arc::new(TableSource::new(table.clone(), keys.clone(), clock.clone(), random.clone()))
    });
    Ok(Ports {
        tasks: table.clone(),
        notes: table.clone(),
        threads: table.clone(),
        runs: table.clone(),
        memories: table.clone(),
        blobs,
        due: table.clone(),
        beacons: table.clone(),
        audit: table.clone(),
        api_keys: table,
        verifier,
        waker,
        config,
        keys,
        secrets,
        drivers: Drivers::new(drivers),
        mcp,
        launcher: None,
        clock,
        random,
    })
}
