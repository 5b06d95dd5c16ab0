//! Small values that every test needs: ids, a server, a submission, and what servers say.

use std::sync::Arc;
use std::time::Duration;

use pudu_app::drivers::ORDINARY_TOOLS;
use pudu_app::ports::{Awake, Background, Beacons, Clock, StoreError, TokenPorts};
use pudu_config::{Document, Server};
use pudu_domain::task::{Change, Delivery, Intent, intend};
use pudu_domain::{
    CredentialTag, Lease, Owner, Principal, RemoteTaskId, Role, Scope, ServerName, Snapshot, Status, TaskId,
    TaskKey, TaskName, ThreadId, ThreadKey, Timestamp, UserId,
};
use serde_json::{Value, json};

use crate::{FakeTable, FixedKeys, Gate, ManualClock, SeededRandom};

/// The name of [`server`].
pub const SERVER: &str = "example";
/// The identity that [`intent`] records for it.
pub const IDENTITY: &str = "http http://127.0.0.1:8081";
/// Its tool that starts a task.
pub const SUBMIT_TOOL: &str = "submit_report";
/// Its tool that tells how a task is.
pub const STATUS_TOOL: &str = "get_report_status";
/// Its tool that ends a task.
pub const CANCEL_TOOL: &str = "cancel_report";
/// Its tool that takes answers.
pub const INPUT_TOOL: &str = "answer_report";
/// The lease of [`intent`] and of most claims here.
pub const LEASE: Duration = Duration::from_mins(2);

/// A valid text that is not one is a mistake in a test, and ends it.
fn valid<T>(parsed: Result<T, pudu_domain::ids::InvalidId>) -> T {
    parsed.unwrap_or_else(|error| unreachable!("a fixture's own text is invalid: {error}"))
}

/// A thread of the user `local:default`.
pub fn thread(name: &str) -> ThreadKey {
    thread_of("local:default", name)
}

/// The owner of [`thread`], who may use every server.
pub fn principal() -> Principal {
    let user = thread("t").user;
    Principal { tag: CredentialTag::of_user(&user), user, role: Role::Admin, scope: Scope::All }
}

/// A thread of any user.
pub fn thread_of(user: &str, name: &str) -> ThreadKey {
    ThreadKey { user: valid(UserId::parse(user)), thread: valid(ThreadId::parse(name)) }
}

/// The task of a thread that was made at `at`, with a last byte of its own.
pub fn task_key(thread: &ThreadKey, at: Timestamp, last: u8) -> TaskKey {
    TaskKey { thread: thread.clone(), id: TaskId::new(at, [0, 0, 0, 0, 0, 0, 0, 0, 0, last]) }
}

/// A remote handle.
pub fn remote(handle: &str) -> RemoteTaskId {
    valid(RemoteTaskId::parse(handle))
}

/// A lease from `now`.
pub fn lease(owner: &str, now: Timestamp) -> Lease {
    Lease { owner: Owner::stored(owner.into()), until: now + LEASE }
}

/// What a tick of the task-poller that finds nothing to do leaves behind: that somebody works.
pub async fn a_poller_was_here(beacons: &dyn Beacons, now: Timestamp) -> Result<(), StoreError> {
    let awake = Awake { holder: Owner::stored("it was here".into()), until: now, ends: now };
    beacons.raise(Background::Poller, &awake, None).await?;
    beacons.lower(Background::Poller, &awake.holder).await
}

/// What a submitter wants, at the server of this module.
pub fn wanted(key: &TaskKey) -> Intent {
    Intent {
        key: key.clone(),
        name: valid(TaskName::parse("report")),
        server: valid(ServerName::parse(SERVER)),
        identity: IDENTITY.into(),
        driver: ORDINARY_TOOLS.into(),
        driver_data: json!({"submit_tool": SUBMIT_TOOL, "status_tool": STATUS_TOOL, "cancel_tool": CANCEL_TOOL}),
        delivery: Delivery::Event,
        repeatable: None,
    }
}

/// The change that writes an intent, leased to `owner` from `now`.
pub fn intent(key: &TaskKey, owner: &str, now: Timestamp) -> Change {
    intend(wanted(key), lease(owner, now), now)
}

/// A snapshot with what a server says along with `status`.
pub fn said(status: Status) -> Snapshot {
    let bare = Snapshot::bare(status);
    match status {
        Status::Completed => Snapshot { result: Some(json!({"pages": 3, "title": "größer"})), ..bare },
        Status::Failed => Snapshot { error: Some("no data".into()), ..bare },
        Status::InputRequired => Snapshot { input_required: Some(json!({"prompt": "which year?"})), ..bare },
        Status::Submitted | Status::Working | Status::Cancelled => bare,
    }
}

/// A config with the one server of this module, as it is stored.
pub fn config() -> Value {
    json!({"mcpServers": {SERVER: {
        "type": "http",
        "url": "http://127.0.0.1:8081/mcp",
        "task_toolsets": [{
            "name": "report",
            "submit_tool": SUBMIT_TOOL, "status_tool": STATUS_TOOL, "cancel_tool": CANCEL_TOOL,
            "input_tool": INPUT_TOOL,
        }],
    }}})
}

/// The server of this module.
pub fn server() -> Server {
    let document = Document::parse(config());
    let server = document.ok().and_then(|document| document.server(SERVER).cloned());
    server.unwrap_or_else(|| unreachable!("a fixture's own config is invalid"))
}

/// What OAuth tokens are kept with, in a table of its own.
pub fn token_ports() -> TokenPorts {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::start());
    let store = FakeTable::new().store(Arc::clone(&clock), Gate::open());
    TokenPorts {
        store: Arc::new(store),
        keys: Arc::new(FixedKeys),
        clock,
        random: Arc::new(SeededRandom::new(1)),
    }
}
