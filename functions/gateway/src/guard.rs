//! What stands before every route: from where one may come ([`Door`]), and who it is ([`Access`]). Nothing of a body is read
//! before both have let it through.

mod access;
mod door;
mod origins;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::Failure;
use crate::state::Gateway;

pub use access::Access;
pub(crate) use access::{Admin, Who, shown};
pub use door::Door;
pub use origins::Origins;

/// The only paths that answer whoever asks: whether Pudu works, for a load balancer, and the contract, which is the program's
/// and of nobody's data, with the page that shows it in a browser, which can show no credential.
const OPEN: [&str; 3] = ["/healthz", "/openapi.json", "/docs"];

/// Lets a request through, with its principal, or answers it.
pub(crate) async fn check(State(gateway): State<Gateway>, mut request: Request, next: Next) -> Response {
    if let Err(failure) = door::check(gateway.door, &gateway.origins, &request) {
        return failure.into_response();
    }
    if OPEN.contains(&request.uri().path()) {
        return next.run(request).await;
    }
    let principal = match gateway.access.identify(request.headers()).await {
        Ok(principal) => principal,
        Err(failure) => return failure.into_response(),
    };
    if let Err(too_many) = gateway.rates.spend(&principal.user).await {
        return Failure::from(too_many).into_response();
    }
    request.extensions_mut().insert(principal);
    next.run(request).await
}
