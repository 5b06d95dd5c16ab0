//! A house that tells its callers apart, whose requests to the table are counted.

use std::sync::Arc;

use axum::Router;
use pudu::house::{House, Plan};
use pudu_app::keys::NewKey;
use pudu_domain::{KeyName, Role, Scope, UserId};
use tempfile::TempDir;

use crate::{Calls, ExampleServer, HandClock, MeteredTable, operator};

/// The house, with the example server in its config.
pub struct Town {
    /// Its door.
    pub gateway: Router,
    /// What was asked of the table.
    pub calls: Calls,
    house: House,
    _example: ExampleServer,
    _folder: TempDir,
}

impl Town {
    /// A new one, without keys.
    pub async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(HandClock::default());
        let table = MeteredTable::new(clock.clone()).await;
        let example = ExampleServer::start(folder.path(), clock.clone()).await;
        let name = MeteredTable::NAME.to_owned();
        let plan = Plan::new(table.client().clone(), name, folder.path().join("seal.key"));
        let house = House::new(Plan { clock, ..plan }).unwrap();
        assert!(house.seed(&example.url()).await.unwrap());
        let (gateway, calls) = (house.gateway(), table.calls.clone());
        Self { gateway, calls, house, _example: example, _folder: folder }
    }

    /// Another key of the user `user`, who is no administrator.
    pub async fn key(&self, user: &str, scope: Scope) -> String {
        let name = KeyName::parse(user).unwrap();
        let user = Some(UserId::of_keys_for(user).unwrap());
        let new = NewKey { name, user, role: Role::User, scope };
        self.house.wiring.keys().create(&operator(), new).await.unwrap().1.expose().to_owned()
    }
}
