//! Guards that count over many workers, and whose authority a run has.

use std::collections::BTreeMap;
use std::time::Duration;

use pudu_app::ports::{ModelCall, RequestSecrets, SealKeys};
use pudu_app::run_secrets;
use pudu_domain::chat::Speaker;
use pudu_domain::run::{Outcome, StopReason};
use pudu_domain::{RunId, RunKey, Scope};
use pudu_testkit::fixture::thread;
use pudu_testkit::gate::Call;
use pudu_testkit::{Fate, FixedKeys, Gate, Speech};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use super::stage::{COUNT, Stage, answer, call};
use super::{LONG, last};
use crate::runner::mcp::Servers;

/// Its canary may be in no row but the sealed one.
const CANARY: &str = "canary-4711";

/// Always the same call, slowly.
fn stuck(number: &mut u32) -> Speech {
    *number += 1;
    let Speech::Says { message, .. } =
        Speech::calls("", [call(&format!("c{number}"), COUNT, json!({"cmd": "ls"}))])
    else {
        unreachable!()
    };
    Speech::Says { pieces: vec![], pause: Duration::from_secs(15), message }
}

#[tokio::test(start_paused = true)]
async fn a_loop_is_seen_by_workers_that_do_one_step_each() {
    let mut number = 0;
    let mut stage =
        Stage::new(
            move |model: &ModelCall| {
                if model.tools.is_empty() { Speech::text("a title") } else { stuck(&mut number) }
            },
        )
        .await;
    stage.is_whole = true;
    let key = stage.admit("r1", "go", &json!({})).await;
    let mut workers = 0;
    while stage.load(&key).await.end().is_none() {
        workers += 1;
        stage.work(&stage.runner(&Gate::open()), &key, Duration::from_secs(30)).await;
        assert!(workers < 30);
    }
    assert!(workers >= 5, "{workers}");
    let end = stage.load(&key).await.end().cloned().unwrap();
    assert_eq!((end.outcome, end.stop_reason), (Outcome::Success, Some(StopReason::LoopCapped)));
    assert_eq!(stage.counted.calls().len(), 4, "the fifth is not made");
    let warned = stage.models.heard();
    let warned = warned.iter().filter(|model| last(model).name.as_deref() == Some("loop_warning")).count();
    assert_eq!(warned, 1);
    assert!(stage.state(&key).await.last_answer().unwrap().content.text().contains("[FORCED STOP]"));
}

#[tokio::test(start_paused = true)]
async fn a_silent_model_is_asked_once_more_and_the_run_fails_visibly() {
    let mut stage = Stage::new(|model| match last(model).speaker {
        _ if model.tools.is_empty() => Speech::text("a title"),
        Speaker::Tool => Speech::text(""),
        _ => Speech::calls("", [call("a", COUNT, json!({}))]),
    })
    .await;
    stage.is_whole = true;
    let key = stage.admit("r1", "go", &json!({})).await;
    let run = stage.rest(&key).await;
    assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Error));
    let asked = stage.models.heard().iter().filter(|model| !model.tools.is_empty()).count();
    assert_eq!(asked, 3);
    assert!(!stage.state(&key).await.last_answer().unwrap().content.is_blank());
}

#[tokio::test(start_paused = true)]
async fn a_run_uses_the_servers_of_its_caller_and_no_others() {
    let stage = Stage::new(|model| match last(model).speaker {
        Speaker::Tool => Speech::text("done"),
        _ => Speech::calls("", [call("a", "example_echo", json!({"text": "hi"}))]),
    })
    .await;
    let key = stage.admit_with("r1", "go", &json!({}), Scope::Only([].into()), None).await;
    stage.rest(&key).await;
    assert!(stage.models.heard()[0].tools.iter().all(|tool| tool.server.is_none()));
    let state = stage.state(&key).await;
    let answer = answer(&state, "a").unwrap().content.text();
    assert!(answer.contains("UnknownTool") && !answer.contains("disabled"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn secrets_are_opened_for_the_run_and_gone_with_it() {
    let stage = Stage::new(|_| Speech::text("done")).await;
    let key = RunKey { thread: thread("t"), id: RunId::parse("r1").unwrap() };
    let secrets = BTreeMap::from([("TOKEN".to_owned(), SecretString::from(CANARY))]);
    let seal = FixedKeys.current().await.unwrap();
    let sealed = run_secrets::seal(&seal, &key, &secrets, [3; 24]).unwrap();
    stage.admit_with("r1", "go", &json!({}), Scope::All, Some(sealed)).await;
    let runner = stage.runner(&Gate::open());
    let spec = stage.store().spec(&key).await.unwrap().unwrap();
    let opened = async || {
        let servers = Servers::of(&runner.parts, &stage.load(&key).await, &spec);
        match servers.secrets().await.unwrap() {
            RequestSecrets::Given(given) => {
                given.get("TOKEN").map(|secret| secret.expose_secret().to_owned()).unwrap_or_default()
            }
            RequestSecrets::Gone => "gone".to_owned(),
            RequestSecrets::Background => unreachable!("a run brings its own"),
        }
    };
    assert_eq!(opened().await, CANARY);
    let failing = stage.gate(|call: Call<'_>| match call.op {
        "runs.secrets" => Fate::FailBefore,
        _ => Fate::Pass,
    });
    let failing = stage.runner(&failing);
    let servers = Servers::of(&failing.parts, &stage.load(&key).await, &spec);
    assert!(servers.secrets().await.is_err(), "what cannot be read just now is not gone");
    stage.work(&runner, &key, LONG).await;
    assert_eq!(opened().await, "gone", "what has ended needs none, and has none");
    let kept = format!("{:?} {:?} {:?}", stage.state(&key).await, stage.frames(&key).await, spec);
    assert!(!kept.contains(CANARY));
}
