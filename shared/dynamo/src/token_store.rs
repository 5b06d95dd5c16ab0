//! The OAuth tokens of servers: a row each, replaced whole by compare-and-swap.

use async_trait::async_trait;
use pudu_app::ports::{Replaced, StoreError, TokenKey, TokenStore};
use pudu_domain::Token;

use crate::item::token;
use crate::key::Key;
use crate::retry::Answer;
use crate::table::Table;
use crate::write::{When, Write};

#[cfg(test)]
mod tests;

#[async_trait]
impl TokenStore for Table {
    async fn load(&self, key: &TokenKey) -> Result<Option<Token>, StoreError> {
        let row = self.get("token", &Key::token(key), true).await?;
        row.as_ref().map(token::decode).transpose()
    }

    async fn replace(
        &self,
        key: &TokenKey,
        seen: Option<&Token>,
        new: &Token,
    ) -> Result<Replaced, StoreError> {
        let when = seen.map_or(When::Absent, |seen| When::Token {
            generation: seen.generation,
            owner: seen.lease.as_ref().map(|lease| lease.owner.to_string()),
        });
        let put = [Write::put(token::ITEM, token::encode(key, new), when)];
        let Answer::Failed(failed) = self.write("keep_token", &put).await? else { return Ok(Replaced::Done) };
        let stored = failed.row(0).map(token::decode).transpose()?;
        // No two writes give the same row: a claim has its nonce, what is sealed has one, and a generation has one holder.
        if failed.retried && stored.as_ref() == Some(new) {
            return Ok(Replaced::Done);
        }
        Ok(Replaced::Lost(stored.map(Box::new)))
    }
}
