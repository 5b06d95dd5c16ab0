//! The table's shape: the one source of it in code, and how a local table is made from it. In the cloud `template.yaml`
//! makes the table; a test compares the two.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{BuildError, SdkError};
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType, TableStatus, TimeToLiveSpecification, TimeToLiveStatus,
};
use pudu_app::ports::{Clock, StoreError};

use crate::classify::{Fault, fault};
use crate::row::attr;

/// The index of what is due.
pub const INDEX: &str = "due";
/// The attribute that ends a row, in seconds since the epoch.
pub const TTL: &str = "ttl";
/// Hash and range key of the table; both strings.
pub const TABLE_KEY: [&str; 2] = [attr::PK, attr::SK];
/// Hash key (a string) and range key (a number) of [`INDEX`].
pub const INDEX_KEY: [&str; 2] = [attr::DUE_PK, attr::DUE_AT];
/// What [`INDEX`] holds beside the keys. It never changes, so that a claim does not write the index.
pub const INDEX_PROJECTION: [&str; 1] = [attr::SERVER];

const OPERATION: &str = "create_table";
const PAUSE: Duration = Duration::from_millis(100);
/// Looks at a table that is being made; with [`PAUSE`], one minute.
const LOOKS: u32 = 600;

/// Makes the table `name` if there is none, waits until it and its index can be used, and turns its TTL on.
pub async fn create_table(client: &Client, name: &str, clock: &dyn Clock) -> Result<(), StoreError> {
    match create(client, name).await {
        Ok(()) | Err(Made::Exists) => {}
        Err(Made::Failed(fault)) => return Err(store_error(fault)),
    }
    wait(client, name, clock).await?;
    enable_ttl(client, name).await.map_err(store_error)
}

/// Why a table was not made.
enum Made {
    /// There is one already, or somebody else is making it.
    Exists,
    Failed(Fault),
}

impl From<BuildError> for Made {
    fn from(error: BuildError) -> Self {
        Self::Failed(error.into())
    }
}

async fn create(client: &Client, name: &str) -> Result<(), Made> {
    let [pk, sk] = TABLE_KEY;
    let [due_pk, due_at] = INDEX_KEY;
    let projection = Projection::builder()
        .projection_type(ProjectionType::Include)
        .set_non_key_attributes(Some(INDEX_PROJECTION.map(str::to_owned).to_vec()));
    let index = GlobalSecondaryIndex::builder()
        .index_name(INDEX)
        .key_schema(key(due_pk, KeyType::Hash)?)
        .key_schema(key(due_at, KeyType::Range)?)
        .projection(projection.build())
        .build()?;
    let sent = client
        .create_table()
        .table_name(name)
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(attribute(pk, ScalarAttributeType::S)?)
        .attribute_definitions(attribute(sk, ScalarAttributeType::S)?)
        .attribute_definitions(attribute(due_pk, ScalarAttributeType::S)?)
        .attribute_definitions(attribute(due_at, ScalarAttributeType::N)?)
        .key_schema(key(pk, KeyType::Hash)?)
        .key_schema(key(sk, KeyType::Range)?)
        .global_secondary_indexes(index)
        .send()
        .await;
    match sent {
        Ok(_) => Ok(()),
        Err(SdkError::ServiceError(context))
            if matches!(context.err(), CreateTableError::ResourceInUseException(_)) =>
        {
            Err(Made::Exists)
        }
        Err(error) => Err(Made::Failed(fault(error))),
    }
}

async fn wait(client: &Client, name: &str, clock: &dyn Clock) -> Result<(), StoreError> {
    for _ in 0..LOOKS {
        let described = client.describe_table().table_name(name).send().await;
        let described = described.map_err(|error| store_error(fault(error)))?;
        if described.table().and_then(|table| table.table_status()) == Some(&TableStatus::Active) {
            return Ok(());
        }
        clock.sleep(PAUSE).await;
    }
    Err(StoreError::Unavailable { operation: OPERATION, source: "the table does not become active".into() })
}

async fn enable_ttl(client: &Client, name: &str) -> Result<(), Fault> {
    let described = client.describe_time_to_live().table_name(name).send().await.map_err(fault)?;
    let status = described.time_to_live_description().and_then(|ttl| ttl.time_to_live_status());
    // Turning it on twice is a validation error.
    if matches!(status, Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling)) {
        return Ok(());
    }
    let specification = TimeToLiveSpecification::builder().attribute_name(TTL).enabled(true).build()?;
    let request = client.update_time_to_live().table_name(name).time_to_live_specification(specification);
    request.send().await.map_err(fault)?;
    Ok(())
}

fn key(name: &str, kind: KeyType) -> Result<KeySchemaElement, BuildError> {
    KeySchemaElement::builder().attribute_name(name).key_type(kind).build()
}

fn attribute(name: &str, kind: ScalarAttributeType) -> Result<AttributeDefinition, BuildError> {
    AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build()
}

fn store_error(fault: Fault) -> StoreError {
    let operation = OPERATION;
    match fault {
        Fault::Refused(source) | Fault::Unfit(source) => StoreError::Refused { operation, source },
        Fault::Rejected(source) | Fault::Unanswered(source) => StoreError::Unavailable { operation, source },
        Fault::Condition(_) => StoreError::Refused { operation, source: "a condition failed".into() },
    }
}
