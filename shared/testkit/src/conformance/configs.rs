//! The config's revisions: immutable, in one line, however large.

use futures_util::future::join_all;
use pudu_app::ports::{Author, Made, Moved, Revision};
use pudu_domain::{CredentialTag, UserId};
use serde_json::{Value, json};

use super::life::fail;
use super::{Case, World, cases};
use crate::random::SeededRandom;

pub(super) const CASES: &[Case] = cases![
    an_empty_table_has_no_config,
    revisions_follow_each_other,
    a_number_that_is_not_the_next_is_a_conflict,
    one_of_many_writers_of_a_revision_wins,
    a_document_is_read_as_it_was_written,
    a_large_document_is_read_as_it_was_written,
    the_history_is_told_newest_first_a_page_at_a_time,
    who_made_a_revision_is_kept_with_it,
];

fn revision(world: &World, number: u64, sealed: Value) -> Revision {
    Revision { made: Made { number, at: world.now(), author: None }, sealed }
}

async fn append(world: &World, revision: &Revision) -> Moved {
    world.config.append(revision).await.unwrap_or_else(|e| fail(&e))
}

async fn read(world: &World, number: u64) -> Option<Revision> {
    world.config.revision(number).await.unwrap_or_else(|e| fail(&e))
}

async fn pointer(world: &World) -> Option<u64> {
    world.config.pointer().await.unwrap_or_else(|e| fail(&e))
}

async fn an_empty_table_has_no_config(world: World) {
    assert_eq!((pointer(&world).await, read(&world, 1).await), (None, None));
}

async fn revisions_follow_each_other(world: World) {
    let mut written = Vec::new();
    for number in 1..=12 {
        world.at(number * 1000);
        let next = revision(&world, number, json!({"n": number}));
        assert_eq!(append(&world, &next).await, Moved::Done);
        assert_eq!(pointer(&world).await, Some(number));
        written.push(next);
    }
    for earlier in written {
        assert_eq!(read(&world, earlier.made.number).await, Some(earlier), "what was stored stays");
    }
    assert_eq!(read(&world, 13).await, None);
}

async fn a_number_that_is_not_the_next_is_a_conflict(world: World) {
    assert_eq!(append(&world, &revision(&world, 2, json!({}))).await, Moved::Conflict, "before the first");
    let first = revision(&world, 1, json!({"a": 1}));
    assert_eq!(append(&world, &first).await, Moved::Done);
    let second = revision(&world, 2, json!({"a": 2}));
    assert_eq!(append(&world, &second).await, Moved::Done);
    for number in [1, 2, 4] {
        world.at(number);
        assert_eq!(append(&world, &revision(&world, number, json!({"b": number}))).await, Moved::Conflict);
    }
    assert_eq!(pointer(&world).await, Some(2));
    assert_eq!((read(&world, 1).await, read(&world, 2).await), (Some(first), Some(second)));
    assert_eq!(read(&world, 4).await, None);
}

async fn one_of_many_writers_of_a_revision_wins(world: World) {
    let first = revision(&world, 1, json!({}));
    assert_eq!(append(&world, &first).await, Moved::Done);
    let rivals: Vec<_> = (0..8).map(|n| revision(&world, 2, json!({"writer": n}))).collect();
    let outcomes = join_all(rivals.iter().map(|rival| append(&world, rival))).await;
    let won: Vec<_> = rivals.iter().zip(&outcomes).filter(|(_, o)| **o == Moved::Done).collect();
    assert_eq!(won.len(), 1, "{outcomes:?}");
    let winner = won.first().map(|(rival, _)| (*rival).clone());
    assert_eq!((read(&world, 2).await, pointer(&world).await), (winner, Some(2)));
}

/// The raw JSON is the truth: key order, big numbers and odd keys stay.
async fn a_document_is_read_as_it_was_written(world: World) {
    let document = json!({
        "z": 1, "a": {"": null, "$VAR": "$VAR", "ü": "\u{1F98C}", "dots.and[0]": [1.5, 1e300, -0.0, u64::MAX, i64::MIN]},
        "mcpServers": {"b": {}, "a": {"url": "https://x/\u{0}"}},
    });
    let text = document.to_string();
    assert_eq!(append(&world, &revision(&world, 1, document)).await, Moved::Done);
    assert_eq!(read(&world, 1).await.map(|read| read.sealed.to_string()), Some(text));
}

/// Two megabytes that do not compress: no single item of a table can hold them.
async fn a_large_document_is_read_as_it_was_written(world: World) {
    let random = SeededRandom::new(7);
    let text: String = (0..2_000_000 / 4)
        .filter_map(|_| char::from_u32(u32::try_from(0x1_0000 + random.below(0x8_0000)).unwrap_or(0)))
        .collect();
    let large = revision(&world, 1, json!({"mcpServers": {"big": {"description": text}}}));
    assert_eq!(append(&world, &large).await, Moved::Done);
    let read_back = read(&world, 1).await;
    assert!(read_back == Some(large), "the document came back different");
    let small = revision(&world, 2, json!({}));
    assert_eq!(append(&world, &small).await, Moved::Done);
    assert_eq!(read(&world, 2).await, Some(small));
}

async fn history(world: &World, limit: usize, before: Option<u64>) -> Vec<Made> {
    world.config.history(limit, before).await.unwrap_or_else(|e| fail(&e))
}

/// Also past revisions that are in parts.
async fn the_history_is_told_newest_first_a_page_at_a_time(world: World) {
    assert_eq!(history(&world, 10, None).await, []);
    let random = SeededRandom::new(9);
    let mut written = Vec::new();
    for number in 1..=7 {
        world.at(number * 1000);
        let noise: Vec<u64> =
            (0..if number == 4 { 200_000 } else { 1 }).map(|_| random.below(u64::MAX)).collect();
        let next = revision(&world, number, json!({ "noise": noise }));
        assert_eq!(append(&world, &next).await, Moved::Done);
        written.insert(0, next.made);
    }
    assert_eq!(history(&world, 100, None).await, written);
    let (first, rest) = written.split_at(3);
    assert_eq!(history(&world, 3, None).await, first);
    assert_eq!(history(&world, 3, Some(5)).await.as_slice(), rest.split_at(3).0);
    assert_eq!(history(&world, 3, Some(2)).await.as_slice(), rest.split_at(3).1);
    for before in [0, 1] {
        assert_eq!(history(&world, 3, Some(before)).await, []);
    }
    assert_eq!(history(&world, 1, Some(u64::MAX)).await.as_slice(), first.split_at(1).0);
    assert_eq!(history(&world, 0, None).await, []);
}

async fn who_made_a_revision_is_kept_with_it(world: World) {
    let (Ok(user), Ok(tag)) = (UserId::parse("oidc:0123456789abcdef:ann#1"), CredentialTag::parse("tag-1"))
    else {
        fail(&"no such user")
    };
    let author = Author { user, tag, action: "server.replace".into(), target: "a \u{1F98C}\n".into() };
    let mut first = revision(&world, 1, json!({}));
    first.made.author = Some(author);
    let second = revision(&world, 2, json!({}));
    assert_eq!(append(&world, &first).await, Moved::Done);
    assert_eq!(append(&world, &second).await, Moved::Done);
    assert_eq!(history(&world, 9, None).await, [second.made.clone(), first.made.clone()]);
    assert_eq!((read(&world, 1).await, read(&world, 2).await), (Some(first), Some(second)));
}
