//! The records of changes, in the fake table.

use async_trait::async_trait;
use pudu_app::ports::{AUDIT_KEPT, AuditLog, AuditRecord, StoreError};

use super::FakeStore;

#[async_trait]
impl AuditLog for FakeStore {
    async fn put(&self, record: &AuditRecord) -> Result<(), StoreError> {
        self.attempt("audit.put", |rows, _| {
            rows.audit.insert(record.id.clone(), record.clone());
            Ok(())
        })
        .await
    }

    async fn list(&self, limit: usize, before: Option<&str>) -> Result<Vec<AuditRecord>, StoreError> {
        self.attempt("audit.list", |rows, attempt| {
            let older =
                rows.audit.values().rev().filter(|record| before.is_none_or(|id| record.id.as_str() < id));
            let kept = older.filter(|record| attempt.now <= record.at + AUDIT_KEPT);
            Ok(kept.take(limit).cloned().collect())
        })
        .await
    }
}
