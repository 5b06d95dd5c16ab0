//! Who is let in: keys that were made, revoked, guessed; tokens of somebody else; and a table that does not answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use acceptance::operator;
use acceptance::ports::wired_by;
use async_trait::async_trait;
use pudu_app::callers::{AuthError, BELIEVED, CLOSED_WITHIN, Callers};
use pudu_app::keys::{Keys, NewKey};
use pudu_app::ports::{AuditLog, Clock, KeyStore, Outcome, StoredKey, TokenVerifier, VerifyError};
use pudu_domain::{ApiKey, KeyId, KeyName, Principal, Role, Scope, UserId};
use pudu_testkit::gate::{Call, Open};
use pudu_testkit::server::Plan;
use pudu_testkit::{FakeServer, FakeTable, Fate, Gate, Trace, VirtualClock};

const SECOND: Duration = Duration::from_secs(1);

/// What becomes of a process's calls to the table.
#[derive(Clone, Default)]
struct Weather(Arc<AtomicU8>);

impl Weather {
    const FINE: u8 = 0;
    const DOWN: u8 = 1;
    const SLOW: u8 = 2;

    fn is(&self, now: u8) {
        self.0.store(now, Ordering::SeqCst);
    }
}

/// One table, and processes on it.
struct Town {
    clock: VirtualClock,
    table: FakeTable,
    offices: AtomicU64,
}

impl Town {
    fn new() -> Self {
        Self { clock: VirtualClock::start(), table: FakeTable::new(), offices: AtomicU64::new(0) }
    }

    fn gate(&self, script: impl FnMut(Call<'_>) -> Fate + Send + 'static) -> Gate {
        Gate::new("p", Arc::new(self.clock), Trace::hashed(), script)
    }

    fn store(&self) -> Arc<dyn KeyStore> {
        Arc::new(self.table.store(Arc::new(self.clock), self.gate(|_| Fate::Pass)))
    }

    /// Where keys are made and revoked.
    fn keys(&self) -> Keys {
        let server = FakeServer::new(Arc::new(self.clock), |_| Plan::completes_after(SECOND));
        let gate = Gate::new("office", Arc::new(self.clock), Trace::hashed(), Open);
        // Each with chances of its own, or two would make the same key.
        let seed = self.offices.fetch_add(1, Ordering::SeqCst);
        wired_by(seed, self.clock, &self.table, &server, &gate).keys()
    }

    /// A gateway, the weather between it and the table, and its count of calls.
    fn gateway(&self) -> (Callers, Weather, Gate) {
        let weather = Weather::default();
        let seen = weather.clone();
        let gate = self.gate(move |_| match seen.0.load(Ordering::SeqCst) {
            Weather::DOWN => Fate::FailBefore,
            Weather::SLOW => Fate::Late(2 * SECOND),
            _ => Fate::Pass,
        });
        let store = Arc::new(self.table.store(Arc::new(self.clock), gate.clone()));
        (Callers::new(store, Arc::new(self.clock)), weather, gate)
    }

    async fn make(&self, role: Role, scope: Scope) -> (StoredKey, ApiKey) {
        let name = KeyName::parse("laptop").unwrap();
        self.keys().create(&operator(), NewKey { name, user: None, role, scope }).await.unwrap()
    }

    async fn pass(&self, time: Duration) {
        self.clock.sleep(time).await;
    }
}

fn is_invalid<T>(answer: &Result<T, AuthError>) -> bool {
    matches!(answer, Err(AuthError::Invalid))
}

/// The same key with another secret.
fn guessed(key: &ApiKey) -> String {
    let mut text = key.expose().to_owned();
    let last = if text.pop() == Some('A') { 'B' } else { 'A' };
    text.push(last);
    text
}

#[tokio::test(start_paused = true)]
async fn a_key_lets_its_user_in_with_its_role_scope_and_tag() {
    let town = Town::new();
    let scope = Scope::Only(["crm".to_owned()].into());
    let (stored, key) = town.make(Role::User, scope.clone()).await;
    let (gateway, ..) = town.gateway();
    let who = gateway.authenticate(key.expose()).await.unwrap();
    assert_eq!(who.user, UserId::parse(format!("key:{}", key.id())).unwrap());
    assert_eq!((who.role, who.tag.as_str(), &who.scope), (Role::User, key.id().as_str(), &scope));
    assert_eq!(who.own_thread().as_str(), format!("mcp-{}", key.id()));
    assert_eq!((stored.user, stored.revoked_at), (who.user, None));
}

#[tokio::test(start_paused = true)]
async fn a_busy_key_is_read_once_a_second() {
    let town = Town::new();
    let (_, key) = town.make(Role::User, Scope::All).await;
    let (gateway, _, gate) = town.gateway();
    for second in 1..=3 {
        for _ in 0..10 {
            assert!(gateway.authenticate(key.expose()).await.is_ok());
            town.pass(BELIEVED / 11).await;
        }
        assert_eq!(gate.calls(), second);
        town.pass(BELIEVED / 5).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_that_was_revoked_in_another_process_is_out_within_five_seconds() {
    let town = Town::new();
    let (_, key) = town.make(Role::Admin, Scope::All).await;
    // The table answers, answers late, or does not answer at all after the revocation.
    for weather_after in [Weather::FINE, Weather::SLOW, Weather::DOWN] {
        let (_, key) = (&key, town.make(Role::User, Scope::All).await.1);
        let (gateway, weather, _) = town.gateway();
        assert!(gateway.authenticate(key.expose()).await.is_ok());
        weather.is(weather_after);
        assert!(town.keys().revoke(&operator(), key.id()).await.unwrap().unwrap().revoked_at.is_some());
        let revoked = town.clock.now();
        while town.clock.now().since(revoked) < CLOSED_WITHIN + SECOND {
            let asked = town.clock.now();
            if gateway.authenticate(key.expose()).await.is_ok() {
                assert!(asked.since(revoked) < CLOSED_WITHIN, "weather {weather_after}");
                assert!(weather_after != Weather::FINE || asked.since(revoked) < BELIEVED);
            }
            town.pass(SECOND / 10).await;
        }
        assert!(gateway.authenticate(key.expose()).await.is_err(), "weather {weather_after}");
    }
    let (gateway, ..) = town.gateway();
    assert!(gateway.authenticate(key.expose()).await.is_ok(), "another key is not touched");
}

#[tokio::test(start_paused = true)]
async fn while_the_table_does_not_answer_a_known_key_opens_for_five_seconds_and_a_new_one_does_not() {
    let town = Town::new();
    let ((_, known), (_, new)) =
        (town.make(Role::User, Scope::All).await, town.make(Role::User, Scope::All).await);
    let (gateway, weather, _) = town.gateway();
    assert!(gateway.authenticate(known.expose()).await.is_ok());
    let read = town.clock.now();
    weather.is(Weather::DOWN);
    assert!(matches!(gateway.authenticate(new.expose()).await, Err(AuthError::Store(_))));
    while town.clock.now().since(read) < CLOSED_WITHIN.saturating_sub(SECOND) {
        assert!(gateway.authenticate(known.expose()).await.is_ok());
        town.pass(SECOND / 10).await;
    }
    town.pass(SECOND).await;
    assert!(matches!(gateway.authenticate(known.expose()).await, Err(AuthError::Store(_))));
    weather.is(Weather::FINE);
    assert!(
        gateway.authenticate(known.expose()).await.is_ok()
            && gateway.authenticate(new.expose()).await.is_ok()
    );
}

#[tokio::test(start_paused = true)]
async fn an_unknown_id_costs_a_read_a_second_and_what_is_no_key_costs_none() {
    let town = Town::new();
    let (_, key) = town.make(Role::User, Scope::All).await;
    let (gateway, _, gate) = town.gateway();
    let stranger = ApiKey::new([9; 40]);
    for _ in 0..10 {
        assert!(is_invalid(&gateway.authenticate(stranger.expose()).await));
    }
    assert_eq!(gate.calls(), 1);
    for garbage in [
        String::new(),
        "pudu_".to_owned(),
        "pudu_aaaaaaaaaaaa".to_owned(),
        format!("{} ", key.expose()),
        key.expose().to_uppercase(),
        "x".repeat(1_000_000),
        "pudu_x".repeat(200_000),
        "eyJhbGciOiJub25lIn0.e30.".to_owned(),
    ] {
        assert!(is_invalid(&gateway.authenticate(&garbage).await));
    }
    assert_eq!(gate.calls(), 1);
    // A right id is no way in, and costs what the right key costs.
    for _ in 0..10 {
        assert!(is_invalid(&gateway.authenticate(&guessed(&key)).await));
    }
    assert!(gateway.authenticate(key.expose()).await.is_ok());
    assert_eq!(gate.calls(), 2);
    town.pass(BELIEVED).await;
    assert!(is_invalid(&gateway.authenticate(stranger.expose()).await));
    assert_eq!(gate.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn ever_new_ids_are_looked_up_no_faster_than_a_bound() {
    let town = Town::new();
    let (_, key) = town.make(Role::User, Scope::All).await;
    let (gateway, _, gate) = town.gateway();
    assert!(gateway.authenticate(key.expose()).await.is_ok());
    let mut number = 0_u32;
    let mut guess = async || {
        number += 1;
        let mut random = [7; 40];
        random[4..8].copy_from_slice(&number.to_be_bytes());
        gateway.authenticate(ApiKey::new(random).expose()).await
    };
    for _ in 0..199 {
        assert!(is_invalid(&guess().await));
    }
    for _ in 0..1000 {
        assert!(matches!(guess().await, Err(AuthError::Strangers(wait)) if wait == SECOND));
    }
    assert_eq!(gate.calls(), 200, "the key's own first lookup is one of them");
    town.pass(BELIEVED).await;
    for _ in 0..50 {
        assert!(is_invalid(&guess().await));
    }
    assert!(matches!(guess().await, Err(AuthError::Strangers(_))));
    // A key that is in use is no stranger.
    assert!(gateway.authenticate(key.expose()).await.is_ok());
    assert_eq!(gate.calls(), 200 + 50 + 1);
}

#[tokio::test(start_paused = true)]
async fn guesses_do_not_push_out_the_keys_that_are_in_use() {
    let town = Town::new();
    let (_, key) = town.make(Role::User, Scope::All).await;
    let (gateway, weather, gate) = town.gateway();
    assert!(gateway.authenticate(key.expose()).await.is_ok());
    for number in 0..12_000_u32 {
        let mut random = [0; 40];
        random[4..8].copy_from_slice(&number.to_be_bytes());
        assert!(is_invalid(&gateway.authenticate(ApiKey::new(random).expose()).await));
        // As fast as strangers are looked up.
        town.pass(SECOND / 50).await;
    }
    assert!(gateway.authenticate(key.expose()).await.is_ok());
    let before = gate.calls();
    weather.is(Weather::DOWN);
    assert!(gateway.authenticate(key.expose()).await.is_ok());
    assert_eq!(gate.calls(), before);
}

#[tokio::test(start_paused = true)]
async fn one_caller_reads_a_key_again_and_the_others_go_on() {
    let town = Town::new();
    let (_, key) = town.make(Role::User, Scope::All).await;
    let (gateway, weather, gate) = town.gateway();
    assert!(gateway.authenticate(key.expose()).await.is_ok());
    town.pass(BELIEVED).await;
    weather.is(Weather::SLOW);
    let reads = async {
        assert!(gateway.authenticate(key.expose()).await.is_ok());
        town.clock.now()
    };
    let goes_on = async {
        for _ in 0..10 {
            assert!(gateway.authenticate(key.expose()).await.is_ok());
        }
        town.clock.now()
    };
    let (slow, fast) = tokio::join!(reads, goes_on);
    assert!(slow.since(fast) >= SECOND && gate.calls() == 2);
    // One that goes away while it reads leaves the way free.
    town.pass(BELIEVED).await;
    let gone = tokio::time::timeout(SECOND / 2, gateway.authenticate(key.expose())).await;
    assert!(gone.is_err());
    weather.is(Weather::FINE);
    assert!(gateway.authenticate(key.expose()).await.is_ok());
    assert_eq!(gate.calls(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_was_set_back_does_not_keep_a_key_alive() {
    let town = Town::new();
    let (_, key) = town.make(Role::User, Scope::All).await;
    let clock = Arc::new(pudu_testkit::ManualClock::start());
    let gateway = Callers::new(town.store(), clock.clone());
    clock.pass(3600 * SECOND);
    assert!(gateway.authenticate(key.expose()).await.is_ok());
    clock.set(pudu_testkit::clock::EPOCH);
    town.keys().revoke(&operator(), key.id()).await.unwrap();
    assert!(is_invalid(&gateway.authenticate(key.expose()).await));
}

#[tokio::test(start_paused = true)]
async fn the_processes_own_key_needs_no_table() {
    let town = Town::new();
    let (gateway, weather, gate) = town.gateway();
    let own = ApiKey::new([3; 40]);
    let gateway = gateway.with_own(&own, operator());
    weather.is(Weather::DOWN);
    assert_eq!(gateway.authenticate(own.expose()).await.unwrap(), operator());
    assert!(is_invalid(&gateway.authenticate(&guessed(&own)).await));
    assert_eq!(gate.calls(), 0);
}

/// Takes one token; counts what it is asked.
struct Issuer(AtomicUsize);

#[async_trait]
impl TokenVerifier for Issuer {
    async fn verify(&self, token: &str) -> Result<Option<Principal>, VerifyError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        match token {
            "good" => Ok(Some(operator())),
            "broken" => Err(VerifyError::Keys { source: "no keys".into() }),
            _ => Ok(None),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_does_not_begin_like_a_key_is_the_issuers_to_judge_and_what_does_never_is() {
    let town = Town::new();
    let (gateway, _, gate) = town.gateway();
    let issuer = Arc::new(Issuer(AtomicUsize::new(0)));
    let gateway = gateway.with_verifier(issuer.clone());
    assert_eq!(gateway.authenticate("good").await.unwrap(), operator());
    assert!(is_invalid(&gateway.authenticate("bad").await));
    assert!(matches!(gateway.authenticate("broken").await, Err(AuthError::Verifier(_))));
    assert_eq!((issuer.0.load(Ordering::SeqCst), gate.calls()), (3, 0));
    for text in ["pudu_good", "pudu_", ApiKey::new([1; 40]).expose()] {
        assert!(is_invalid(&gateway.authenticate(text).await));
    }
    assert_eq!(issuer.0.load(Ordering::SeqCst), 3, "no key of ours is ever shown to somebody else");
}

#[tokio::test(start_paused = true)]
async fn making_and_revoking_keys_is_recorded_without_their_text() {
    let town = Town::new();
    let keys = town.keys();
    let (stored, key) = town.make(Role::Admin, Scope::All).await;
    let nobody = KeyId::parse("aaaaaaaaaaaa").unwrap();
    assert_eq!(keys.revoke(&operator(), &nobody).await.unwrap(), None);
    let first = keys.revoke(&operator(), key.id()).await.unwrap().unwrap();
    town.pass(SECOND).await;
    assert_eq!(keys.revoke(&operator(), key.id()).await.unwrap(), Some(first.clone()), "nothing changed");
    assert_eq!(keys.list().await.unwrap(), [first]);

    let log = town.table.store(Arc::new(town.clock), town.gate(|_| Fate::Pass));
    let records = AuditLog::list(&log, 10, None).await.unwrap();
    let actions: Vec<&str> = records.iter().map(|record| record.action.as_str()).collect();
    assert_eq!(actions, ["keys.revoke", "keys.create"], "what was not there, or was revoked, is no change");
    let secret = &key.expose()[18..];
    for record in &records {
        assert_eq!((record.user.as_str(), record.tag.as_str()), ("local:default", "operator"));
        assert!(record.target.contains(key.id().as_str()) && record.target.contains("laptop"));
        assert_eq!(record.outcome, Outcome::Done);
        assert!(!format!("{record:?}").contains(secret));
    }
    assert!(!format!("{stored:?} {key:?}").contains(secret));
}

#[tokio::test(start_paused = true)]
async fn a_key_that_was_made_elsewhere_is_taken_as_it_is_but_not_twice() {
    let town = Town::new();
    let key = ApiKey::new([5; 40]);
    let new = || NewKey {
        name: KeyName::parse("admin").unwrap(),
        user: Some(UserId::parse("local:default").unwrap()),
        role: Role::Admin,
        scope: Scope::All,
    };
    town.keys().adopt(&operator(), &key, new()).await.unwrap();
    let (gateway, ..) = town.gateway();
    assert_eq!(gateway.authenticate(key.expose()).await.unwrap().user.as_str(), "local:default");
    town.pass(SECOND).await;
    let again = town.keys().adopt(&operator(), &key, new()).await.unwrap_err().to_string();
    assert!(again.contains("exists already"), "{again}");
}
