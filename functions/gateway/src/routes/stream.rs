//! `GET /api/threads/{thread}/mcp-tasks/stream`: the thread's tasks as they change, as server-sent events (DESIGN section 7).
//!
//! A task of its own looks and sends, and not the response: a client that takes nothing more would else hold its place, and one
//! that is gone is noticed while nothing changes.

use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue};
use pudu_app::chain::Chain;
use pudu_app::tasks::follow::{Follower, Look};
use pudu_domain::{ThreadKey, Timestamp, UserId};
use serde_json::json;
use tokio::sync::mpsc;

use crate::answer::TaskChange;
use crate::error::{Failure, Missing, Unfit};
use crate::guard::{self, Who};
use crate::input::{LastEventId, Thread};
use crate::state::Gateway;
use crate::streams::{ALIVE, FRUITLESS, ON_THE_WAY, Open, PATIENCE, UNBUFFERED, Whole};

/// Between two looks, while something changes.
const SHORTEST: Duration = Duration::from_secs(1);
/// And while nothing does.
const LONGEST: Duration = Duration::from_secs(5);
/// When a client whose stream has ended comes again: at once, or where each time is a stream of its own as often as looks are.
const AGAIN: (Duration, Duration) = (SHORTEST, LONGEST);

/// The thread's tasks as they change.
///
/// Server-sent events. `task`: a task that is new to the stream or has changed, as it is now. `end`: the thread is gone, do not come again.
/// The first events tell how things stand: each task that goes on and the newest 50; with `Last-Event-ID` what changed since then. A state
/// may come twice, the latest always comes. A stream breaks off after a while, and its client comes again; where answers are sent only
/// as a whole it ends at once.
#[utoipa::path(
    get,
    path = "/api/threads/{thread}/mcp-tasks/stream",
    operation_id = "stream_tasks",
    tag = "tasks",
    params(Thread, LastEventId),
    responses(
        (status = OK, description = "Events `task` with this as data, and `end`", body = TaskChange, content_type = "text/event-stream"),
        Missing, Unfit, Failure,
    )
)]
pub(super) async fn get(
    State(gateway): State<Gateway>,
    Who(who): Who,
    Thread(thread): Thread,
    LastEventId(since): LastEventId,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let user = who.user.clone();
    let thread = ThreadKey { user: who.user, thread };
    let open = gateway.streams.open(&thread).ok_or_else(Failure::too_many_streams)?;
    let mut follower = Follower::new(gateway.tasks.clone(), gateway.threads.clone(), thread);
    let first = follower.begin(since).await?;
    if first.is_over {
        return Err(Failure::no_such_thread());
    }
    let (events, taken) = mpsc::channel(ON_THE_WAY);
    let shown = guard::shown(headers);
    let whole = Whole::default();
    let feed = Feed { gateway: gateway.clone(), user, shown, open, follower, events, whole: whole.clone() };
    gateway.calls.spawn(feed.run(first));
    let alive = KeepAlive::new().interval(ALIVE);
    let mut response = Sse::new(whole.sent(taken)).keep_alive(alive).into_response();
    response.headers_mut().insert(UNBUFFERED, HeaderValue::from_static("no"));
    Ok(response)
}

/// What feeds one stream.
struct Feed {
    gateway: Gateway,
    user: UserId,
    /// The credential, and nothing else of the request.
    shown: HeaderMap,
    open: Open,
    follower: Follower,
    events: mpsc::Sender<Event>,
    whole: Whole,
}

/// The stream ends before there is nothing more to tell: its client is gone or too slow, its time is over, or the table fails.
struct Off;

impl Feed {
    async fn run(mut self, first: Look) {
        if self.feed(first).await.is_ok() {
            self.whole.mark();
        }
    }

    async fn feed(&mut self, first: Look) -> Result<(), Off> {
        let clock = self.gateway.tasks.settle.clock.clone();
        let lifetime = self.gateway.streams.lifetime();
        let ends = clock.now() + lifetime;
        let again = if lifetime.is_zero() { AGAIN.1 } else { AGAIN.0 };
        let begun = first.watermark;
        self.send(Event::default().retry(again)).await?;
        if self.tell(first).await? {
            return Ok(());
        }
        // Also a client that heard of no task knows where to go on; never before it has heard of all.
        self.send(Event::default().id(id(begun))).await?;
        let (mut pause, mut fruitless) = (SHORTEST, 0);
        loop {
            let left = ends.since(clock.now());
            if left.is_zero() {
                // Where an answer is sent as a whole, one that broke would not arrive at all.
                return if lifetime.is_zero() { Ok(()) } else { Err(Off) };
            }
            tokio::select! {
                biased;
                () = self.events.closed() => return Err(Off),
                () = self.open.changed() => {
                    pause = SHORTEST;
                    self.follower.hurry();
                }
                () = clock.sleep(pause.min(left)) => {}
            }
            // A key that is revoked by now, or a token that is over, opens nothing: not even what it has opened before.
            match self.gateway.access.identify(&self.shown).await {
                Ok(who) if who.user == self.user => {}
                Err(failure) if failure.is_ours() => return Err(Off),
                _ => return Ok(()),
            }
            match self.follower.look().await {
                Ok(look) => {
                    let is_quiet = look.changed.is_empty();
                    pause = if is_quiet { (pause * 2).min(LONGEST) } else { SHORTEST };
                    fruitless = 0;
                    if self.tell(look).await? {
                        return Ok(());
                    }
                }
                Err(error) => {
                    tracing::warn!(error = %Chain(&error), "a stream could not look at its tasks");
                    (pause, fruitless) = (LONGEST, fruitless + 1);
                    if fruitless == FRUITLESS {
                        return Err(Off);
                    }
                }
            }
        }
    }

    /// Sends what a look found, and says whether that was the end. The watermark is the last event's only: a client that got half of
    /// them begins with all again.
    async fn tell(&self, look: Look) -> Result<bool, Off> {
        let count = look.changed.len();
        for (number, task) in look.changed.into_iter().enumerate() {
            let event =
                Event::default().event("task").json_data(TaskChange::from(task)).map_err(|error| {
                    tracing::error!(%error, "a task could not be written to a stream");
                    Off
                })?;
            let is_last = number + 1 == count;
            self.send(if is_last { event.id(id(look.watermark)) } else { event }).await?;
        }
        if look.is_over {
            let why = json!({"detail": "the thread was deleted"});
            self.send(Event::default().event("end").data(why.to_string())).await?;
        }
        Ok(look.is_over)
    }

    async fn send(&self, event: Event) -> Result<(), Off> {
        let clock = &self.gateway.tasks.settle.clock;
        tokio::select! {
            biased;
            sent = self.events.send(event) => sent.map_err(|_| Off),
            () = clock.sleep(PATIENCE) => Err(Off),
        }
    }
}

/// Where to go on from, as the id of an event.
fn id(watermark: Timestamp) -> String {
    watermark.as_millis().to_string()
}
