//! Blobs on every adapter: memory, one machine's folder, and the cloud's bucket by the real SDK client over HTTP.

use std::sync::Arc;

use acceptance::ObjectStore;
use aws_config::{BehaviorVersion, Region};
use aws_sdk_kms::config::Credentials;
use pudu::blobs::BlobFolder;
use pudu_app::ports::Blobs;
use pudu_domain::{ThreadId, ThreadKey, UserId};
use pudu_lambda::blobs::Bucket;
use pudu_testkit::{FakeBlobs, conformance};

async fn bucket(store: &ObjectStore) -> Bucket {
    let aws = aws_config::defaults(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(Credentials::new("a", "b", None, None, "fake"))
        .endpoint_url(store.url())
        .load()
        .await;
    Bucket::new(&aws, store.bucket().to_owned())
}

fn thread() -> ThreadKey {
    ThreadKey { user: UserId::parse("local:default").unwrap(), thread: ThreadId::parse("t").unwrap() }
}

#[tokio::test]
async fn the_fake_keeps_them() {
    conformance::blobs(Arc::new(FakeBlobs::default())).await;
}

#[tokio::test]
async fn a_folder_keeps_them() {
    let folder = tempfile::tempdir().unwrap();
    conformance::blobs(Arc::new(BlobFolder::new(folder.path().join("blobs")))).await;
}

#[tokio::test]
async fn a_bucket_keeps_them() {
    let store = ObjectStore::start().await;
    conformance::blobs(Arc::new(bucket(&store).await)).await;
    assert!(store.names().iter().all(|name| name.starts_with("threads/")), "{:?}", store.names());
}

#[tokio::test]
async fn a_blob_is_one_request_and_a_busy_bucket_is_asked_again() {
    let store = ObjectStore::start().await;
    let bucket = bucket(&store).await;
    let digest = "ab".repeat(32);
    let name = format!("/pudu-blobs/threads/local%3Adefault/t/{digest}");
    bucket.put(&thread(), &digest, b"x".to_vec()).await.unwrap();
    assert_eq!(bucket.get(&thread(), &digest).await.unwrap().as_deref(), Some(b"x".as_slice()));
    assert_eq!(store.asked(), [format!("PUT {name}"), format!("GET {name}")]);
    store.busy(2);
    assert!(bucket.get(&thread(), &digest).await.unwrap().is_some());
    assert_eq!(store.asked().len(), 3);
    store.busy(usize::MAX);
    let error = bucket.get(&thread(), &digest).await.unwrap_err();
    assert_eq!(error.to_string(), "reading a blob in the blob store failed");
}
