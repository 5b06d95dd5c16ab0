//! `GET /api/threads/{thread}/events`: what was delivered.

use axum::Json;
use axum::extract::State;
use pudu_domain::ThreadKey;
use serde::Serialize;

use super::tasks::Page;
use crate::answer::ThreadEvent;
use crate::error::{Failure, Missing, Unfit};
use crate::guard::Who;
use crate::input::{Params, Thread};
use crate::state::Gateway;

/// Most bytes of an answer that has more than one event: a function's answer ends at 6 MB, and an event may be large.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// What a thread was told: its newest events, in the order of their delivery.
///
/// Fewer than asked for where they would be too much at once (4 MiB).
#[utoipa::path(
    get,
    path = "/api/threads/{thread}/events",
    operation_id = "list_events",
    tag = "events",
    params(Thread, Page),
    responses((status = OK, description = "The newest events", body = [ThreadEvent]), Missing, Unfit, Failure)
)]
pub(super) async fn list(
    State(gateway): State<Gateway>,
    Who(who): Who,
    Thread(thread): Thread,
    Params(page): Params<Page>,
) -> Result<Json<Vec<ThreadEvent>>, Failure> {
    let thread = ThreadKey { user: who.user.clone(), thread };
    let events = gateway.events.events(&thread, page.limit()?).await?;
    let shown = events.into_iter().rev().map(|told| ThreadEvent::new(&thread.thread, told));
    Ok(Json(newest(shown, MOST_BYTES)))
}

/// As many of the first values as fit into `most` bytes of JSON, at least one, in the opposite order.
fn newest<T: Serialize>(values: impl Iterator<Item = T>, most: usize) -> Vec<T> {
    let (mut shown, mut bytes) = (Vec::new(), 0);
    for value in values {
        // What does not serialise fails the answer as a whole, and there is none such.
        bytes += serde_json::to_string(&value).map_or(0, |text| text.len());
        if bytes > most && !shown.is_empty() {
            break;
        }
        shown.push(value);
    }
    shown.reverse();
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn what_is_too_much_at_once_is_cut_to_the_newest() {
        let values = || [30, 20, 10].into_iter().map(|size| Value::from("x".repeat(size - 2)));
        let sizes =
            |most| newest(values(), most).iter().map(|value| value.to_string().len()).collect::<Vec<_>>();
        assert_eq!(sizes(60), [10, 20, 30]);
        assert_eq!(sizes(59), [20, 30]);
        assert_eq!(sizes(1), [30], "never nothing");
        assert_eq!(newest(std::iter::empty::<Value>(), 10), Vec::<Value>::new());
    }
}
