//! Name resolution under the egress rule: an address that is refused is never handed to a connection.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::egress::{Egress, Refusal};

/// How names become addresses.
pub(crate) type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

/// The system's own resolver.
pub(super) fn system() -> Lookup {
    Arc::new(|name| {
        async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        }
        .boxed()
    })
}

/// A lookup behind the rule.
pub(super) struct Guarded {
    pub(super) lookup: Lookup,
    pub(super) egress: Egress,
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let (found, egress) = ((self.lookup)(name.as_str().to_owned()), self.egress.clone());
        async move {
            let open = admitted(&egress, found.await?)?;
            Ok(Box::new(open.into_iter()) as Addrs)
        }
        .boxed()
    }
}

/// The addresses that may be connected to; the first refusal when there are none. Port 0 is replaced by the URL's.
fn admitted(egress: &Egress, found: Vec<IpAddr>) -> Result<Vec<SocketAddr>, Refusal> {
    let mut refused = None;
    let mut open = Vec::with_capacity(found.len());
    for address in found {
        match egress.address(address, None) {
            Ok(()) => open.push(SocketAddr::new(address, 0)),
            Err(refusal) => refused = refused.or(Some(refusal)),
        }
    }
    match refused {
        Some(refusal) if open.is_empty() => Err(refusal),
        _ => Ok(open),
    }
}
