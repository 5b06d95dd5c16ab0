//! What was settled at submission: written at birth, and once more when the server's handle is known.

use pudu_app::ports::StoreError;
use pudu_domain::task::Repeatable;
use pudu_domain::{RemoteTaskId, ServerName, TaskKey, TaskName, TaskSpec};

use crate::body::{self, EncodeError};
use crate::key::Key;
use crate::row::{Reader, Row, Writer, attr};

pub(crate) const ITEM: &str = "task spec";

const NAME: &str = "name";
const SERVER: &str = "srv";
const IDENTITY: &str = "identity";
const DRIVER: &str = "driver";
const DRIVER_DATA: &str = "data";
const REMOTE: &str = "remote";
/// The digest of the caller's key.
pub(crate) const REPEAT_KEY: &str = "ik";

/// The attributes that name rows outside of the thread: the remote handle's and the caller's key's.
pub(crate) const OWNED: [&str; 4] = [SERVER, IDENTITY, REMOTE, REPEAT_KEY];

/// Those rows, as far as the spec can be read: what it does not name is not known.
pub(crate) fn owned(row: &Row, task: &TaskKey) -> Vec<Key> {
    let reader = Reader::unversioned(ITEM, row);
    let text = |name| reader.text_maybe(name).ok().flatten();
    let remote = text(REMOTE).and_then(|text| RemoteTaskId::parse(text).ok());
    let server = text(SERVER).and_then(|text| ServerName::parse(text).ok());
    let handle = match (server, text(IDENTITY), remote) {
        (Some(server), Some(identity), Some(remote)) => {
            Some(Key::handle(&task.thread.user, &server, identity, &remote))
        }
        _ => None,
    };
    let repeatable = text(REPEAT_KEY)
        .map(|digest| Key::Idempotency { thread: task.thread.clone(), digest: digest.to_owned() });
    handle.into_iter().chain(repeatable).collect()
}

pub(crate) fn encode(task: &TaskKey, spec: &TaskSpec) -> Result<Row, EncodeError> {
    let data = body::encode(ITEM, &spec.driver_data)?;
    Ok(Writer::new(&Key::Spec(task.clone()))
        .text(NAME, spec.name.as_str())
        .text(SERVER, spec.server.as_str())
        .text(IDENTITY, &spec.identity)
        .text(DRIVER, &spec.driver)
        .value(DRIVER_DATA, data)
        .maybe(spec.remote.as_ref(), |w, remote| w.text(REMOTE, remote.as_str()))
        .maybe(spec.repeatable.as_ref(), |w, r| w.text(REPEAT_KEY, &r.key).text(attr::REQUEST, &r.request))
        .row())
}

pub(crate) fn decode(row: &Row) -> Result<TaskSpec, StoreError> {
    let reader = Reader::new(ITEM, row)?;
    let remote = match reader.text_maybe(REMOTE)? {
        None => None,
        Some(_) => Some(reader.parsed(REMOTE, |text| RemoteTaskId::parse(text).ok())?),
    };
    let repeatable = match reader.text_maybe(REPEAT_KEY)? {
        None => None,
        Some(key) => {
            Some(Repeatable { key: key.to_owned(), request: reader.text(attr::REQUEST)?.to_owned() })
        }
    };
    Ok(TaskSpec {
        name: reader.parsed(NAME, |text| TaskName::parse(text).ok())?,
        server: reader.parsed(SERVER, |text| ServerName::parse(text).ok())?,
        identity: reader.text(IDENTITY)?.to_owned(),
        driver: reader.text(DRIVER)?.to_owned(),
        driver_data: body::decode(reader, DRIVER_DATA)?,
        remote,
        repeatable,
    })
}
