//! Custom interceptors: their order, what they may change, and what a wrong one costs.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use pudu_app::ports::CallFault;
use pudu_testkit::SeededRandom;
use secrecy::{ExposeSecret, SecretString};

use super::host::{Host, Seen, result};
use super::*;
use crate::{Interceptor, Interceptors, Next, Request};

/// Does one thing to each call.
#[derive(Clone)]
enum Does {
    /// Writes `X-Way` anew, with its own letter behind what is there.
    Signs(&'static str),
    Renames,
    Answers,
    Twice,
    Hangs,
    SetsIllegal,
    Fails,
}

#[async_trait]
impl Interceptor for Does {
    async fn intercept(&self, mut request: Request<'_>, next: Next<'_>) -> Result<Value, CallError> {
        match self {
            Self::Signs(letter) => {
                let before = request.headers.get("X-WAY").map_or("", ExposeSecret::expose_secret);
                let way = format!("{before}{letter}");
                request.headers.set("x-way", SecretString::from(way));
            }
            Self::Renames => {
                request.tool = "other".to_owned();
                request.arguments.insert("added".to_owned(), json!(true));
            }
            Self::Answers => return Ok(json!({"content": [], "by": "the interceptor"})),
            Self::Twice => drop(next.call(request.clone()).await),
            Self::Hangs => std::future::pending().await,
            Self::SetsIllegal => request.headers.set("X-Bad", SecretString::from("canary\n")),
            Self::Fails => return Err(request.denied("no canary-static here")),
        }
        next.call(request).await
    }
}

async fn host() -> Host {
    Host::of_era(Era::Stateless, |seen| async move { result(&seen.message, json!({"content": []})) }).await
}

fn server(host: &Host, names: &[&str]) -> Server {
    let peer = json!({
        "type": "http", "url": host.url, "headers": {"X-Way": "s", "X-Static": "canary-static"},
        "user_auth": {"header": "x-way", "users": {"local:default": "u"}},
    });
    let document = json!({"mcpServers": {"peer": peer}, "mcpInterceptors": names});
    Document::parse(document).expect("a valid config").server("peer").expect("the entry").clone()
}

fn interceptors(all: &[(&'static str, Does)]) -> Interceptors {
    all.iter().cloned().fold(Interceptors::default(), |made, (name, does)| {
        made.with(name, move || {
            let link: Arc<dyn Interceptor> = Arc::new(does.clone());
            Ok(Some(link))
        })
    })
}

fn calls(host: &Host) -> Vec<Seen> {
    host.seen().into_iter().filter(|seen| seen.what() == "tools/call").collect()
}

async fn through(
    all: &[(&'static str, Does)],
    names: &[&str],
    limit: Duration,
) -> (Result<Value, CallError>, Vec<Seen>) {
    let host = host().await;
    let client = client().with_interceptors(interceptors(all));
    let answer = call(&client, &server(&host, names), limit).await;
    (answer, calls(&host))
}

#[tokio::test]
async fn a_later_one_runs_closer_to_the_server_and_after_the_built_in_ones() {
    let all = [("a", Does::Signs("a")), ("b", Does::Signs("b"))];
    for (names, way) in [(["a", "b"], "uab"), (["b", "a"], "uba")] {
        let (answer, calls) = through(&all, &names, LONG).await;
        answer.expect("a result");
        assert_eq!(calls[0].headers["x-way"], way);
        assert_eq!(calls[0].headers.get_all("x-way").iter().count(), 1);
    }
}

#[tokio::test]
async fn one_may_change_the_tool_and_its_arguments() {
    let (answer, calls) = through(&[("renames", Does::Renames)], &["renames"], LONG).await;
    answer.expect("a result");
    let params = &calls[0].message["params"];
    assert_eq!(
        (&params["name"], &params["arguments"]),
        (&json!("other"), &json!({"text": "hi", "added": true}))
    );
    assert_eq!(calls[0].headers["mcp-name"], "other");
}

#[tokio::test]
async fn one_may_answer_by_itself_and_nothing_is_sent() {
    let all = [("answers", Does::Answers), ("a", Does::Signs("a"))];
    let (answer, calls) = through(&all, &["answers", "a"], LONG).await;
    assert_eq!(answer.expect("a result")["by"], "the interceptor");
    assert!(calls.is_empty());
}

#[tokio::test]
async fn one_may_call_on_again() {
    let (answer, calls) = through(&[("twice", Does::Twice)], &["twice"], LONG).await;
    answer.expect("a result");
    assert_eq!(calls.len(), 2);
}

#[tokio::test]
async fn one_that_hangs_costs_the_limit_and_nothing_was_sent() {
    let (answer, calls) = through(&[("hangs", Does::Hangs)], &["hangs"], Duration::from_millis(50)).await;
    assert_eq!(answer.expect_err("a time-out").fault, CallFault::NotSent);
    assert!(calls.is_empty());
}

#[tokio::test]
async fn one_that_sets_an_illegal_header_is_told_so_without_the_value() {
    let (answer, calls) = through(&[("bad", Does::SetsIllegal)], &["bad"], LONG).await;
    let error = answer.expect_err("refused");
    assert_eq!(error.fault, CallFault::Config);
    assert!(error.message.contains("X-Bad") && !error.message.contains("canary"), "{error}");
    assert!(calls.is_empty());
}

#[tokio::test]
async fn the_text_of_an_interceptors_own_error_is_redacted() {
    let (answer, _) = through(&[("fails", Does::Fails)], &["fails"], LONG).await;
    let error = answer.expect_err("refused");
    assert_eq!((error.fault, error.message.as_str()), (CallFault::Denied, "no *** here"));
}

/// Unknown, failing and absent ones are passed over; a factory is asked once per process, and a failed one not for each call.
#[tokio::test]
async fn what_cannot_be_had_is_left_out_and_the_others_stay() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let host = host().await;
    let all = Interceptors::default()
        .with("fails", || {
            ASKED.fetch_add(1, Ordering::Relaxed);
            Err("it has no file".into())
        })
        .with("absent", || Ok(None))
        .with("a", || {
            MADE.fetch_add(1, Ordering::Relaxed);
            let link: Arc<dyn Interceptor> = Arc::new(Does::Signs("a"));
            Ok(Some(link))
        });
    let client = client().with_interceptors(all);
    let server = server(&host, &["nobody", "fails", "absent", "a"]);
    for _ in 0..3 {
        call(&client, &server, LONG).await.expect("a result");
    }
    assert!(calls(&host).iter().all(|seen| seen.headers["x-way"] == "ua"));
    assert_eq!((ASKED.load(Ordering::Relaxed), MADE.load(Ordering::Relaxed)), (1, 1));
}

#[tokio::test]
async fn the_shipped_one_gives_each_call_a_trace_context_of_its_own() {
    let host = host().await;
    let client = client().with_interceptors(Interceptors::shipped(Arc::new(SeededRandom::new(7))));
    let server = server(&host, &["trace-context"]);
    for _ in 0..2 {
        call(&client, &server, LONG).await.expect("a result");
    }
    let seen: Vec<String> = calls(&host)
        .iter()
        .map(|seen| seen.headers["traceparent"].to_str().expect("text").to_owned())
        .collect();
    for context in &seen {
        let parts: Vec<&str> = context.split('-').collect();
        let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        assert_eq!((parts[0], lengths, parts[3]), ("00", vec![2, 32, 16, 2], "01"), "{context}");
        assert!(
            context.chars().all(|c| c == '-' || c.is_ascii_digit() || ('a'..='f').contains(&c)),
            "{context}"
        );
    }
    assert_ne!(seen[0], seen[1]);
}

#[tokio::test]
async fn a_trace_context_that_is_there_already_is_kept() {
    struct Traced;
    #[async_trait]
    impl Interceptor for Traced {
        async fn intercept(&self, mut request: Request<'_>, next: Next<'_>) -> Result<Value, CallError> {
            request.headers.set("Traceparent", SecretString::from("00-of-the-caller-01"));
            next.call(request).await
        }
    }
    let host = host().await;
    let all = Interceptors::shipped(Arc::new(SeededRandom::new(7))).with("traced", || {
        let link: Arc<dyn Interceptor> = Arc::new(Traced);
        Ok(Some(link))
    });
    let client = client().with_interceptors(all);
    call(&client, &server(&host, &["traced", "trace-context"]), LONG).await.expect("a result");
    assert_eq!(calls(&host)[0].headers["traceparent"], "00-of-the-caller-01");
}
