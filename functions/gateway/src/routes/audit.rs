//! `GET /api/mcp/audit`: who changed what.

use axum::Json;
use axum::extract::State;
use pudu_app::ports::{AuditRecord, Outcome};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::moment;
use crate::error::{Failure, Forbidden, Unfit};
use crate::guard::Admin;
use crate::input::{Params, limit};
use crate::state::Gateway;

/// Characters of a record's id.
const ID_CHARS: usize = 32;

/// Which records.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Page {
    /// How many at most: 1 to 100.
    #[serde(default = "limit::usual")]
    #[param(minimum = 1, maximum = 100, default = 50)]
    limit: usize,
    /// The `next` of the page before.
    #[param(pattern = "^[0-9a-f]{32}$")]
    before: Option<String>,
}

/// Changes by administrators, the newest first; kept for 400 days.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AuditPage {
    /// One for each change.
    records: Vec<AuditRow>,
    /// What `before` is for the next page; null: there is none.
    next: Option<String>,
}

/// One change.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AuditRow {
    /// Ordered by time.
    id: String,
    /// When it was asked for, UTC.
    #[schema(format = DateTime)]
    at: String,
    /// Who asked for it.
    user: String,
    /// The id of the key that was used, or a digest that names the user.
    credential: String,
    /// What was asked for, such as `config.put`.
    action: String,
    /// Of what.
    target: String,
    /// What came of it.
    outcome: AuditOutcome,
    /// Why it failed, if it did.
    reason: Option<String>,
}

/// What came of a change.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum AuditOutcome {
    /// Nobody knows: it is being made, or whoever made it did not come to say.
    Requested,
    /// It was made.
    Done,
    /// It was not made.
    Failed,
}

impl From<AuditRecord> for AuditRow {
    fn from(record: AuditRecord) -> Self {
        let (outcome, reason) = match record.outcome {
            Outcome::Requested => (AuditOutcome::Requested, None),
            Outcome::Done => (AuditOutcome::Done, None),
            Outcome::Failed { reason } => (AuditOutcome::Failed, Some(reason)),
        };
        Self {
            id: record.id,
            at: moment(record.at),
            user: record.user.into(),
            credential: record.tag.into(),
            action: record.action,
            target: record.target,
            outcome,
            reason,
        }
    }
}

/// The newest changes, or those before an older one.
#[utoipa::path(
    get,
    path = "/api/mcp/audit",
    operation_id = "list_changes",
    tag = "operator",
    params(Page),
    security(("bearer" = ["admin"])),
    responses((status = OK, description = "The newest first", body = AuditPage), Forbidden, Unfit, Failure)
)]
pub(super) async fn list(
    State(gateway): State<Gateway>,
    _: Admin,
    Params(page): Params<Page>,
) -> Result<Json<AuditPage>, Failure> {
    let limit = limit::checked(page.limit)?;
    let legal = |id: &str| id.len() == ID_CHARS && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if page.before.as_deref().is_some_and(|id| !legal(id)) {
        return Err(Failure::unprocessable("before must be the next of another page"));
    }
    // One more, to know whether there are more.
    let mut records = gateway.audit.log.list(limit + 1, page.before.as_deref()).await?;
    let more = records.len() > limit;
    records.truncate(limit);
    let next = records.last().filter(|_| more).map(|record| record.id.clone());
    Ok(Json(AuditPage { records: records.into_iter().map(AuditRow::from).collect(), next }))
}
