//! Where a store is, and who may have it.

use tempfile::TempDir;

use super::{Store, StoreError};
use crate::cli::StoreArgs;

fn args(folder: &TempDir, endpoint: Option<&str>) -> StoreArgs {
    StoreArgs {
        data_dir: folder.path().to_owned(),
        dynamodb_endpoint: endpoint.map(str::to_owned),
        table: "pudu".to_owned(),
    }
}

#[tokio::test]
async fn an_endpoint_that_is_no_url_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    for endpoint in ["", "localhost:8000", "127.0.0.1:8000", "ftp://h", "file:///etc"] {
        let refused = Store::open(&args(&folder, Some(endpoint))).await;
        assert!(matches!(refused, Err(StoreError::Endpoint)), "{endpoint}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn one_process_holds_the_folder_wherever_its_table_is() {
    let folder = tempfile::tempdir().unwrap();
    let first = Store::open(&args(&folder, Some("http://127.0.0.1:1"))).await.unwrap();
    assert!(first.engine.is_none());
    for endpoint in [None, Some("http://127.0.0.1:2")] {
        let refused = Store::open(&args(&folder, endpoint)).await;
        assert!(refused.is_err_and(|error| error.is_held() && error.to_string().contains("--data-dir")));
    }
    drop(first);
    assert!(Store::open(&args(&folder, None)).await.unwrap().engine.is_some());
}
