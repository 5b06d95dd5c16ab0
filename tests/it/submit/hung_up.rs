//! Callers that hang up (vector 64): without a key nobody can ask for the task again, so it is not kept; with one it is.

use super::*;

/// A submission whose caller hangs up when the call `op` is made for the `number`-th time (from 0); then `fate` is asked.
async fn hung_up_at(
    op: &'static str,
    number: usize,
    key: Option<&str>,
    mut fate: impl FnMut(Call<'_>) -> Fate + Send + 'static,
) -> (Desk, Result<Invoked, InvokeError>) {
    let terms = key.map(with_key).unwrap_or_default();
    let (gone, mut seen) = (terms.gone.clone(), 0);
    let script = move |call: Call<'_>| {
        if call.op == op {
            if seen == number {
                gone.cancel();
            }
            seen += 1;
        }
        fate(call)
    };
    let desk = Desk::new(long(), script).await;
    let answer = desk.submit_on(terms, json!({"title": "x"})).await;
    (desk, answer)
}

fn pass(_: Call<'_>) -> Fate {
    Fate::Pass
}

#[tokio::test(start_paused = true)]
async fn vector_64_a_caller_that_hangs_up_has_its_task_cancelled() {
    // The first commit is the intent, the second the handle.
    for (op, number) in [("driver.submit", 0), ("tasks.commit", 0), ("tasks.commit", 1)] {
        let (desk, answer) = hung_up_at(op, number, None, pass).await;
        answer.unwrap();
        assert_eq!(desk.row().task.durable.due.map(|due| due.lane), Some(Lane::Cancel), "{op} {number}");
        desk.recover().await;
        assert_eq!(desk.server.status_of("remote-0"), Some(Status::Cancelled), "{op} {number}");
        assert_eq!((desk.row().task.status(), desk.cancels()), (Status::Cancelled, 1), "{op} {number}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_callers_task_is_cancelled_with_patience_when_its_server_fails() {
    let mut cancels = 0;
    let fails_first = move |call: Call<'_>| {
        cancels += usize::from(call.op == "driver.cancel");
        if call.op == "driver.cancel" && cancels == 1 { Fate::FailBefore } else { Fate::Pass }
    };
    let (desk, answer) = hung_up_at("driver.submit", 0, None, fails_first).await;
    answer.unwrap();
    desk.recover().await;
    assert_eq!(desk.server.status_of("remote-0"), Some(Status::Cancelled));
}

/// The server gives a handle that is another task's: cancelling it there would end that one.
#[tokio::test(start_paused = true)]
async fn a_duplicate_handle_is_not_cancelled_because_its_caller_hung_up() {
    let plan = Plan { handle: Some("same".to_owned()), ..long() };
    let desk = Desk::new(plan, pass).await;
    desk.submit().await.unwrap();
    // A time of its own, so that its id is another one.
    desk.clock.sleep(Duration::from_secs(1)).await;
    let terms = Terms::default();
    let gone = terms.gone.clone();
    let gate = Gate::new("other", Arc::new(desk.clock), Trace::hashed(), move |call: Call<'_>| {
        if call.op == "driver.submit" {
            gone.cancel();
        }
        Fate::Pass
    });
    let other = Desk { wiring: wired(desk.clock, &desk.table, &desk.server, &gate), ..desk };
    let answer = other.submit_on(terms, json!({"title": "y"})).await;
    assert!(matches!(answer, Err(InvokeError::Duplicate { .. })), "{answer:?}");
    assert_eq!(other.cancels(), 0);
}

#[tokio::test(start_paused = true)]
async fn vector_64_with_a_key_the_task_is_kept_for_the_callers_next_try() {
    for (op, number) in [("driver.submit", 0), ("tasks.commit", 0), ("tasks.commit", 1)] {
        let (desk, answer) = hung_up_at(op, number, Some("k"), pass).await;
        answer.unwrap();
        let Ok(Invoked::Submitted(again)) = desk.submit_on(with_key("k"), json!({"title": "x"})).await else {
            panic!("it is a submit tool")
        };
        let row = desk.row();
        assert_eq!((again.task_id.as_str(), desk.cancels()), (row.task.key.id.as_str(), 0), "{op} {number}");
        assert!(row.task.cancel.is_none() && matches!(row.task.state, State::Active { .. }));
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_begins_for_a_caller_that_is_already_gone() {
    let desk = Desk::new(long(), pass).await;
    let terms = Terms::default();
    terms.gone.cancel();
    assert!(matches!(desk.submit_on(terms, json!({"title": "x"})).await, Err(InvokeError::HungUp)));
    assert!(desk.server.tasks().is_empty() && desk.table.tasks().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_task_that_ended_at_once_stays_ended_when_its_caller_hangs_up_while_it_is_recorded() {
    let terms = Terms::default();
    let (gone, mut commits) = (terms.gone.clone(), 0);
    let script = move |call: Call<'_>| {
        commits += usize::from(call.op == "tasks.commit");
        if commits == 2 {
            gone.cancel();
        }
        Fate::Pass
    };
    let desk = Desk::new(Plan::completes_after(Duration::ZERO), script).await;
    desk.submit_on(terms, json!({"title": "x"})).await.unwrap();
    desk.recover().await;
    assert_eq!((desk.row().task.status(), desk.cancels()), (Status::Completed, 0));
}
