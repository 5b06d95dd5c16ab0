//! What servers listed, in the fake table.

use async_trait::async_trait;
use pudu_app::ports::{CatalogStore, LISTING_KEPT, StoreError, StoredListing};

use super::FakeStore;

#[async_trait]
impl CatalogStore for FakeStore {
    async fn get(&self, server: &str, digest: &str) -> Result<Option<StoredListing>, StoreError> {
        let key = (server.to_owned(), digest.to_owned());
        self.attempt("catalogs.get", |rows, attempt| {
            let listing = rows.listings.get(&key);
            Ok(listing.filter(|listing| attempt.now < listing.fresh_until + LISTING_KEPT).cloned())
        })
        .await
    }

    async fn put(&self, server: &str, digest: &str, listing: &StoredListing) -> Result<(), StoreError> {
        let key = (server.to_owned(), digest.to_owned());
        self.attempt("catalogs.put", |rows, _| {
            if rows.listings.get(&key).is_none_or(|kept| kept.listed_at <= listing.listed_at) {
                rows.listings.insert(key.clone(), listing.clone());
            }
            Ok(())
        })
        .await
    }

    async fn forget(&self, server: &str) -> Result<(), StoreError> {
        self.attempt("catalogs.forget", |rows, _| {
            rows.listings.retain(|(kept, _), _| kept != server);
            Ok(())
        })
        .await
    }
}
