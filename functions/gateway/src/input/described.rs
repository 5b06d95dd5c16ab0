//! Paths and headers as the contract describes them, beside the extractors that read them.

use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{Object, ObjectBuilder};
use utoipa::openapi::{Required, Type};

use super::{
    AnyThread, KeyOfPath, LastEventId, Repeatable, Resumed, RunAlone, RunOf, Task, Thread, ToolName,
};

/// Of which a thread's id is made.
const THREAD: &str = "^[A-Za-z0-9_-]{1,64}$";
/// Of which a task's id is made.
const TASK: &str = "^mcp-task-[0-9a-f]{32}$";
/// Of which an API key's id is made.
const API_KEY: &str = "^[a-z0-9]{12}$";
/// Of which a key is made: visible ASCII.
const KEY: &str = "^[!-~]{1,255}$";

/// Of which a run's id is made.
const RUN: &str = "^[A-Za-z0-9_.:-]{1,128}$";
/// Of which the id of a frame of a run's stream is made.
const FRAME: &str = "^[0-9]{1,19}-[0-9]{1,19}$";
/// Of which the id of a stream's event is made.
const EVENT: &str = "^[0-9]{1,19}$";

fn text(pattern: &str) -> Object {
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern)).build()
}

/// A text in the path.
fn in_path(name: &str, what: &str, schema: Object) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some(what))
        .schema(Some(schema))
        .build()
}

impl IntoParams for AnyThread {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![in_path("thread", "The caller's own thread; it begins with its first task or run", text(THREAD))]
    }
}

impl IntoParams for Thread {
    fn into_params(provider: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        AnyThread::into_params(provider)
    }
}

impl IntoParams for Task {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![in_path("id", "A task of the thread", text(TASK))]
    }
}

impl IntoParams for RunOf {
    fn into_params(provider: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let mut all = Thread::into_params(provider);
        all.push(in_path("run", "A run of the thread", text(RUN)));
        all
    }
}

impl IntoParams for RunAlone {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![in_path("run", "A run of any thread of the caller's", text(RUN))]
    }
}

impl IntoParams for Resumed {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let what = "The id of the last event that was heard: the stream goes on behind it";
        let header = ParameterBuilder::new().name("Last-Event-ID").parameter_in(ParameterIn::Header);
        vec![header.required(Required::False).description(Some(what)).schema(Some(text(FRAME))).build()]
    }
}

impl IntoParams for KeyOfPath {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![in_path("id", "The key's id, which is no secret", text(API_KEY))]
    }
}

impl IntoParams for ToolName {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let name = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).build();
        vec![in_path("name", "The tool's visible name", name)]
    }
}

impl IntoParams for Repeatable {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let what = "Chosen by the caller, unique in its thread (of a run: for its user): the same again is the same task or run, another body is 422";
        let header = ParameterBuilder::new().name("Idempotency-Key").parameter_in(ParameterIn::Header);
        vec![header.required(Required::False).description(Some(what)).schema(Some(text(KEY))).build()]
    }
}

impl IntoParams for LastEventId {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let what = "The id of the last event that was heard: what changed since then is told";
        let header = ParameterBuilder::new().name("Last-Event-ID").parameter_in(ParameterIn::Header);
        vec![header.required(Required::False).description(Some(what)).schema(Some(text(EVENT))).build()]
    }
}
