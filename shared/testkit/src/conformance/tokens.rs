//! OAuth tokens: one row per server and identity, replaced only by who read its present version.

use std::time::Duration;

use futures_util::future::join_all;
use pudu_app::ports::{Replaced, TokenKey};
use pudu_domain::token::{Access, Grant, Sealed};
use pudu_domain::{Lease, Owner, Token};

use super::life::fail;
use super::{Case, World, cases};

pub(super) const CASES: &[Case] = cases![
    an_empty_table_has_no_token,
    a_token_is_read_as_it_was_written,
    tokens_of_other_servers_and_identities_are_apart,
    of_many_claims_one_wins_and_the_others_see_it,
    a_version_that_is_no_longer_there_replaces_nothing,
    a_commit_makes_a_new_version_although_the_generation_stays,
    a_large_token_fits,
];

fn key(server: &str, identity: &str) -> TokenKey {
    TokenKey { server: server.to_owned(), identity: identity.to_owned() }
}

fn sealed(text: impl Into<String>) -> Sealed {
    Sealed::new(text.into())
}

fn grant(world: &World, text: &str) -> Grant {
    let expires_at = world.now() + Duration::from_secs(3600);
    let access = Access { sealed: sealed(text), granted_at: world.now(), expires_at };
    Grant { access, refresh: Some(sealed(format!("r-{text}"))) }
}

fn claimed(world: &World, token: &Token, nonce: u64) -> Token {
    let until = world.now() + Duration::from_secs(30);
    token.claimed(Lease { owner: Owner::new("w", nonce), until })
}

async fn load(world: &World, key: &TokenKey) -> Option<Token> {
    world.tokens.load(key).await.unwrap_or_else(|e| fail(&e))
}

async fn replace(world: &World, key: &TokenKey, seen: Option<&Token>, new: &Token) -> Replaced {
    world.tokens.replace(key, seen, new).await.unwrap_or_else(|e| fail(&e))
}

async fn an_empty_table_has_no_token(world: World) {
    assert_eq!(load(&world, &key("s", "0f")).await, None);
}

async fn a_token_is_read_as_it_was_written(world: World) {
    let key = key("s", "0f");
    let first = claimed(&world, &Token::default(), 1);
    let granted = first.granted(&grant(&world, "a"));
    let Some(taken) = granted.rejected(&sealed("a"), world.now()) else { fail(&"nothing was taken away") };
    let second = claimed(&world, &taken, 2);
    let failed = second.failed(world.now(), "it said nö".to_owned());
    let refused = claimed(&world, &failed, 3).refused("for good".to_owned());
    let mut before: Option<Token> = None;
    for token in [first, granted, taken, second, failed, refused] {
        assert_eq!(replace(&world, &key, before.as_ref(), &token).await, Replaced::Done);
        assert_eq!(load(&world, &key).await.as_ref(), Some(&token));
        before = Some(token);
    }
}

async fn tokens_of_other_servers_and_identities_are_apart(world: World) {
    let long = "ü".repeat(300);
    let keys =
        [key("a", "1"), key("a", "2"), key("a#1", "1"), key("", "1"), key(&long, "1"), key(&long[2..], "1")];
    for (nonce, key) in (0..).zip(&keys) {
        let token = claimed(&world, &Token::default(), nonce);
        assert_eq!(replace(&world, key, None, &token).await, Replaced::Done);
    }
    for (nonce, key) in (0..).zip(&keys) {
        assert_eq!(load(&world, key).await, Some(claimed(&world, &Token::default(), nonce)));
    }
}

async fn of_many_claims_one_wins_and_the_others_see_it(world: World) {
    let key = key("s", "0f");
    for seen in
        [None, Some(Token::default().claimed(Lease { owner: Owner::new("x", 7), until: world.now() }))]
    {
        if let Some(seen) = &seen {
            let before = load(&world, &key).await;
            assert_eq!(replace(&world, &key, before.as_ref(), seen).await, Replaced::Done);
        }
        let start = seen.clone().unwrap_or_default();
        let rivals: Vec<Token> = (0..8).map(|nonce| claimed(&world, &start, nonce)).collect();
        let answers = join_all(rivals.iter().map(|rival| replace(&world, &key, seen.as_ref(), rival))).await;
        let won: Vec<&Token> = rivals
            .iter()
            .zip(&answers)
            .filter(|(_, answer)| **answer == Replaced::Done)
            .map(|(rival, _)| rival)
            .collect();
        let stored = load(&world, &key).await;
        assert_eq!(won, stored.iter().collect::<Vec<_>>(), "exactly one has it, and it is stored");
        let lost = Replaced::Lost(stored.map(Box::new));
        assert_eq!(answers.iter().filter(|answer| **answer == lost).count(), 7, "{answers:?}");
    }
}

async fn a_version_that_is_no_longer_there_replaces_nothing(world: World) {
    let key = key("s", "0f");
    let mine = claimed(&world, &Token::default(), 1);
    let theirs = claimed(&world, &mine, 2);
    assert_eq!(replace(&world, &key, None, &mine).await, Replaced::Done);
    assert_eq!(replace(&world, &key, Some(&mine), &theirs).await, Replaced::Done);
    for (seen, new) in [
        (Some(&mine), mine.granted(&grant(&world, "late"))),
        (None, claimed(&world, &Token::default(), 3)),
        (Some(&Token::default()), claimed(&world, &Token::default(), 3)),
        (Some(&claimed(&world, &mine, 9)), theirs.granted(&grant(&world, "of another claim"))),
    ] {
        let lost = Replaced::Lost(Some(Box::new(theirs.clone())));
        assert_eq!(replace(&world, &key, seen, &new).await, lost);
    }
    assert_eq!(load(&world, &key).await, Some(theirs));
}

async fn a_commit_makes_a_new_version_although_the_generation_stays(world: World) {
    let key = key("s", "0f");
    let mine = claimed(&world, &Token::default(), 1);
    let done = mine.granted(&grant(&world, "a"));
    assert_eq!(replace(&world, &key, None, &mine).await, Replaced::Done);
    assert_eq!(replace(&world, &key, Some(&mine), &done).await, Replaced::Done);
    let again = replace(&world, &key, Some(&mine), &mine.failed(world.now(), "why".to_owned())).await;
    assert_eq!(again, Replaced::Lost(Some(Box::new(done.clone()))));
    assert_eq!(replace(&world, &key, Some(&done), &claimed(&world, &done, 2)).await, Replaced::Done);
}

/// Tokens are self-contained documents at some servers; sealed, they are twice as long.
async fn a_large_token_fits(world: World) {
    let key = key("s", "0f");
    let large = claimed(&world, &Token::default(), 1).granted(&grant(&world, &"x".repeat(100_000)));
    assert_eq!(replace(&world, &key, None, &large).await, Replaced::Done);
    assert_eq!(load(&world, &key).await, Some(large));
}
