//! The invariants of the architecture, as absences: each is a sentence here and in ARCHITECTURE.md, and a test `ai_n_…`.
//!
//! - AI-1: `domain` and `config` depend on no other crate of ours.
//! - AI-2: `app` depends on no crate of ours but `domain` and `config`.
//! - AI-3: No adapter (`dynamo`, `mcp`, `agent`, `models`, `lambda`) depends on another adapter, on a function or on a composition.
//! - AI-4: No function depends on another function, and nothing that is deployed depends on one.
//! - AI-5: Nothing that is deployed depends on `testkit`, and no crate has a cargo feature behind which a fake could hide.
//! - AI-6: The pure crates have no runtime, no network, no SDK and no logging in their manifests.
//! - AI-7: No function has logic in its `main.rs`: each is a library and a main of at most 60 lines.
//! - AI-8: No source file has more than 450 lines.
//! - AI-9: No `lib.rs` under `shared` has code of its own: it is a table of contents.
//! - AI-10: No lint is silenced but by an `expect` with a reason, no test is ignored without one, and nothing is left to do.
//! - AI-11: No code takes time, environment, threads or tasks from the air: `clippy.toml` bans it, and only compositions,
//!   tests and the adapters that are the clock and the environment lift a ban.
//! - AI-12: No function reads an environment variable of ours that `settings::NAMES` does not have, and the template sets no
//!   other.
//! - AI-13: The table has no second shape: keys, index, projection and TTL of the template are those of `pudu_dynamo::schema`.
//! - AI-14: There is no door but the gateway's two Function URLs, and every route behind them needs a credential but `/healthz` and the contract.
//! - AI-15: No store port lacks an adapter file of the same name.
//! - AI-16: No library has `anyhow`: it appears in compositions and tests.
//! - AI-17: No crate has lints of its own: each takes the workspace's.
//! - AI-18: There is no other test command than the README's: `.ci/run` runs that one.
//! - AI-19: No invariant is only here: ARCHITECTURE.md has each of these sentences.
//! - AI-20: No cloud function resolves `$VAR` from its environment: nothing that it is built of is a source of secrets and reads
//!   the environment.

mod arrows;
mod documents;
mod ground;
mod pages;
mod template;

use std::fs;
use std::path::{Path, PathBuf};

/// The checkout.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A source file: where it is in the checkout, and its text.
struct Source {
    path: String,
    text: String,
}

impl Source {
    /// Whether it holds only tests, or what only tests use.
    fn is_test(&self) -> bool {
        self.path.starts_with("tests/")
            || self.path.starts_with("shared/testkit/")
            || self.path.split('/').any(|part| part == "tests" || part == "tests.rs")
    }
}

/// Every Rust file of every crate.
fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    for folder in ["shared", "functions", "infra", "tests"] {
        collect(&root().join(folder), &mut found);
    }
    assert!(found.len() > 100, "only {} source files were found", found.len());
    found
}

fn collect(folder: &Path, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && !name.starts_with('.') && !["node_modules", "target"].contains(&name) {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let path = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            found.push(Source { path, text });
        }
    }
}

/// Fails with everything that was found, not only with the first.
#[track_caller]
fn none(findings: &[String]) {
    assert!(findings.is_empty(), "{} found:\n{}", findings.len(), findings.join("\n"));
}
