//! Where the sealing key comes from: a 0600 file on one machine; in the cloud a data key that KMS wraps and the table
//! keeps. It is read when it is first needed, not when a function starts, and kept for the life of the process.

mod file;
mod kms;

use std::sync::Arc;

use aws_config::SdkConfig;
use pudu_app::ports::{Random, SealKeys, WrappedKeys};

pub use file::FileKeys;
pub use kms::KmsKeys;

use crate::settings::{SEAL_KEY_FILE, SEAL_KMS_KEY, SealSource, SettingError, Settings};

/// The key in `wrapped`, wrapped by the KMS key of that name.
pub fn by_kms(name: String, aws: &SdkConfig, wrapped: Arc<dyn WrappedKeys>) -> Arc<dyn SealKeys> {
    Arc::new(KmsKeys::new(aws_sdk_kms::Client::new(aws), name, wrapped))
}

/// The keys that the settings name.
pub fn from_settings(
    settings: &Settings,
    aws: &SdkConfig,
    wrapped: Arc<dyn WrappedKeys>,
    random: Arc<dyn Random>,
) -> Result<Arc<dyn SealKeys>, SettingError> {
    match &settings.seal {
        Some(SealSource::Kms(key)) => Ok(by_kms(key.clone(), aws, wrapped)),
        Some(SealSource::File(path)) => Ok(Arc::new(FileKeys::new(path.clone(), random))),
        None => Err(SettingError {
            name: SEAL_KMS_KEY,
            problem: format!(
                "is not set; it names the KMS key that wraps the sealing key (or set {SEAL_KEY_FILE})"
            ),
        }),
    }
}
