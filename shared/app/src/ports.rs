//! The traits between the use cases and the world. One file per port; the adapters' files mirror these names.

mod allowances;
mod audit_log;
mod beacon;
mod blobs;
mod breakers;
mod caller;
mod catalog_store;
mod clock;
mod config_source;
mod config_store;
mod driver;
mod due_index;
mod error;
mod event_log;
mod feedback_store;
mod key_store;
mod mcp_client;
mod memory_store;
mod model;
mod note_store;
mod peer_store;
mod random;
mod run_launcher;
mod run_store;
mod seal_keys;
mod task_store;
mod thread_store;
mod token_store;
mod token_verifier;
mod vault;
mod waker;
mod wrapped_keys;

pub use allowances::{Allowances, Swapped};
pub use audit_log::{AUDIT_KEPT, AuditLog, AuditRecord, Outcome};
pub use beacon::{Awake, Background, Beacon, Beacons, Raised};
pub use blobs::{BlobError, Blobs, is_digest};
pub use breakers::{Breakers, Exchanged};
pub use caller::{Caller, Relayed, RequestSecrets, ServerError};
pub use catalog_store::{CatalogStore, LISTING_KEPT, StoredListing};
pub use clock::Clock;
pub use config_source::{ConfigError, ConfigSource, Loaded, Past, Version};
pub use config_store::{Author, ConfigStore, Made, Moved, Revision};
pub use driver::{
    AnswerError, Cancelled, DriverError, Submission, SubmitError, Submits, Submitted, TaskDriver,
    Unanswerable,
};
pub use due_index::{DueIndex, DuePage, Hint, ItemKey, SHARDS, shards};
pub use error::StoreError;
pub use event_log::{DeliveredEvent, EventLog};
pub use feedback_store::FeedbackStore;
pub use key_store::{KeyStore, StoredKey};
pub use mcp_client::{
    CallError, CallFault, Judged, LeftOut, Listing, MAX_LEFT_OUT, McpClient, RawTool, TaskMethod,
    TaskProtocol, TaskReply, TaskRequest, ToolCall,
};
pub use memory_store::{MemoryKept, MemoryStore};
pub use model::{Dialect, ModelCall, ModelEntry, ModelError, ModelFault, Models, Piece, ToolDefinition};
pub use note_store::{NoteKey, NoteStore};
pub use peer_store::{Era, PeerStore};
pub use random::Random;
pub use run_launcher::{Launch, LaunchError, LookUpError, RunLauncher, RunStatus, ToldEvent};
pub use run_store::{Applied, ConversationKept, FRAMES_KEPT, Record, RecordQuery, RunStore, ToldPage};
pub use seal_keys::{SealKeyError, SealKeys};
pub use task_store::{Committed, TaskStore};
pub use thread_store::{Erased, ThreadStore};
pub use token_store::{Replaced, TokenKey, TokenPorts, TokenStore};
pub use token_verifier::{TokenVerifier, VerifyError};
pub use vault::Vault;
pub use waker::{Wake, WakeError, Waker};
pub use wrapped_keys::WrappedKeys;
