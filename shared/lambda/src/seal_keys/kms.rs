//! The sealing key in the cloud: a data key made by KMS once, kept wrapped in the table, unwrapped by KMS when a process
//! first needs it. The plain key is never stored.

use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_kms::Client;
use aws_sdk_kms::primitives::Blob;
use aws_sdk_kms::types::DataKeySpec;
use pudu_app::chain::Chain;
use pudu_app::ports::{SealKeyError, SealKeys, WrappedKeys};
use pudu_config::SealKey;
use tokio::sync::OnceCell;

/// Bound into every wrapping, so that the key cannot be unwrapped for another use.
const CONTEXT: (&str, &str) = ("purpose", "pudu-seal");

/// Unwraps the table's key with a KMS key.
pub struct KmsKeys {
    client: Client,
    kms_key: String,
    wrapped: Arc<dyn WrappedKeys>,
    key: OnceCell<SealKey>,
}

impl KmsKeys {
    /// The key in `wrapped`, wrapped by `kms_key`; the first process makes it.
    pub fn new(client: Client, kms_key: String, wrapped: Arc<dyn WrappedKeys>) -> Self {
        Self { client, kms_key, wrapped, key: OnceCell::new() }
    }

    async fn load(&self) -> Result<SealKey, SealKeyError> {
        let table = |error: pudu_app::ports::StoreError| problem(&format!("{}", Chain(&error)));
        let wrapped = if let Some(wrapped) = self.wrapped.get().await.map_err(table)? {
            wrapped
        } else {
            let made = self.generate().await?;
            // Of two processes that make one, the table keeps the first; both use what it keeps.
            self.wrapped.put_if_absent(made).await.map_err(table)?
        };
        self.unwrap(wrapped).await
    }

    async fn generate(&self) -> Result<Vec<u8>, SealKeyError> {
        let made = self
            .client
            .generate_data_key()
            .key_id(&self.kms_key)
            .key_spec(DataKeySpec::Aes256)
            .encryption_context(CONTEXT.0, CONTEXT.1)
            .send()
            .await
            .map_err(|error| problem(&format!("KMS did not make it: {}", Chain(&error))))?;
        made.ciphertext_blob
            .map(Blob::into_inner)
            .ok_or_else(|| problem("KMS answered without a wrapped key"))
    }

    async fn unwrap(&self, wrapped: Vec<u8>) -> Result<SealKey, SealKeyError> {
        let opened = self
            .client
            .decrypt()
            .key_id(&self.kms_key)
            .ciphertext_blob(Blob::new(wrapped))
            .encryption_context(CONTEXT.0, CONTEXT.1)
            .send()
            .await
            .map_err(|error| problem(&format!("KMS did not unwrap it: {}", Chain(&error))))?;
        let plain = opened.plaintext.map(Blob::into_inner).unwrap_or_default();
        let bytes: [u8; 32] =
            plain.try_into().map_err(|_| problem("KMS unwrapped something that is not 32 bytes"))?;
        Ok(SealKey::new(bytes))
    }
}

#[async_trait]
impl SealKeys for KmsKeys {
    async fn current(&self) -> Result<SealKey, SealKeyError> {
        self.key.get_or_try_init(|| self.load()).await.cloned()
    }
}

fn problem(text: &str) -> SealKeyError {
    SealKeyError::new(format!("{text}; check the KMS key and the role's rights on it"))
}
