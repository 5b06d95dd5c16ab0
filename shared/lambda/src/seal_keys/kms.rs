//! The sealing key in the cloud: a data key made by KMS once, kept wrapped in the table, unwrapped by KMS when a process
//! first needs it. The plain key is never stored.

use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_kms::Client;
use aws_sdk_kms::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_kms::primitives::Blob;
use aws_sdk_kms::types::DataKeySpec;
use pudu_app::ports::{SealKeyError, SealKeys, StoreError, WrappedKeys};
use pudu_config::SealKey;
use tokio::sync::OnceCell;

use crate::settings::SEAL_KMS_KEY;

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
        let wrapped = if let Some(wrapped) = self.wrapped.get().await.map_err(from_table)? {
            wrapped
        } else {
            let made = self.generate().await?;
            // Of two processes that make one, the table keeps the first; both use what it keeps.
            self.wrapped.put_if_absent(made).await.map_err(from_table)?
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
            .map_err(|error| refused("make", error))?;
        made.ciphertext_blob
            .map(Blob::into_inner)
            .ok_or_else(|| SealKeyError::new("KMS made it, but did not show its wrapped form; try again"))
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
            .map_err(|error| refused("unwrap", error))?;
        let plain = opened.plaintext.map(Blob::into_inner).unwrap_or_default();
        let wrong_size = |_| {
            SealKeyError::new(
                "KMS unwrapped something that is not a key of 32 bytes; restore the table's own",
            )
        };
        Ok(SealKey::new(plain.try_into().map_err(wrong_size)?))
    }
}

#[async_trait]
impl SealKeys for KmsKeys {
    async fn current(&self) -> Result<SealKey, SealKeyError> {
        self.key.get_or_try_init(|| self.load()).await.cloned()
    }
}

/// What to do about the table, the table's own error says.
fn from_table(error: StoreError) -> SealKeyError {
    SealKeyError::caused("the table did not give or take its wrapped form", error)
}

/// The SDK's words hold request ids and names of roles and keys, so they stay in the source, for the log. Of the SDK's
/// envelope only what is below goes there: its `Debug` would show the raw answer, and with it the key.
fn refused<E>(act: &str, error: SdkError<E>) -> SealKeyError
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    let problem = format!("KMS did not {act} it: {}", advice(error.code()));
    SealKeyError { problem, source: Some(error.into_source().unwrap_or_else(|envelope| Box::new(envelope))) }
}

/// What is wrong and what to do, by the error's code; none when there was no answer.
fn advice(code: Option<&str>) -> String {
    match code.unwrap_or_default() {
        "AccessDeniedException" => {
            "the role may not use the key; grant it kms:GenerateDataKey and kms:Decrypt on it".to_owned()
        }
        "NotFoundException" => format!("there is no such key; check {SEAL_KMS_KEY}"),
        "DisabledException" | "KMSInvalidStateException" => {
            "the key is disabled or about to be deleted; enable it".to_owned()
        }
        "InvalidCiphertextException" | "IncorrectKeyException" => {
            format!("what the table keeps was not wrapped by this key for this use; check {SEAL_KMS_KEY}")
        }
        "InvalidKeyUsageException" => {
            format!("the key cannot wrap others; name a symmetric one for encryption in {SEAL_KMS_KEY}")
        }
        "" => {
            "it could not be asked, or did not answer; check network and credentials, or try again".to_owned()
        }
        "ThrottlingException"
        | "LimitExceededException"
        | "DependencyTimeoutException"
        | "KeyUnavailableException"
        | "KMSInternalException" => "it is not available right now; try again".to_owned(),
        _ => "it refused the request; the log has its reason".to_owned(),
    }
}
