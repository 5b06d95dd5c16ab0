//! The key of the user of this machine: made at the first start, its text in the data folder, its hash in the table.
//!
//! Who holds the data folder is the operator. So a key that is in the folder and not in the table is put there (another table
//! was chosen, or the old one was thrown away), and a lost or revoked one is replaced by a new one; the lost one stays valid until it is revoked.

use anyhow::Context;
use pudu_app::keys::NewKey;
use pudu_domain::{ApiKey, KeyName, Role, Scope};

use crate::folder::DataFolder;
use crate::house::{House, new_api_key};

/// What lists call it.
const NAME: &str = "admin.key of the data folder";

#[cfg(test)]
mod tests;

/// Has the key in `folder` open the gateway of `house`.
pub(crate) async fn ensure(house: &House, folder: &DataFolder) -> anyhow::Result<ApiKey> {
    let keys = house.wiring.keys();
    let new = NewKey {
        name: KeyName::parse(NAME)?,
        user: Some(house.user.clone()),
        role: Role::Admin,
        scope: Scope::All,
    };
    if let Some(key) = folder.admin_key()? {
        match keys.store.get(key.id()).await? {
            Some(stored) if stored.admits(&key).is_some() => return Ok(key),
            // Revoked, or another one of the same id.
            Some(_) => {}
            None => {
                keys.adopt(&house.operator(), &key, new).await.context("the admin key cannot be stored")?;
                return Ok(key);
            }
        }
    }
    let key = new_api_key(house.random().as_ref());
    // The file first: a key in the table whose text nobody has would stay for ever.
    folder.keep_admin_key(&key)?;
    keys.adopt(&house.operator(), &key, new).await.context("the admin key cannot be stored")?;
    Ok(key)
}
