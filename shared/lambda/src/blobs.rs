//! Blobs in the cloud: objects of one bucket, each thread's under a prefix of its own.
//!
//! Every request here may be repeated: an object is written under the digest of its content, so the SDK tries again by itself,
//! unlike at the table.

use std::error::Error;
use std::time::Duration;

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::{Builder, RequestChecksumCalculation, ResponseChecksumValidation};
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::get_object::GetObjectError;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{Delete, ObjectIdentifier};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use pudu_app::ports::{BlobError, Blobs, is_digest};
use pudu_domain::ThreadKey;

use crate::settings::{BLOB_BUCKET, SettingError, Settings};

/// A service that is throttled or slow is asked again.
const ATTEMPTS: u32 = 3;
/// The first wait between two tries.
const BACKOFF: Duration = Duration::from_millis(50);
/// Longest that one request takes with its tries: some megabytes at most travel.
const LIMIT: Duration = Duration::from_secs(30);
/// What stays as it is in a name: nothing that could be a separator, or mean something to whoever lists.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// The objects of one bucket.
#[derive(Debug, Clone)]
pub struct Bucket {
    client: Client,
    name: String,
}

/// What a digest is not.
#[derive(Debug, thiserror::Error)]
#[error("a blob's name must be 64 hex digits")]
struct NoDigest;

impl Bucket {
    /// The bucket that the settings name; opens no connection.
    pub fn from_settings(settings: &Settings, aws: &SdkConfig) -> Result<Self, SettingError> {
        let name = settings.blob_bucket.clone().ok_or_else(|| SettingError {
            name: BLOB_BUCKET,
            problem: "is not set; it is the bucket of what is too large for the table".to_owned(),
        })?;
        Ok(Self::new(aws, name))
    }

    /// The bucket of that name; opens no connection.
    pub fn new(aws: &SdkConfig, name: String) -> Self {
        let timeouts = match aws.timeout_config() {
            Some(general) => general.to_builder(),
            None => TimeoutConfig::builder(),
        };
        let timeouts = timeouts.operation_attempt_timeout(LIMIT).operation_timeout(LIMIT);
        let config = Builder::from(aws)
            .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS).with_initial_backoff(BACKOFF))
            .timeout_config(timeouts.build())
            // Whoever reads a blob knows its digest; a second checksum beside that would be for nothing.
            .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
            .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
            // Another endpoint than Amazon's has no name for each bucket.
            .force_path_style(aws.endpoint_url().is_some());
        Self { client: Client::from_conf(config.build()), name }
    }

    /// Removes a page of objects; whether there was any.
    async fn remove_page(&self, prefix: &str) -> Result<bool, BlobError> {
        let listed = self.client.list_objects_v2().bucket(&self.name).prefix(prefix).send().await;
        let listed = listed.map_err(|error| failed("listing blobs", error))?;
        let names = listed.contents.unwrap_or_default().into_iter().filter_map(|object| object.key);
        let objects: Vec<ObjectIdentifier> =
            names.filter_map(|key| ObjectIdentifier::builder().key(key).build().ok()).collect();
        if objects.is_empty() {
            return Ok(false);
        }
        let delete = Delete::builder().set_objects(Some(objects)).quiet(true).build();
        let delete = delete.map_err(|error| wrapped("removing blobs", error))?;
        let removed = self.client.delete_objects().bucket(&self.name).delete(delete).send().await;
        let removed = removed.map_err(|error| failed("removing blobs", error))?;
        match removed.errors.unwrap_or_default().first() {
            None => Ok(true),
            Some(error) => {
                let code = error.code().unwrap_or("no reason").to_owned();
                Err(wrapped("removing blobs", std::io::Error::other(format!("one was refused: {code}"))))
            }
        }
    }
}

#[async_trait]
impl Blobs for Bucket {
    async fn put(&self, thread: &ThreadKey, digest: &str, bytes: Vec<u8>) -> Result<(), BlobError> {
        let key = object(thread, digest).map_err(|error| wrapped("writing a blob", error))?;
        let put = self.client.put_object().bucket(&self.name).key(key).body(ByteStream::from(bytes));
        put.send().await.map(drop).map_err(|error| failed("writing a blob", error))
    }

    async fn get(&self, thread: &ThreadKey, digest: &str) -> Result<Option<Vec<u8>>, BlobError> {
        let key = object(thread, digest).map_err(|error| wrapped("reading a blob", error))?;
        let answer = self.client.get_object().bucket(&self.name).key(key).send().await;
        let object = match answer {
            Ok(object) => object,
            Err(error) if error.as_service_error().is_some_and(GetObjectError::is_no_such_key) => {
                return Ok(None);
            }
            Err(error) => return Err(failed("reading a blob", error)),
        };
        let body = object.body.collect().await.map_err(|error| wrapped("reading a blob", error))?;
        Ok(Some(body.to_vec()))
    }

    async fn remove_all(&self, thread: &ThreadKey) -> Result<(), BlobError> {
        let prefix = folder(thread);
        while self.remove_page(&prefix).await? {}
        Ok(())
    }
}

/// Where a thread's objects are.
fn folder(thread: &ThreadKey) -> String {
    let user = utf8_percent_encode(thread.user.as_str(), PLAIN);
    let name = utf8_percent_encode(thread.thread.as_str(), PLAIN);
    format!("threads/{user}/{name}/")
}

fn object(thread: &ThreadKey, digest: &str) -> Result<String, NoDigest> {
    if is_digest(digest) { Ok(format!("{}{digest}", folder(thread))) } else { Err(NoDigest) }
}

fn wrapped(operation: &'static str, source: impl Error + Send + Sync + 'static) -> BlobError {
    BlobError { operation, source: Box::new(source) }
}

/// Of the SDK's envelope only its source goes on: its `Debug` would show the raw answer.
fn failed<E>(operation: &'static str, error: SdkError<E>) -> BlobError
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    let source = error.into_source().unwrap_or_else(|error| error.to_string().into());
    BlobError { operation, source }
}

#[cfg(test)]
mod tests {
    use pudu_domain::{ThreadId, UserId};

    use super::*;

    #[test]
    fn no_user_and_no_thread_reaches_into_anothers_folder() {
        let key = |user: &str, thread: &str| ThreadKey {
            user: UserId::parse(user).unwrap(),
            thread: ThreadId::parse(thread).unwrap(),
        };
        assert_eq!(folder(&key("local:default", "t")), "threads/local%3Adefault/t/");
        assert_ne!(folder(&key("a:b", "c")), folder(&key("a:b/c", "c")));
        let digest = "ab".repeat(32);
        assert_eq!(object(&key("a:b", "c"), &digest).unwrap(), format!("threads/a%3Ab/c/{digest}"));
        for bad in ["", "../x", &"AB".repeat(32), &"ab".repeat(31)] {
            assert!(object(&key("a:b", "c"), bad).is_err(), "{bad}");
        }
    }
}
