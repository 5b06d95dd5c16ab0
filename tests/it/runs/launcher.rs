//! The run that tells a thread's agent of an event (reference 7.5).

use acceptance::Talk;
use pudu_app::ports::{Launch, LaunchError, RunLauncher, RunStatus, ToldEvent};
use pudu_app::runs::Launcher;
use pudu_domain::run::Outcome;
use pudu_testkit::clock::EPOCH;
use pudu_testkit::fixture;
use serde_json::json;

use super::said;

fn launch(attempt: u32) -> Launch {
    let thread = fixture::thread("t");
    let task = fixture::task_key(&thread, EPOCH, 1).id;
    Launch {
        thread,
        key: format!("mcp-task:{task}:1:{attempt}"),
        text: "an event".into(),
        event: ToldEvent { task, version: 1, attempt },
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_is_told_by_a_run_of_the_thread_once_per_key() {
    let talk = Talk::new();
    let launcher = Launcher::new(talk.runs.clone());
    assert!(
        matches!(launcher.launch(launch(0)).await, Err(LaunchError::MissingThread(_))),
        "no thread is made for it"
    );
    let busy = talk.begin(said("hi")).await;
    assert_eq!(launcher.launch(launch(0)).await, Err(LaunchError::Busy));
    talk.take(&busy).await;
    talk.end(&busy, Outcome::Success, None).await;
    let run = launcher.launch(launch(0)).await.unwrap();
    assert_eq!(launcher.launch(launch(0)).await.unwrap(), run, "also while the thread is busy with it");
    assert_eq!(launcher.launch(launch(1)).await, Err(LaunchError::Busy));
    let thread = fixture::thread("t");
    assert_eq!(launcher.status(&thread, &run).await.unwrap(), Some(RunStatus::Running));
    let shown = talk.get(&format!("/api/threads/t/runs/{run}")).await;
    let told = &shown["metadata"]["mcp_task_notification"];
    assert_eq!((&told["dispatch_version"], &told["dispatch_attempt"]), (&json!(1), &json!(0)));
    assert_eq!(shown["assistant_id"], "lead_agent");
    let spec = talk.runs.store.spec(&Talk::key(run.as_str())).await.unwrap().unwrap();
    assert!(spec.input[0].is_hidden());
    assert_eq!(spec.options["non_interactive"], true);
    talk.take(run.as_str()).await;
    talk.end(run.as_str(), Outcome::Error, Some("boom")).await;
    assert_eq!(launcher.status(&thread, &run).await.unwrap(), Some(RunStatus::Failed("boom".into())));
    let again = launcher.launch(launch(1)).await.unwrap();
    assert_ne!(again, run);
    talk.take(again.as_str()).await;
    talk.end(again.as_str(), Outcome::Success, None).await;
    assert_eq!(launcher.status(&thread, &again).await.unwrap(), Some(RunStatus::Succeeded));
    assert_eq!(launcher.status(&thread, &Talk::key("none").id).await.unwrap(), None);
}
