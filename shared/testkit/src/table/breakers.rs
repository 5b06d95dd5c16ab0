//! The breakers of models, in the fake table.

use async_trait::async_trait;
use pudu_app::ports::{Breakers, Exchanged, StoreError};
use pudu_domain::breaker::Breaker;

use super::FakeStore;

#[async_trait]
impl Breakers for FakeStore {
    async fn load(&self, model: &str) -> Result<Breaker, StoreError> {
        self.attempt("breakers.load", |rows, _| Ok(rows.breakers.get(model).cloned().unwrap_or_default()))
            .await
    }

    async fn exchange(
        &self,
        model: &str,
        before: &Breaker,
        after: &Breaker,
    ) -> Result<Exchanged, StoreError> {
        self.attempt("breakers.exchange", |rows, _| {
            let there = rows.breakers.get(model).cloned().unwrap_or_default();
            if there == *after {
                return Ok(Exchanged::Done);
            }
            if there.revision() != before.revision() {
                return Ok(Exchanged::Not(there));
            }
            rows.breakers.insert(model.to_owned(), after.clone());
            Ok(Exchanged::Done)
        })
        .await
    }
}
