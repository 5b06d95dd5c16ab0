//! How each server stands, for administrators: from what is known, without asking any; and one server asked afresh.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use pudu_config::Server;
use pudu_domain::Timestamp;
use tokio::time::Instant;

use super::Catalog;
use super::toolsets::{Offer, with_toolsets};
use crate::configs::ConfigError;
use crate::listings::{Glimpse, Listed};
use crate::ports::{CallError, CallFault, Era, LeftOut, McpClient};

/// How many servers are looked up in the table, or asked, at a time.
const AT_ONCE: usize = 32;

/// How a server stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Its tools are known.
    Ok,
    /// It is switched off.
    Disabled,
    /// Its tools could not be listed when it was last asked.
    Failed(CallError),
    /// Nobody has asked it yet.
    NotAsked,
}

/// A server, as far as it is known.
#[derive(Debug, Clone)]
pub struct Overview {
    /// Its entry.
    pub server: Arc<Server>,
    /// How it stands.
    pub standing: Standing,
    /// How many tools can be used by the list that it last gave.
    pub tools: Option<usize>,
    /// Toolsets that cannot be used by that list, with the reason.
    pub toolset_problems: Vec<String>,
    /// How it is spoken with over HTTP.
    pub era: Option<Era>,
    /// When it was last asked for its tools.
    pub asked_at: Option<Timestamp>,
}

/// What a server said when it was asked afresh.
#[derive(Debug, Clone)]
pub struct Probed {
    /// Its entry.
    pub server: Arc<Server>,
    /// How it is spoken with over HTTP.
    pub era: Option<Era>,
    /// How long it took to connect and list the tools, or until that failed.
    pub latency: Duration,
    /// The server's own names of the tools that can be used.
    pub tools: Vec<String>,
    /// What it listed and nobody can call.
    pub left_out: Vec<LeftOut>,
    /// Toolsets that cannot be used, with the reason.
    pub toolset_problems: Vec<String>,
    /// Why it could not be asked.
    pub error: Option<CallError>,
}

impl Catalog {
    /// Every server in the order of their names, from what this process and the table know; no server is asked.
    pub async fn overview(&self) -> Result<Vec<Overview>, ConfigError> {
        let current = self.configs.current().await?;
        self.adopt(&current);
        let servers: Vec<Arc<Server>> = current.servers.values().cloned().collect();
        let looks = servers.into_iter().map(|server| self.look(server));
        Ok(stream::iter(looks).buffered(AT_ONCE).collect().await)
    }

    /// Asks every server that is on, each within its own limits and at most `limit`; what they say is known from then on.
    pub async fn refresh(&self, limit: Duration) -> Result<(), ConfigError> {
        let current = self.configs.current().await?;
        let enabled: Vec<Arc<Server>> = current.servers.values().filter(|s| s.enabled).cloned().collect();
        let until = Instant::now() + limit;
        let probes = enabled.into_iter().map(|server| async move {
            let left = until.saturating_duration_since(Instant::now());
            // How it went is in what is known of it.
            if !left.is_zero() {
                drop(self.known.listings().probe(&server, left).await);
            }
        });
        stream::iter(probes).buffer_unordered(AT_ONCE).collect::<()>().await;
        Ok(())
    }

    /// Asks one server afresh, within its own limits and at most `limit`, also one that is off; none if there is no such
    /// server. A task or call is not touched by it.
    pub async fn probe(&self, name: &str, limit: Duration) -> Result<Option<Probed>, ConfigError> {
        let current = self.configs.current().await?;
        let Some(server) = current.servers.get(name).cloned() else { return Ok(None) };
        let (listings, began) = (self.known.listings(), Instant::now());
        let silent = Probed {
            server: Arc::clone(&server),
            era: None,
            latency: Duration::ZERO,
            tools: Vec::new(),
            left_out: Vec::new(),
            toolset_problems: Vec::new(),
            error: None,
        };
        // What its operator has switched off is started here only if it could be switched on here.
        if let Some(problem) = self.configs.refused_if_enabled(&current, &server) {
            let message = problem.to_string();
            let error = CallError { server: server.name.clone(), fault: CallFault::Denied, message };
            return Ok(Some(Probed { error: Some(error), ..silent }));
        }
        let known = self.known.era(&server).await;
        let mut answer = listings.probe(&server, limit).await;
        // What was known of it was wrong, and is forgotten now.
        if answer.is_err() && known.is_some() && self.known.era(&server).await.is_none() {
            answer = listings.probe(&server, limit.saturating_sub(began.elapsed())).await;
        }
        let latency = began.elapsed();
        let era = self.known.era(&server).await;
        let silent = Probed { era, latency, ..silent };
        Ok(Some(match answer {
            Err(error) => Probed { error: Some(error), ..silent },
            Ok((list, left_out)) => {
                let Offer { tools, problems } = self.offer(&silent.server, &list);
                let tools = tools.into_iter().map(|(tool, _)| tool.name.clone()).collect();
                Probed { tools, left_out, toolset_problems: problems, ..silent }
            }
        }))
    }

    async fn look(&self, server: Arc<Server>) -> Overview {
        let listings = self.known.listings();
        let (list, era) = tokio::join!(listings.recall(&server), self.known.era(&server));
        let Glimpse { failed, .. } = listings.peek(&server);
        let failed_at = failed.as_ref().map(|(_, at)| *at);
        let standing = match (server.enabled, failed, &list) {
            (false, ..) => Standing::Disabled,
            (true, Some((error, _)), _) => Standing::Failed(error),
            (true, None, Some(_)) => Standing::Ok,
            (true, None, None) => Standing::NotAsked,
        };
        let asked_at = list.as_ref().map(|list| list.listed_at).max(failed_at);
        let offer = list.map(|list| self.offer(&server, &list));
        let (tools, toolset_problems) = match offer {
            Some(Offer { tools, problems }) => (Some(tools.len()), problems),
            None => (None, Vec::new()),
        };
        Overview { server, standing, tools, toolset_problems, era, asked_at }
    }

    fn offer(&self, server: &Server, list: &Listed) -> Offer {
        with_toolsets(server, list, self.known.task_obstacle(server).as_deref())
    }
}
