//! Every port's suite against the fake and against the real stores, on two engines that different people wrote.

mod unfit;
mod worlds;

use acceptance::skipped;
use pudu_testkit::conformance::{SUITES, Suite, fake_world};

fn suite(port: &str) -> Suite {
    *SUITES.iter().find(|suite| suite.port == port).unwrap()
}

/// One test per port and adapter, so that a failure says where it is.
macro_rules! suites {
    ($($port:ident),+ $(,)?) => {
        $(mod $port {
            use super::{fake_world, skipped, suite, worlds};

            #[tokio::test]
            async fn the_fake_keeps_it() {
                suite(stringify!($port)).run(|| async { fake_world(None) }).await;
            }

            #[tokio::test]
            async fn the_embedded_engine_keeps_it() {
                suite(stringify!($port)).run(worlds::embedded).await;
            }

            #[tokio::test]
            async fn the_second_engine_keeps_it() {
                let Some(client) = acceptance::second_engine() else {
                    let how = "export $(.ci/second-engine start), then run again";
                    return skipped(concat!("conformance of ", stringify!($port), " on the second engine"), how);
                };
                suite(stringify!($port)).run(|| worlds::second(&client)).await;
            }
        })+

        #[test]
        fn every_suite_runs_against_every_adapter() {
            let ports: Vec<&str> = SUITES.iter().map(|suite| suite.port).collect();
            assert_eq!(ports, [$(stringify!($port)),+]);
        }
    };
}

suites!(
    task_store,
    note_store,
    thread_store,
    run_store,
    due_index,
    event_log,
    config_store,
    catalog_store,
    token_store,
    wrapped_keys,
    peer_store,
    beacon,
    audit_log,
    key_store,
    allowances,
    breakers,
    memory_store,
    feedback_store,
);
