//! Cancels that no server confirms: every one of them ends its task in time.

use pudu_testkit::server::OnCancel;

use super::*;

/// A task that ends a day from now and wants to be asked once a day, whose cancel was asked for.
async fn cancelled(on_cancel: OnCancel) -> Bench {
    let day = Duration::from_secs(86_400);
    let bench = Bench::living(Plan { on_cancel, hint: Some(day), ..Plan::completes_after(day) }).await;
    bench.tick(11, |_: Call<'_>| Fate::Pass).await;
    let open = wired(bench.clock, &bench.table, &bench.server, &bench.gate(Open));
    open.tasks().cancel(&bench.key).await.unwrap().unwrap();
    bench
}

/// Ticks of a minute until the time for the cancel is over; the task must have ended then, and not before.
async fn ends_in_time(bench: &Bench, script: fn(Call<'_>) -> Fate) {
    let until = bench.row().task.cancel.unwrap().until;
    while bench.clock.now() < until {
        assert!(matches!(bench.row().task.state, State::Active { .. }));
        bench.tick(100, script).await;
        bench.clock.sleep(Duration::from_secs(5)).await;
    }
    bench.tick(100, script).await;
    let row = bench.row();
    assert_eq!(row.task.status(), Status::Cancelled);
    assert!(row.payload.error.clone().unwrap().contains("did not confirm"), "{:?}", row.payload);
    assert_eq!(row.task.durable.due, None);
    assert!(bench.clock.now().since(until) < Duration::from_secs(200), "in time");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_that_is_refused_again_and_again_ends_in_time() {
    let bench = cancelled(OnCancel::Refuses).await;
    ends_in_time(&bench, |_| Fate::Pass).await;
    let attempts = bench.server.log().iter().filter(|asked| asked.what == Request::Cancel).count();
    assert!(attempts > 5, "{attempts}");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_that_comes_to_no_end_ends_in_time() {
    ends_in_time(&cancelled(OnCancel::Acknowledges).await, |_| Fate::Pass).await;
}

#[tokio::test(start_paused = true)]
async fn a_cancel_at_a_server_that_hangs_ends_in_time() {
    let bench = cancelled(OnCancel::Ends).await;
    let hangs = |call: Call<'_>| match call.op {
        "driver.cancel" | "driver.status" => Fate::Delay(Duration::from_secs(3600)),
        _ => Fate::Pass,
    };
    ends_in_time(&bench, hangs).await;
}

#[tokio::test(start_paused = true)]
async fn a_cancel_at_a_server_that_is_gone_ends_in_time() {
    let bench = cancelled(OnCancel::Ends).await;
    bench.configure(json!({"mcpServers": {}})).await;
    ends_in_time(&bench, |_| Fate::Pass).await;
}
