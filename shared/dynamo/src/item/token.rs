//! The OAuth token of a server. What is secret in it comes sealed.

use pudu_app::ports::{StoreError, TokenKey};
use pudu_domain::token::{Access, Rejections, Sealed, Trouble};
use pudu_domain::{Generation, Lease, Owner, Token};

use crate::key::Key;
use crate::row::{Reader, Row, Writer, attr};

pub(crate) const ITEM: &str = "token";

const ACCESS: &str = "acc";
const GRANTED_AT: &str = "gat";
const EXPIRES_AT: &str = "exp";
const REFRESH: &str = "ref";
const GRANTED_IN: &str = "gi";
const ATTEMPTS: &str = "fa";
const RETRY_AT: &str = "ra";
const REASON: &str = "why";
const REJECTIONS: &str = "rj";
const REJECTED_AT: &str = "rjt";

pub(crate) fn encode(key: &TokenKey, token: &Token) -> Row {
    let row = Writer::new(&Key::token(key))
        .number(attr::GENERATION, token.generation.number())
        .number(GRANTED_IN, token.granted_in.number())
        .maybe(token.lease.as_ref(), |row, lease| {
            row.text(attr::LEASE_OWNER, lease.owner.as_str()).time(attr::LEASE_UNTIL, lease.until)
        })
        .maybe(token.access.as_ref(), |row, access| {
            row.text(ACCESS, access.sealed.as_str())
                .time(GRANTED_AT, access.granted_at)
                .time(EXPIRES_AT, access.expires_at)
        })
        .maybe(token.refresh.as_ref(), |row, refresh| row.text(REFRESH, refresh.as_str()))
        .maybe(token.rejections, |row, rejections| {
            row.number(REJECTIONS, rejections.count).time(REJECTED_AT, rejections.at)
        });
    match &token.trouble {
        Trouble::None => row,
        Trouble::Failing { attempts, retry_at, reason } => {
            row.number(ATTEMPTS, *attempts).time(RETRY_AT, *retry_at).text(REASON, reason.as_str())
        }
        Trouble::Refused { reason } => row.text(REASON, reason.as_str()),
    }
    .row()
}

pub(crate) fn decode(row: &Row) -> Result<Token, StoreError> {
    let reader = Reader::new(ITEM, row)?;
    Ok(Token {
        generation: Generation::new(reader.number(attr::GENERATION)?),
        lease: lease(reader)?,
        access: access(reader)?,
        refresh: reader.text_maybe(REFRESH)?.map(sealed),
        granted_in: Generation::new(reader.number(GRANTED_IN)?),
        trouble: trouble(reader)?,
        rejections: match reader.number_maybe(REJECTIONS)? {
            None => None,
            Some(count) => Some(Rejections { count, at: reader.time(REJECTED_AT)? }),
        },
    })
}

fn lease(reader: Reader<'_>) -> Result<Option<Lease>, StoreError> {
    let Some(owner) = reader.text_maybe(attr::LEASE_OWNER)? else { return Ok(None) };
    Ok(Some(Lease { owner: Owner::stored(owner.to_owned()), until: reader.time(attr::LEASE_UNTIL)? }))
}

fn access(reader: Reader<'_>) -> Result<Option<Access>, StoreError> {
    let Some(text) = reader.text_maybe(ACCESS)? else { return Ok(None) };
    Ok(Some(Access {
        sealed: sealed(text),
        granted_at: reader.time(GRANTED_AT)?,
        expires_at: reader.time(EXPIRES_AT)?,
    }))
}

/// A reason without attempts is a refusal.
fn trouble(reader: Reader<'_>) -> Result<Trouble, StoreError> {
    let Some(reason) = reader.text_maybe(REASON)?.map(str::to_owned) else { return Ok(Trouble::None) };
    Ok(match reader.number_maybe(ATTEMPTS)? {
        None => Trouble::Refused { reason },
        Some(attempts) => Trouble::Failing { attempts, retry_at: reader.time(RETRY_AT)?, reason },
    })
}

fn sealed(text: &str) -> Sealed {
    Sealed::new(text.to_owned())
}
