//! The agent's side of a thread, and the row by which its user's list has it.

use std::collections::BTreeSet;

use pudu_app::ports::StoreError;
use pudu_domain::conversation::{Conversation, Head, Kept};
use pudu_domain::{RunId, Scope, ThreadKey};
use serde_json::{Map, Value};

use crate::body::{self, EncodeError};
use crate::key::Key;
use crate::row::{Reader, Row, Writer, attr};
use crate::write::{When, Write};

pub(crate) const ITEM: &str = "conversation";
const LISTED: &str = "place of a conversation in a list";

const ACTIVE: &str = "ac";
const QUEUE: &str = "qu";
const HEAD: &str = "hd";
const RUNS: &str = "rn";
const STATUS: &str = "st";
/// Where it stood before an active run that answers nobody; absent otherwise.
const STOOD: &str = "sb";
const TITLE: &str = "ti";
const METADATA: &str = "md";
const ASSISTANT: &str = "as";
/// The servers that it may use; absent when it may use every one.
const SCOPE: &str = "sc";
const UPDATED_AT: &str = "ut";
/// Up to which of its runs somebody is to look back, and did; absent before there was anything to remember.
const TO_REMEMBER: &str = "tr";
const REMEMBERED: &str = "rb";

/// What writes it: the row under the revision that was read, and its place in the list with the first one.
pub(crate) fn writes(kept: &Kept) -> Result<Vec<Write>, EncodeError> {
    let when = kept.expect.map_or(When::Absent, When::Revision);
    let row = Write::put(ITEM, encode(&kept.conversation)?, when);
    let listed = kept.expect.is_none().then(|| {
        let (thread, made) = (kept.conversation.thread.clone(), kept.conversation.created_at);
        Write::put(LISTED, Writer::new(&Key::Listed { thread, made }).row(), When::Always)
    });
    Ok(std::iter::once(row).chain(listed).collect())
}

/// The row outside of the thread that the conversation has, as far as it can be read.
pub(crate) fn listed(row: &Row, thread: &ThreadKey) -> Option<Key> {
    let made = Reader::unversioned(ITEM, row).time(attr::CREATED_AT).ok()?;
    Some(Key::Listed { thread: thread.clone(), made })
}

pub(crate) fn encode(conversation: &Conversation) -> Result<Row, EncodeError> {
    let scope = match &conversation.scope {
        Scope::All => None,
        Scope::Only(names) => Some(body::encode(ITEM, names)?),
    };
    let head = conversation.head.as_ref().map(|head| body::encode(ITEM, head)).transpose()?;
    Ok(Writer::new(&Key::Conversation(conversation.thread.clone()))
        .number(attr::REVISION, conversation.revision)
        .maybe(conversation.active.as_ref(), |w, run| w.text(ACTIVE, run.as_str()))
        .value(QUEUE, body::encode(ITEM, &conversation.queue)?)
        .maybe(head, |w, head| w.value(HEAD, head))
        .number(RUNS, conversation.runs)
        .text(STATUS, conversation.status.as_str())
        .maybe(conversation.stood, |w, status| w.text(STOOD, status.as_str()))
        .maybe(conversation.title.as_ref(), |w, title| w.text(TITLE, title))
        .value(METADATA, body::encode(ITEM, &conversation.metadata)?)
        .maybe(conversation.assistant.as_ref(), |w, name| w.text(ASSISTANT, name))
        .maybe(scope, |w, scope| w.value(SCOPE, scope))
        .maybe(some(conversation.to_remember), |w, ordinal| w.number(TO_REMEMBER, ordinal))
        .maybe(some(conversation.remembered), |w, ordinal| w.number(REMEMBERED, ordinal))
        .time(attr::CREATED_AT, conversation.created_at)
        .time(UPDATED_AT, conversation.updated_at)
        .row())
}

/// Runs count from 1.
fn some(ordinal: u32) -> Option<u32> {
    (ordinal > 0).then_some(ordinal)
}

pub(crate) fn decode(row: &Row) -> Result<Conversation, StoreError> {
    let reader = Reader::new(ITEM, row)?;
    let Key::Conversation(thread) = reader.key()? else {
        return Err(reader.corrupt(attr::SK, "is not the key of a conversation"));
    };
    let active = match reader.text_maybe(ACTIVE)? {
        None => None,
        Some(_) => Some(reader.parsed(ACTIVE, |text| RunId::parse(text).ok())?),
    };
    let head = if reader.has(HEAD) { Some(body::decode::<Head>(reader, HEAD)?) } else { None };
    let scope = if reader.has(SCOPE) {
        Scope::Only(body::decode::<BTreeSet<String>>(reader, SCOPE)?)
    } else {
        Scope::All
    };
    let stood = if reader.has(STOOD) { Some(reader.parsed(STOOD, super::run::word)?) } else { None };
    Ok(Conversation {
        thread,
        revision: reader.number(attr::REVISION)?,
        active,
        queue: body::decode(reader, QUEUE)?,
        head,
        runs: reader.number(RUNS)?,
        status: reader.parsed(STATUS, super::run::word)?,
        stood,
        title: reader.text_maybe(TITLE)?.map(str::to_owned),
        metadata: body::decode::<Map<String, Value>>(reader, METADATA)?,
        assistant: reader.text_maybe(ASSISTANT)?.map(str::to_owned),
        scope,
        to_remember: reader.number_maybe(TO_REMEMBER)?.unwrap_or_default(),
        remembered: reader.number_maybe(REMEMBERED)?.unwrap_or_default(),
        created_at: reader.time(attr::CREATED_AT)?,
        updated_at: reader.time(UPDATED_AT)?,
    })
}
