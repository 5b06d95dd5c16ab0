//! API keys: made once, read as they were made, revoked for good.

use std::time::Duration;

use pudu_app::ports::StoredKey;
use pudu_domain::{ApiKey, KeyName, Role, Scope, Timestamp, UserId};

use super::life::fail;
use super::{Case, World, cases};

pub(super) const CASES: &[Case] = cases![
    there_are_no_keys_at_first,
    a_key_reads_back_as_it_was_made,
    an_id_is_given_once,
    keys_are_listed_by_id_with_the_revoked_ones,
    a_key_is_revoked_once_and_for_good,
    what_is_not_there_is_not_revoked,
    many_keys_are_listed_whole,
];

fn made(number: u32, at: Timestamp) -> StoredKey {
    let text = "a fixture's own text is valid";
    let digits = number.to_be_bytes();
    let key = ApiKey::new(std::array::from_fn(|at| digits.get(at % 9).copied().unwrap_or(7)));
    StoredKey {
        id: key.id().clone(),
        name: KeyName::parse("größte \"Taste\"").unwrap_or_else(|_| unreachable!("{text}")),
        user: UserId::parse("key:ann").unwrap_or_else(|_| unreachable!("{text}")),
        role: Role::User,
        scope: Scope::All,
        created_at: at,
        revoked_at: None,
        digest: key.digest(),
    }
}

async fn create(world: &World, key: &StoredKey) -> bool {
    world.keys.create(key).await.unwrap_or_else(|e| fail(&e))
}

async fn get(world: &World, key: &StoredKey) -> Option<StoredKey> {
    world.keys.get(&key.id).await.unwrap_or_else(|e| fail(&e))
}

async fn list(world: &World) -> Vec<StoredKey> {
    world.keys.list().await.unwrap_or_else(|e| fail(&e))
}

async fn revoke(world: &World, key: &StoredKey, at: Timestamp) -> Option<StoredKey> {
    world.keys.revoke(&key.id, at).await.unwrap_or_else(|e| fail(&e))
}

async fn there_are_no_keys_at_first(world: World) {
    assert_eq!(list(&world).await, []);
    assert_eq!(get(&world, &made(1, world.now())).await, None);
}

async fn a_key_reads_back_as_it_was_made(world: World) {
    let now = world.now();
    let servers = ["b".to_owned(), "a \"ü\"".to_owned(), String::new()].into();
    let kinds = [
        made(1, now),
        StoredKey { role: Role::Admin, ..made(2, now) },
        StoredKey { scope: Scope::Only(servers), ..made(3, now) },
        StoredKey { scope: Scope::Only([].into()), ..made(4, now) },
        StoredKey { revoked_at: Some(now), ..made(5, now) },
    ];
    for key in &kinds {
        assert!(create(&world, key).await);
    }
    for key in kinds {
        assert_eq!(get(&world, &key).await, Some(key));
    }
}

async fn an_id_is_given_once(world: World) {
    let first = made(1, world.now());
    assert!(create(&world, &first).await);
    let second = StoredKey { role: Role::Admin, ..first.clone() };
    assert!(!create(&world, &second).await);
    assert_eq!(get(&world, &first).await.as_ref(), Some(&first));
    assert!(!create(&world, &first).await, "a second creation is not a repeated write");
    assert_eq!(get(&world, &first).await, Some(first));
}

async fn keys_are_listed_by_id_with_the_revoked_ones(world: World) {
    let now = world.now();
    let [first, second, third, fourth, fifth] = [0, 1, 2, 3, 4].map(|number| made(number, now));
    for key in [&fourth, &first, &fifth, &second, &third] {
        assert!(create(&world, key).await);
    }
    let revoked = StoredKey { revoked_at: Some(now), ..third.clone() };
    assert_eq!(revoke(&world, &third, now).await.as_ref(), Some(&revoked));
    let mut keys = [first, second, revoked, fourth, fifth];
    keys.sort_by(|one, other| one.id.cmp(&other.id));
    assert_eq!(list(&world).await, keys);
}

async fn a_key_is_revoked_once_and_for_good(world: World) {
    let (key, other) = (made(1, world.now()), made(2, world.now()));
    assert!(create(&world, &key).await && create(&world, &other).await);
    let first = world.now() + Duration::from_secs(1);
    let revoked = StoredKey { revoked_at: Some(first), ..key.clone() };
    for later in [0, 1, 60] {
        let at = first + Duration::from_secs(later);
        assert_eq!(revoke(&world, &key, at).await.as_ref(), Some(&revoked));
        assert_eq!(get(&world, &key).await.as_ref(), Some(&revoked));
    }
    assert_eq!(get(&world, &other).await, Some(other));
}

async fn what_is_not_there_is_not_revoked(world: World) {
    assert_eq!(revoke(&world, &made(1, world.now()), world.now()).await, None);
    assert_eq!(list(&world).await, [], "nothing was made of it");
}

/// More than one answer of a real table holds.
async fn many_keys_are_listed_whole(world: World) {
    let servers: std::collections::BTreeSet<String> = (0..300).map(|n| format!("{n:0200}")).collect();
    let long = |number| StoredKey { scope: Scope::Only(servers.clone()), ..made(number, world.now()) };
    for number in 0..30 {
        assert!(create(&world, &long(number)).await);
    }
    let found = list(&world).await;
    assert_eq!(found.len(), 30);
    assert!((0..30).all(|number| found.contains(&long(number))));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    use async_trait::async_trait;
    use pudu_app::ports::{KeyStore, StoreError};
    use pudu_domain::KeyId;

    use super::super::{Suite, fake_world};
    use super::*;
    use crate::lock::lock;

    /// Ways to keep keys wrongly.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Wrong {
        /// The last key of an id counts.
        Overwrites,
        /// An empty scope is every server.
        OpensEmptyScopes,
        /// Each revocation is the first.
        RevokesAgain,
        /// A revoked key is not listed.
        HidesRevoked,
        /// A revoked key is removed.
        Removes,
        /// What is not there is made.
        MakesRevoked,
    }

    struct WrongKeys(Wrong, Mutex<BTreeMap<KeyId, StoredKey>>);

    #[async_trait]
    impl KeyStore for WrongKeys {
        async fn create(&self, key: &StoredKey) -> Result<bool, StoreError> {
            let mut keys = lock(&self.1);
            let mut key = key.clone();
            if self.0 == Wrong::OpensEmptyScopes && key.scope == Scope::Only([].into()) {
                key.scope = Scope::All;
            }
            let there = keys.contains_key(&key.id);
            if !there || self.0 == Wrong::Overwrites {
                keys.insert(key.id.clone(), key);
            }
            Ok(!there)
        }

        async fn get(&self, id: &KeyId) -> Result<Option<StoredKey>, StoreError> {
            Ok(lock(&self.1).get(id).cloned())
        }

        async fn list(&self) -> Result<Vec<StoredKey>, StoreError> {
            let keys = lock(&self.1);
            let shown = |key: &&StoredKey| self.0 != Wrong::HidesRevoked || key.revoked_at.is_none();
            Ok(keys.values().filter(shown).cloned().collect())
        }

        async fn revoke(&self, id: &KeyId, at: Timestamp) -> Result<Option<StoredKey>, StoreError> {
            let mut keys = lock(&self.1);
            if self.0 == Wrong::MakesRevoked {
                keys.entry(id.clone()).or_insert_with(|| StoredKey { id: id.clone(), ..made(9, at) });
            }
            let Some(key) = keys.get_mut(id) else { return Ok(None) };
            if self.0 == Wrong::RevokesAgain {
                key.revoked_at = None;
            }
            key.revoked_at.get_or_insert(at);
            let revoked = key.clone();
            if self.0 == Wrong::Removes {
                keys.remove(id);
            }
            Ok(Some(revoked))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn every_wrong_way_to_keep_keys_fails_a_case() {
        let suite = Suite { port: "key_store", parts: &[CASES] };
        for wrong in [
            Wrong::Overwrites,
            Wrong::OpensEmptyScopes,
            Wrong::RevokesAgain,
            Wrong::HidesRevoked,
            Wrong::Removes,
            Wrong::MakesRevoked,
        ] {
            let world = || World { keys: Arc::new(WrongKeys(wrong, Mutex::default())), ..fake_world(None) };
            assert!(!suite.failures(async || world()).await.is_empty(), "{wrong:?} passes every case");
        }
    }
}
