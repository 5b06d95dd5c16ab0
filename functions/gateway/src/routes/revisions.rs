//! What the config was: `GET /api/mcp/config/revisions`, `…/{number}`, `…/{number}/diff`, and `POST …/{number}/rollback`.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use pudu_app::ports::Author;
use serde::Deserialize;
use utoipa::IntoParams;

use super::config::{Changed, by, changed};
use crate::answer::{ChangedPlace, Differences, PastConfig, Revisions};
use crate::error::{Conflict, Failure, Forbidden, Missing, Stale, Unfit};
use crate::guard::Admin;
use crate::input::{IfMatch, Params, RevisionNumber, limit, number};
use crate::state::Gateway;

/// How much of the history.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Page {
    /// How many at most: 1 to 100.
    #[serde(default = "limit::usual")]
    #[param(minimum = 1, maximum = 100, default = 50)]
    limit: usize,
    /// Only those with a number below this one: `next_before` of the page before.
    #[serde(default, deserialize_with = "number::exact")]
    #[param(maximum = 9_007_199_254_740_991_u64)]
    before: Option<u64>,
}

/// The revisions of the config, the newest first: when and by whom each was made.
#[utoipa::path(
    get,
    path = "/api/mcp/config/revisions",
    operation_id = "list_revisions",
    tag = "config",
    params(Page),
    security(("bearer" = ["admin"])),
    responses((status = OK, description = "A page of them", body = Revisions), Forbidden, Conflict, Unfit, Failure)
)]
pub(super) async fn list(
    State(gateway): State<Gateway>,
    _: Admin,
    Params(page): Params<Page>,
) -> Result<Json<Revisions>, Failure> {
    let limit = limit::checked(page.limit)?;
    let made = gateway.configs.revisions(limit, page.before).await?;
    Ok(Json(Revisions::new(made, limit)))
}

/// The config as it was, with every literal secret hidden.
#[utoipa::path(
    get,
    path = "/api/mcp/config/revisions/{number}",
    operation_id = "get_revision",
    tag = "config",
    params(RevisionNumber),
    security(("bearer" = ["admin"])),
    responses((status = OK, description = "All of it", body = PastConfig), Forbidden, Missing, Conflict, Unfit, Failure)
)]
pub(super) async fn get(
    State(gateway): State<Gateway>,
    _: Admin,
    RevisionNumber(number): RevisionNumber,
) -> Result<Json<PastConfig>, Failure> {
    let past = gateway.configs.revision(number).await?.ok_or_else(no_such_revision)?;
    Ok(Json(PastConfig::new(past.made, past.document.masked())))
}

/// With what to compare.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Against {
    /// Another revision; the one before when absent. 0 is the empty config before the first.
    #[serde(default, deserialize_with = "number::exact")]
    #[param(maximum = 9_007_199_254_740_991_u64)]
    against: Option<u64>,
}

/// What is different in a revision from another one. A secret that was changed shows as changed, and as nothing else.
#[utoipa::path(
    get,
    path = "/api/mcp/config/revisions/{number}/diff",
    operation_id = "compare_revisions",
    tag = "config",
    params(RevisionNumber, Against),
    security(("bearer" = ["admin"])),
    responses((status = OK, description = "The differences", body = Differences), Forbidden, Missing, Conflict, Unfit, Failure)
)]
pub(super) async fn diff(
    State(gateway): State<Gateway>,
    _: Admin,
    RevisionNumber(number): RevisionNumber,
    Params(against): Params<Against>,
) -> Result<Json<Differences>, Failure> {
    let against = against.against.unwrap_or_else(|| number.saturating_sub(1));
    let found = gateway.configs.differences(number, against).await?.ok_or_else(no_such_revision)?;
    Ok(Json(Differences { number, against, changes: found.into_iter().map(ChangedPlace::from).collect() }))
}

/// Makes the config what it was, as a new revision, if it is valid and acceptable today.
#[utoipa::path(
    post,
    path = "/api/mcp/config/revisions/{number}/rollback",
    operation_id = "roll_back",
    tag = "config",
    params(RevisionNumber, IfMatch),
    security(("bearer" = ["admin"])),
    responses(Changed, Forbidden, Missing, Conflict, Unfit, Stale, Failure)
)]
pub(super) async fn roll_back(
    State(gateway): State<Gateway>,
    Admin(who): Admin,
    RevisionNumber(number): RevisionNumber,
    over: IfMatch,
) -> Result<Response, Failure> {
    let author = Author::new(&who, "config.rollback", &format!("revision {number}"));
    let made = gateway.configs.roll_back(number, by(&over, &author));
    changed(&gateway, &who, &author, made).await
}

fn no_such_revision() -> Failure {
    Failure::new(StatusCode::NOT_FOUND, "the config has no such revision")
}
