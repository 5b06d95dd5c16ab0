//! Beacons: raised by one at a time, over by themselves, and knocked at only while somebody is awake.

use std::time::Duration;

use pudu_app::ports::{Awake, Background, Beacon, Raised};
use pudu_domain::{Owner, Timestamp};

use super::life::fail;
use super::{Case, World, cases};

pub(super) const CASES: &[Case] = cases![
    nobody_is_awake_in_the_beginning,
    a_beacon_shines_for_whoever_raised_it_first,
    its_holder_renews_it,
    it_is_over_when_it_was_not_renewed,
    one_who_ends_soon_is_relieved,
    only_its_holder_lowers_it,
    each_function_has_its_own,
    word_is_left_only_with_somebody_who_is_awake,
    the_count_of_knocks_never_shrinks,
    its_holder_was_seen_when_he_last_wrote_it,
];

const SHINES: Duration = Duration::from_secs(15);
const POLLER: Background = Background::Poller;

fn holder(name: &str) -> Owner {
    Owner::stored(name.to_owned())
}

/// From now on for its time, by a holder that works for ten minutes.
fn awake(world: &World, name: &str) -> Awake {
    let now = world.now();
    Awake { holder: holder(name), until: now + SHINES, ends: now + Duration::from_mins(10) }
}

async fn raise_of(world: &World, function: Background, name: &str, relieves: Option<Timestamp>) -> Raised {
    let raised = world.beacons.raise(function, &awake(world, name), relieves).await;
    raised.unwrap_or_else(|e| fail(&e))
}

async fn raise(world: &World, name: &str) -> Raised {
    raise_of(world, POLLER, name, None).await
}

async fn lower(world: &World, name: &str) {
    world.beacons.lower(POLLER, &holder(name)).await.unwrap_or_else(|e| fail(&e));
}

async fn knock(world: &World) -> bool {
    world.beacons.knock(POLLER).await.unwrap_or_else(|e| fail(&e))
}

async fn look(world: &World) -> Beacon {
    world.beacons.look(POLLER).await.unwrap_or_else(|e| fail(&e))
}

const OURS: Raised = Raised::Ours { knocks: 0 };

async fn nobody_is_awake_in_the_beginning(world: World) {
    assert_eq!(look(&world).await, Beacon::default());
    assert!(!knock(&world).await);
    lower(&world, "a").await;
    assert_eq!(look(&world).await.awake, None);
}

async fn a_beacon_shines_for_whoever_raised_it_first(world: World) {
    assert_eq!(raise(&world, "a").await, OURS);
    let shown = look(&world).await;
    assert_eq!(shown, Beacon { awake: Some(awake(&world, "a")), knocks: 0, seen: Some(world.now()) });
    assert_eq!(raise(&world, "b").await, Raised::Theirs);
    assert_eq!(look(&world).await, shown, "whoever came too late changed nothing");
}

async fn its_holder_renews_it(world: World) {
    raise(&world, "a").await;
    world.clock.set(world.now() + SHINES / 3);
    assert_eq!(raise(&world, "a").await, OURS);
    assert_eq!(look(&world).await.awake, Some(awake(&world, "a")));
}

async fn it_is_over_when_it_was_not_renewed(world: World) {
    raise(&world, "a").await;
    let end = world.now() + SHINES;
    world.clock.set(end);
    assert_eq!(raise(&world, "b").await, Raised::Theirs, "it shines in its last moment");
    assert!(knock(&world).await);
    world.clock.set(Timestamp::from_millis(end.as_millis() + 1));
    assert!(!knock(&world).await);
    assert_eq!(raise(&world, "b").await, Raised::Ours { knocks: 1 });
    assert_eq!(raise(&world, "a").await, Raised::Theirs, "who was too late to renew it is nobody special");
}

async fn one_who_ends_soon_is_relieved(world: World) {
    raise(&world, "a").await;
    let ends = awake(&world, "a").ends;
    assert_eq!(raise_of(&world, POLLER, "b", Some(ends)).await, Raised::Theirs);
    let later = Timestamp::from_millis(ends.as_millis() + 1);
    assert_eq!(raise_of(&world, POLLER, "b", Some(later)).await, OURS);
    assert_eq!(look(&world).await.awake, Some(awake(&world, "b")));
    assert_eq!(raise(&world, "a").await, Raised::Theirs);
}

async fn only_its_holder_lowers_it(world: World) {
    raise(&world, "a").await;
    lower(&world, "b").await;
    assert_eq!(look(&world).await.awake, Some(awake(&world, "a")));
    lower(&world, "a").await;
    assert_eq!(look(&world).await.awake, None);
    assert!(!knock(&world).await);
    assert_eq!(raise(&world, "b").await, OURS);
}

async fn each_function_has_its_own(world: World) {
    raise(&world, "a").await;
    assert_eq!(raise_of(&world, Background::Notifier, "b", None).await, OURS);
    assert!(knock(&world).await);
    let notifier = world.beacons.look(Background::Notifier).await.unwrap_or_else(|e| fail(&e));
    assert_eq!(notifier, Beacon { awake: Some(awake(&world, "b")), knocks: 0, seen: Some(world.now()) });
}

async fn word_is_left_only_with_somebody_who_is_awake(world: World) {
    raise(&world, "a").await;
    for count in 1..=3 {
        assert!(knock(&world).await);
        assert_eq!(look(&world).await.knocks, count);
    }
    lower(&world, "a").await;
    assert!(!knock(&world).await);
    assert_eq!(look(&world).await.knocks, 3);
}

async fn the_count_of_knocks_never_shrinks(world: World) {
    raise(&world, "a").await;
    knock(&world).await;
    assert_eq!(raise(&world, "a").await, Raised::Ours { knocks: 1 }, "renewing does not forget it");
    lower(&world, "a").await;
    assert_eq!(raise(&world, "b").await, Raised::Ours { knocks: 1 });
}

async fn its_holder_was_seen_when_he_last_wrote_it(world: World) {
    assert_eq!(look(&world).await.seen, None);
    raise(&world, "a").await;
    let raised = world.now();
    world.clock.set(raised + SHINES / 3);
    knock(&world).await;
    raise(&world, "b").await;
    lower(&world, "b").await;
    assert_eq!(look(&world).await.seen, Some(raised), "what others do says nothing of him");
    raise(&world, "a").await;
    let renewed = world.now();
    assert_eq!(look(&world).await.seen, Some(renewed));
    world.clock.set(renewed + SHINES / 3);
    lower(&world, "a").await;
    let lowered = world.now();
    world.clock.set(lowered + SHINES);
    let shown = look(&world).await;
    assert_eq!((shown.awake, shown.seen), (None, Some(lowered)), "it outlives the light");
    raise(&world, "b").await;
    assert_eq!(look(&world).await.seen, Some(world.now()));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    use async_trait::async_trait;
    use pudu_app::ports::{Beacons, Clock, StoreError};

    use super::super::{Suite, fake_world};
    use super::*;
    use crate::clock::ManualClock;
    use crate::lock::lock;

    /// Ways to be wrong about who is awake.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Wrong {
        LetsAnybodyRaise,
        NeverEnds,
        NeverRelieves,
        AnybodyLowers,
        SharesFunctions,
        KnocksInTheDark,
        ForgetsKnocks,
        EndsAMomentEarly,
        NeverSeen,
        UnseenOnceLowered,
        SeesWhoCame,
    }

    struct WrongBeacons(Wrong, Arc<ManualClock>, Mutex<BTreeMap<Option<Background>, Beacon>>);

    impl WrongBeacons {
        fn at(&self, function: Background) -> Option<Background> {
            (self.0 != Wrong::SharesFunctions).then_some(function)
        }

        fn with<T>(&self, function: Background, act: impl FnOnce(&mut Beacon, Timestamp) -> T) -> T {
            let now = match self.0 {
                Wrong::EndsAMomentEarly => Timestamp::from_millis(self.1.now().as_millis() + 1),
                Wrong::NeverEnds => Timestamp::from_millis(0),
                _ => self.1.now(),
            };
            act(lock(&self.2).entry(self.at(function)).or_default(), now)
        }
    }

    #[async_trait]
    impl Beacons for WrongBeacons {
        async fn raise(
            &self,
            function: Background,
            awake: &Awake,
            relieves: Option<Timestamp>,
        ) -> Result<Raised, StoreError> {
            let relieves = relieves.filter(|_| self.0 != Wrong::NeverRelieves);
            Ok(self.with(function, |beacon, now| {
                let may_raise =
                    self.0 == Wrong::LetsAnybodyRaise || beacon.may_raise(&awake.holder, now, relieves);
                if may_raise || self.0 == Wrong::SeesWhoCame {
                    beacon.seen = Some(self.1.now()).filter(|_| self.0 != Wrong::NeverSeen);
                }
                if !may_raise {
                    return Raised::Theirs;
                }
                beacon.awake = Some(awake.clone());
                if self.0 == Wrong::ForgetsKnocks {
                    beacon.knocks = 0;
                }
                Raised::Ours { knocks: beacon.knocks }
            }))
        }

        async fn lower(&self, function: Background, holder: &Owner) -> Result<(), StoreError> {
            let anybody = self.0 == Wrong::AnybodyLowers;
            self.with(function, |beacon, _| {
                let others = |awake: &Awake| !anybody && awake.holder != *holder;
                if beacon.awake.as_ref().is_some_and(|awake| !others(awake)) {
                    beacon.seen = Some(self.1.now()).filter(|_| self.0 != Wrong::UnseenOnceLowered);
                }
                beacon.awake = beacon.awake.take().filter(others);
            });
            Ok(())
        }

        async fn knock(&self, function: Background) -> Result<bool, StoreError> {
            Ok(self.with(function, |beacon, now| {
                let heard = self.0 == Wrong::KnocksInTheDark || beacon.is_live(now);
                beacon.knocks += u64::from(heard);
                heard
            }))
        }

        async fn look(&self, function: Background) -> Result<Beacon, StoreError> {
            Ok(self.with(function, |beacon, _| beacon.clone()))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn every_wrong_way_to_be_awake_fails_a_case() {
        let suite = Suite { port: "beacon", parts: &[CASES] };
        for wrong in [
            Wrong::LetsAnybodyRaise,
            Wrong::NeverEnds,
            Wrong::NeverRelieves,
            Wrong::AnybodyLowers,
            Wrong::SharesFunctions,
            Wrong::KnocksInTheDark,
            Wrong::ForgetsKnocks,
            Wrong::EndsAMomentEarly,
            Wrong::NeverSeen,
            Wrong::UnseenOnceLowered,
            Wrong::SeesWhoCame,
        ] {
            let world = || {
                let world = fake_world(None);
                let beacons = WrongBeacons(wrong, Arc::clone(&world.clock), Mutex::default());
                World { beacons: Arc::new(beacons), ..world }
            };
            assert!(!suite.failures(async || world()).await.is_empty(), "{wrong:?} passes every case");
        }
    }
}
