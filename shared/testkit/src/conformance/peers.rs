//! What is known of peers: remembered until it is forgotten, each by its own key.

use pudu_app::ports::Era;
use pudu_domain::Timestamp;

use super::life::fail;
use super::{Case, World, cases};

pub(super) const CASES: &[Case] = cases![
    nothing_is_known_of_a_stranger,
    every_era_is_remembered_by_its_own_key,
    what_was_remembered_last_is_known,
    a_peer_is_forgotten_alone_and_as_often_as_one_likes,
    an_era_is_known_for_its_time_since_it_was_remembered_last,
];

const ERAS: [Era; 3] = [Era::Stateless, Era::Session, Era::Events];

/// A digest whose digits are all `digit`.
fn key(digit: char) -> String {
    digit.to_string().repeat(64)
}

async fn known(world: &World, digit: char) -> Option<Era> {
    world.peers.recall(&key(digit)).await.unwrap_or_else(|e| fail(&e))
}

async fn remember(world: &World, digit: char, era: Era) {
    world.peers.remember(&key(digit), era).await.unwrap_or_else(|e| fail(&e));
}

async fn forget(world: &World, digit: char) {
    world.peers.forget(&key(digit)).await.unwrap_or_else(|e| fail(&e));
}

async fn nothing_is_known_of_a_stranger(world: World) {
    assert_eq!(known(&world, 'a').await, None);
}

async fn every_era_is_remembered_by_its_own_key(world: World) {
    for (digit, era) in ['a', 'b', 'c'].into_iter().zip(ERAS) {
        remember(&world, digit, era).await;
    }
    for (digit, era) in ['a', 'b', 'c'].into_iter().zip(ERAS) {
        assert_eq!(known(&world, digit).await, Some(era));
    }
    assert_eq!(known(&world, 'd').await, None);
}

async fn what_was_remembered_last_is_known(world: World) {
    for era in ERAS {
        remember(&world, 'a', era).await;
        remember(&world, 'a', era).await;
        assert_eq!(known(&world, 'a').await, Some(era));
    }
}

async fn a_peer_is_forgotten_alone_and_as_often_as_one_likes(world: World) {
    remember(&world, 'a', Era::Stateless).await;
    remember(&world, 'b', Era::Session).await;
    for _ in 0..2 {
        forget(&world, 'a').await;
        assert_eq!((known(&world, 'a').await, known(&world, 'b').await), (None, Some(Era::Session)));
    }
    remember(&world, 'a', Era::Events).await;
    assert_eq!(known(&world, 'a').await, Some(Era::Events));
}

async fn an_era_is_known_for_its_time_since_it_was_remembered_last(world: World) {
    for (digit, era) in ['a', 'b', 'c'].into_iter().zip(ERAS) {
        remember(&world, digit, era).await;
        let middle = world.now() + era.kept() / 2;
        world.clock.set(middle);
        remember(&world, digit, era).await;
        let end = middle + era.kept();
        world.clock.set(Timestamp::from_millis(end.as_millis() - 1));
        assert_eq!(known(&world, digit).await, Some(era));
        world.clock.set(end);
        assert_eq!(known(&world, digit).await, None, "also when nothing has removed the row yet");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    use async_trait::async_trait;
    use pudu_app::ports::{PeerStore, StoreError};

    use super::super::{Suite, fake_world};
    use super::*;
    use crate::lock::lock;

    /// Ways to remember wrongly.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Wrong {
        /// All peers are one.
        TakesAllForOne,
        /// The first era stays.
        KeepsTheFirst,
        /// Nothing is ever forgotten.
        NeverForgets,
        /// Everything is forgotten at once.
        ForgetsAll,
        /// Two eras are one.
        MixesEras,
        /// What is remembered never ends.
        KeepsForEver,
    }

    struct WrongPeers(Wrong, Mutex<BTreeMap<String, Era>>);

    impl WrongPeers {
        fn key(&self, key: &str) -> String {
            if self.0 == Wrong::TakesAllForOne { String::new() } else { key.to_owned() }
        }
    }

    #[async_trait]
    impl PeerStore for WrongPeers {
        async fn recall(&self, key: &str) -> Result<Option<Era>, StoreError> {
            Ok(lock(&self.1).get(&self.key(key)).copied())
        }

        async fn remember(&self, key: &str, era: Era) -> Result<(), StoreError> {
            let mut peers = lock(&self.1);
            let era = if self.0 == Wrong::MixesEras && era == Era::Events { Era::Session } else { era };
            if self.0 == Wrong::KeepsTheFirst {
                peers.entry(self.key(key)).or_insert(era);
            } else {
                peers.insert(self.key(key), era);
            }
            Ok(())
        }

        async fn forget(&self, key: &str) -> Result<(), StoreError> {
            match self.0 {
                Wrong::NeverForgets => {}
                Wrong::ForgetsAll => lock(&self.1).clear(),
                _ => {
                    lock(&self.1).remove(&self.key(key));
                }
            }
            Ok(())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn every_wrong_way_to_remember_a_peer_fails_a_case() {
        let suite = Suite { port: "peer_store", parts: &[CASES] };
        for wrong in [
            Wrong::TakesAllForOne,
            Wrong::KeepsTheFirst,
            Wrong::NeverForgets,
            Wrong::ForgetsAll,
            Wrong::MixesEras,
            Wrong::KeepsForEver,
        ] {
            let world = || World { peers: Arc::new(WrongPeers(wrong, Mutex::default())), ..fake_world(None) };
            assert!(!suite.failures(async || world()).await.is_empty(), "{wrong:?} passes every case");
        }
    }
}
