//! What a call over the network leaves on this machine: nothing.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::host::{Host, result};
use super::sse_peer::SsePeer;
use super::*;

fn here() -> BTreeSet<PathBuf> {
    let here = std::env::current_dir().expect("a working directory");
    std::fs::read_dir(here).expect("its entries").map(|entry| entry.expect("an entry").path()).collect()
}

/// Folder, working directory and temporary files are a stdio server's (reference 2.8); a server behind a URL gets the
/// call and nothing beside it, not even where its entry has a `cwd`.
#[tokio::test]
async fn vector_39_a_call_over_http_or_sse_makes_no_folder_and_adds_nothing() {
    let before = here();
    for kind in ["http", "sse"] {
        let host = match kind {
            "sse" => SsePeer::default().start().await,
            _ => Host::of_era(Era::Session, |seen| async move { result(&seen.message, json!({})) }).await,
        };
        let server =
            entry(json!({"type": kind, "url": host.url, "cwd": "pudu-vector-39", "env": {"A": "b"}}));
        call(&client(), &server, LONG).await.expect("a result");
        let sent = host.seen().into_iter().find(|seen| seen.what() == "tools/call").expect("the call");
        let mut params = sent.message["params"].clone();
        let meta = params.as_object_mut().expect("params").remove("_meta");
        assert_eq!(params, json!({"name": "echo", "arguments": {"text": "hi"}}), "{kind}");
        assert!(meta.is_none_or(|meta| meta.get("headers").is_none()), "{kind}");
    }
    assert_eq!(here(), before);
}
