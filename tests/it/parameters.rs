//! `$VAR` in the cloud: the real SDK client over HTTP, and a Parameter Store that is not Amazon's but speaks its protocol.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use acceptance::{HandClock, Logs, ParameterStore};
use aws_config::{BehaviorVersion, Region};
use aws_sdk_kms::config::Credentials;
use pudu_app::ports::Vault;
use pudu_config::{ResolveError, Secrets, Setting};
use pudu_lambda::parameters::ParameterVault;
use pudu_lambda::settings::ParameterPrefix;
use secrecy::ExposeSecret;

const PREFIX: &str = "/pudu/prod";

/// One store; a vault as a process has it; time that a test moves.
struct Cloud {
    store: ParameterStore,
    clock: Arc<HandClock>,
    vault: ParameterVault,
}

impl Cloud {
    async fn new() -> Self {
        let store = ParameterStore::start(PREFIX).await;
        let clock = Arc::new(HandClock::default());
        let aws = aws_config::defaults(BehaviorVersion::latest())
            .region(Region::new("eu-central-1"))
            .credentials_provider(Credentials::new("a", "b", None, None, "fake"))
            .endpoint_url(store.url())
            .load()
            .await;
        let vault = ParameterVault::new(&aws, ParameterPrefix::parse(PREFIX).unwrap(), clock.clone());
        Self { store, clock, vault }
    }

    fn put(&self, variable: &str, value: &str) {
        self.store.put(&parameter(variable), value);
    }

    async fn warm<const N: usize>(&self, variables: [&str; N]) {
        self.vault.warm(&variables.into_iter().map(str::to_owned).collect()).await;
    }

    fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// How many requests came since the last look.
    fn requests(&self) -> usize {
        self.store.asked().len()
    }

    fn resolved(&self, variable: &str) -> Result<String, ResolveError> {
        let value = Setting::new(format!("${variable}")).resolve(&self.vault)?;
        Ok(value.expose_secret().to_owned())
    }

    fn is(&self, variable: &str, value: &str) {
        assert_eq!(self.resolved(variable).as_deref(), Ok(value), "{variable}");
    }
}

fn parameter(variable: &str) -> String {
    format!("{PREFIX}/{variable}")
}

fn unset(name: &str) -> ResolveError {
    ResolveError::Unset { name: name.to_owned() }
}

fn unread(name: &str) -> ResolveError {
    ResolveError::Unread { name: name.to_owned() }
}

#[tokio::test]
async fn exactly_the_names_are_read_that_are_asked_for() {
    let cloud = Cloud::new().await;
    cloud.put("TOKEN", "sek");
    cloud.put("OTHER", "hidden");
    cloud.store.put("/pudu/production/TOKEN", "of somebody else");
    assert_eq!(cloud.requests(), 0, "a process that only started asks for nothing");
    cloud.warm(["TOKEN", "MISSING"]).await;
    assert_eq!(cloud.store.asked(), [[parameter("MISSING"), parameter("TOKEN")]]);
    cloud.is("TOKEN", "sek");
    assert_eq!(cloud.resolved("MISSING"), Err(unset("MISSING")));
    let text = unset("MISSING").to_string();
    assert!(text.contains("MISSING") && !text.contains("TOKEN") && !text.contains("OTHER"), "{text}");
    assert_eq!(cloud.resolved("OTHER"), Err(unread("OTHER")), "nobody asked for it");
    cloud.warm([]).await;
    assert_eq!(cloud.requests(), 0);
}

#[tokio::test]
async fn more_than_ten_names_are_several_requests() {
    let cloud = Cloud::new().await;
    let names: BTreeSet<String> = (0..25).map(|number| format!("VAR_{number}")).collect();
    for name in &names {
        cloud.put(name, &format!("value of {name}"));
    }
    cloud.vault.warm(&names).await;
    let asked = cloud.store.asked();
    assert_eq!(asked.iter().map(Vec::len).collect::<Vec<_>>(), [10, 10, 5]);
    assert_eq!(
        asked.concat().into_iter().collect::<BTreeSet<_>>(),
        names.iter().map(|name| parameter(name)).collect()
    );
    for name in &names {
        cloud.is(name, &format!("value of {name}"));
    }
}

#[tokio::test]
async fn a_rotated_parameter_is_used_after_a_minute_and_not_asked_for_before() {
    let cloud = Cloud::new().await;
    cloud.put("TOKEN", "old");
    cloud.warm(["TOKEN"]).await;
    cloud.put("TOKEN", "new");
    cloud.advance(59);
    cloud.warm(["TOKEN"]).await;
    cloud.is("TOKEN", "old");
    assert_eq!(cloud.requests(), 1);
    cloud.advance(1);
    cloud.warm(["TOKEN"]).await;
    cloud.is("TOKEN", "new");
    cloud.store.remove(&parameter("TOKEN"));
    cloud.advance(60);
    cloud.warm(["TOKEN"]).await;
    assert_eq!(cloud.resolved("TOKEN"), Err(unset("TOKEN")), "one that was removed is not used for ever");
}

#[tokio::test]
async fn a_name_that_comes_later_is_read_at_once_and_alone() {
    let cloud = Cloud::new().await;
    cloud.put("ONE", "1");
    cloud.put("TWO", "2");
    cloud.warm(["ONE"]).await;
    cloud.warm(["ONE", "TWO"]).await;
    cloud.is("TWO", "2");
    assert_eq!(cloud.store.asked(), [[parameter("ONE")], [parameter("TWO")]]);
    // Another config: what it does not name is forgotten with the first reading.
    cloud.advance(60);
    cloud.warm(["TWO"]).await;
    assert!(cloud.vault.get("ONE").is_none() && !cloud.vault.is_known("ONE"));
}

#[tokio::test]
async fn an_outage_keeps_the_last_known_values() {
    let cloud = Cloud::new().await;
    cloud.put("TOKEN", "sek");
    cloud.warm(["TOKEN"]).await;
    cloud.store.down(true);
    cloud.advance(60);
    cloud.store.asked();
    cloud.warm(["TOKEN"]).await;
    cloud.is("TOKEN", "sek");
    assert_eq!(cloud.requests(), 3, "one request and two more tries");
    cloud.advance(9);
    cloud.warm(["TOKEN"]).await;
    assert_eq!(cloud.requests(), 0, "a store that is down is left alone for a while");
    cloud.put("TOKEN", "new");
    cloud.store.down(false);
    cloud.advance(1);
    cloud.warm(["TOKEN"]).await;
    cloud.is("TOKEN", "new");
}

#[tokio::test]
async fn an_outage_at_the_start_is_not_taken_for_a_missing_parameter() {
    let cloud = Cloud::new().await;
    cloud.put("TOKEN", "sek");
    cloud.store.down(true);
    cloud.warm(["TOKEN", "MISSING"]).await;
    assert_eq!(
        (cloud.resolved("TOKEN"), cloud.resolved("MISSING")),
        (Err(unread("TOKEN")), Err(unread("MISSING")))
    );
    cloud.store.down(false);
    cloud.advance(10);
    cloud.warm(["TOKEN", "MISSING"]).await;
    cloud.is("TOKEN", "sek");
    assert_eq!(cloud.resolved("MISSING"), Err(unset("MISSING")));
}

#[tokio::test]
async fn an_outage_is_paid_for_once_and_not_for_every_batch() {
    let cloud = Cloud::new().await;
    cloud.store.down(true);
    let names: BTreeSet<String> = (0..25).map(|number| format!("VAR_{number}")).collect();
    cloud.vault.warm(&names).await;
    assert_eq!(cloud.requests(), 3, "the tries of the first batch");
}

#[tokio::test]
async fn throttling_is_tried_again() {
    let cloud = Cloud::new().await;
    cloud.put("TOKEN", "sek");
    cloud.store.throttle(2);
    cloud.warm(["TOKEN"]).await;
    cloud.is("TOKEN", "sek");
    assert_eq!(cloud.requests(), 3);
}

#[tokio::test]
async fn a_parameter_that_is_refused_hides_no_other() {
    for class in ["AccessDeniedException", "InvalidKeyId"] {
        let cloud = Cloud::new().await;
        cloud.put("GOOD", "sek");
        cloud.put("BAD", "under a key that nobody may use");
        cloud.store.refuse(&parameter("BAD"), class);
        cloud.warm(["BAD", "GOOD", "MISSING"]).await;
        cloud.is("GOOD", "sek");
        assert_eq!(cloud.resolved("BAD"), Err(unread("BAD")), "{class}");
        assert_eq!(cloud.resolved("MISSING"), Err(unset("MISSING")), "{class}");
        cloud.store.asked();
        cloud.advance(10);
        cloud.warm(["BAD", "GOOD", "MISSING"]).await;
        assert_eq!(cloud.store.asked(), [[parameter("BAD")]], "only it is asked for again");
        cloud.put("LATER", "new");
        cloud.warm(["BAD", "GOOD", "LATER"]).await;
        cloud.is("LATER", "new");
        assert_eq!(cloud.store.asked(), [[parameter("LATER")]], "a new name does not wait for a refused one");
    }
}

#[tokio::test]
async fn many_callers_at_once_are_one_request() {
    let cloud = Cloud::new().await;
    cloud.put("TOKEN", "sek");
    tokio::join!(cloud.warm(["TOKEN"]), cloud.warm(["TOKEN"]), cloud.warm(["TOKEN"]), cloud.warm(["TOKEN"]));
    cloud.is("TOKEN", "sek");
    assert_eq!(cloud.requests(), 1);
}

#[tokio::test]
async fn a_name_that_no_parameter_can_have_is_unset_and_spoils_no_request() {
    let cloud = Cloud::new().await;
    cloud.put("TOKEN", "sek");
    let long = "A".repeat(2000);
    cloud.warm([long.as_str(), "TOKEN"]).await;
    cloud.is("TOKEN", "sek");
    assert_eq!(cloud.resolved(&long), Err(unset(&long)));
    assert_eq!(cloud.store.asked(), [[parameter("TOKEN")]]);
}

#[tokio::test]
async fn what_cannot_be_read_is_logged_with_its_name_and_no_value() {
    let logs = Logs::capture();
    let cloud = Cloud::new().await;
    cloud.put("CANARY_GOOD", "canary-of-the-parameters");
    cloud.put("CANARY_BAD", "canary-of-the-parameters");
    cloud.store.refuse(&parameter("CANARY_BAD"), "AccessDeniedException");
    cloud.warm(["CANARY_BAD", "CANARY_GOOD"]).await;
    let text = logs.text();
    let line = text.lines().find(|line| line.contains("CANARY_BAD")).expect("it is logged");
    assert!(line.contains("grant it ssm:GetParameters") && line.contains("AccessDenied"), "{line}");
    assert!(!text.contains("canary-of-the-parameters"));
}

#[tokio::test]
async fn a_clock_that_is_set_back_keeps_neither_a_value_nor_a_rest() {
    let cloud = Cloud::new().await;
    cloud.put("TOKEN", "old");
    cloud.warm(["TOKEN"]).await;
    cloud.is("TOKEN", "old");
    cloud.clock.turn_back(Duration::from_secs(3600));
    cloud.put("TOKEN", "new");
    cloud.warm(["TOKEN"]).await;
    cloud.is("TOKEN", "new");
    cloud.store.down(true);
    cloud.warm(["OTHER"]).await;
    assert_eq!(cloud.resolved("OTHER"), Err(unread("OTHER")));
    cloud.store.down(false);
    cloud.put("OTHER", "sek");
    cloud.clock.turn_back(Duration::from_secs(3600));
    cloud.warm(["OTHER"]).await;
    cloud.is("OTHER", "sek");
}
