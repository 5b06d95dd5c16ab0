//! An answer on its way to a server: there as long as it waits to be sent.

use pudu_app::ports::StoreError;
use pudu_domain::TaskKey;
use serde_json::Value;

use crate::body::{self, EncodeError};
use crate::key::Key;
use crate::row::{Reader, Row, Writer};

pub(crate) const ITEM: &str = "task answer";

const BODY: &str = "body";

pub(crate) fn encode(task: &TaskKey, input: &Value) -> Result<Row, EncodeError> {
    Ok(Writer::new(&Key::Answer(task.clone())).value(BODY, body::encode(ITEM, input)?).row())
}

pub(crate) fn decode(row: &Row) -> Result<Value, StoreError> {
    body::decode(Reader::new(ITEM, row)?, BODY)
}
