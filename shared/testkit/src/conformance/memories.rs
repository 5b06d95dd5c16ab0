//! What is remembered of users: written only over what was read, each user's and each agent's by itself.

use pudu_app::ports::MemoryKept;
use pudu_domain::memory::{CONTENT_CHARS, Fact, MANUAL, MOST_FACTS, Section, Summary};
use pudu_domain::{AgentName, FactId, Memory, MemoryKey, RunId, Timestamp, UserId};

use super::life::fail;
use super::{Case, World, cases};

pub(super) const CASES: &[Case] = cases![
    what_nobody_wrote_is_empty,
    a_document_is_written_only_over_what_was_read,
    a_document_is_loaded_as_it_was_written,
    each_user_and_each_agent_has_an_own_document,
    one_of_many_who_read_the_same_changes_it,
    a_repeated_write_is_done,
    the_largest_document_is_kept,
];

fn key(user: &str, agent: Option<&str>) -> MemoryKey {
    let user = UserId::parse(user).unwrap_or_else(|error| fail(&error));
    let agent = agent.map(|name| AgentName::parse(name).unwrap_or_else(|error| fail(&error)));
    MemoryKey { user, agent }
}

fn fact(name: &str, content: &str) -> Fact {
    let id = FactId::parse(name).unwrap_or_else(|error| fail(&error));
    let from = (Timestamp::from_millis(7), MANUAL);
    Fact::new(id, content, "preference", 0.123, from).unwrap_or_else(|error| fail(&error))
}

/// The document that follows `before`, with another fact.
fn after(before: &Memory, content: &str, world: &World) -> Memory {
    let mut memory = before.clone();
    let fact = fact(&format!("f{}", before.revision), content);
    memory.add(fact, MOST_FACTS).unwrap_or_else(|error| fail(&error));
    before.followed_by(memory, world.now())
}

async fn load(world: &World, key: &MemoryKey) -> Memory {
    world.memories.load(key).await.unwrap_or_else(|error| fail(&error))
}

async fn keep(world: &World, key: &MemoryKey, memory: &Memory) -> MemoryKept {
    world.memories.keep(key, memory).await.unwrap_or_else(|error| fail(&error))
}

async fn what_nobody_wrote_is_empty(world: World) {
    assert_eq!(load(&world, &key("a:b", None)).await, Memory::default());
}

async fn a_document_is_written_only_over_what_was_read(world: World) {
    let (key, none) = (key("a:b", None), Memory::default());
    let first = after(&none, "one", &world);
    let second = after(&first, "two", &world);
    assert_eq!(keep(&world, &key, &second).await, MemoryKept::Moved);
    assert_eq!(load(&world, &key).await, none);
    assert_eq!(keep(&world, &key, &first).await, MemoryKept::Done);
    assert_eq!(keep(&world, &key, &after(&none, "other", &world)).await, MemoryKept::Moved);
    assert_eq!(keep(&world, &key, &second).await, MemoryKept::Done);
    assert_eq!(keep(&world, &key, &first).await, MemoryKept::Moved);
    assert_eq!(load(&world, &key).await, second);
}

async fn a_document_is_loaded_as_it_was_written(world: World) {
    let key = key("a:b", Some("writer"));
    let mut memory = after(&Memory::default(), "läuft <gern>", &world);
    let summary = Summary { text: "a move".to_owned(), updated_at: world.now() };
    memory.summaries.insert(Section::TopOfMind, summary);
    memory.learnt.push(RunId::parse("r.1").unwrap_or_else(|error| fail(&error)));
    keep(&world, &key, &memory).await;
    assert_eq!(load(&world, &key).await, memory);
}

async fn each_user_and_each_agent_has_an_own_document(world: World) {
    let keys =
        [key("a:b", None), key("a:B", None), key("a:b#", None), key("a:b", Some("x")), key("a:b", Some("-"))];
    for (at, key) in keys.iter().enumerate() {
        let memory = after(&Memory::default(), &format!("fact {at}"), &world);
        assert_eq!(keep(&world, key, &memory).await, MemoryKept::Done, "{key:?}");
    }
    for (at, key) in keys.iter().enumerate() {
        let memory = load(&world, key).await;
        assert_eq!(
            memory.facts.first().map(|fact| fact.content.clone()),
            Some(format!("fact {at}")),
            "{key:?}"
        );
    }
}

async fn one_of_many_who_read_the_same_changes_it(world: World) {
    let (key, none) = (key("a:b", None), Memory::default());
    let afters: Vec<Memory> = (0..8).map(|at| after(&none, &format!("fact {at}"), &world)).collect();
    let done = futures_util::future::join_all(afters.iter().map(|after| keep(&world, &key, after))).await;
    assert_eq!(done.iter().filter(|kept| **kept == MemoryKept::Done).count(), 1, "{done:?}");
}

async fn a_repeated_write_is_done(world: World) {
    let key = key("a:b", None);
    let first = after(&Memory::default(), "one", &world);
    for _ in 0..2 {
        assert_eq!(keep(&world, &key, &first).await, MemoryKept::Done);
    }
}

async fn the_largest_document_is_kept(world: World) {
    let key = key("a:b", None);
    let mut memory = Memory::default();
    let facts = (0..MOST_FACTS).map(|at| {
        // Nothing that a table could pack.
        let text: String = (0..CONTENT_CHARS - 8)
            .map(|c| {
                char::from_u32(0x4e00 + u32::try_from((at * 7919 + c * 104_729) % 20_000).unwrap_or(0))
                    .unwrap_or('x')
            })
            .collect();
        fact(&format!("f{at}"), &text)
    });
    memory.replace(facts.collect(), std::collections::BTreeMap::new(), MOST_FACTS);
    let memory = Memory::default().followed_by(memory, world.now());
    assert_eq!(keep(&world, &key, &memory).await, MemoryKept::Done);
    assert_eq!(load(&world, &key).await, memory);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    use async_trait::async_trait;
    use pudu_app::ports::{MemoryStore, StoreError};

    use super::super::{Suite, fake_world};
    use super::*;
    use crate::lock::lock;

    /// Ways to remember wrongly.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Wrong {
        /// The last writer wins.
        NeverCompares,
        /// All users share one.
        TakesUsersForOne,
        /// All agents share one.
        TakesAgentsForOne,
        /// Nothing is kept.
        Forgets,
        /// What is there is not looked at after a lost answer.
        NeverRecognises,
        /// The runs that it learnt from are not kept.
        LosesRuns,
    }

    struct WrongMemories(Wrong, Mutex<BTreeMap<MemoryKey, Memory>>);

    impl WrongMemories {
        fn key(&self, of: &MemoryKey) -> MemoryKey {
            match self.0 {
                Wrong::TakesUsersForOne => MemoryKey { user: key("all:all", None).user, ..of.clone() },
                Wrong::TakesAgentsForOne => MemoryKey { agent: None, ..of.clone() },
                _ => of.clone(),
            }
        }
    }

    #[async_trait]
    impl MemoryStore for WrongMemories {
        async fn load(&self, key: &MemoryKey) -> Result<Memory, StoreError> {
            Ok(lock(&self.1).get(&self.key(key)).cloned().unwrap_or_default())
        }

        async fn keep(&self, key: &MemoryKey, memory: &Memory) -> Result<MemoryKept, StoreError> {
            let mut rows = lock(&self.1);
            let there = rows.get(&self.key(key)).cloned().unwrap_or_default();
            if there == *memory && self.0 != Wrong::NeverRecognises {
                return Ok(MemoryKept::Done);
            }
            if there.revision + 1 != memory.revision && self.0 != Wrong::NeverCompares {
                return Ok(MemoryKept::Moved);
            }
            let mut memory = memory.clone();
            if self.0 == Wrong::LosesRuns {
                memory.learnt.clear();
            }
            if self.0 != Wrong::Forgets {
                rows.insert(self.key(key), memory);
            }
            Ok(MemoryKept::Done)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn every_wrong_way_to_remember_fails_a_case() {
        let suite = Suite { port: "memory_store", parts: &[CASES] };
        for wrong in [
            Wrong::NeverCompares,
            Wrong::TakesUsersForOne,
            Wrong::TakesAgentsForOne,
            Wrong::Forgets,
            Wrong::NeverRecognises,
            Wrong::LosesRuns,
        ] {
            let world = || {
                let memories = Arc::new(WrongMemories(wrong, Mutex::default()));
                World { memories, ..fake_world(None) }
            };
            assert!(!suite.failures(async || world()).await.is_empty(), "{wrong:?} passes every case");
        }
    }
}
