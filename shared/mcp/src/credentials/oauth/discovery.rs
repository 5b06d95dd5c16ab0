//! Where a token request goes: the configured endpoint, or the one that the server's own metadata leads to (RFC 9728, then
//! RFC 8414 or `OpenID` Connect Discovery). Every request of it goes through the egress rule of the one HTTP client.
//!
//! What is found is not remembered: it is asked for only when a token is, and a stale answer would send a secret to where
//! the server no longer wants it.

use http::{HeaderMap, HeaderValue, header};
use pudu_config::AuthMethod;
use secrecy::ExposeSecret;
use serde_json::{Map, Value};
use url::Url;

use super::Wanted;
use super::request::TokenRequest;
use crate::target::Target;
use crate::wire::Wire;

/// A token endpoint, and what is said there.
pub(super) struct Endpoint {
    pub(super) url: Url,
    /// Who the token server is, where that is known.
    pub(super) issuer: Option<String>,
    pub(super) method: AuthMethod,
    /// For which server a token is asked, where the endpoint was found by it.
    pub(super) resource: Option<String>,
    /// What the server says is needed.
    pub(super) scope: Option<String>,
}

/// What a server says about itself (RFC 9728).
struct Resource {
    id: String,
    issuer: String,
    scope: Option<String>,
}

/// Where to ask. Errors are sentences for whoever looks at the server's state; they show no URL with credentials.
pub(super) async fn endpoint(wire: &Wire, wanted: &Wanted) -> Result<Endpoint, String> {
    let configured = wanted.oauth.auth_method;
    if let Some(url) = &wanted.oauth.token_url {
        let url = web(url.expose_secret()).ok_or("'oauth.token_url' is no http or https URL")?;
        let method = configured.unwrap_or(AuthMethod::ClientSecretPost);
        return Ok(Endpoint { url, issuer: None, method, resource: None, scope: None });
    }
    let server = web(wanted.server_url.expose_secret()).ok_or("'url' is no http or https URL")?;
    let resource = resource(wire, wanted, &server).await?;
    let issuer = web(&resource.issuer).ok_or("the server names an authorization server that is no URL")?;
    let metadata = metadata(wire, wanted, &issuer, &resource.issuer).await?;
    let text = |field: &str| metadata.get(field).and_then(Value::as_str);
    let url =
        text("token_endpoint").and_then(web).ok_or("the authorization server names no token endpoint")?;
    if server.scheme() == "https" && url.scheme() != "https" {
        return Err("the token endpoint that was found is not https, and the server is; set 'oauth.token_url' if that is meant".to_owned());
    }
    let method = configured.unwrap_or_else(|| usual(metadata.get("token_endpoint_auth_methods_supported")));
    let issuer = text("issuer").map(str::to_owned);
    Ok(Endpoint { url, issuer, method, resource: Some(resource.id), scope: resource.scope })
}

impl Endpoint {
    /// The target of a request here, which knows every secret of it.
    pub(super) fn target(&self, wanted: &Wanted, request: &TokenRequest) -> Result<Target, String> {
        let mut headers = HeaderMap::new();
        if let Some(authorization) = &request.authorization {
            let value = HeaderValue::from_str(authorization.expose_secret());
            let mut value =
                value.map_err(|_| "the client's id and secret cannot be sent as a header".to_owned())?;
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        let mut secrets = wanted.oauth.secrets();
        let told = ["grant_type", "client_id", "scope", "audience", "resource", "client_assertion_type"];
        let secret = request.fields.iter().filter(|(name, _)| !told.contains(&name.as_str()));
        secrets.extend(secret.map(|(_, value)| value.clone()));
        Ok(Target::plain(&wanted.key.server, self.url.clone(), headers).knowing(&secrets))
    }
}

/// The server's own document. A server without one is taken for one of the time before there was any: its origin is its
/// authorization server (MCP 2025-03-26).
async fn resource(wire: &Wire, wanted: &Wanted, server: &Url) -> Result<Resource, String> {
    for place in well_known(server, "oauth-protected-resource") {
        let Some(document) = document(wire, wanted, place).await? else { continue };
        let id = document.get("resource").and_then(Value::as_str).unwrap_or_default();
        if !covers(id, server) {
            return Err("the server's metadata is for another resource than its URL".to_owned());
        }
        let servers = document.get("authorization_servers").and_then(Value::as_array);
        let issuer = servers.and_then(|servers| servers.first()).and_then(Value::as_str);
        let issuer =
            issuer.ok_or("the server's metadata names no authorization server; set 'oauth.token_url'")?;
        return Ok(Resource { id: id.to_owned(), issuer: issuer.to_owned(), scope: scopes(&document) });
    }
    let mut id = server.clone();
    id.set_fragment(None);
    id.set_query(None);
    // User info is a credential and no part of a name; both setters fail only for URLs without a host.
    let _ = id.set_username("");
    let _ = id.set_password(None);
    Ok(Resource { id: id.to_string(), issuer: server.origin().ascii_serialization(), scope: None })
}

/// The authorization server's document, whose issuer must be the one that was asked for: else whoever can change one
/// document could lead a secret elsewhere.
async fn metadata(
    wire: &Wire,
    wanted: &Wanted,
    issuer: &Url,
    name: &str,
) -> Result<Map<String, Value>, String> {
    let mut places = well_known(issuer, "oauth-authorization-server");
    places.truncate(1);
    places.extend(well_known(issuer, "openid-configuration").into_iter().take(1));
    places.push(under(issuer, ".well-known/openid-configuration"));
    for place in places {
        let Some(document) = document(wire, wanted, place).await? else { continue };
        let found = document.get("issuer").and_then(Value::as_str).unwrap_or_default();
        if found.trim_end_matches('/') != name.trim_end_matches('/') {
            return Err(
                "the authorization server's metadata is of another issuer than was asked for".to_owned()
            );
        }
        return Ok(document);
    }
    Err("the authorization server has no metadata; set 'oauth.token_url'".to_owned())
}

/// A JSON document; `None` where there is none.
async fn document(wire: &Wire, wanted: &Wanted, place: Url) -> Result<Option<Map<String, Value>>, String> {
    let target = Target::plain(&wanted.key.server, place, HeaderMap::new());
    let plain = wire.json(&target).await;
    let plain =
        plain.map_err(|failure| format!("the token endpoint could not be found: {}", failure.message))?;
    if !plain.status.is_success() {
        return Ok(None);
    }
    Ok(serde_json::from_slice(&plain.body).ok())
}

/// The well-known places for `url`: with its path behind, then without.
fn well_known(url: &Url, suffix: &str) -> Vec<Url> {
    let path = url.path().trim_end_matches('/');
    let at = |path: String| {
        let mut place = bare(url);
        place.set_path(&path);
        place
    };
    let root = format!("/.well-known/{suffix}");
    let mut places = vec![at(format!("{root}{path}"))];
    if !path.is_empty() {
        places.push(at(root));
    }
    places
}

fn under(url: &Url, suffix: &str) -> Url {
    let mut place = bare(url);
    place.set_path(&format!("{}/{suffix}", url.path().trim_end_matches('/')));
    place
}

/// Without query and credentials: they are for the server itself.
fn bare(url: &Url) -> Url {
    let mut bare = url.clone();
    bare.set_query(None);
    bare.set_fragment(None);
    let _ = bare.set_username("");
    let _ = bare.set_password(None);
    bare
}

fn web(text: &str) -> Option<Url> {
    Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
}

/// Whether a resource of this name contains the server: same origin, and the path is the server's or above it.
fn covers(id: &str, server: &Url) -> bool {
    let Some(resource) = web(id) else { return false };
    let (above, path) = (resource.path().trim_end_matches('/'), server.path().trim_end_matches('/'));
    let inside = path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    resource.origin() == server.origin() && inside
}

fn scopes(document: &Map<String, Value>) -> Option<String> {
    let scopes = document.get("scopes_supported")?.as_array()?;
    let scopes: Vec<&str> = scopes.iter().filter_map(Value::as_str).collect();
    Some(scopes.join(" ")).filter(|scopes| !scopes.is_empty())
}

/// How a client with a secret says who it is: in the form where that is taken, else in the header, which every token server
/// takes (RFC 6749).
fn usual(supported: Option<&Value>) -> AuthMethod {
    let in_form = supported.and_then(Value::as_array).is_some_and(|methods| {
        methods.iter().any(|method| method.as_str() == Some(AuthMethod::ClientSecretPost.as_str()))
    });
    if in_form { AuthMethod::ClientSecretPost } else { AuthMethod::ClientSecretBasic }
}

#[cfg(test)]
mod tests;
