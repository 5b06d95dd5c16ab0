//! What a task brought back: one JSON body, written only when it changes.

use pudu_app::ports::StoreError;
use pudu_domain::{Payload, TaskKey};
use serde_json::{Map, Value};

use crate::body::{self, EncodeError};
use crate::key::Key;
use crate::row::{Reader, Row, Writer};

pub(crate) const ITEM: &str = "task payload";

const BODY: &str = "body";

pub(crate) fn encode(task: &TaskKey, payload: &Payload) -> Result<Row, EncodeError> {
    Ok(Writer::new(&Key::Payload(task.clone())).value(BODY, body::encode(ITEM, payload)?).row())
}

pub(crate) fn decode(row: &Row) -> Result<Payload, StoreError> {
    let reader = Reader::new(ITEM, row)?;
    let mut fields: Map<String, Value> = body::decode(reader, BODY)?;
    // Taken by hand: a result or question that *is* null would read as none, and its digest would never match again.
    let (result, question) = (fields.remove("result"), fields.remove("input_required"));
    let rest: Payload = serde_json::from_value(Value::Object(fields))
        .map_err(|_| reader.corrupt(BODY, "is not the JSON that belongs there"))?;
    Ok(Payload { result, input_required: question, ..rest })
}
