//! A run is wanted: admit it, find the one that it repeats, or say why not (agent reference 2.5).

use std::collections::BTreeMap;

use pudu_config::{NONCE_BYTES, SealError, sha256_hex};
use pudu_domain::chat::Message;
use pudu_domain::conversation::Head;
use pudu_domain::note::DELIVERY_KEYS;
use pudu_domain::run::{Admission, Change, Operation, Refused, Strategy, admit};
use pudu_domain::{IdempotencyKey, Run, RunId, RunKey, RunSpec, Scope, ThreadKey};
use secrecy::SecretString;
use serde_json::{Map, Value, json};

use super::{CheckpointError, DECISIONS, NOT_ASKED, Runs, Standing, restless, said};
use crate::ports::{Applied, SealKeyError, StoreError};
use crate::run_secrets;

/// A run that is wanted.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// What it does.
    pub operation: Operation,
    /// In which thread.
    pub thread: ThreadKey,
    /// Whether it must be there already: one that is gone is not made again.
    pub must_exist: bool,
    /// Of which assistant.
    pub assistant: String,
    /// What is said to it; messages without an id get one.
    pub input: Vec<Message>,
    /// Its options, without secrets.
    pub options: Map<String, Value>,
    /// What its caller notes of it.
    pub metadata: Map<String, Value>,
    /// The rest of the request that is shown again, without secrets.
    pub kwargs: Map<String, Value>,
    /// What happens with an active run.
    pub strategy: Strategy,
    /// Which servers it may use.
    pub scope: Scope,
    /// From which checkpoint it begins, if not from the thread's.
    pub base: Option<Head>,
    /// The secrets of its caller.
    pub secrets: BTreeMap<String, SecretString>,
    /// By what its caller repeats it.
    pub key: Option<IdempotencyKey>,
}

/// A run that was admitted.
#[derive(Debug, Clone, PartialEq)]
pub struct Admitted {
    /// The row.
    pub run: Run,
    /// What was settled.
    pub spec: RunSpec,
    /// Whether the caller's key stood for it already: nothing was begun.
    pub reused: bool,
}

/// Why there is no run.
#[derive(Debug, thiserror::Error)]
pub enum AdmitError {
    /// The table failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no key to seal the caller's secrets with.
    #[error(transparent)]
    Key(#[from] SealKeyError),
    /// They could not be sealed.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The thread does not take it.
    #[error(transparent)]
    Refused(Refused),
    /// The key stands for another request of the same user.
    #[error(
        "this Idempotency-Key was used for another run; repeat a run with the same body, or take another key"
    )]
    KeyReused,
    /// There is no such thread, or it is being deleted.
    #[error("there is no such thread")]
    NoThread,
    /// The checkpoint that it is to begin from is none of the thread's.
    #[error("the thread has no such checkpoint")]
    NoCheckpoint,
    /// It answers a question that the thread's agent does not ask.
    #[error("{NOT_ASKED}")]
    NotAsked,
    /// The state that it answers to could not be read.
    #[error(transparent)]
    State(CheckpointError),
}

impl From<CheckpointError> for AdmitError {
    fn from(error: CheckpointError) -> Self {
        match error {
            CheckpointError::Store(error) => Self::Store(error),
            error => Self::State(error),
        }
    }
}

impl Runs {
    /// Begins a run, or finds the one that the caller's key stands for: the key is looked at before the thread is found busy.
    pub async fn admit(&self, mut wanted: Wanted) -> Result<Admitted, AdmitError> {
        let request = digest(&wanted);
        if let Some(found) = self.repeated(&wanted, &request).await? {
            return Ok(found);
        }
        if let Some(base) = &wanted.base
            && !self.is_there(&wanted.thread, base).await?
        {
            return Err(AdmitError::NoCheckpoint);
        }
        self.asked(&wanted).await?;
        let id = self.run_id();
        for (number, message) in wanted.input.iter_mut().enumerate().filter(|(_, m)| m.id.is_empty()) {
            message.id = format!("{id}-{number}");
        }
        let key = RunKey { thread: wanted.thread.clone(), id: id.clone() };
        let secrets = self.sealed(&key, &wanted.secrets).await?;
        let spec = spec(&wanted);
        for _ in 0..DECISIONS {
            let standing = self.standing(&wanted.thread).await?;
            if wanted.must_exist && standing.conversation.is_none() {
                return Err(AdmitError::NoThread);
            }
            let admission = Admission {
                thread: wanted.thread.clone(),
                run: id.clone(),
                spec: spec.clone(),
                secrets: secrets.clone(),
                key: wanted.key.clone().map(|key| (key, request.clone())),
            };
            let mut change = match admit(admission, &standing.seen(), self.clock.now(), &self.policy) {
                Ok(change) => change,
                Err(Refused::Stale) => continue,
                // It may be busy with the very run that is repeated, which began a moment ago.
                Err(refused) => {
                    let repeated = self.repeated(&wanted, &request).await?;
                    return repeated.ok_or(AdmitError::Refused(refused));
                }
            };
            self.entitle(&mut change, &standing, wanted.strategy).await;
            match self.store.commit(&change).await? {
                Applied::Done => return Ok(Box::pin(self.begun(change, spec, &standing)).await),
                Applied::KeyTaken { run, request: other } => {
                    return self.same(&wanted, &request, run, &other).await;
                }
                Applied::ThreadGone => return Err(AdmitError::NoThread),
                // Also one whose answer was lost, and that somebody works on already.
                _ => {
                    if let Some(run) = self.store.load(&key).await? {
                        let begun = Box::pin(self.begun(change, spec, &standing)).await;
                        return Ok(Admitted { run, ..begun });
                    }
                }
            }
        }
        Err(restless("admitting a run").into())
    }

    /// Whether the thread has that checkpoint.
    async fn is_there(&self, thread: &ThreadKey, base: &Head) -> Result<bool, StoreError> {
        if base.is_beginning() {
            let conversation = self.store.conversation(thread).await?;
            return Ok(conversation.is_some_and(|read| read.beginning() == *base));
        }
        let chain = RunKey { thread: thread.clone(), id: base.run.clone() };
        let there = self.store.history(&chain, base.number, 1).await?;
        Ok(there.first().is_some_and(|found| found.number == base.number))
    }

    /// Refuses an answer to a question that is not open. Whoever is overtaken after this look says what it says as plain words.
    async fn asked(&self, wanted: &Wanted) -> Result<(), AdmitError> {
        if wanted.input.iter().all(|message| message.answers().is_none()) {
            return Ok(());
        }
        let view = self.state(&wanted.thread, wanted.base.as_ref()).await?;
        let state = view.map(|view| view.state).unwrap_or_default();
        if said::are_asked(&state, &wanted.input) { Ok(()) } else { Err(AdmitError::NotAsked) }
    }

    /// What follows from an admission that stands.
    async fn begun(&self, change: Change, spec: RunSpec, standing: &Standing) -> Admitted {
        let run = change.run.run.clone();
        tracing::info!(run.id = %run.key.id, thread = %run.key.thread.thread, status = run.phase.status(), "a run was admitted");
        self.wake(&change).await;
        if !change.others.is_empty()
            && let Some(replaced) = &standing.active
        {
            self.cancel_children(replaced).await;
        }
        Admitted { run, spec, reused: false }
    }

    /// A conversation whose first run is replaced is called something all the same (agent reference 7.5).
    async fn entitle(&self, change: &mut Change, standing: &Standing, strategy: Strategy) {
        let (Some(kept), Some(active)) = (&mut change.conversation, &standing.active) else { return };
        if strategy == Strategy::Interrupt && kept.conversation.title.is_none() {
            kept.conversation.title = self.called(&active.key).await;
        }
    }

    async fn sealed(
        &self,
        run: &RunKey,
        secrets: &BTreeMap<String, SecretString>,
    ) -> Result<Option<String>, AdmitError> {
        if secrets.is_empty() {
            return Ok(None);
        }
        let mut nonce = [0; NONCE_BYTES];
        self.random.fill(&mut nonce);
        Ok(Some(run_secrets::seal(&self.keys.current().await?, run, secrets, nonce)?))
    }

    /// The run that the caller's key stands for, if it has one that does.
    async fn repeated(&self, wanted: &Wanted, request: &str) -> Result<Option<Admitted>, AdmitError> {
        let Some(key) = &wanted.key else { return Ok(None) };
        let found = self.store.by_key(&wanted.thread.user, &key.digest()).await?;
        let Some((run, other)) = found else { return Ok(None) };
        self.same(wanted, request, run, &other).await.map(Some)
    }

    /// That run, if it is what is asked for.
    async fn same(
        &self,
        wanted: &Wanted,
        request: &str,
        run: RunKey,
        other: &str,
    ) -> Result<Admitted, AdmitError> {
        if run.thread != wanted.thread || other != request {
            return Err(AdmitError::KeyReused);
        }
        let found = self.get(&run).await?;
        // Its rows go with its key, so one without the other is a thread that is going.
        found.map(|(run, spec)| Admitted { run, spec, reused: true }).ok_or(AdmitError::NoThread)
    }
}

fn spec(wanted: &Wanted) -> RunSpec {
    RunSpec {
        operation: wanted.operation,
        input: wanted.input.clone(),
        options: wanted.options.clone(),
        metadata: wanted.metadata.clone(),
        kwargs: wanted.kwargs.clone(),
        strategy: wanted.strategy,
        scope: wanted.scope.clone(),
        base: wanted.base.clone(),
        secrets: !wanted.secrets.is_empty(),
        key: wanted.key.as_ref().map(IdempotencyKey::digest),
        ..RunSpec::of(wanted.assistant.clone())
    }
}

/// What tells requests apart. Of secrets only their names: a digest of a short secret would give it away. A delivery is the same
/// whatever it says: its key names the event, and how that is put may change between two attempts.
fn digest(wanted: &Wanted) -> String {
    if wanted.key.as_ref().is_some_and(|key| key.as_str().starts_with(DELIVERY_KEYS)) {
        return sha256_hex(&json!({ "thread": wanted.thread.thread.as_str() }));
    }
    sha256_hex(&json!({
        "thread": wanted.thread.thread.as_str(),
        "assistant": wanted.assistant,
        "input": wanted.input,
        "options": wanted.options,
        "metadata": wanted.metadata,
        "kwargs": wanted.kwargs,
        "strategy": wanted.strategy,
        "base": wanted.base.as_ref().map(Head::id),
        "secrets": wanted.secrets.keys().collect::<Vec<_>>(),
    }))
}

/// The id of a run, for whoever names one in a path; what can be none is nobody's.
impl Runs {
    /// The address of a run by its id.
    pub fn address(thread: &ThreadKey, id: &str) -> Option<RunKey> {
        Some(RunKey { thread: thread.clone(), id: RunId::parse(id).ok()? })
    }
}
