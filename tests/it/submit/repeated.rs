//! Submissions with an `Idempotency-Key`: one task, however often and however closely they are repeated.

use pudu_app::drivers::{CORE_TASKS, MCP_TASKS};
use pudu_app::tools::Submitted;
use pudu_domain::task::{Command, Intent, intend};

use super::*;

async fn submitted(desk: &Desk, key: &str, arguments: Value) -> Submitted {
    match desk.submit_on(with_key(key), arguments).await {
        Ok(Invoked::Submitted(submitted)) => submitted,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeated_submission_gets_the_first_task_as_it_is_now() {
    let desk = Desk::new(Plan::completes_after(Duration::from_secs(60)), |_: Call<'_>| Fate::Pass).await;
    let first = submitted(&desk, "k", json!({"title": "x", "n": {"a": 1, "b": 2}})).await;
    let again = submitted(&desk, "k", json!({"n": {"b": 2, "a": 1}, "title": "x"})).await;
    assert_eq!(again, first, "the order of keys says nothing");
    desk.recover().await;
    let ended = submitted(&desk, "k", json!({"title": "x", "n": {"a": 1, "b": 2}})).await;
    assert_eq!((ended.task_id.as_str(), ended.status), (first.task_id.as_str(), "completed"));
    assert_eq!(desk.server.tasks().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_key_with_another_body_is_refused_and_another_key_is_another_task() {
    let desk = Desk::new(long(), |_: Call<'_>| Fate::Pass).await;
    let first = submitted(&desk, "k", json!({"title": "x"})).await;
    let other = desk.submit_on(with_key("k"), json!({"title": "y"})).await;
    assert!(matches!(other, Err(InvokeError::KeyReused)), "{other:?}");
    assert_ne!(submitted(&desk, "l", json!({"title": "x"})).await.task_id, first.task_id);
    assert_eq!(desk.server.tasks().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn submissions_side_by_side_start_one_task() {
    let desk = Desk::new(long(), at_submit(Fate::Late(Duration::from_secs(3)))).await;
    let order = || submitted(&desk, "k", json!({"title": "x"}));
    let (first, second, third) = tokio::join!(order(), order(), order());
    assert_eq!((&first.task_id, first.status), (&second.task_id, "submitted"), "found while it is an intent");
    assert_eq!((first.task_id, desk.server.tasks().len()), (third.task_id, 1));
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_of_the_intents_commit_is_not_taken_for_somebody_elses_key() {
    for always in [false, true] {
        let desk = Desk::new(long(), at_commit(0, Fate::LoseAnswer, always)).await;
        let first = desk.submit_on(with_key("k"), json!({"title": "x"})).await;
        if !always {
            assert!(matches!(first, Ok(Invoked::Submitted(_))), "{first:?}");
        }
        // Nothing was sent for an intent of which nothing was ever heard, so it does not stay.
        let kept = usize::from(!always);
        assert_eq!((desk.table.tasks().len(), desk.server.tasks().len()), (kept, kept));
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_submission_is_repeated_under_a_new_key() {
    let desk = Desk::new(long(), at_submit(Fate::FailBefore)).await;
    let refused = desk.submit_on(with_key("k"), json!({"title": "x"})).await;
    assert!(matches!(refused, Err(InvokeError::NotTaken { .. })), "{refused:?}");
    let again = submitted(&desk, "k", json!({"title": "x"})).await;
    assert_eq!(again.status, "failed", "the first one as it is now");
    assert!(desk.server.tasks().is_empty());
}

/// A call that may become a task: as long as nobody knows what it becomes its repetition is turned away, and once it was answered
/// without a task the key means nothing.
#[tokio::test(start_paused = true)]
async fn a_repeated_call_that_may_bring_no_task_waits_for_the_first() {
    let other = Desk::new(long(), |_: Call<'_>| Fate::Pass).await;
    submitted(&other, "k", json!({"title": "x"})).await;
    let repeatable = other.row().spec.repeatable;

    for driver in [MCP_TASKS, CORE_TASKS] {
        let desk = Desk::new(long(), |_: Call<'_>| Fate::Pass).await;
        let settle = desk.wiring.settle();
        let now = desk.clock.now();
        let key = fixture::task_key(&fixture::thread("t"), now, 1);
        let intent =
            Intent { driver: driver.into(), repeatable: repeatable.clone(), ..fixture::wanted(&key) };
        let first = intend(intent, fixture::lease("gateway", now), now);
        settle.tasks.commit(&first).await.unwrap();
        let again = desk.submit_on(with_key("k"), json!({"title": "x"})).await;
        assert!(matches!(again, Err(InvokeError::UnderWay)), "{again:?}");
        settle.held(first.task, &first.spec.unwrap(), Command::RecordAnswered).await.unwrap();
        assert_ne!(submitted(&desk, "k", json!({"title": "x"})).await.task_id, key.id.as_str());
    }
}
