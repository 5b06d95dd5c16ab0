//! A config for the functions of a stack: into their table, sealed by their key, with the region and the credentials of the
//! environment. Who may do that is said by IAM: writing the table, and using the key.

use std::sync::Arc;

use anyhow::Context;
use aws_sdk_dynamodb::Client;
use pudu_app::audit::Audit;
use pudu_app::configs::{Configs, TableSource};
use pudu_config::Document;
use pudu_domain::UserId;
use pudu_dynamo::Table;
use pudu_lambda::clock::SystemClock;
use pudu_lambda::random::OsRandom;
use pudu_lambda::{aws, seal_keys};

use crate::cli::ImportArgs;
use crate::house::USER;
use crate::operator::{Imported, principal, replace};
use crate::secrets::EnvSecrets;

/// Makes `document` the config of the stack's table. A table that is not there is a mistyped name: the stack makes it.
pub(super) async fn import(args: &ImportArgs, document: Document) -> anyhow::Result<Imported> {
    let key = args.seal_kms_key.clone().context("--aws needs --seal-kms-key, an output of the stack")?;
    let aws = aws::config().await;
    let (clock, random) = (Arc::new(SystemClock), Arc::new(OsRandom));
    let name = &args.table.store.table;
    let table = Arc::new(Table::new(&Client::new(&aws), name, clock.clone(), random.clone()));
    let keys = seal_keys::by_kms(key, &aws, table.clone());
    let source = TableSource::new(table.clone(), keys.clone(), clock.clone(), random.clone());
    let stored = Configs::new(Arc::new(source), keys, Arc::new(EnvSecrets), clock.clone());
    let audit = Audit { log: table, clock, random };
    Ok(replace(&stored, &audit, &principal(UserId::parse(USER)?), document).await?)
}
