//! `…/runs/{run}/feedback`: what a run's user thinks of it (agent reference 2.2). One of each run: a thread is one user's.

use axum::Json;
use axum::extract::{FromRequestParts, State};
use http::StatusCode;
use http::request::Parts;
use pudu_app::runs::Opinion;
use pudu_domain::feedback::Rating;
use serde::{Deserialize, Serialize};
use utoipa::openapi::Type;
use utoipa::openapi::schema::{Object, ObjectBuilder};
use utoipa::{IntoParams, ToSchema};

use crate::answer::{FeedbackRow, FeedbackStats};
use crate::error::{Failure, Missing, Unfit};
use crate::input::{Body, RunAlone, RunOf, Shape, param, params};
use crate::state::Gateway;

/// What somebody thinks of a run.
#[derive(Debug, Deserialize, ToSchema)]
pub(in crate::routes) struct FeedbackRequest {
    /// 1 (good) or -1.
    #[schema(schema_with = rating)]
    rating: i64,
    /// In words, at most 8 KiB.
    comment: Option<String>,
    /// On which of its messages, if on one.
    message_id: Option<String>,
}

fn rating() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .description(Some("1 (good) or -1."))
        .enum_values(Some([1, -1]))
        .build()
}

impl Shape for FeedbackRequest {
    const EXPECTED: &'static str = r#"{"rating": 1 or -1, "comment": text, "message_id": text}"#;
}

impl FeedbackRequest {
    fn opinion(self) -> Result<Opinion, Failure> {
        let rating =
            Rating::of(self.rating).ok_or_else(|| Failure::unprocessable("rating must be 1 or -1"))?;
        Ok(Opinion { rating, comment: self.comment, message: self.message_id })
    }
}

/// The feedback of the path.
#[derive(IntoParams)]
#[into_params(names("feedback"), parameter_in = Path)]
pub(in crate::routes) struct Given(
    /// Its id
    #[param(value_type = String)]
    String,
);

impl FromRequestParts<Gateway> for Given {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> Result<Self, Failure> {
        let params = params(parts, gateway).await?;
        Ok(Self(param(&params, "feedback").unwrap_or_default().to_owned()))
    }
}

/// That it was taken back.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::routes) struct TakenBack {
    /// True.
    success: bool,
}

fn none() -> Failure {
    Failure::new(StatusCode::NOT_FOUND, "there is no such feedback on this run")
}

/// Says what one thinks of a run, in the place of what one thought before.
#[utoipa::path(
    put,
    path = "/api/threads/{thread}/runs/{run}/feedback",
    operation_id = "put_feedback",
    tag = "runs",
    params(RunOf),
    request_body = FeedbackRequest,
    responses((status = OK, description = "The feedback", body = FeedbackRow), Missing, Unfit, Failure)
)]
pub(in crate::routes) async fn put(
    State(gateway): State<Gateway>,
    RunOf(key): RunOf,
    Body(asked): Body<FeedbackRequest>,
) -> Result<Json<FeedbackRow>, Failure> {
    Ok(Json(gateway.feedback.give(&key, asked.opinion()?).await?.into()))
}

/// The same.
#[utoipa::path(
    post,
    path = "/api/threads/{thread}/runs/{run}/feedback",
    operation_id = "create_feedback",
    tag = "runs",
    params(RunOf),
    request_body = FeedbackRequest,
    responses((status = OK, description = "The feedback", body = FeedbackRow), Missing, Unfit, Failure)
)]
pub(in crate::routes) async fn create(
    gateway: State<Gateway>,
    run: RunOf,
    asked: Body<FeedbackRequest>,
) -> Result<Json<FeedbackRow>, Failure> {
    put(gateway, run, asked).await
}

/// What one thinks of a run: one entry at most.
#[utoipa::path(
    get,
    path = "/api/threads/{thread}/runs/{run}/feedback",
    operation_id = "list_feedback",
    tag = "runs",
    params(RunOf),
    responses((status = OK, description = "The feedback", body = [FeedbackRow]), Missing, Unfit, Failure)
)]
pub(in crate::routes) async fn list(
    State(gateway): State<Gateway>,
    RunOf(key): RunOf,
) -> Result<Json<Vec<FeedbackRow>>, Failure> {
    Ok(Json(gateway.feedback.of(&key).await?.into_iter().map(FeedbackRow::from).collect()))
}

/// The same of a run by its id alone, in whichever thread of the caller's it is.
#[utoipa::path(
    get,
    path = "/api/runs/{run}/feedback",
    operation_id = "list_feedback_of_run",
    tag = "runs",
    params(RunAlone),
    responses((status = OK, description = "The feedback", body = [FeedbackRow]), Missing, Unfit, Failure)
)]
pub(in crate::routes) async fn list_of(
    gateway: State<Gateway>,
    RunAlone(key): RunAlone,
) -> Result<Json<Vec<FeedbackRow>>, Failure> {
    list(gateway, RunOf(key)).await
}

/// How much is said of a run.
#[utoipa::path(
    get,
    path = "/api/threads/{thread}/runs/{run}/feedback/stats",
    operation_id = "get_feedback_stats",
    tag = "runs",
    params(RunOf),
    responses((status = OK, description = "The counts", body = FeedbackStats), Missing, Unfit, Failure)
)]
pub(in crate::routes) async fn stats(
    State(gateway): State<Gateway>,
    RunOf(key): RunOf,
) -> Result<Json<FeedbackStats>, Failure> {
    let given = gateway.feedback.of(&key).await?;
    Ok(Json(FeedbackStats::new(key.id.to_string(), given.as_ref())))
}

/// Takes back what one thought of a run.
#[utoipa::path(
    delete,
    path = "/api/threads/{thread}/runs/{run}/feedback",
    operation_id = "delete_feedback",
    tag = "runs",
    params(RunOf),
    responses((status = OK, description = "It is taken back", body = TakenBack), Missing, Unfit, Failure)
)]
pub(in crate::routes) async fn remove(
    State(gateway): State<Gateway>,
    RunOf(key): RunOf,
) -> Result<Json<TakenBack>, Failure> {
    if gateway.feedback.take_back(&key).await? { Ok(Json(TakenBack { success: true })) } else { Err(none()) }
}

/// Takes back the feedback of that id.
#[utoipa::path(
    delete,
    path = "/api/threads/{thread}/runs/{run}/feedback/{feedback}",
    operation_id = "delete_feedback_by_id",
    tag = "runs",
    params(RunOf, Given),
    responses((status = OK, description = "It is taken back", body = TakenBack), Missing, Unfit, Failure)
)]
pub(in crate::routes) async fn remove_one(
    gateway: State<Gateway>,
    RunOf(key): RunOf,
    Given(id): Given,
) -> Result<Json<TakenBack>, Failure> {
    if id != key.id.as_str() {
        return Err(none());
    }
    remove(gateway, RunOf(key)).await
}
