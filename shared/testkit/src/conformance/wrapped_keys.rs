//! The wrapped sealing key: the first one that is kept stays, and everybody uses that one. Whatever was sealed with another
//! would be lost.

use futures_util::future::join_all;
use pudu_app::ports::{Made, Moved, Revision};
use serde_json::json;

use super::life::fail;
use super::{Case, World, cases};

pub(super) const CASES: &[Case] = cases![
    an_empty_table_has_no_key,
    the_first_key_is_kept_and_stays,
    of_many_writers_of_a_key_all_use_the_one_that_is_kept,
    a_key_is_read_as_it_was_written,
    a_key_and_the_config_do_not_touch_each_other,
];

async fn kept(world: &World) -> Option<Vec<u8>> {
    world.wrapped_keys.get().await.unwrap_or_else(|e| fail(&e))
}

async fn put(world: &World, wrapped: &[u8]) -> Vec<u8> {
    world.wrapped_keys.put_if_absent(wrapped.to_vec()).await.unwrap_or_else(|e| fail(&e))
}

async fn an_empty_table_has_no_key(world: World) {
    assert_eq!(kept(&world).await, None);
}

async fn the_first_key_is_kept_and_stays(world: World) {
    assert_eq!(put(&world, b"first").await, b"first");
    assert_eq!(kept(&world).await.as_deref(), Some(b"first".as_slice()));
    assert_eq!(put(&world, b"second").await, b"first", "a later writer is given the one that is kept");
    assert_eq!(put(&world, b"first").await, b"first");
    assert_eq!(kept(&world).await.as_deref(), Some(b"first".as_slice()));
}

async fn of_many_writers_of_a_key_all_use_the_one_that_is_kept(world: World) {
    let rivals: Vec<Vec<u8>> = (0..8).map(|n| vec![n; 32]).collect();
    let given = join_all(rivals.iter().map(|rival| put(&world, rival))).await;
    let Some(kept) = kept(&world).await else { fail(&"no key was kept") };
    assert!(rivals.contains(&kept), "{kept:?}");
    assert!(given.iter().all(|one| *one == kept), "{given:?}");
}

/// Every byte, and more of them than KMS ever makes of a data key (6,144).
async fn a_key_is_read_as_it_was_written(world: World) {
    let wrapped: Vec<u8> = (0..=u8::MAX).cycle().take(6144).collect();
    assert_eq!(put(&world, &wrapped).await, wrapped);
    assert_eq!(kept(&world).await, Some(wrapped));
}

async fn a_key_and_the_config_do_not_touch_each_other(world: World) {
    let append = async |number| {
        let made = Made { number, at: world.now(), author: None };
        let revision = Revision { made, sealed: json!({"n": number}) };
        world.config.append(&revision).await.unwrap_or_else(|e| fail(&e))
    };
    assert_eq!(append(1).await, Moved::Done);
    assert_eq!(kept(&world).await, None);
    assert_eq!(put(&world, b"key").await, b"key");
    assert_eq!(append(2).await, Moved::Done);
    assert_eq!(kept(&world).await.as_deref(), Some(b"key".as_slice()));
    assert_eq!(world.config.pointer().await.unwrap_or_else(|e| fail(&e)), Some(2));
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use async_trait::async_trait;
    use pudu_app::ports::{StoreError, WrappedKeys};

    use super::super::{Suite, fake_world};
    use super::*;
    use crate::lock::lock;

    /// Ways to keep a key wrongly.
    #[derive(Debug, Clone, Copy)]
    enum Wrong {
        /// The last key replaces the one before.
        KeepsTheLast,
        /// A writer is told its own key, whichever is kept.
        EchoesTheWriter,
        /// Nothing is kept.
        Forgets,
    }

    struct WrongKeys(Wrong, Mutex<Option<Vec<u8>>>);

    #[async_trait]
    impl WrappedKeys for WrongKeys {
        async fn get(&self) -> Result<Option<Vec<u8>>, StoreError> {
            Ok(lock(&self.1).clone())
        }

        async fn put_if_absent(&self, wrapped: Vec<u8>) -> Result<Vec<u8>, StoreError> {
            let mut kept = lock(&self.1);
            match self.0 {
                Wrong::KeepsTheLast => *kept = Some(wrapped.clone()),
                Wrong::EchoesTheWriter => {
                    kept.get_or_insert_with(|| wrapped.clone());
                }
                Wrong::Forgets => {}
            }
            Ok(wrapped)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn every_wrong_way_to_keep_a_key_fails_a_case() {
        let suite = Suite { port: "wrapped_keys", parts: &[CASES] };
        for wrong in [Wrong::KeepsTheLast, Wrong::EchoesTheWriter, Wrong::Forgets] {
            let world =
                || World { wrapped_keys: Arc::new(WrongKeys(wrong, Mutex::default())), ..fake_world(None) };
            assert!(!suite.failures(async || world()).await.is_empty(), "{wrong:?} passes every case");
        }
    }
}
