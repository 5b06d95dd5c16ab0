//! The key in the data folder opens the gateway, whatever became of file and table.

use axum::body::Body;
use http::{Request, StatusCode, header};
use tempfile::TempDir;
use tower::ServiceExt;

use super::*;
use crate::engine::Engine;
use crate::house::testing::plan;

async fn house_over(folder: &TempDir, engine: &Engine) -> House {
    let house = House::new(plan(folder, engine)).unwrap();
    house.create_table().await.unwrap();
    house
}

async fn opens(house: &House, key: &ApiKey) -> bool {
    let request = Request::get("/api/mcp/config").header(header::HOST, "localhost");
    let request = request.header(header::AUTHORIZATION, format!("Bearer {}", key.expose()));
    let status = house.gateway().oneshot(request.body(Body::empty()).unwrap()).await.unwrap().status();
    assert!([StatusCode::OK, StatusCode::UNAUTHORIZED].contains(&status), "{status}");
    status == StatusCode::OK
}

#[tokio::test]
async fn the_first_start_makes_a_key_and_the_next_ones_keep_it() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = DataFolder::new(temporary.path());
    let house = house_over(&temporary, &Engine::in_memory().unwrap()).await;
    let key = ensure(&house, &folder).await.unwrap();
    assert_eq!(folder.admin_key().unwrap().unwrap().expose(), key.expose());
    assert!(opens(&house, &key).await && !opens(&house, &new_api_key(house.random().as_ref())).await);
    assert_eq!(ensure(&house, &folder).await.unwrap().expose(), key.expose());
    let [stored] = &house.wiring.keys().list().await.unwrap()[..] else { panic!("one key") };
    assert_eq!((stored.user.as_str(), stored.role), ("local:default", Role::Admin));
}

#[tokio::test]
async fn a_new_table_takes_the_key_that_is_in_the_folder() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = DataFolder::new(temporary.path());
    let before = house_over(&temporary, &Engine::in_memory().unwrap()).await;
    let key = ensure(&before, &folder).await.unwrap();
    let after = house_over(&temporary, &Engine::in_memory().unwrap()).await;
    assert!(!opens(&after, &key).await);
    let after = house_over(&temporary, &Engine::in_memory().unwrap()).await;
    assert_eq!(ensure(&after, &folder).await.unwrap().expose(), key.expose());
    assert!(opens(&after, &key).await);
}

#[tokio::test]
async fn a_lost_or_revoked_key_is_replaced_at_the_next_start() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = DataFolder::new(temporary.path());
    let engine = Engine::in_memory().unwrap();
    let house = house_over(&temporary, &engine).await;
    let first = ensure(&house, &folder).await.unwrap();
    std::fs::remove_file(folder.admin_key_file()).unwrap();
    let second = ensure(&house, &folder).await.unwrap();
    assert!(
        opens(&house, &first).await && opens(&house, &second).await,
        "a lost one is revoked by its owner"
    );
    house.wiring.keys().revoke(&house.operator(), second.id()).await.unwrap();
    let third = ensure(&house, &folder).await.unwrap();
    // Another process, which remembers nothing.
    let house = house_over(&temporary, &engine).await;
    assert!(!opens(&house, &second).await && opens(&house, &third).await);
}

#[tokio::test]
async fn a_file_that_holds_something_else_is_not_overwritten() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = DataFolder::new(temporary.path());
    std::fs::write(folder.admin_key_file(), "my notes").unwrap();
    let house = house_over(&temporary, &Engine::in_memory().unwrap()).await;
    let error = format!("{:#}", ensure(&house, &folder).await.unwrap_err());
    assert!(error.contains("admin.key cannot be used") && error.contains("no API key"), "{error}");
    assert_eq!(std::fs::read_to_string(folder.admin_key_file()).unwrap(), "my notes");
}
