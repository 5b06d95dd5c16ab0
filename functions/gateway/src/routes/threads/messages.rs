//! `GET /api/threads/{thread}/messages`, `…/messages/page` and `…/token-usage`: what a thread's runs left, and took.

use axum::Json;
use axum::extract::State;
use pudu_app::ports::RecordQuery;
use pudu_app::runs::{is_of, place};
use pudu_domain::ThreadKey;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::answer::{MessagePage, MessageRecord, TokenUsage};
use crate::error::{Failure, Missing, Unfit};
use crate::guard::Who;
use crate::input::{Agents, Params, Thread, limit, number};
use crate::routes::runs::records::shown;
use crate::state::Gateway;

/// Most messages of one answer.
const MOST: usize = 200;
/// Of records: they are messages.
const MESSAGES: &str = "message";

/// Which messages.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::routes) struct Which {
    /// How many at most: 1 to 200.
    #[serde(default = "usual")]
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: usize,
    /// Those before the record of this `seq`.
    #[serde(default, deserialize_with = "number::exact")]
    #[param(maximum = 9_007_199_254_740_991_u64)]
    before_seq: Option<u64>,
}

const fn usual() -> usize {
    50
}

/// The newest messages of a thread, in order.
#[utoipa::path(
    get,
    path = "/api/threads/{thread}/messages",
    operation_id = "list_messages",
    tag = "threads",
    params(Thread, Which),
    responses((status = OK, description = "The messages", body = [MessageRecord]), Missing, Unfit, Failure)
)]
pub(in crate::routes) async fn list(
    gateway: State<Gateway>,
    who: Who,
    agents: Agents,
    thread: Thread,
    which: Params<Which>,
) -> Result<Json<Vec<MessageRecord>>, Failure> {
    let Json(page) = page(gateway, who, agents, thread, which).await?;
    Ok(Json(page.data))
}

/// A page of a thread's messages: the newest before a place, in order.
#[utoipa::path(
    get,
    path = "/api/threads/{thread}/messages/page",
    operation_id = "page_messages",
    tag = "threads",
    params(Thread, Which),
    responses((status = OK, description = "The page", body = MessagePage), Missing, Unfit, Failure)
)]
pub(in crate::routes) async fn page(
    State(gateway): State<Gateway>,
    Who(who): Who,
    Agents(runs): Agents,
    Thread(thread): Thread,
    Params(which): Params<Which>,
) -> Result<Json<MessagePage>, Failure> {
    limit::within(which.limit, MOST)?;
    let key = ThreadKey { user: who.user, thread };
    runs.conversation(&key).await?.ok_or_else(Failure::no_such_thread)?;
    let query = RecordQuery {
        before: which.before_seq.map(place),
        newest_first: true,
        limit: which.limit,
        ..RecordQuery::default()
    };
    let (mut found, has_more) = runs.records(&key, &query, |record| is_of(record, MESSAGES)).await?;
    found.reverse();
    let data = shown(&gateway, &key, found, which.before_seq.is_some()).await?;
    let next_before_seq = data.first().map(MessageRecord::seq).filter(|_| has_more);
    Ok(Json(MessagePage { data, has_more, next_before_seq }))
}

/// What the runs of a thread took.
#[utoipa::path(
    get,
    path = "/api/threads/{thread}/token-usage",
    operation_id = "get_token_usage",
    tag = "threads",
    params(Thread),
    responses((status = OK, description = "In tokens", body = TokenUsage), Missing, Unfit, Failure)
)]
pub(in crate::routes) async fn usage(
    Who(who): Who,
    Agents(runs): Agents,
    Thread(thread): Thread,
) -> Result<Json<TokenUsage>, Failure> {
    let key = ThreadKey { user: who.user, thread };
    runs.conversation(&key).await?.ok_or_else(Failure::no_such_thread)?;
    let tokens = runs.tokens(&key).await?;
    Ok(Json(TokenUsage::new(&key.thread, tokens)))
}
