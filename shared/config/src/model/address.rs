//! Where a model is: as its entry says, else where its client is at home. A key and a conversation go to nobody else: who would have
//! to say where, and does not, is called nowhere. That is no problem of the config, since configs that are stored already may be so,
//! and one model must not keep all else from being read.

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use url::Url;

use super::provider::{AZURE_ENDPOINT, Client, Provider};
use super::request::EntryError;
use crate::reader::Reader;
use crate::setting::{Secrets, Setting};

/// Its name of every client, and the same in an older version.
const COMMON: [&str; 2] = ["base_url", "api_base"];
/// Of Amazon's.
const ENDPOINT_URL: &str = "endpoint_url";
/// All names of the address.
pub(crate) const NAMES: [&str; 4] = [COMMON[0], COMMON[1], ENDPOINT_URL, AZURE_ENDPOINT];
/// Where chat completions are below a resource on Azure.
const BELOW_AZURE: &str = "/openai/v1";

/// Where a model is.
#[derive(Clone)]
pub(super) enum Address {
    /// Where its dialect is at home.
    Home,
    /// There.
    At {
        /// The address as it stands in the entry.
        url: Setting,
        /// What its client adds to it.
        below: Below,
    },
    /// Nobody knows: the entry would have to say it under this key.
    Unsaid(&'static str),
}

/// The path that a client adds to the address that it is given.
#[derive(Clone, Copy)]
pub(super) enum Below {
    Nothing,
    /// To one without a path.
    Bare(&'static str),
    /// To every one that does not end with it.
    Any(&'static str),
}

impl Address {
    /// The address of an entry of `client`, of which `given` was read before.
    pub(super) fn of(entry: &mut Reader<'_>, given: Option<Setting>, client: &Client) -> Self {
        let own = |entry: &mut Reader<'_>| match client.base_url {
            Some(own) => Self::there(own),
            None if client.provider == Provider::Bedrock => bedrock(entry),
            None => client.address_key.map_or(Self::Home, |key| {
                entry.warn(key, "is needed by this client; without it no call of this model is made");
                Self::Unsaid(key)
            }),
        };
        let below = client.path.map_or(Below::Nothing, Below::Bare);
        if let Some(url) = given {
            return Self::At { url, below };
        }
        under(entry, ENDPOINT_URL, below)
            .or_else(|| under(entry, AZURE_ENDPOINT, Below::Any(BELOW_AZURE)))
            .unwrap_or_else(|| own(entry))
    }

    fn there(url: impl Into<String>) -> Self {
        Self::At { url: Setting::new(url), below: Below::Nothing }
    }

    /// What the entry says of it.
    pub(super) const fn setting(&self) -> Option<&Setting> {
        match self {
            Self::At { url, .. } => Some(url),
            Self::Home | Self::Unsaid(_) => None,
        }
    }

    /// The address to call now; none is the dialect's own.
    pub(super) fn resolve(&self, secrets: &dyn Secrets) -> Result<Option<SecretString>, EntryError> {
        match self {
            Self::Home => Ok(None),
            Self::At { url, below } => {
                let url = url.resolve(secrets)?;
                Ok(Some(below.with(url.expose_secret()).map_or(url, SecretString::from)))
            }
            Self::Unsaid(key) => Err(EntryError::NoAddress { key }),
        }
    }
}

impl Below {
    /// The address with the path, if it gets one. What is no URL is told when it is called.
    fn with(self, address: &str) -> Option<String> {
        let mut url = Url::parse(address).ok()?;
        let path = match self {
            Self::Bare(path) if url.path() == "/" && url.query().is_none() => path.to_owned(),
            Self::Any(path) => {
                let before = url.path().trim_end_matches('/');
                if before.ends_with(path) {
                    return None;
                }
                format!("{before}{path}")
            }
            Self::Nothing | Self::Bare(_) => return None,
        };
        url.set_path(&path);
        Some(url.into())
    }
}

/// What an entry says in the words of every client.
pub(super) fn given(entry: &mut Reader<'_>) -> Option<Setting> {
    let mut named = COMMON.into_iter();
    let (key, url) = named.find_map(|key| Some((key, entry.setting(key)?)))?;
    if url.expose_literal().is_some_and(|text| !is_url(text)) {
        entry.rule(key, "must be an http or https URL, such as https://api.example.com/v1");
    }
    Some(url)
}

/// What it says in those of one client, which earlier releases did not read; blank is nothing. What cannot be read must not be
/// passed over: the key is for there.
fn under(entry: &mut Reader<'_>, key: &'static str, below: Below) -> Option<Address> {
    let text = entry.map.get(key).filter(|value| !value.is_null())?.as_str();
    if text.is_some_and(|text| text.trim().is_empty()) {
        return None;
    }
    let fits = |url: &Setting| url.flaw().is_none() && url.expose_literal().is_none_or(is_url);
    let Some(url) = text.map(Setting::new).filter(fits) else {
        entry.warn(key, "is neither a URL nor a variable; no call of this model is made");
        return Some(Address::Unsaid(key));
    };
    Some(Address::At { url, below })
}

/// Amazon's, in the region of the entry.
fn bedrock(entry: &mut Reader<'_>) -> Address {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let region = entry.map.get("region_name").and_then(Value::as_str);
    if let Some(region) = region.filter(|region| !region.is_empty() && region.chars().all(word)) {
        return Address::there(format!("https://bedrock-runtime.{region}.amazonaws.com"));
    }
    entry.rule("region_name", "is needed for Amazon Bedrock, such as eu-central-1, or base_url");
    Address::Unsaid("region_name")
}

fn is_url(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}
