//! Wake-ups: invocations that come late, twice or never, beside the ticks of the schedule.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pudu_app::deadline::Deadline;
use pudu_app::ports::{Background, Clock, Wake, WakeError, Waker};
use pudu_app::wiring::Wiring;
use pudu_app::worker::{Call, Work};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use super::World;
use super::backend::Backend;
use super::script::Weather;
use crate::lock::lock;
use crate::random::SeededRandom;

/// Of 100 wake-ups, so many are lost while it is rough.
const LOST: u64 = 20;
/// Of 100 wake-ups, so many come twice.
const TWICE: u64 = 20;

type Woken = (Background, Vec<Wake>);
/// Who works for a process.
type Worker = fn(&Wiring) -> Arc<dyn Work>;

/// What wakes the functions of a world.
pub struct Wakes {
    sender: UnboundedSender<Woken>,
    /// Until somebody listens; a world in which nobody does loses every wake-up.
    receiver: Mutex<Option<UnboundedReceiver<Woken>>>,
}

struct Sender(UnboundedSender<Woken>);

#[async_trait]
impl Waker for Sender {
    async fn wake(&self, function: Background, items: &[Wake]) -> Result<(), WakeError> {
        let sent = self.0.send((function, items.to_vec()));
        sent.map_err(|_| WakeError { function: function.as_str(), source: "injected: nobody listens".into() })
    }
}

impl Default for Wakes {
    fn default() -> Self {
        let (sender, receiver) = unbounded_channel();
        Self { sender, receiver: Mutex::new(Some(receiver)) }
    }
}

impl Wakes {
    /// What a process wakes others by.
    pub fn waker(&self) -> Arc<dyn Waker> {
        Arc::new(Sender(self.sender.clone()))
    }

    /// The wake-ups so far, for a world in which nobody listens to them.
    pub fn take(&self) -> Vec<(Background, Vec<Wake>)> {
        let mut receiver = lock(&self.receiver);
        std::iter::from_fn(|| receiver.as_mut()?.try_recv().ok()).collect()
    }

    /// Lets each wake-up begin an `invocation`, or two, or none while it is rough; for as long as this is awaited. A second
    /// listener hears nothing.
    pub async fn deliver<F: Future<Output = ()> + Send + 'static>(
        &self,
        weather: &Weather,
        random: &SeededRandom,
        invocation: impl Fn(Background, Vec<Wake>, SeededRandom) -> F,
    ) {
        let Some(mut woken) = lock(&self.receiver).take() else { return };
        let mut running = JoinSet::new();
        while let Some((function, items)) = woken.recv().await {
            let lost = random.chance(LOST) && !weather.is_calm();
            let times = match (lost, random.chance(TWICE)) {
                (true, _) => 0,
                (false, twice) => 1 + usize::from(twice),
            };
            for _ in 0..times {
                running.spawn(invocation(function, items.clone(), random.fork()));
            }
            while running.try_join_next().is_some() {}
        }
    }
}

/// Invokes the functions of a world of tasks for as long as it lives.
pub(super) async fn invoke<B: Backend>(world: Arc<World<B>>, random: SeededRandom) {
    let begin = |function, items, random| invocation(Arc::clone(&world), function, items, random);
    world.wakes.deliver(&world.weather, &random, begin).await;
}

/// One invocation, in a process of its own.
async fn invocation<B: Backend>(
    world: Arc<World<B>>,
    function: Background,
    items: Vec<Wake>,
    random: SeededRandom,
) {
    world.wait(random.millis(0..3_000)).await;
    let (name, worker): (_, Worker) = match function {
        Background::Poller => ("woken poller", |wiring| Arc::new(wiring.poller())),
        Background::Notifier => ("woken notifier", |wiring| Arc::new(wiring.notifier())),
        // Nobody wants a run in this world, so a wake-up for one is somebody's mistake: the world fails by it.
        Background::Agent => return world.ops.strayed(&items),
    };
    let clock = world.skewed(&random);
    let gate = world.gate(name, clock, &random);
    let wiring = world.wiring(name, clock, &gate, Arc::new(random.fork()));
    let deadline = Deadline::at(clock.now() + random.millis(20_000..90_000));
    let (drain, call) = (wiring.drain(), Call::Wake(items));
    tokio::select! {
        biased;
        () = gate.crashed() => {}
        _ = drain.answer(worker(&wiring), call, deadline) => {}
    }
}
