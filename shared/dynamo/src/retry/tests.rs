use std::sync::Mutex;

use async_trait::async_trait;

use super::*;

/// A clock that only sleeping moves, and no randomness.
#[derive(Default)]
struct World {
    now: Mutex<u64>,
    pauses: Mutex<Vec<Duration>>,
    byte: u8,
}

#[async_trait]
impl Clock for World {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(*self.now.lock().unwrap())
    }

    async fn sleep(&self, duration: Duration) {
        *self.now.lock().unwrap() += u64::try_from(duration.as_millis()).unwrap();
        self.pauses.lock().unwrap().push(duration);
    }
}

impl Random for World {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(self.byte);
    }
}

fn silent() -> Result<(), Fault> {
    Err(Fault::Unanswered("silence".into()))
}

fn rejected() -> Result<(), Fault> {
    Err(Fault::Rejected("throttled".into()))
}

fn refused() -> Result<(), Fault> {
    Err(Fault::Refused("no right".into()))
}

fn lost() -> Result<(), Fault> {
    Err(Fault::Condition(vec![Element::Failed(None)]))
}

async fn run(
    world: &World,
    retries: Retries,
    script: Vec<Result<(), Fault>>,
) -> Result<Answer<()>, StoreError> {
    let mut script = script.into_iter();
    retries.run("test", world, world, |_| std::future::ready(script.next().unwrap_or(Ok(())))).await
}

#[tokio::test]
async fn only_a_silent_attempt_makes_a_lost_condition_doubtful() {
    for (script, retried) in [
        (vec![lost()], false),
        (vec![rejected(), lost()], false),
        (vec![silent(), lost()], true),
        (vec![silent(), rejected(), lost()], true),
        (vec![rejected(), silent(), lost()], true),
    ] {
        match run(&World::default(), Retries::default(), script).await {
            Ok(Answer::Failed(failed)) => assert_eq!(failed.retried, retried),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn each_attempt_sees_the_clock_of_its_own_moment() {
    let world = World { byte: 255, ..World::default() };
    let mut seen = Vec::new();
    let answer = Retries::default()
        .run("test", &world, &world, |now| {
            seen.push(now.as_millis());
            std::future::ready(if seen.len() < 3 { silent() } else { Ok(()) })
        })
        .await;
    assert!(matches!(answer, Ok(Answer::Done(()))));
    assert_eq!(seen, [0, 50, 150]);
}

#[tokio::test]
async fn attempts_are_bounded_in_number() {
    let world = World::default();
    let error = run(&world, Retries::default(), (0..9).map(|_| rejected()).collect()).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { operation: "test", .. }));
    assert_eq!(world.pauses.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn attempts_are_bounded_in_time() {
    let world = World { byte: 255, ..World::default() };
    let retries = Retries { attempts: 100, budget: Duration::from_millis(400), ..Retries::default() };
    assert!(run(&world, retries, (0..99).map(|_| silent()).collect()).await.is_err());
    // 50 + 100 + 200; 400 more would be over.
    assert_eq!(world.now(), Timestamp::from_millis(350));
}

#[tokio::test]
async fn a_refusal_is_final_but_says_nothing_about_an_earlier_silence() {
    let world = World::default();
    let error = run(&world, Retries::default(), vec![refused()]).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }));
    let error = run(&world, Retries::default(), vec![silent(), refused()]).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }));
}

#[test]
fn pauses_grow_and_are_spread_over_their_upper_half() {
    let retries = Retries::default();
    let bounds = |attempt| {
        [0, 255].map(|byte| retries.pause(attempt, &World { byte, ..World::default() }).as_millis())
    };
    assert_eq!(bounds(1), [25, 50]);
    assert_eq!(bounds(2), [50, 100]);
    assert_eq!(bounds(9), [500, 1000]);
    assert_eq!(bounds(u32::MAX), [500, 1000]);
}
