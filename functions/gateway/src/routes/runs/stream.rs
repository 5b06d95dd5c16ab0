//! Streams of runs: `POST …/runs/stream`, `GET` and `POST …/runs/{run}/stream`, `GET …/runs/{run}/join`, and `POST /api/runs/stream`
//! (agent reference 2.6).
//!
//! As with the stream of tasks a task of its own looks and sends; what it sends comes from stored events, so that a stream that was
//! cut goes on behind the last event that its client heard, wherever that is served. A stream that ends before its run was told to the
//! end breaks its answer off: the official clients take an answer that ends well for the end, and only come back to one that broke.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body as Stream, Bytes};
use axum::extract::{FromRequestParts, Query, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, header};
use pudu_app::chain::Chain;
use pudu_app::runs::follow::{Follower, Frame, FrameId};
use pudu_app::runs::modes::Modes;
use pudu_app::runs::{Action, Runs};
use pudu_domain::{Run, RunKey, ThreadKey, Timestamp, UserId};
use tokio::sync::mpsc;
use utoipa::IntoParams;

use super::{action, begin, flag, located};
use crate::error::{Conflict, Failure, Missing, Unfit};
use crate::frames::{HEARTBEAT, bytes};
use crate::guard::{Who, shown};
use crate::input::{Agents, Body, Repeatable, Resumed, RunOf, RunRequest, Thread};
use crate::state::Gateway;
use crate::streams::{ALIVE, FRUITLESS, ON_THE_WAY, Open, PATIENCE, UNBUFFERED, Whole};

/// Between two looks, while something is told.
const SHORTEST: Duration = Duration::from_millis(200);
/// And while nothing is.
const LONGEST: Duration = Duration::from_secs(1);
/// Between two looks at whether the client may still look.
const KNOWN: Duration = Duration::from_secs(5);

/// How a run that goes on is streamed.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::routes) struct How {
    /// `interrupt` or `rollback`: the run is ended first.
    action: Option<String>,
    /// What is told: modes as a run takes them, one or several; those of the run when absent.
    #[param(value_type = Option<Vec<String>>)]
    stream_mode: Vec<String>,
    /// `1`: the run ends when this client is gone.
    #[param(value_type = Option<String>)]
    cancel_on_disconnect: bool,
}

impl FromRequestParts<Gateway> for How {
    type Rejection = Failure;

    // By hand: a form's fields are read into a struct only once each.
    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> Result<Self, Failure> {
        let pairs = Query::<Vec<(String, String)>>::from_request_parts(parts, gateway).await;
        let Query(pairs) = pairs.map_err(|error| Failure::unprocessable(error.body_text()))?;
        let named = |name: &'static str| {
            pairs.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
        };
        Ok(Self {
            action: named("action").next().filter(|action| !action.is_empty()).map(str::to_owned),
            stream_mode: named("stream_mode").flat_map(|mode| mode.split(',')).map(str::to_owned).collect(),
            cancel_on_disconnect: flag(named("cancel_on_disconnect").next()),
        })
    }
}

/// Begins a run and streams it.
///
/// Server-sent events: `metadata` first, then what `stream_mode` asks for, then `end` with how it ended. Each has an id; with it as
/// `Last-Event-ID` the run's stream goes on behind it, as long as its events are kept (a day).
#[utoipa::path(
    post,
    path = "/api/threads/{thread}/runs/stream",
    operation_id = "stream_new_run",
    tag = "runs",
    params(Thread, Repeatable),
    request_body = RunRequest,
    responses(
        (
            status = OK, description = "Its events", body = String, content_type = "text/event-stream",
            headers(("Content-Location" = String, description = "The run"), ("Location" = String, description = "Its stream, below the base of this API")),
        ),
        Missing, Conflict, Unfit, Failure,
    )
)]
pub(in crate::routes) async fn create(
    State(gateway): State<Gateway>,
    Who(who): Who,
    Agents(runs): Agents,
    Thread(thread): Thread,
    Repeatable(key): Repeatable,
    headers: HeaderMap,
    Body(request): Body<RunRequest>,
) -> Result<Response, Failure> {
    let open = open(&gateway, &ThreadKey { user: who.user.clone(), thread: thread.clone() })?;
    let begun = begin(&gateway, &runs, &who, thread, key, request).await?;
    let viewer = Viewer { user: who.user, shown: shown(headers), resumed: None };
    let leaves = begun.leaves && !begun.admitted.reused;
    let mut response = feed(&gateway, runs, &begun.run, open, viewer, begun.modes, leaves);
    response.headers_mut().extend(located(&begun.run, begun.admitted.reused));
    Ok(response)
}

/// The same in the thread that `config.configurable.thread_id` names, or in a new one.
#[utoipa::path(
    post,
    path = "/api/runs/stream",
    operation_id = "stream_stateless_run",
    tag = "runs",
    params(Repeatable),
    request_body = RunRequest,
    responses(
        (status = OK, description = "Its events", body = String, content_type = "text/event-stream"),
        Missing, Conflict, Unfit, Failure,
    )
)]
pub(in crate::routes) async fn create_anywhere(
    State(gateway): State<Gateway>,
    who: Who,
    agents: Agents,
    key: Repeatable,
    headers: HeaderMap,
    Body(request): Body<RunRequest>,
) -> Result<Response, Failure> {
    let thread = super::wait::somewhere(&gateway, &who, key.0.as_ref(), &request).await?;
    Box::pin(create(State(gateway), who, agents, Thread(thread), key, headers, Body(request))).await
}

/// Streams a run from its beginning, or from behind `Last-Event-ID`.
///
/// `gap` instead, and nothing more, where what comes behind it is kept no longer.
#[utoipa::path(
    get,
    path = "/api/threads/{thread}/runs/{run}/stream",
    operation_id = "stream_run",
    tag = "runs",
    params(RunOf, How, Resumed),
    responses(
        (status = OK, description = "Its events", body = String, content_type = "text/event-stream"),
        Missing, Unfit, Failure,
    )
)]
pub(in crate::routes) async fn get(
    State(gateway): State<Gateway>,
    Who(who): Who,
    Agents(runs): Agents,
    RunOf(key): RunOf,
    Resumed(resumed): Resumed,
    how: How,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let viewer = Viewer { user: who.user, shown: shown(headers), resumed };
    follow(&gateway, runs, &key, how, viewer).await
}

/// The same, for clients that send a POST to end a run and hear its end.
#[utoipa::path(
    post,
    path = "/api/threads/{thread}/runs/{run}/stream",
    operation_id = "end_and_stream_run",
    tag = "runs",
    params(RunOf, How, Resumed),
    responses(
        (status = OK, description = "Its events", body = String, content_type = "text/event-stream"),
        Missing, Unfit, Failure,
    )
)]
pub(in crate::routes) async fn post(
    gateway: State<Gateway>,
    who: Who,
    agents: Agents,
    run: RunOf,
    resumed: Resumed,
    how: How,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    get(gateway, who, agents, run, resumed, how, headers).await
}

/// A run's end: its stream for whoever accepts `text/event-stream`, else the values of its state when it has ended.
#[utoipa::path(
    get,
    path = "/api/threads/{thread}/runs/{run}/join",
    operation_id = "join_run",
    tag = "runs",
    params(RunOf, How, Resumed),
    responses(
        (status = OK, description = "Its events, or its values", content((serde_json::Value = "application/json"), (String = "text/event-stream"))),
        Missing, Unfit, Failure,
    )
)]
pub(in crate::routes) async fn join(
    State(gateway): State<Gateway>,
    Who(who): Who,
    Agents(runs): Agents,
    RunOf(key): RunOf,
    Resumed(resumed): Resumed,
    how: How,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let accepts = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    if accepts.into_iter().any(|value| value.contains("text/event-stream")) {
        let viewer = Viewer { user: who.user, shown: shown(headers), resumed };
        return follow(&gateway, runs, &key, how, viewer).await;
    }
    super::wait::ended(&gateway, &runs, &key, how.cancel_on_disconnect).await
}

/// Who looks.
struct Viewer {
    user: UserId,
    /// The credential, and nothing else of the request.
    shown: HeaderMap,
    resumed: Option<FrameId>,
}

fn open(gateway: &Gateway, thread: &ThreadKey) -> Result<Open, Failure> {
    gateway.streams.open(thread).ok_or_else(Failure::too_many_streams)
}

async fn follow(
    gateway: &Gateway,
    runs: Runs,
    key: &RunKey,
    how: How,
    viewer: Viewer,
) -> Result<Response, Failure> {
    if let Some(name) = &how.action {
        runs.cancel(key, action(name)?).await?.ok_or_else(Failure::no_such_run)?;
        gateway.streams.changed(&key.thread);
    }
    let (run, spec) = runs.get(key).await?.ok_or_else(Failure::no_such_run)?;
    let modes = if how.stream_mode.is_empty() {
        Modes::read(spec.kwargs.get("stream_mode").unwrap_or_default()).unwrap_or_default()
    } else {
        let named = Modes::named(how.stream_mode.iter().map(String::as_str));
        named.map_err(|error| Failure::unprocessable(error.to_string()))?
    };
    let open = open(gateway, &key.thread)?;
    let mut response = feed(gateway, runs, &run, open, viewer, modes, how.cancel_on_disconnect);
    response.headers_mut().extend(located(&run, false));
    Ok(response)
}

/// Answers with a stream, and feeds it.
fn feed(
    gateway: &Gateway,
    runs: Runs,
    run: &Run,
    open: Open,
    viewer: Viewer,
    modes: Modes,
    leaves: bool,
) -> Response {
    let (frames, taken) = mpsc::channel(ON_THE_WAY);
    let follower = Follower::new(runs.clone(), run, modes, viewer.resumed);
    let greeting = follower.greeting(run);
    let last = runs.clock.now();
    let whole = Whole::default();
    let feed = Feed {
        gateway: gateway.clone(),
        runs,
        key: run.key.clone(),
        viewer,
        open,
        follower,
        frames,
        whole: whole.clone(),
        last,
    };
    gateway.calls.spawn(feed.run(greeting, leaves));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (UNBUFFERED, HeaderValue::from_static("no")),
    ];
    (headers, Stream::from_stream(whole.sent(taken))).into_response()
}

/// What feeds one stream.
struct Feed {
    gateway: Gateway,
    runs: Runs,
    key: RunKey,
    viewer: Viewer,
    open: Open,
    follower: Follower,
    frames: mpsc::Sender<Bytes>,
    whole: Whole,
    /// When something was sent the last time.
    last: Timestamp,
}

/// Why a stream ends before its run was told to the end.
#[derive(Debug, PartialEq, Eq)]
enum Broken {
    /// Its client is gone.
    Left,
    /// Its client takes too long, its time is over, or the table fails: a client comes back.
    Off,
}

impl Feed {
    async fn run(mut self, greeting: Option<Frame>, leaves: bool) {
        match self.feed(greeting).await {
            Ok(()) => self.whole.mark(),
            Err(Broken::Left) if leaves => {
                tracing::info!(run.id = %self.key.id, "whoever began a run is gone, and it ends");
                if let Err(error) = self.runs.cancel(&self.key, Action::Interrupt).await {
                    tracing::warn!(run.id = %self.key.id, error = %Chain(&error), "a run whose caller is gone goes on");
                }
            }
            Err(Broken::Left | Broken::Off) => {}
        }
    }

    async fn feed(&mut self, greeting: Option<Frame>) -> Result<(), Broken> {
        let clock = Arc::clone(&self.runs.clock);
        let lifetime = self.gateway.streams.lifetime();
        let ends = clock.now() + lifetime;
        if let Some(greeting) = greeting {
            self.send(bytes(&greeting)).await?;
        }
        let (mut pause, mut fruitless, mut known) = (SHORTEST, 0, clock.now());
        loop {
            match self.follower.look().await {
                Ok(look) => {
                    fruitless = 0;
                    if let Some(frame) = &look.frame {
                        pause = SHORTEST;
                        self.send(bytes(frame)).await?;
                    }
                    if look.over.is_some() {
                        return Ok(());
                    }
                    if look.more {
                        continue;
                    }
                }
                Err(error) => {
                    tracing::warn!(run.id = %self.key.id, error = %Chain(&error), "a stream could not look at its run");
                    (pause, fruitless) = (LONGEST, fruitless + 1);
                    if fruitless == FRUITLESS {
                        return Err(Broken::Off);
                    }
                }
            }
            let now = clock.now();
            let left = ends.since(now);
            if left.is_zero() {
                // Where an answer is sent as a whole, one that broke would not arrive at all.
                return if lifetime.is_zero() { Ok(()) } else { Err(Broken::Off) };
            }
            if now.since(self.last) >= ALIVE {
                self.send(Bytes::from_static(HEARTBEAT)).await?;
            }
            tokio::select! {
                biased;
                () = self.frames.closed() => return Err(Broken::Left),
                () = self.open.changed() => pause = SHORTEST,
                () = clock.sleep(pause.min(left)) => pause = (pause * 2).min(LONGEST),
            }
            if clock.now().since(known) >= KNOWN {
                known = clock.now();
                // A key that is revoked by now opens nothing: not even what it has opened before.
                match self.gateway.access.identify(&self.viewer.shown).await {
                    Ok(who) if who.user == self.viewer.user => {}
                    Err(failure) if failure.is_ours() => return Err(Broken::Off),
                    _ => return Ok(()),
                }
            }
        }
    }

    async fn send(&mut self, frame: Bytes) -> Result<(), Broken> {
        let clock = Arc::clone(&self.runs.clock);
        tokio::select! {
            biased;
            sent = self.frames.send(frame) => sent.map_err(|_| Broken::Left)?,
            // It is there, only slow: its run goes on.
            () = clock.sleep(PATIENCE) => return Err(Broken::Off),
        }
        self.last = clock.now();
        Ok(())
    }
}
