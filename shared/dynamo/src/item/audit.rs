//! Who changed what. Written twice: when the change was asked for, and when it was known what came of it.

use pudu_app::ports::{AUDIT_KEPT, AuditRecord, Outcome, StoreError};
use pudu_domain::{CredentialTag, UserId};

use crate::key::Key;
use crate::row::{Reader, Row, Writer, attr};

pub(crate) const ITEM: &str = "audit record";

const AT: &str = "at";
const USER: &str = "user";
const TAG: &str = "tag";
const ACTION: &str = "act";
const TARGET: &str = "of";
const OUTCOME: &str = "out";
const REASON: &str = "why";

const REQUESTED: &str = "requested";
const DONE: &str = "done";
const FAILED: &str = "failed";

pub(crate) fn encode(record: &AuditRecord) -> Row {
    let (word, reason) = match &record.outcome {
        Outcome::Requested => (REQUESTED, None),
        Outcome::Done => (DONE, None),
        Outcome::Failed { reason } => (FAILED, Some(reason.as_str())),
    };
    Writer::new(&Key::Audit(record.id.clone()))
        .time(AT, record.at)
        .text(USER, record.user.as_str())
        .text(TAG, record.tag.as_str())
        .text(ACTION, record.action.as_str())
        .text(TARGET, record.target.as_str())
        .text(OUTCOME, word)
        .maybe(reason, |row, reason| row.text(REASON, reason))
        .ends(record.at + AUDIT_KEPT)
        .row()
}

pub(crate) fn decode(row: &Row) -> Result<AuditRecord, StoreError> {
    let reader = Reader::new(ITEM, row)?;
    let Key::Audit(id) = reader.key()? else {
        return Err(reader.corrupt(attr::SK, "is not the key of an audit record"));
    };
    Ok(AuditRecord {
        id,
        at: reader.time(AT)?,
        user: reader.parsed(USER, |text| UserId::parse(text).ok())?,
        tag: reader.parsed(TAG, |text| CredentialTag::parse(text).ok())?,
        action: reader.text(ACTION)?.to_owned(),
        target: reader.text(TARGET)?.to_owned(),
        outcome: match reader.text(OUTCOME)? {
            REQUESTED => Outcome::Requested,
            DONE => Outcome::Done,
            FAILED => Outcome::Failed { reason: reader.text(REASON)?.to_owned() },
            _ => return Err(reader.corrupt(OUTCOME, "is not one of the known values")),
        },
    })
}
