//! Handing answers over: once for certain, and again only while their question stands.

use pudu_domain::task::Stand;
use pudu_testkit::server::{OnAnswer, Question};

use super::*;

/// A task that asks from its fifth second on, for an hour.
async fn asking(on_answer: OnAnswer) -> Bench {
    let question = Question {
        from: Duration::from_secs(5),
        until: Duration::from_secs(3600),
        text: "which year?".to_owned(),
    };
    let lives = Plan::completes_after(Duration::from_secs(86_400));
    let bench = Bench::living(Plan { questions: vec![question], on_answer, ..lives }).await;
    bench.tick(60, |_: Call<'_>| Fate::Pass).await;
    assert_eq!(bench.row().task.status(), Status::InputRequired);
    bench
}

impl Bench {
    async fn answer(&self, input: &str) {
        let open = wired(self.clock, &self.table, &self.server, &self.gate(Open));
        open.tasks().answer(&self.key, &json!(input), None).await.unwrap().unwrap();
        assert_eq!(self.row().answer, Some(json!(input)));
    }

    /// What the server was asked from the `from`-th request on.
    fn asked(&self, from: usize) -> Vec<Request> {
        self.server.log()[from..].iter().map(|asked| asked.what).collect()
    }

    fn stand(&self) -> Option<Stand> {
        self.row().task.answer.map(|answer| answer.stand)
    }

    /// A tick whose poller dies when the script says so.
    async fn dying_tick(&self, script: impl FnMut(Call<'_>) -> Fate + Send + 'static) {
        let gate = self.gate(script);
        let wiring = wired(self.clock, &self.table, &self.server, &gate);
        let deadline = Deadline::at(self.clock.now() + Duration::from_secs(600));
        tokio::select! {
            report = async { wiring.drain().run(Arc::new(wiring.poller()), deadline).await } => {
                panic!("it lived: {report:?}")
            }
            () = gate.crashed() => {}
        }
    }

    /// A tick after everybody's lease is over.
    async fn later(&self) {
        self.clock.sleep(Duration::from_secs(130)).await;
        self.tick(60, |_: Call<'_>| Fate::Pass).await;
    }
}

/// The fate of the first call of `op`.
fn first(op: &'static str, fate: Fate) -> impl FnMut(Call<'_>) -> Fate + Send + 'static {
    let mut met = false;
    move |call: Call<'_>| {
        if met || call.op != op {
            return Fate::Pass;
        }
        met = true;
        fate
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_sent_at_once_and_the_task_polled_in_the_same_claim() {
    let bench = asking(OnAnswer::Takes).await;
    let (before, generation) = (bench.server.log().len(), bench.row().task.durable.generation);
    bench.answer("2026").await;
    bench.tick(60, |_: Call<'_>| Fate::Pass).await;
    assert_eq!(bench.asked(before), [Request::Answer, Request::Status]);
    assert_eq!(bench.server.tasks()[0].answers, [(0, json!("2026"))]);
    let row = bench.row();
    assert_eq!((row.task.status(), row.task.answer, row.answer), (Status::Working, None, None));
    assert_eq!(row.task.durable.generation, generation.next().next(), "the fence and one claim");
}

/// The table took it and its confirmation was lost: whoever gave it does not hear that somebody else has answered.
#[tokio::test(start_paused = true)]
async fn an_answer_whose_confirmation_was_lost_was_given() {
    let bench = asking(OnAnswer::Takes).await;
    let gate = bench.gate(first("tasks.commit", Fate::LoseAnswer));
    let open = wired(bench.clock, &bench.table, &bench.server, &gate);
    assert!(open.tasks().answer(&bench.key, &json!("2026"), None).await.unwrap().is_some());
    let second = open.tasks().answer(&bench.key, &json!("2027"), None).await;
    assert!(second.is_err() && bench.row().answer == Some(json!("2026")), "another one is a second one");
}

#[tokio::test(start_paused = true)]
async fn a_poller_that_died_after_sending_leaves_no_second_answer() {
    let bench = asking(OnAnswer::Takes).await;
    let before = bench.server.log().len();
    bench.answer("2026").await;
    bench.dying_tick(first("driver.answer", Fate::CrashAfter)).await;
    assert!(bench.row().answer.is_some());
    bench.later().await;
    assert_eq!(bench.asked(before), [Request::Answer, Request::Status], "the next one asks first");
    assert_eq!((bench.row().task.status(), bench.row().answer), (Status::Working, None));
}

#[tokio::test(start_paused = true)]
async fn a_poller_that_died_before_sending_leaves_the_answer_to_the_next() {
    let bench = asking(OnAnswer::Takes).await;
    let before = bench.server.log().len();
    bench.answer("2026").await;
    bench.dying_tick(first("driver.answer", Fate::CrashBefore)).await;
    bench.later().await;
    assert_eq!(bench.asked(before), [Request::Status, Request::Answer, Request::Status]);
    assert_eq!(bench.row().task.status(), Status::Working);
}

/// The same if it died at its commit: what the server took is seen by the next poll.
#[tokio::test(start_paused = true)]
async fn a_commit_that_never_came_leaves_no_second_answer() {
    let bench = asking(OnAnswer::Takes).await;
    let before = bench.server.log().len();
    bench.answer("2026").await;
    bench.dying_tick(first("tasks.commit", Fate::CrashBefore)).await;
    bench.later().await;
    assert_eq!(bench.asked(before), [Request::Answer, Request::Status, Request::Status]);
    assert_eq!((bench.row().task.status(), bench.row().answer), (Status::Working, None));
}

/// Nobody heard what came of it; the poll in the same claim shows that it was taken.
#[tokio::test(start_paused = true)]
async fn an_answer_without_an_answer_is_taken_if_its_question_is_gone() {
    let bench = asking(OnAnswer::Takes).await;
    let before = bench.server.log().len();
    bench.answer("2026").await;
    bench.tick(60, first("driver.answer", Fate::LoseAnswer)).await;
    assert_eq!(bench.asked(before), [Request::Answer, Request::Status]);
    assert_eq!((bench.row().task.status(), bench.stand()), (Status::Working, None));
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_unknown_outcome_is_sent_again_only_after_a_look() {
    let bench = asking(OnAnswer::GoesOnAsking).await;
    let before = bench.server.log().len();
    bench.answer("2026").await;
    bench.tick(10 + 1, first("driver.answer", Fate::LoseAnswer)).await;
    let waits = matches!(&bench.stand(), Some(Stand::Waiting { attempts: 1, last_error: Some(_) }));
    assert!(waits, "{:?}", bench.stand());
    bench.clock.sleep(Duration::from_secs(5)).await;
    bench.tick(11, |_: Call<'_>| Fate::Pass).await;
    let (sends, looks) = (Request::Answer, Request::Status);
    assert_eq!(bench.asked(before), [sends, looks, looks, sends, looks]);
    assert!(matches!(bench.stand(), Some(Stand::Taken { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_refused_answer_is_shown_and_may_be_given_anew() {
    let bench = asking(OnAnswer::Refuses).await;
    bench.answer("2026").await;
    bench.tick(11, |_: Call<'_>| Fate::Pass).await;
    let row = bench.row();
    assert!(matches!(&bench.stand(), Some(Stand::Refused(why)) if why.as_str().contains("no answer")));
    assert_eq!((row.task.status(), row.task.attention.version, row.answer), (Status::InputRequired, 2, None));
    bench.answer("2027").await;
}

/// A server that is out of reach keeps the answer waiting, and is counted as for any poll.
#[tokio::test(start_paused = true)]
async fn an_answer_waits_for_its_server() {
    let bench = asking(OnAnswer::Takes).await;
    bench.answer("2026").await;
    bench.configure(json!({"mcpServers": {}})).await;
    bench.tick(11, |_: Call<'_>| Fate::Pass).await;
    assert_eq!((bench.row().task.tracking.errors, bench.row().answer.is_some()), (1, true));
    bench.configure(fixture::config()).await;
    bench.later().await;
    assert_eq!((bench.row().task.status(), bench.server.tasks()[0].answers.len()), (Status::Working, 1));
}
