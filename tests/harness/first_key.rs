//! The key of a first administrator, as `pudu keys create` makes it in a table that no Pudu of this machine holds.

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use pudu_app::audit::Audit;
use pudu_app::keys::{Keys, NewKey};
use pudu_domain::{ApiKey, CredentialTag, KeyName, Principal, Role, Scope, UserId};
use pudu_dynamo::Table;
use pudu_lambda::clock::SystemClock;
use pudu_lambda::random::OsRandom;

/// Whoever holds the table.
pub fn operator() -> Principal {
    let user = UserId::parse("local:default").unwrap();
    Principal { user, role: Role::Admin, tag: CredentialTag::parse("operator").unwrap(), scope: Scope::All }
}

/// A new key of an administrator in `table`.
pub async fn first_key(client: &Client, table: &str) -> ApiKey {
    let (clock, random) = (Arc::new(SystemClock), Arc::new(OsRandom));
    let table = Arc::new(Table::new(client, table, clock.clone(), random.clone()));
    let keys = Keys { store: table.clone(), audit: Audit { log: table, clock, random } };
    let name = KeyName::parse("first").unwrap();
    let new = NewKey { name, user: None, role: Role::Admin, scope: Scope::All };
    keys.create(&operator(), new).await.unwrap().1
}
