//! The extensions config: schema, validation, masking, merging and sealing: pure.
//!
//! The raw JSON is the truth and is never re-serialised from a typed model, so that unknown keys, `$VAR` references and
//! "was this field given" survive every write (reference 1.3, 10.3). Typed views are read from it once, beside it.
//! Nothing here prints a value from a sensitive place: not a problem, not an error, not `Debug`.
//!
//! The way of a change: one of `patch` over [`merge()`] (restores `***`) → [`Document::parse`] → [`api_screen`] → [`SealKey::seal_document`]
//! → the table → [`SealKey::open_document`] → [`Document::response`].

mod adopt;
mod advice;
mod agents;
mod archived;
mod canonical;
mod diff;
mod document;
mod header;
mod launch;
mod mask;
mod merge;
mod model;
mod names;
mod patch;
mod path;
mod problem;
mod reader;
mod repeated;
mod screen;
mod seal;
mod sensitive;
mod server;
mod setting;
mod text;
mod tool_search;

pub use adopt::adopt;
pub use advice::advise;
pub use agents::{
    Agents, BUILT_IN as BUILT_IN_SUBAGENTS, CustomAgent, Ends, Keep, Limits, LoopDetection, Memory,
    MemoryMode, Override, Subagents, Summarization, Title, TokenBudget, ToolOutput, Trigger,
};
pub use archived::Archived;
pub use canonical::{canonical, sha256_hex};
pub use diff::{Changed, Difference, differences};
pub use document::{Document, Examined};
pub use header::{Headers, Illegal, IllegalHeader, MAX_HEADERS, illegal_value, legal_name};
pub use launch::{Approved, LaunchPolicy, NotAName, Place, Refusal, Why};
pub use mask::MASK;
pub use merge::merge;
pub use model::{
    CHUNK_TIMEOUT, EntryError, MAX_RETRIES, MOST_AT_ONCE, MOST_RETRIES, Model, PassedOn, Pricing, Provider,
    REQUEST_TIMEOUT, ResolvedModel,
};
pub use names::{MAX_VISIBLE_NAME, Names, Owners, ToolRef, may_be_of};
pub use patch::{Refused, create_servers, enable_server, put_servers, remove_server, replace_server};
pub use problem::{Kind, Problem};
pub use repeated::repeated_keys;
pub use screen::api_screen;
pub use seal::{NONCE_BYTES, OpenError, SealError, SealKey};
pub use sensitive::{argument_secrets, is_sensitive_key, passed_on_secrets};
pub use server::{
    AuthMethod, Command, ConnectError, DEFAULT_TIMEOUT, GrantType, HeadersFromContext, MAX_SERVER_NAME,
    MAX_TASK_NAME, Mode, Oauth, OnMissing, Remote, ResolvedOauth, ResolvedRemote, Routing, RoutingOverride,
    Server, SigningAlgorithm, Toolset, Transport, UserAuth,
};
pub use setting::{NoSecrets, ResolveError, Secrets, Setting};
pub use text::parse_text;
pub use tool_search::ToolSearch;

#[cfg(test)]
mod tests;
