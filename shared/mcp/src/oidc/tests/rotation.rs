//! Keys over time: asked for as seldom as it can be, and never kept for good.

use std::time::Duration;

use axum::http::StatusCode;
use futures_util::future::join_all;
use jsonwebtoken::{Algorithm as Alg, Header};
use pudu_app::oidc::LEEWAY;
use pudu_app::ports::{TokenVerifier, VerifyError};
use serde_json::json;

use super::super::ring::{FRESH, KEPT, RETRY, UNKNOWN};
use super::super::verified;
use super::Scene;
use super::issuer::Signer;

const MILLI: Duration = Duration::from_millis(1);

fn two() -> (Signer, Signer) {
    (Signer::new("old", Alg::ES256), Signer::new("new", Alg::ES256))
}

#[tokio::test]
async fn keys_are_asked_for_once_and_then_regularly() {
    let (old, _) = two();
    let scene = Scene::of(&[&old]).await;
    for _ in 0..3 {
        assert!(scene.is_good(&scene.token(&old)).await);
    }
    assert_eq!(scene.issuer.count(), 1);
    scene.clock.pass(FRESH.saturating_sub(MILLI));
    assert!(scene.is_good(&scene.token(&old)).await);
    assert_eq!(scene.issuer.count(), 1);
    scene.clock.pass(MILLI);
    assert!(scene.is_good(&scene.token(&old)).await);
    assert_eq!(scene.issuer.count(), 2);
}

#[tokio::test]
async fn a_new_key_is_found_when_the_first_token_names_it() {
    let (old, new) = two();
    let scene = Scene::of(&[&old]).await;
    assert!(scene.is_good(&scene.token(&old)).await);
    scene.issuer.publish(&[&old, &new]);
    scene.clock.pass(UNKNOWN);
    assert!(scene.is_good(&scene.token(&new)).await);
    assert_eq!(scene.issuer.count(), 2);
    assert!(scene.is_good(&scene.token(&old)).await, "both are published");
}

#[tokio::test]
async fn a_key_that_was_taken_back_is_out_when_keys_are_asked_for_again() {
    let (old, new) = two();
    let scene = Scene::of(&[&old]).await;
    assert!(scene.is_good(&scene.token(&old)).await);
    scene.issuer.publish(&[&new]);
    scene.clock.pass(FRESH);
    assert!(!scene.is_good(&scene.token(&old)).await);
    scene.issuer.publish(&[]);
    scene.clock.pass(FRESH);
    assert!(!scene.is_good(&scene.token(&new)).await, "a set without keys is one");
}

#[tokio::test]
async fn garbage_makes_nobody_ask() {
    let (old, _) = two();
    let scene = Scene::of(&[&old]).await;
    let garbage = |number: u32| {
        let header = Header { kid: Some(format!("k{number}")), ..Header::new(Alg::ES256) };
        old.sign_as(&header, &scene.claims(&json!({})))
    };
    let tokens: Vec<String> = (0..1000).map(garbage).collect();
    let answers = join_all(tokens.iter().map(|token| scene.oidc.verify(token))).await;
    assert!(answers.iter().all(|answer| matches!(answer, Ok(None))));
    assert_eq!(scene.issuer.count(), 1);
    // Over ten minutes.
    for second in 0..600 {
        scene.clock.pass(Duration::from_secs(1));
        let claims = scene.claims(&json!({}));
        for number in 0..2 {
            let header = Header { kid: Some(format!("k{second}-{number}")), ..Header::new(Alg::ES256) };
            assert!(!scene.is_good(&old.sign_as(&header, &claims)).await);
        }
    }
    assert_eq!(scene.issuer.count(), 1 + 20, "once in 30 s");
    assert!(scene.is_good(&scene.token(&old)).await, "a good token is never in the way of garbage");
}

#[tokio::test]
async fn many_first_tokens_make_one_question() {
    let (old, _) = two();
    let scene = Scene::of(&[&old]).await;
    let token = scene.token(&old);
    let answers = join_all((0..64).map(|_| scene.oidc.verify(&token))).await;
    assert!(answers.into_iter().all(|answer| answer.unwrap().is_some()));
    assert_eq!(scene.issuer.count(), 1);
}

#[tokio::test]
async fn an_outage_of_the_issuer_is_not_ours_for_an_hour() {
    let (old, new) = two();
    let scene = Scene::of(&[&old]).await;
    assert!(scene.is_good(&scene.token(&old)).await);
    scene.issuer.change(|says| says.status = StatusCode::SERVICE_UNAVAILABLE);
    scene.clock.pass(KEPT.saturating_sub(MILLI));
    assert!(scene.is_good(&scene.token(&old)).await);
    assert!(!scene.is_good(&scene.token(&new)).await);
    scene.clock.pass(MILLI);
    let told = scene.oidc.verify(&scene.token(&old)).await;
    assert!(matches!(told, Err(VerifyError::Keys { .. })), "{told:?}");
    scene.issuer.change(|says| says.status = StatusCode::OK);
    scene.clock.pass(RETRY);
    assert!(scene.is_good(&scene.token(&old)).await);
}

#[tokio::test]
async fn an_issuer_that_fails_is_left_alone_for_a_while() {
    let (old, _) = two();
    let scene = Scene::of(&[&old]).await;
    scene.issuer.change(|says| says.status = StatusCode::INTERNAL_SERVER_ERROR);
    let asked = || scene.issuer.asked().len();
    for _ in 0..100 {
        assert!(scene.oidc.verify(&scene.token(&old)).await.is_err());
    }
    assert_eq!(asked(), 1);
    scene.clock.pass(RETRY.saturating_sub(MILLI));
    assert!(scene.oidc.verify(&scene.token(&old)).await.is_err());
    assert_eq!(asked(), 1);
    scene.clock.pass(MILLI);
    assert!(scene.oidc.verify(&scene.token(&old)).await.is_err());
    assert_eq!(asked(), 2);
}

#[tokio::test]
async fn who_has_its_key_does_not_wait_for_an_issuer_that_hangs() {
    let (old, _) = two();
    let scene = Scene::of(&[&old]).await;
    assert!(scene.is_good(&scene.token(&old)).await);
    let gate = scene.issuer.hold();
    scene.clock.pass(UNKNOWN);
    let stranger = Signer::new("stranger", Alg::ES256);
    let (unknown, known) = (scene.token(&stranger), scene.token(&old));
    let waits = scene.oidc.verify(&unknown);
    let rest = async {
        while scene.issuer.asked().len() < 3 {
            tokio::task::yield_now().await;
        }
        assert!(scene.is_good(&known).await);
        gate.add_permits(100);
    };
    let (refused, ()) = tokio::join!(waits, rest);
    assert!(refused.unwrap().is_none());
}

#[tokio::test]
async fn a_question_goes_on_when_its_caller_hangs_up() {
    let (old, _) = two();
    let scene = Scene::of(&[&old]).await;
    let gate = scene.issuer.hold();
    let token = scene.token(&old);
    tokio::select! {
        biased;
        _ = scene.oidc.verify(&token) => panic!("nothing was answered yet"),
        () = async { while scene.issuer.asked().is_empty() { tokio::task::yield_now().await } } => {}
    }
    gate.add_permits(100);
    assert!(scene.is_good(&token).await);
    assert_eq!(scene.issuer.count(), 1);
}

#[tokio::test]
async fn a_token_is_remembered_for_a_second_and_never_past_its_end() {
    let (old, new) = two();
    let scene = Scene::of(&[&old]).await;
    let token = scene.token(&old);
    assert!(scene.is_good(&token).await);
    // The issuer takes its key back, and a stranger's token makes that known.
    scene.issuer.publish(&[&new]);
    scene.clock.pass(UNKNOWN);
    let again = scene.token(&old);
    assert!(scene.is_good(&again).await);
    assert!(scene.is_good(&scene.token(&new)).await);
    scene.clock.pass(verified::KEPT.saturating_sub(MILLI));
    assert!(scene.is_good(&again).await, "it is remembered");
    scene.clock.pass(MILLI);
    assert!(!scene.is_good(&again).await);

    let brief = new.sign(&scene.claims(&json!({"exp": scene.seconds()})));
    assert!(scene.is_good(&brief).await);
    scene.clock.pass(LEEWAY);
    assert!(!scene.is_good(&brief).await);
}
