//! Breakers of models: exchanged only against the one that was seen, each model's by itself.

use pudu_app::ports::Exchanged;
use pudu_domain::breaker::{Breaker, Outcome};

use super::life::fail;
use super::{Case, World, cases};

pub(super) const CASES: &[Case] = cases![
    a_model_that_never_failed_has_a_closed_breaker,
    a_breaker_is_exchanged_only_against_what_was_seen,
    a_breaker_that_was_exchanged_is_loaded,
    each_model_has_an_own_breaker,
    one_of_many_who_saw_the_same_changes_it,
    a_repeated_exchange_is_done,
];

/// The breaker after a failure of `call`.
fn failed(before: &Breaker, call: u64, world: &World) -> Breaker {
    before.leave(call, Outcome::Failed, world.now()).unwrap_or_else(|| fail(&"a failure changed nothing"))
}

async fn load(world: &World, model: &str) -> Breaker {
    world.breakers.load(model).await.unwrap_or_else(|e| fail(&e))
}

async fn exchange(world: &World, model: &str, before: &Breaker, after: &Breaker) -> Exchanged {
    world.breakers.exchange(model, before, after).await.unwrap_or_else(|e| fail(&e))
}

async fn a_model_that_never_failed_has_a_closed_breaker(world: World) {
    assert_eq!(load(&world, "m").await, Breaker::default());
}

async fn a_breaker_is_exchanged_only_against_what_was_seen(world: World) {
    let none = Breaker::default();
    let first = failed(&none, 1, &world);
    let second = failed(&first, 2, &world);
    assert_eq!(exchange(&world, "m", &first, &second).await, Exchanged::Not(none.clone()));
    assert_eq!(exchange(&world, "m", &none, &first).await, Exchanged::Done);
    assert_eq!(exchange(&world, "m", &none, &failed(&none, 3, &world)).await, Exchanged::Not(first.clone()));
    assert_eq!(exchange(&world, "m", &first, &second).await, Exchanged::Done);
}

async fn a_breaker_that_was_exchanged_is_loaded(world: World) {
    let first = failed(&Breaker::default(), 1, &world);
    exchange(&world, "m", &Breaker::default(), &first).await;
    assert_eq!(load(&world, "m").await, first);
}

async fn each_model_has_an_own_breaker(world: World) {
    for (at, model) in ["a", "A", "a#b", "a b", "ä"].into_iter().enumerate() {
        let call = u64::try_from(at).unwrap_or_default();
        let first = failed(&Breaker::default(), call, &world);
        assert_eq!(exchange(&world, model, &Breaker::default(), &first).await, Exchanged::Done, "{model}");
    }
}

async fn one_of_many_who_saw_the_same_changes_it(world: World) {
    let afters: Vec<Breaker> = (1..=8).map(|call| failed(&Breaker::default(), call, &world)).collect();
    let none = Breaker::default();
    let all = afters.iter().map(|after| exchange(&world, "m", &none, after));
    let done = futures_util::future::join_all(all).await;
    assert_eq!(done.iter().filter(|exchanged| **exchanged == Exchanged::Done).count(), 1, "{done:?}");
}

async fn a_repeated_exchange_is_done(world: World) {
    let first = failed(&Breaker::default(), 1, &world);
    for _ in 0..2 {
        assert_eq!(exchange(&world, "m", &Breaker::default(), &first).await, Exchanged::Done);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    use async_trait::async_trait;
    use pudu_app::ports::{Breakers, StoreError};

    use super::super::{Suite, fake_world};
    use super::*;
    use crate::lock::lock;

    /// Ways to keep breakers wrongly.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Wrong {
        /// The last writer wins.
        NeverCompares,
        /// All models share one.
        TakesAllForOne,
        /// Nothing is kept.
        Forgets,
        /// What is there is not looked at after a lost answer.
        NeverRecognises,
    }

    struct WrongBreakers(Wrong, Mutex<BTreeMap<String, Breaker>>);

    impl WrongBreakers {
        fn name(&self, model: &str) -> String {
            if self.0 == Wrong::TakesAllForOne { "all".to_owned() } else { model.to_owned() }
        }
    }

    #[async_trait]
    impl Breakers for WrongBreakers {
        async fn load(&self, model: &str) -> Result<Breaker, StoreError> {
            Ok(lock(&self.1).get(&self.name(model)).cloned().unwrap_or_default())
        }

        async fn exchange(
            &self,
            model: &str,
            before: &Breaker,
            after: &Breaker,
        ) -> Result<Exchanged, StoreError> {
            let mut rows = lock(&self.1);
            let there = rows.get(&self.name(model)).cloned().unwrap_or_default();
            if there == *after && self.0 != Wrong::NeverRecognises {
                return Ok(Exchanged::Done);
            }
            if there.revision() != before.revision() && self.0 != Wrong::NeverCompares {
                return Ok(Exchanged::Not(there));
            }
            if self.0 != Wrong::Forgets {
                rows.insert(self.name(model), after.clone());
            }
            Ok(Exchanged::Done)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn every_wrong_way_to_keep_a_breaker_fails_a_case() {
        let suite = Suite { port: "breakers", parts: &[CASES] };
        for wrong in [Wrong::NeverCompares, Wrong::TakesAllForOne, Wrong::Forgets, Wrong::NeverRecognises] {
            let world = || {
                let breakers = Arc::new(WrongBreakers(wrong, Mutex::default()));
                World { breakers, ..fake_world(None) }
            };
            assert!(!suite.failures(async || world()).await.is_empty(), "{wrong:?} passes every case");
        }
    }
}
