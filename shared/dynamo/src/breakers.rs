//! The breakers of models: a row each, exchanged by one conditional put.

use async_trait::async_trait;
use pudu_app::ports::{Breakers, Exchanged, StoreError};
use pudu_domain::breaker::Breaker;

use crate::item::breaker;
use crate::key::Key;
use crate::retry::Answer;
use crate::row::is_over;
use crate::table::Table;
use crate::write::{When, Write};

#[async_trait]
impl Breakers for Table {
    /// Not consistently, which is half the price: what follows from it is exchanged against what is there.
    async fn load(&self, model: &str) -> Result<Breaker, StoreError> {
        let row = self.get("load_breaker", &Key::Breaker(model.to_owned()), false).await?;
        row.map_or(Ok(Breaker::default()), |row| breaker::decode(&row))
    }

    async fn exchange(
        &self,
        model: &str,
        before: &Breaker,
        after: &Breaker,
    ) -> Result<Exchanged, StoreError> {
        let row = breaker::encode(&Key::Breaker(model.to_owned()), after, self.now());
        let put = [Write::put(breaker::ITEM, row, When::Breaker(before.revision()))];
        match self.write("exchange_breaker", &put).await? {
            Answer::Done(()) => Ok(Exchanged::Done),
            Answer::Failed(failed) => {
                let there = failed.row(0).filter(|row| !is_over(row, self.now()));
                let there = there.map_or(Ok(Breaker::default()), breaker::decode)?;
                // It has the number of the call that made it: an earlier attempt was applied.
                Ok(if there == *after { Exchanged::Done } else { Exchanged::Not(there) })
            }
        }
    }
}
