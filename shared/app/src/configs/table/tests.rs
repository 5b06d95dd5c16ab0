use std::io;
use std::sync::Mutex;
use std::time::Duration;

use pudu_config::SealKey;
use pudu_domain::Timestamp;
use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;

use super::*;
use crate::ports::{SealKeyError, StoreError};

/// A table, and all else that a source of the config needs.
#[derive(Default)]
struct World(Mutex<Vec<Revision>>);

#[async_trait]
impl ConfigStore for World {
    async fn pointer(&self) -> Result<Option<u64>, StoreError> {
        Ok(self.0.lock().unwrap().last().map(|last| last.made.number))
    }

    async fn revision(&self, number: u64) -> Result<Option<Revision>, StoreError> {
        Ok(self.0.lock().unwrap().iter().find(|revision| revision.made.number == number).cloned())
    }

    async fn history(&self, _: usize, _: Option<u64>) -> Result<Vec<Made>, StoreError> {
        Ok(Vec::new())
    }

    async fn append(&self, revision: &Revision) -> Result<Moved, StoreError> {
        self.0.lock().unwrap().push(revision.clone());
        Ok(Moved::Done)
    }
}

#[async_trait]
impl SealKeys for World {
    async fn current(&self) -> Result<SealKey, SealKeyError> {
        Ok(SealKey::new([7; 32]))
    }
}

#[async_trait]
impl Clock for World {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(0)
    }

    async fn sleep(&self, _: Duration) {}
}

impl Random for World {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(1);
    }
}

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    /// The lines since the last time.
    fn lines(&self) -> Vec<Value> {
        let text = String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Written {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

fn source(world: &Arc<World>) -> TableSource {
    TableSource::new(world.clone(), world.clone(), world.clone(), world.clone())
}

/// On this thread only; the runtime of a test is its thread.
#[tokio::test]
async fn what_a_stored_config_says_and_nobody_reads_is_logged_once_for_each_revision() {
    let written = Written::default();
    let layer = tracing_subscriber::fmt::layer().json().flatten_event(true).with_writer(written.clone());
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));
    let world = Arc::new(World::default());

    let made = Made { number: 1, at: world.now(), author: None };
    let sealed = json!({"mcpServers": {}, "token_budget": {"enabled": "ye"}, "memory": {"mode": "both"}});
    world.0.lock().unwrap().push(Revision { made, sealed });
    let table = source(&world);
    table.load().await.unwrap();
    let told = written.lines();
    let of: Vec<_> = told.iter().map(|line| line["problem"].as_str().unwrap()).collect();
    assert_eq!(of.len(), 2, "{of:#?}");
    assert!(of.iter().any(|problem| problem.starts_with("token_budget.enabled: ")), "{of:#?}");
    assert!(of.iter().any(|problem| problem.starts_with("memory.mode: ")), "{of:#?}");
    assert!(told.iter().all(|line| line["config.revision"] == 1 && line["level"] == "WARN"), "{told:#?}");
    let loaded = table.load().await.unwrap();
    assert_eq!(written.lines(), [] as [Value; 0], "it was told");

    // Whoever stores it is told as well, at once, and reads nothing new in it.
    let document = Document::parse(json!({"token_budget": {"enabled": "yes please"}})).unwrap();
    table.replace(&loaded.version, &document, None).await.unwrap().unwrap();
    table.load().await.unwrap();
    let told = written.lines();
    assert!(told.len() == 1 && told[0]["config.revision"] == 2, "{told:#?}");
    source(&world).load().await.unwrap();
    assert_eq!(written.lines().len(), 1, "to another process");
}
