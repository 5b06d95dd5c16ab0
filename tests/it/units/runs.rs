//! What a run costs: to begin, for each step, while it is parked, for whoever looks, and at its end.

use pudu_app::ports::{Applied, RunStore};
use pudu_domain::run::{
    Admission, Body, Change, Child, Command as OfRun, Ending, Notice, Outcome, Seen, Step, admit, decide,
};
use pudu_domain::state::Write;
use pudu_domain::{IdempotencyKey, Run, RunId, RunKey, RunSpec};
use serde_json::json;

use super::*;

/// A run of a thread on a table whose meter runs.
struct Errand {
    life: Life,
    run: RunKey,
}

fn spec() -> RunSpec {
    RunSpec { secrets: true, ..RunSpec::of("lead_agent") }
}

/// What an ordinary step writes: a message of a few hundred bytes, told in two frames and a record.
fn step() -> Step {
    let text = "x".repeat(300);
    let frame = |event: &str| Notice::Frame { event: event.to_owned(), data: json!({ "content": text }) };
    let record = Notice::Record {
        event_type: "llm.ai.response".to_owned(),
        category: "message".to_owned(),
        content: json!({ "content": text }),
        metadata: json!({}),
    };
    Step {
        body: Some(Body::Delta(vec![Write::Title(text.clone())])),
        notices: vec![frame("messages-tuple"), record, Notice::Values { number: 0, behind: None }],
        ..Step::default()
    }
}

impl Errand {
    async fn new() -> Self {
        let life = Life::ordinary().await;
        let id = RunId::new(life.clock.now(), [1; 10]);
        Self { run: RunKey { thread: life.key().thread.clone(), id }, life }
    }

    fn store(&self) -> &dyn RunStore {
        &*self.life.metered.table
    }

    async fn apply(&self, change: &Change) {
        assert_eq!(self.store().commit(change).await.unwrap(), Applied::Done);
    }

    async fn admitted(&self) {
        let key = Some((IdempotencyKey::parse("k".to_owned()).unwrap(), "d".repeat(64)));
        let secrets = Some("sealed:v1:00".to_owned());
        let (thread, run) = (self.run.thread.clone(), self.run.id.clone());
        let wanted = Admission { thread, run, spec: spec(), secrets, key };
        self.apply(&admit(wanted, &Seen::default(), self.life.clock.now(), &Policy::default()).unwrap())
            .await;
    }

    async fn claimed(&self) -> Run {
        self.store().claim(&self.run, self.life.lease()).await.unwrap().unwrap()
    }

    async fn does(&self, run: &Run, command: OfRun, seen: &Seen<'_>) -> Run {
        let change = decide(run, command, seen, self.life.clock.now(), &Policy::default()).unwrap();
        self.apply(&change).await;
        change.run.run
    }

    fn advance(&self) -> OfRun {
        OfRun::Advance { step: step(), lease: self.life.clock.now() + Duration::from_mins(2) }
    }
}

/// The row, the checkpoint, the frames, the records: four rows, each billed twice by its transaction. The index is not touched.
#[tokio::test]
async fn a_step_costs_eight_write_units_and_reads_nothing() {
    let errand = Errand::new().await;
    errand.admitted().await;
    // Row with its place in the index, thread, key, spec, secrets, conversation and its place in the list.
    assert_eq!(errand.life.billed(&[TRANSACTION]), Cost { write: 15.0, read: 0.0 }, "admission");
    let mut run = errand.claimed().await;
    assert_eq!(errand.life.billed(&[UPDATE]), Cost { write: 1.0, read: 0.0 }, "claim");
    for number in 0..3 {
        run = errand.does(&run, errand.advance(), &Seen::default()).await;
        assert_eq!(errand.life.billed(&[TRANSACTION]), Cost { write: 8.0, read: 0.0 }, "step {number}");
    }
    errand.life.clock.advance(Duration::from_secs(1));
    errand.does(&run, OfRun::HandOver, &Seen::default()).await;
    assert_eq!(
        errand.life.billed(&[PUT]),
        Cost { write: 3.0, read: 0.0 },
        "hand-over: the row, and the index twice"
    );
}

#[tokio::test]
async fn a_parked_run_costs_nothing_until_it_goes_on() {
    let errand = Errand::new().await;
    errand.admitted().await;
    let run = errand.claimed().await;
    errand.life.billed(&[TRANSACTION, UPDATE]);
    let until = errand.life.clock.now() + Duration::from_hours(1);
    let child = RunId::new(errand.life.clock.now(), [2; 10]);
    let children = vec![Child { run: child, call: "call-1".to_owned(), spec: spec(), until }];
    let park = OfRun::Park { step: step(), children, until };
    errand.does(&run, park, &Seen::default()).await;
    // The step's rows, the index twice, the child with its place in the index and its spec.
    assert_eq!(errand.life.billed(&[TRANSACTION]), Cost { write: 15.0, read: 0.0 }, "park");
    errand.life.clock.advance(Duration::from_hours(1));
    errand.life.billed(&[]);
    errand.claimed().await;
    assert_eq!(errand.life.billed(&[UPDATE]), Cost { write: 1.0, read: 0.0 }, "it goes on");
}

#[tokio::test]
async fn an_end_and_those_who_look_cost_what_they_may() {
    let errand = Errand::new().await;
    errand.admitted().await;
    let run = errand.claimed().await;
    let run = errand.does(&run, errand.advance(), &Seen::default()).await;
    errand.life.billed(&[TRANSACTION, UPDATE, TRANSACTION]);

    let (store, limit) = (errand.store(), 100);
    assert_eq!(store.frames(&errand.run, 0, limit).await.unwrap().told.len(), 2);
    assert_eq!(errand.life.billed(&[QUERY]), Cost { write: 0.0, read: 1.0 }, "a reader who is behind");
    assert!(store.frames(&errand.run, 3, limit).await.unwrap().told.is_empty());
    let cost = errand.life.billed(&[QUERY, QUERY]);
    assert!(cost.read <= 2.0, "a reader who has seen it all: {cost:?}");
    assert_eq!(store.checkpoints(&errand.run, 0).await.unwrap().len(), 1);
    assert_eq!(errand.life.billed(&[QUERY]), Cost { write: 0.0, read: 1.0 }, "a state");

    let conversation = store.conversation(&errand.run.thread).await.unwrap();
    errand.life.billed(&[GET]);
    let seen = Seen { conversation: conversation.as_ref(), ..Seen::default() };
    let ending = Ending::new(Outcome::Success, None);
    errand.does(&run, OfRun::Finish { step: Step::default(), ending }, &seen).await;
    // The row and its place in the index, the spec's time to go, the conversation, a frame, a record, the secrets.
    assert_eq!(errand.life.billed(&[TRANSACTION]), Cost { write: 13.0, read: 0.0 }, "end");
}
