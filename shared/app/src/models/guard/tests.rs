use std::collections::VecDeque;

use pudu_domain::breaker::{FAILURES, OPEN_FOR};
use pudu_domain::chat::Speaker;

use super::*;
use crate::ports::{Dialect, ModelEntry};

struct Time(Mutex<Timestamp>);

#[async_trait]
impl Clock for Time {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }

    async fn sleep(&self, duration: Duration) {
        let mut now = self.0.lock().unwrap();
        *now = *now + duration;
    }
}

#[derive(Default)]
struct Counter(Mutex<u64>);

impl Random for Counter {
    fn fill(&self, bytes: &mut [u8]) {
        let mut count = self.0.lock().unwrap();
        *count += 1;
        bytes.fill(0);
        if let Some(last) = bytes.last_mut() {
            *last = u8::try_from(*count % 250).unwrap();
        }
    }
}

/// A table that counts, and can be out of reach.
#[derive(Default)]
struct Shelf {
    rows: Mutex<HashMap<String, Breaker>>,
    reads: Mutex<u32>,
    writes: Mutex<u32>,
    down: Mutex<bool>,
}

impl Shelf {
    fn reached(&self) -> Result<(), StoreError> {
        let down = *self.down.lock().unwrap();
        let error = || StoreError::Unavailable { operation: "breakers", source: "down".into() };
        if down { Err(error()) } else { Ok(()) }
    }
}

#[async_trait]
impl Breakers for Shelf {
    async fn load(&self, model: &str) -> Result<Breaker, StoreError> {
        self.reached()?;
        *self.reads.lock().unwrap() += 1;
        Ok(self.rows.lock().unwrap().get(model).cloned().unwrap_or_default())
    }

    async fn exchange(
        &self,
        model: &str,
        before: &Breaker,
        after: &Breaker,
    ) -> Result<Exchanged, StoreError> {
        self.reached()?;
        *self.writes.lock().unwrap() += 1;
        let mut rows = self.rows.lock().unwrap();
        let there = rows.get(model).cloned().unwrap_or_default();
        if there != *before {
            return Ok(Exchanged::Not(there));
        }
        rows.insert(model.to_owned(), after.clone());
        Ok(Exchanged::Done)
    }
}

/// A model that fails as it was told, and else answers.
#[derive(Default)]
struct Provider {
    faults: Mutex<VecDeque<ModelFault>>,
    calls: Mutex<u32>,
    hangs: Mutex<bool>,
}

#[async_trait]
impl Models for Provider {
    async fn call(&self, call: &ModelCall, _pieces: mpsc::Sender<Piece>) -> Result<Message, ModelError> {
        *self.calls.lock().unwrap() += 1;
        if *self.hangs.lock().unwrap() {
            std::future::pending::<()>().await;
        }
        match self.faults.lock().unwrap().pop_front() {
            None => Ok(Message::new(Speaker::Ai, &*call.id, "hi")),
            Some(fault) => {
                let model = call.entry.name.clone();
                Err(ModelError { model, fault, message: String::new(), retry_after: None })
            }
        }
    }
}

struct World {
    shelf: Arc<Shelf>,
    provider: Arc<Provider>,
    clock: Arc<Time>,
    guarded: Guarded,
}

fn world() -> World {
    let (shelf, provider) = (Arc::new(Shelf::default()), Arc::new(Provider::default()));
    let clock = Arc::new(Time(Mutex::new(Timestamp::from_millis(1_000_000))));
    let guarded = another(&shelf, &provider, &clock);
    World { shelf, provider, clock, guarded }
}

/// One more process.
fn another(shelf: &Arc<Shelf>, provider: &Arc<Provider>, clock: &Arc<Time>) -> Guarded {
    Guarded::new(provider.clone(), shelf.clone(), clock.clone(), Arc::new(Counter::default()))
}

async fn call(guarded: &Guarded, at_once: Option<u32>) -> Result<Message, ModelError> {
    let entry = ModelEntry { at_once, ..ModelEntry::new("m", "m", Dialect::Scripted) };
    let call = ModelCall {
        entry,
        messages: Vec::new(),
        tools: Vec::new(),
        id: "a".to_owned(),
        reasoning_effort: None,
    };
    guarded.call(&call, mpsc::channel(1).0).await
}

impl World {
    fn fail(&self, fault: &ModelFault, times: u32) {
        self.provider.faults.lock().unwrap().extend((0..times).map(|_| fault.clone()));
    }
}

#[tokio::test]
async fn calls_that_go_well_are_not_written() {
    let world = world();
    for _ in 0..20 {
        call(&world.guarded, None).await.unwrap();
    }
    assert_eq!(*world.shelf.writes.lock().unwrap(), 0);
    assert_eq!(*world.shelf.reads.lock().unwrap(), 1, "what was read is believed for a second");
}

#[tokio::test]
async fn failures_of_one_process_stop_the_calls_of_another() {
    let world = world();
    world.fail(&ModelFault::Transient, FAILURES);
    for _ in 0..FAILURES {
        call(&world.guarded, None).await.unwrap_err();
    }
    let other = another(&world.shelf, &world.provider, &world.clock);
    for guarded in [&world.guarded, &other] {
        let error = call(guarded, None).await.unwrap_err();
        assert_eq!((error.fault, error.retry_after), (ModelFault::Busy, Some(OPEN_FOR)));
    }
    assert_eq!(*world.provider.calls.lock().unwrap(), FAILURES, "the provider was left alone");
    world.clock.sleep(OPEN_FOR).await;
    call(&other, None).await.unwrap();
    world.clock.sleep(Duration::from_secs(3)).await;
    call(&world.guarded, None).await.unwrap();
    assert_eq!(*world.provider.calls.lock().unwrap(), FAILURES + 2);
}

#[tokio::test]
async fn an_answer_between_failures_begins_the_count_anew_however_long_it_took() {
    let world = world();
    for _ in 0..3 {
        world.fail(&ModelFault::Stalled, FAILURES - 1);
        for _ in 1..FAILURES {
            call(&world.guarded, None).await.unwrap_err();
            world.clock.sleep(Duration::from_secs(20)).await;
        }
        call(&world.guarded, None).await.unwrap();
    }
}

#[tokio::test]
async fn a_refusal_is_no_outage() {
    let world = world();
    for fault in [
        ModelFault::Auth,
        ModelFault::Quota,
        ModelFault::Other,
        ModelFault::Schema { tool: None, path: None },
    ] {
        world.fail(&fault, 2);
    }
    for _ in 0..8 {
        call(&world.guarded, None).await.unwrap_err();
    }
    call(&world.guarded, None).await.unwrap();
}

#[tokio::test]
async fn a_place_is_given_back_and_none_is_left_means_busy() {
    let world = world();
    for _ in 0..3 {
        call(&world.guarded, Some(1)).await.unwrap();
    }
    let terms = Terms { at_once: Some(1), longest: Duration::from_mins(10) };
    let row = world.shelf.rows.lock().unwrap()["m"].clone();
    let Entry::Take(taken) = row.enter(terms, 7, world.clock.now()) else { panic!() };
    world.shelf.rows.lock().unwrap().insert("m".to_owned(), taken);
    let error = call(&world.guarded, Some(1)).await.unwrap_err();
    assert_eq!(error.fault, ModelFault::Busy);
    assert!(error.message.contains("as many calls of it go on"));
}

#[tokio::test]
async fn without_the_table_models_are_called() {
    let world = world();
    *world.shelf.down.lock().unwrap() = true;
    call(&world.guarded, Some(1)).await.unwrap();
    world.fail(&ModelFault::Busy, 1);
    assert_eq!(call(&world.guarded, None).await.unwrap_err().fault, ModelFault::Busy);
}

/// Begins a call that is dropped before its answer, and lets it leave.
async fn drop_one(world: &World, at_once: Option<u32>) {
    *world.provider.hangs.lock().unwrap() = true;
    tokio::select! {
        biased;
        _ = call(&world.guarded, at_once) => unreachable!("it hangs"),
        () = std::future::ready(()) => {}
    }
    *world.provider.hangs.lock().unwrap() = false;
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_leaves_its_place() {
    let world = world();
    for _ in 0..3 {
        drop_one(&world, Some(1)).await;
        call(&world.guarded, Some(1)).await.unwrap();
    }
}

#[tokio::test]
async fn a_probe_that_is_dropped_makes_room_for_another() {
    let world = world();
    world.fail(&ModelFault::Transient, FAILURES);
    for _ in 0..FAILURES {
        call(&world.guarded, None).await.unwrap_err();
    }
    world.clock.sleep(OPEN_FOR).await;
    drop_one(&world, None).await;
    call(&world.guarded, None).await.unwrap();
}

#[tokio::test]
async fn a_call_that_is_dropped_after_its_time_has_failed() {
    let world = world();
    for _ in 0..FAILURES {
        *world.provider.hangs.lock().unwrap() = true;
        tokio::select! {
            biased;
            _ = call(&world.guarded, None) => unreachable!("it hangs"),
            () = world.clock.sleep(Duration::from_mins(30)) => {}
        }
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(call(&world.guarded, None).await.unwrap_err().fault, ModelFault::Busy, "it is left alone");
}
