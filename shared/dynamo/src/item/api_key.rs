//! What is kept of an API key: of its text only the SHA-256.

use std::collections::BTreeSet;

use pudu_app::ports::{StoreError, StoredKey};
use pudu_domain::{KeyDigest, KeyName, Role, Scope, UserId};
use serde_json::json;

use crate::key::Key;
use crate::row::{Reader, Row, Writer, attr};

pub(crate) const ITEM: &str = "API key";

const NAME: &str = "name";
const USER: &str = "user";
const ROLE: &str = "role";
/// The names of servers, as JSON; absent: each.
const SERVERS: &str = "servers";
const DIGEST: &str = "sha256";
/// Since when it opens nothing any more.
pub(crate) const REVOKED_AT: &str = "revoked";

pub(crate) fn encode(key: &StoredKey) -> Row {
    let servers = match &key.scope {
        Scope::All => None,
        Scope::Only(names) => Some(json!(names).to_string()),
    };
    Writer::new(&Key::ApiKey(key.id.clone()))
        .text(NAME, key.name.as_str())
        .text(USER, key.user.as_str())
        .text(ROLE, key.role.as_str())
        .maybe(servers, |row, servers| row.text(SERVERS, servers))
        .time(attr::CREATED_AT, key.created_at)
        .maybe(key.revoked_at, |row, at| row.time(REVOKED_AT, at))
        .text(DIGEST, hex::encode(key.digest.bytes()))
        .row()
}

pub(crate) fn decode(row: &Row) -> Result<StoredKey, StoreError> {
    let reader = Reader::new(ITEM, row)?;
    let Key::ApiKey(id) = reader.key()? else {
        return Err(reader.corrupt(attr::SK, "is not the key of an API key"));
    };
    let servers = |text: &str| serde_json::from_str::<BTreeSet<String>>(text).ok();
    Ok(StoredKey {
        id,
        name: reader.parsed(NAME, |text| KeyName::parse(text).ok())?,
        user: reader.parsed(USER, |text| UserId::parse(text).ok())?,
        role: reader.parsed(ROLE, Role::parse)?,
        scope: match reader.text_maybe(SERVERS)? {
            None => Scope::All,
            Some(_) => Scope::Only(reader.parsed(SERVERS, servers)?),
        },
        created_at: reader.time(attr::CREATED_AT)?,
        revoked_at: reader.time_maybe(REVOKED_AT)?,
        digest: reader.parsed(DIGEST, digest)?,
    })
}

fn digest(text: &str) -> Option<KeyDigest> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(text, &mut bytes).ok()?;
    Some(KeyDigest::stored(bytes))
}
