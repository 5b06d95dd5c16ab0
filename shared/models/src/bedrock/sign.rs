//! Signing a request with the role of whoever calls, where no API key is configured.

use std::time::{Duration, UNIX_EPOCH};

use ::http::{HeaderName, HeaderValue};
use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign as signed};
use aws_sigv4::sign::v4::SigningParams;
use pudu_domain::Timestamp;

use crate::dialect::{Request, Trouble};

const SERVICE: &str = "bedrock";
/// Of an address that does not say its own.
const REGION: &str = "us-east-1";

/// Adds the signature to a request. Only the headers that are ours are signed, so that whatever stands between may add others.
pub(crate) fn sign(request: &mut Request, credentials: Credentials, now: Timestamp) -> Result<(), Trouble> {
    let region = region(request).to_owned();
    let identity = credentials.into();
    let params = SigningParams::builder()
        .identity(&identity)
        .region(&region)
        .name(SERVICE)
        .time(UNIX_EPOCH + Duration::from_millis(now.as_millis()))
        .settings(SigningSettings::default())
        .build()
        .map_err(unsigned)?
        .into();
    let headers =
        request.headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    let signable =
        SignableRequest::new("POST", request.url.as_str(), headers, SignableBody::Bytes(&request.body));
    let (instructions, _) = signed(signable.map_err(unsigned)?, &params).map_err(unsigned)?.into_parts();
    let (headers, _) = instructions.into_parts();
    for header in headers {
        let name: HeaderName = header.name().parse().map_err(unsigned)?;
        let mut value: HeaderValue = header.value().parse().map_err(unsigned)?;
        value.set_sensitive(true);
        request.headers.insert(name, value);
    }
    Ok(())
}

/// The region that a host names, such as `bedrock-runtime.eu-central-1.amazonaws.com` or one of a private network.
fn region(request: &Request) -> &str {
    let mut labels = request.url.host_str().unwrap_or_default().split('.');
    let service = labels.find(|label| matches!(*label, "bedrock-runtime" | "bedrock-runtime-fips"));
    service.and_then(|_| labels.next()).unwrap_or(REGION)
}

fn unsigned<E>(_: E) -> Trouble {
    // Its text may have the request in it.
    Trouble::Unsendable("the request could not be signed".to_owned())
}
