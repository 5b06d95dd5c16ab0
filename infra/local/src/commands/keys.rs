//! `pudu keys`: API keys are made, listed and revoked by the Pudu that holds the data folder, or else in the table itself.

use std::sync::Arc;

use anyhow::{Context, bail};
use aws_sdk_dynamodb::Client;
use http::Method;
use jiff::Timestamp as Moment;
use pudu_app::audit::Audit;
use pudu_app::keys::Keys;
use pudu_domain::{KeyId, KeyName, Role, Timestamp, UserId};
use pudu_dynamo::{Table, schema};
use pudu_lambda::aws;
use pudu_lambda::clock::SystemClock;
use pudu_lambda::random::OsRandom;

use super::{Question, ask, exists, succeeded};
use crate::cli::{KeysCommand, RoleChoice, SourceArgs, TableArgs};
use crate::folder::DataFolder;
use crate::house::USER;
use crate::operator::keys::{Asked, Kept, PATH, Reply, serve};
use crate::operator::principal;
use crate::say;
use crate::store::Store;

#[cfg(test)]
mod tests;

/// Does it, and says what was done. A new key is all that is printed to standard output, so that it can be piped to where it
/// is needed; everything around it goes to standard error.
pub async fn keys(command: &KeysCommand) -> anyhow::Result<()> {
    match replied(command).await? {
        Reply::Created { key, text } => {
            say::answer(&text)?;
            say::error(&format!("This is key {} of {}, as {}.", key.id, key.user, key.role.as_str()));
            say::error("It is not shown again. Callers send it as Authorization: Bearer …");
        }
        Reply::Listed(keys) => {
            for key in &keys {
                say::answer(&line(key))?;
            }
        }
        Reply::Revoked(Some(key)) => {
            let at = key.revoked_at.map(moment).unwrap_or_default();
            say::error(&format!("Key {} is revoked since {at}: within 5 s it opens nothing.", key.id));
        }
        Reply::Revoked(None) => bail!("there is no such key: pudu keys list shows all"),
    }
    Ok(())
}

/// What became of it.
async fn replied(command: &KeysCommand) -> anyhow::Result<Reply> {
    match command {
        KeysCommand::Create(args) => {
            let role = match args.role {
                RoleChoice::Admin => Role::Admin,
                RoleChoice::User => Role::User,
            };
            let asked = Asked::Create {
                name: KeyName::parse(args.name.as_str())?,
                user: args.user.clone(),
                role,
                servers: args.servers.clone().map(|names| names.into_iter().collect()),
            };
            put(&args.table, asked).await
        }
        KeysCommand::List(table) => put(table, Asked::List).await,
        KeysCommand::Revoke { id, table } => {
            put(table, Asked::Revoke { id: KeyId::parse(id.as_str())? }).await
        }
    }
}

async fn put(table: &TableArgs, asked: Asked) -> anyhow::Result<Reply> {
    let (args, makes) = (&table.store, matches!(asked, Asked::Create { .. }));
    if table.aws {
        // A table that is not there is a mistyped name; the stack makes it.
        return directly(Client::new(&aws::config().await), &args.table, asked).await;
    }
    if let Some(store) = Store::beside(args).await? {
        if makes {
            schema::create_table(&store.client, &store.table, &SystemClock)
                .await
                .with_context(|| format!("the table {} is not there and cannot be made", store.table))?;
        }
        return directly(store.client, &store.table, asked).await;
    }
    if !makes {
        exists(&DataFolder::new(&args.data_dir))?;
    }
    let body = serde_json::to_string(&asked)?;
    let question = Question { method: Method::POST, path: PATH.to_owned(), body: Some(body) };
    let answer = succeeded(ask(args, &SourceArgs::table(), &question).await?)?;
    serde_json::from_value(answer).context("what answered is no Pudu of this version")
}

/// In a table that no Pudu of this machine holds.
async fn directly(client: Client, name: &str, asked: Asked) -> anyhow::Result<Reply> {
    let (clock, random) = (Arc::new(SystemClock), Arc::new(OsRandom));
    let table = Arc::new(Table::new(&client, name, clock.clone(), random.clone()));
    let keys = Keys { store: table.clone(), audit: Audit { log: table, clock, random } };
    serve(&keys, &principal(UserId::parse(USER)?), asked).await
}

/// A key in a list.
fn line(key: &Kept) -> String {
    let servers =
        key.servers.as_ref().map(|names| names.iter().map(String::as_str).collect::<Vec<_>>().join(","));
    let state = key.revoked_at.map_or_else(|| "valid".to_owned(), |at| format!("revoked {}", moment(at)));
    format!(
        "{}  {:<5}  {}  {state}  {}  servers: {}  {}",
        key.id,
        key.role.as_str(),
        moment(key.created_at),
        key.user,
        servers.as_deref().unwrap_or("all"),
        key.name
    )
}

fn moment(at: Timestamp) -> String {
    let millis = i64::try_from(at.as_millis()).unwrap_or(i64::MAX);
    Moment::from_millisecond(millis).unwrap_or(Moment::MAX).to_string()
}
