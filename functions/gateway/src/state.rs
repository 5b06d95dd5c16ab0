//! What every request shares, built once per process.

use std::sync::Arc;

use pudu_app::audit::Audit;
use pudu_app::catalog::Catalog;
use pudu_app::configs::Configs;
use pudu_app::dead_letters::DeadLetters;
use pudu_app::keys::Keys;
use pudu_app::limits::Limits;
use pudu_app::memories::Memories;
use pudu_app::ports::{Allowances, EventLog, FeedbackStore, NoteStore};
use pudu_app::rates::Rates;
use pudu_app::runs::{Feedbacks, Runs};
use pudu_app::tasks::Tasks;
use pudu_app::threads::Threads;
use pudu_app::tools::Tools;
use pudu_app::wiring::Wiring;
use pudu_lambda::settings::Admission;
use tokio_util::task::TaskTracker;

use crate::guard::{Access, Door, Origins};
use crate::input::Patience;
use crate::streams::Streams;

/// The gateway's context.
#[derive(Clone)]
pub struct Gateway {
    /// From where one may come in.
    pub door: Door,
    /// Who may come in.
    pub access: Access,
    /// Records changes by administrators.
    pub audit: Audit,
    /// API keys.
    pub keys: Keys,
    /// How often each may call.
    pub rates: Rates,
    /// Whose pages may call.
    pub origins: Origins,
    /// The config.
    pub configs: Arc<Configs>,
    /// What there is to call.
    pub catalog: Arc<Catalog>,
    /// Calls.
    pub tools: Tools,
    /// Tasks.
    pub tasks: Tasks,
    /// Whether they are still there.
    pub threads: Threads,
    /// Runs of agents.
    pub runs: Runs,
    /// What users think of them.
    pub feedback: Feedbacks,
    /// What agents remember of their users.
    pub memories: Memories,
    /// Their notifications.
    pub notes: Arc<dyn NoteStore>,
    /// What waits for an operator.
    pub dead_letters: DeadLetters,
    /// What threads were told.
    pub events: Arc<dyn EventLog>,
    /// How long discovery may take.
    pub limits: Limits,
    /// Calls that go on when their caller has hung up, as long as the process lives: a submission that was begun is brought
    /// to its end. One that the process takes with it is ended by recovery.
    pub calls: TaskTracker,
    /// How long a caller may take to send a body.
    pub patience: Patience,
    /// Open streams.
    pub streams: Streams,
}

impl Gateway {
    /// The gateway over `wiring`, behind `door`, for those whom `access` knows.
    pub fn new(
        wiring: &Wiring,
        notes: Arc<dyn NoteStore>,
        events: Arc<dyn EventLog>,
        feedback: Arc<dyn FeedbackStore>,
        door: Door,
        access: Access,
    ) -> Self {
        let tools = wiring.tools();
        Self {
            door,
            access,
            audit: wiring.audit(),
            keys: wiring.keys(),
            rates: Rates::off(),
            origins: Origins::default(),
            configs: Arc::clone(&wiring.configs),
            catalog: Arc::clone(&wiring.catalog),
            limits: tools.limits.clone(),
            tools,
            tasks: wiring.tasks(),
            threads: wiring.threads(),
            runs: wiring.runs(),
            memories: wiring.memories(),
            feedback: Feedbacks { store: feedback, runs: wiring.runs() },
            dead_letters: wiring.dead_letters(),
            notes,
            events,
            calls: TaskTracker::new(),
            patience: Patience::default(),
            streams: Streams::default(),
        }
    }

    /// The same, whose callers are held to what the settings say.
    #[must_use]
    pub fn held_to(self, admission: &Admission, wiring: &Wiring, buckets: Arc<dyn Allowances>) -> Self {
        Self {
            rates: wiring.rates(admission.rate, buckets),
            origins: Origins::new(&admission.origins),
            ..self
        }
    }
}
