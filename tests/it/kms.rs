//! The sealing key in the cloud: the real SDK client and the real table, and a KMS that is not Amazon's but speaks its
//! protocol, so that everything but the service itself is what is deployed.

pub(crate) mod service;

use std::sync::Arc;
use std::time::Duration;

use acceptance::Rows;
use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use pudu::engine::Engine;
use pudu_app::chain::Chain;
use pudu_app::ports::{SealKeyError, SealKeys, StoreError, WrappedKeys};
use pudu_config::SealKey;
use pudu_dynamo::{Table, schema};
use pudu_lambda::clock::SystemClock;
use pudu_lambda::random::OsRandom;
use pudu_lambda::seal_keys::KmsKeys;
use secrecy::ExposeSecret;
use serde_json::json;

use service::{ACCOUNT, FakeKms, KEY, OTHER_KEY, REQUEST_ID};

/// The use that every wrapping is bound to: a constant of the stored format.
const PURPOSE: &str = "pudu-seal";
const TABLE: &str = "kms";

/// One table and one KMS; processes come and go.
struct Cloud {
    engine: Engine,
    kms: FakeKms,
}

impl Cloud {
    async fn new() -> Self {
        let engine = Engine::in_memory().unwrap();
        schema::create_table(&engine.client(), TABLE, &SystemClock).await.unwrap();
        Self { engine, kms: FakeKms::default() }
    }

    fn table(&self) -> Arc<Table> {
        Arc::new(Table::new(&self.engine.client(), TABLE, Arc::new(SystemClock), Arc::new(OsRandom)))
    }

    /// The keys as a process has them that has just started.
    fn process(&self) -> KmsKeys {
        KmsKeys::new(self.kms.client(), KEY.to_owned(), self.table())
    }

    async fn wrapped(&self) -> Option<Vec<u8>> {
        WrappedKeys::get(self.table().as_ref()).await.unwrap()
    }

    /// Every byte of every row: names are ours, values are searched as they are stored.
    async fn stored_bytes(&self) -> Vec<u8> {
        let rows = self.engine.client().scan().table_name(TABLE).send().await.unwrap().items.unwrap();
        let bytes = |value: AttributeValue| match value {
            AttributeValue::S(text) | AttributeValue::N(text) => text.into_bytes(),
            AttributeValue::B(blob) => blob.into_inner(),
            other => panic!("no row of ours has {other:?}"),
        };
        rows.into_iter().flat_map(|row| row.into_values().flat_map(bytes).collect::<Vec<_>>()).collect()
    }
}

/// Whether what one seals the other opens.
fn same(one: &SealKey, other: &SealKey) -> bool {
    let sealed = one.seal("here", "text", [1; 24]).unwrap();
    other.open("here", &sealed).is_ok_and(|text| text.expose_secret() == "text")
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// What a caller may be shown of a failure: nothing that names an account, a role, a key or a request.
fn shown(error: &SealKeyError) -> String {
    let text = error.to_string();
    for private in ["arn:", ACCOUNT, REQUEST_ID, "SdkError", "service error", "Exception"] {
        assert!(!text.contains(private), "{text} shows {private}");
    }
    text
}

#[tokio::test]
async fn the_first_use_makes_the_key_and_stores_it_wrapped_once() {
    let cloud = Cloud::new().await;
    assert_eq!(cloud.wrapped().await, None);
    let process = cloud.process();
    assert_eq!(cloud.kms.calls(), (0, 0), "a process that only started asks for nothing");
    let first = process.current().await.unwrap();
    let again = process.current().await.unwrap();
    assert!(same(&first, &again));
    assert_eq!(cloud.kms.calls(), (1, 1), "made once, unwrapped once, then kept");
    assert_eq!(Rows::scan(&cloud.engine.client(), TABLE).await.count("seal"), 1);
    let [plain] = cloud.kms.made()[..] else { panic!("one key was made") };
    assert!(same(&first, &SealKey::new(plain)), "it is the key that KMS made");
}

#[tokio::test]
async fn a_second_process_unwraps_the_key_of_the_first() {
    let cloud = Cloud::new().await;
    let first = cloud.process().current().await.unwrap();
    let kept = cloud.wrapped().await;
    let second = cloud.process().current().await.unwrap();
    assert!(same(&first, &second));
    assert_eq!(cloud.kms.calls(), (1, 2));
    assert_eq!(cloud.wrapped().await, kept);
}

/// Both have seen an empty table before either stores a key: KMS answers when both have asked.
#[tokio::test]
async fn two_processes_that_race_end_with_the_same_key() {
    let cloud = Cloud::new().await;
    cloud.kms.answer_when_asked_by(2);
    let (one, other) = (cloud.process(), cloud.process());
    let both = async { tokio::join!(one.current(), other.current()) };
    let both = tokio::time::timeout(Duration::from_secs(30), both).await;
    let (one, other) = both.expect("each process that sees no key asks for one");
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!(cloud.kms.calls(), (2, 2));
    let made = cloud.kms.made();
    assert_ne!(made[0], made[1], "the race was about two keys");
    assert!(same(&one, &other));
    assert_eq!(Rows::scan(&cloud.engine.client(), TABLE).await.count("seal"), 1);
}

#[tokio::test]
async fn the_plain_key_is_in_no_row() {
    let cloud = Cloud::new().await;
    let key = cloud.process().current().await.unwrap();
    // Something sealed with it, as the config's revisions are.
    let sealed = key.seal("here", "text", [1; 24]).unwrap();
    let table = cloud.table();
    let at = pudu_domain::Timestamp::from_millis(1);
    let made = pudu_app::ports::Made { number: 1, at, author: None };
    let revision = pudu_app::ports::Revision { made, sealed: json!({"s": sealed}) };
    pudu_app::ports::ConfigStore::append(table.as_ref(), &revision).await.unwrap();

    let bytes = cloud.stored_bytes().await;
    let wrapped = cloud.wrapped().await.unwrap();
    assert!(contains(&bytes, &wrapped), "the search sees what is stored");
    let [plain] = cloud.kms.made()[..] else { panic!("one key was made") };
    let hex = plain.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    let base64 = aws_smithy_types::base64::encode(plain);
    for form in [plain.as_slice(), hex.as_bytes(), base64.trim_end_matches('=').as_bytes()] {
        assert!(!contains(&bytes, form), "the plain key is stored");
    }
}

#[tokio::test]
async fn a_refusal_says_what_to_do_and_names_nothing_private() {
    for (code, advice) in [
        ("AccessDeniedException", "grant it kms:GenerateDataKey and kms:Decrypt"),
        ("NotFoundException", "check PUDU_SEAL_KMS_KEY"),
        ("DisabledException", "enable it"),
        ("KMSInvalidStateException", "enable it"),
        ("ThrottlingException", "try again"),
        ("SomethingNewException", "the log has its reason"),
    ] {
        let cloud = Cloud::new().await;
        cloud.kms.refuse_with(code);
        let process = cloud.process();
        let error = process.current().await.unwrap_err();
        let text = shown(&error);
        assert!(text.contains("KMS did not make it") && text.contains(advice), "{code}: {text}");
        let log = Chain(&error).to_string();
        assert!(log.contains(code), "the log has the cause: {log}");
        assert_eq!(cloud.wrapped().await, None);

        cloud.kms.allow();
        process.current().await.unwrap();
    }
}

#[tokio::test]
async fn a_process_that_may_not_unwrap_says_so() {
    let cloud = Cloud::new().await;
    cloud.process().current().await.unwrap();
    cloud.kms.refuse_with("AccessDeniedException");
    let text = shown(&cloud.process().current().await.unwrap_err());
    assert!(text.contains("KMS did not unwrap it"), "{text}");
}

/// What was wrapped for another use, or by another key, is not the sealing key.
#[tokio::test]
async fn a_key_wrapped_otherwise_is_refused() {
    for (key, purpose, opens) in
        [(KEY, PURPOSE, true), (KEY, "another-use", false), (OTHER_KEY, PURPOSE, false)]
    {
        let cloud = Cloud::new().await;
        let wrapped = cloud.kms.wrap([5; 32], key, &json!({"purpose": purpose}));
        cloud.table().put_if_absent(wrapped).await.unwrap();
        match cloud.process().current().await {
            Ok(opened) => assert!(opens && same(&opened, &SealKey::new([5; 32])), "{key} {purpose}"),
            Err(error) => {
                let text = shown(&error);
                assert!(!opens && text.contains("not wrapped by this key for this use"), "{text}");
            }
        }
    }
}

#[tokio::test]
async fn a_kms_that_cannot_be_reached_is_told_from_one_that_refuses() {
    let cloud = Cloud::new().await;
    cloud.kms.fall_silent();
    let text = shown(&cloud.process().current().await.unwrap_err());
    assert!(text.contains("did not answer") && text.contains("try again"), "{text}");
}

struct NoTable;

#[async_trait]
impl WrappedKeys for NoTable {
    async fn get(&self) -> Result<Option<Vec<u8>>, StoreError> {
        Err(StoreError::Unavailable { operation: "wrapped_key", source: "unplugged".into() })
    }

    async fn put_if_absent(&self, _: Vec<u8>) -> Result<Vec<u8>, StoreError> {
        unreachable!("nothing is stored before it was looked for")
    }
}

#[tokio::test]
async fn a_table_that_fails_is_not_blamed_on_kms() {
    let kms = FakeKms::default();
    let keys = KmsKeys::new(kms.client(), KEY.to_owned(), Arc::new(NoTable));
    let error = keys.current().await.unwrap_err();
    let text = shown(&error);
    assert!(text.contains("table") && !text.contains("KMS"), "{text}");
    assert!(Chain(&error).to_string().contains("unplugged"));
    assert_eq!(kms.calls(), (0, 0), "a key that may be there is not made anew");
}
