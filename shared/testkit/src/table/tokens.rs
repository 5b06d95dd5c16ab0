//! OAuth tokens in the fake table.

use async_trait::async_trait;
use pudu_app::ports::{Replaced, StoreError, TokenKey, TokenStore};
use pudu_domain::Token;

use super::{FakeStore, Flaw};

#[async_trait]
impl TokenStore for FakeStore {
    async fn load(&self, key: &TokenKey) -> Result<Option<Token>, StoreError> {
        self.attempt("tokens.load", |rows, _| Ok(rows.tokens.get(key).cloned())).await
    }

    async fn replace(
        &self,
        key: &TokenKey,
        seen: Option<&Token>,
        new: &Token,
    ) -> Result<Replaced, StoreError> {
        self.attempt("tokens.replace", |rows, attempt| {
            let stored = rows.tokens.get(key);
            if !Token::is_unchanged(seen, stored) && !rows.has(Flaw::IgnoresGenerations) {
                let mine = attempt.retried && stored == Some(new);
                return Ok(if mine { Replaced::Done } else { Replaced::Lost(stored.cloned().map(Box::new)) });
            }
            rows.tokens.insert(key.clone(), new.clone());
            Ok(Replaced::Done)
        })
        .await
    }
}
