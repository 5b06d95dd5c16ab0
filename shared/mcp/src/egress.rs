//! Which addresses this client connects to (DESIGN section 5, "One egress rule"): a decision, without any I/O.
//!
//! It is asked twice. Before each request about its URL, redirects included, because a host that is an address is never
//! resolved. And by the resolver about every address that a name stands for, because what a name stood for a moment ago
//! says nothing: the address that is judged is the one connected to.

mod class;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ipnet::IpNet;
use url::{Host, Url};

pub use class::Class;

/// Where the Runtime API of AWS Lambda listens when nothing else is said.
const RUNTIME_API: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9001);

/// The egress rule of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Egress(Rule);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Rule {
    Machine,
    Cloud { open: Vec<IpNet>, runtime: Vec<SocketAddr> },
}

/// Why an address is not connected to. It names the kind of address and never the address: what a public name stands for
/// inside somebody's network is not for whoever reads an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Neither http nor https.
    #[error("its scheme is neither http nor https")]
    Scheme,
    /// A kind of address that the cloud's rule refuses.
    #[error(
        "its host is {0}, and the cloud's egress rule refuses those unless its allowlist opens their network"
    )]
    Closed(Class),
    /// A kind of address that no allowlist opens.
    #[error("its host is {0}, which is never called")]
    Never(Class),
    /// The function's own Runtime API: whoever can call it can answer for the function.
    #[error("its host may be this function's own Runtime API, which is never called")]
    RuntimeApi,
}

/// A setting of the rule cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    /// An entry of the allowlist.
    #[error(
        "'{0}' in the egress allowlist is no network; write it like 10.0.0.0/8 or fd00::/8, separated by commas"
    )]
    Network(String),
    /// The Runtime API's address.
    #[error("the Runtime API's address '{0}' is no address and port")]
    RuntimeApi(String),
}

impl Egress {
    /// The rule of one machine: everything but cloud metadata addresses.
    pub const fn machine() -> Self {
        Self(Rule::Machine)
    }

    /// The cloud's rule. `open` is its allowlist: networks such as `10.0.0.0/8`, separated by commas or spaces, often
    /// empty; it opens nothing of what is never called. `runtime_api` is what `AWS_LAMBDA_RUNTIME_API` says.
    pub fn cloud(open: &str, runtime_api: Option<&str>) -> Result<Self, EgressError> {
        let networks = open.split([',', ' ', '\n', '\t']).filter(|text| !text.is_empty());
        let open = networks.map(network).collect::<Result<_, _>>()?;
        let mut runtime = vec![RUNTIME_API];
        runtime.extend(runtime_api.map(listener).transpose()?);
        Ok(Self(Rule::Cloud { open, runtime }))
    }

    /// Judges a URL: its scheme, and its host if that is an address. A name is judged when it is resolved.
    pub fn url(&self, url: &Url) -> Result<(), Refusal> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refusal::Scheme);
        }
        let port = url.port_or_known_default();
        match url.host() {
            Some(Host::Ipv4(address)) => self.address(address.into(), port),
            Some(Host::Ipv6(address)) => self.address(address.into(), port),
            Some(Host::Domain(_)) | None => Ok(()),
        }
    }

    /// Judges an address. Without a port it is judged for all of them.
    pub fn address(&self, address: IpAddr, port: Option<u16>) -> Result<(), Refusal> {
        for (address, class) in class::meanings(address) {
            if class == Class::Metadata {
                return Err(Refusal::Never(class));
            }
            let Rule::Cloud { open, runtime } = &self.0 else { continue };
            if !class.is_unicast() {
                return Err(Refusal::Never(class));
            }
            if class != Class::Public && !open.iter().any(|network| network.contains(&address)) {
                return Err(Refusal::Closed(class));
            }
            // Every loopback address: whoever listens on one often listens on all.
            let there = |api: IpAddr| api == address || (api.is_loopback() && class == Class::Loopback);
            if runtime.iter().any(|api| there(api.ip()) && port.is_none_or(|port| port == api.port())) {
                return Err(Refusal::RuntimeApi);
            }
        }
        Ok(())
    }
}

fn network(text: &str) -> Result<IpNet, EgressError> {
    let network = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    network.map_err(|_| EgressError::Network(text.to_owned()))
}

fn listener(text: &str) -> Result<SocketAddr, EgressError> {
    let spelled = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    spelled.as_deref().unwrap_or(text).parse().map_err(|_| EgressError::RuntimeApi(text.to_owned()))
}
