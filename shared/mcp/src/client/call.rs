//! One tool call: the chain of interceptors, and the sending at its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use async_trait::async_trait;
use futures_util::FutureExt;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use pudu_app::ports::{
    CallError, CallFault, Caller, Relayed, ServerError, TaskProtocol, TaskReply, TaskRequest, ToolCall,
};
use pudu_config::{Headers, Server};
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout_at};

use super::Client;
use super::way::Way;
use crate::credentials::{self, Authorized, FromContext, PerUser, Watch};
use crate::interceptor::{End, Interceptor, Next, Request};
use crate::pipe::{self, Ask};
use crate::stateless::{Beside, param_headers};
use crate::stdio::Errand;
use crate::wire::Failure;

/// Where every request of one call is sent.
struct Sending<'a> {
    client: &'a Client,
    /// With the static headers only.
    way: &'a Way<'a>,
    /// The tool as its server listed it, where that is known.
    definition: Option<Arc<Value>>,
    /// As what the caller takes a task.
    tasks: Option<TaskProtocol>,
    until: Instant,
    /// Whether anything of the caller's was sent, in any attempt.
    sent: Arc<AtomicBool>,
    watch: &'a Watch,
    heard: &'a Heard,
}

/// The code of the JSON-RPC error that the last sending was answered with; 0 for none.
#[derive(Default)]
struct Heard(AtomicI64);

/// With these it is whoever lets callers in that refuses, whatever code comes along.
const NOT_LET_IN: [u16; 3] = [401, 403, 429];

impl Heard {
    /// An error that comes before the request is sent answers the handshake, and says nothing of what would have been asked: a
    /// server that refuses `initialize` with the code of a missing task still has the task.
    fn note(&self, answer: &Result<Value, Failure>, begun: bool) {
        let failure = answer.as_ref().err().filter(|_| begun);
        let own =
            failure.filter(|failure| !failure.status.is_some_and(|status| NOT_LET_IN.contains(&status)));
        self.0.store(own.and_then(|failure| failure.code).unwrap_or(0), Ordering::Release);
    }

    fn code(&self) -> Option<i64> {
        Some(self.0.load(Ordering::Acquire)).filter(|code| *code != 0)
    }
}

#[async_trait]
impl End for Sending<'_> {
    async fn send(&self, request: Request<'_>) -> Result<Value, CallError> {
        let sent = Arc::new(AtomicBool::new(false));
        let way = self.way.with(&request.headers)?;
        let (method, of_call) = (request.method, request.method == CALL);
        let answer = match &way {
            Way::Remote(target) => {
                // Of a tool that an interceptor chose instead nothing is known.
                let definition = self.definition.as_ref().filter(|known| is_of(known, &request.tool));
                let extra = match definition {
                    Some(definition) => param_headers::headers(definition, &request.arguments),
                    None => Ok(HeaderMap::new()),
                };
                let core = self.tasks == Some(TaskProtocol::Core);
                let tasks = self.tasks == Some(TaskProtocol::Extension) || !of_call;
                let relayed = request.caller.relayed.clone().filter(|_| of_call);
                let mut params = params(of_call, request.tool, request.arguments);
                let job = self.client.converse(target, self.until, &sent, target.calling, |link, _| {
                    async move {
                        let headers =
                            if link.is_stateless() { extra.map_err(uncallable)? } else { HeaderMap::new() };
                        if core && !link.is_stateless() {
                            ask_for_task(&mut params);
                        }
                        if let Some(relayed) = &relayed {
                            add(&mut params, relayed, link.is_stateless());
                        }
                        link.request(method, params, Beside { headers, tasks, relayed }).await
                    }
                    .boxed()
                });
                let answer = job.await;
                // The call was made by the list, and does not fit: so the list is not what the server has today.
                if definition.is_some() && answer.as_ref().is_err_and(Failure::is_off_list) {
                    target.changes.changed(&target.digest);
                }
                let status = answer.as_ref().err().and_then(|failure| failure.status);
                self.watch.saw(status, target.headers.get(AUTHORIZATION));
                answer
            }
            Way::Child(stdio, recipe) => {
                let tool = request.tool.as_str();
                let core = self.tasks == Some(TaskProtocol::Core);
                let strict = core
                    || !of_call
                    || request.server.task_toolsets.iter().any(|set| set.tools().any(|own| own == tool));
                let mut params = params(of_call, request.tool, request.arguments);
                if core {
                    ask_for_task(&mut params);
                }
                let relayed = request.caller.relayed.clone().filter(|_| of_call);
                if let Some(relayed) = &relayed {
                    add(&mut params, relayed, false);
                }
                let errand = Errand {
                    thread: &request.caller.thread,
                    strict,
                    limit: request.server.call_timeout(),
                    until: self.until,
                    ask: Ask {
                        method,
                        headers: pipe::Headers::of(&request.headers),
                        sent: Arc::clone(&sent),
                        params,
                        relayed,
                    },
                };
                stdio.call(recipe.as_ref().clone(), errand).await
            }
        };
        let begun = sent.load(Ordering::Acquire);
        self.heard.note(&answer, begun);
        if let (Some(relayed), Err(failure), Some(code)) =
            (&request.caller.relayed, &answer, self.heard.code())
        {
            let required = failure.required.as_deref().cloned();
            drop(relayed.error.set(ServerError { code, required }));
        }
        self.sent.fetch_or(begun, Ordering::AcqRel);
        answer.map_err(|failure| way.error(&if begun { failure } else { failure.before_sending() }))
    }
}

/// The method of a call.
const CALL: &str = "tools/call";

/// What travels: of a request about a task, its parameters as they are.
fn params(of_call: bool, tool: String, arguments: Map<String, Value>) -> Map<String, Value> {
    if !of_call {
        return arguments;
    }
    Map::from_iter([
        ("name".to_owned(), Value::String(tool)),
        ("arguments".to_owned(), Value::Object(arguments)),
    ])
}

/// Adds what the caller says beside tool and arguments. What older servers do not know stays here.
fn add(params: &mut Map<String, Value>, relayed: &Relayed, stateless: bool) {
    if stateless {
        let more = relayed
            .params
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "name" | "arguments" | "_meta"));
        params.extend(more.map(|(name, value)| (name.clone(), value.clone())));
    } else if !relayed.meta.is_empty() {
        params.insert("_meta".to_owned(), Value::Object(relayed.meta.clone()));
    }
}

/// Asks for a core task. How long the server keeps it is left to the server, which knows what it can promise.
fn ask_for_task(params: &mut Map<String, Value>) {
    params.insert("task".to_owned(), Value::Object(Map::new()));
}

/// Calls a tool until `until` at the latest.
pub(super) async fn call(
    client: &Client,
    server: &Server,
    caller: &Caller,
    call: ToolCall,
    until: Instant,
) -> Result<Value, CallError> {
    send(client, server, caller, (CALL, call), until, &Heard::default()).await
}

/// Asks about a task until `until` at the latest.
pub(super) async fn ask(
    client: &Client,
    server: &Server,
    caller: &Caller,
    request: TaskRequest,
    until: Instant,
) -> Result<TaskReply, CallError> {
    let TaskRequest { method, params, tool } = request;
    let heard = Heard::default();
    let answer =
        send(client, server, caller, (method.as_str(), ToolCall::plain(tool, params)), until, &heard);
    match (answer.await, heard.code()) {
        (Ok(said), _) => Ok(TaskReply::Said(said)),
        (Err(error), Some(code)) => Ok(TaskReply::Error { code, error }),
        (Err(error), None) => Err(error),
    }
}

async fn send(
    client: &Client,
    server: &Server,
    caller: &Caller,
    (method, call): (&'static str, ToolCall),
    until: Instant,
    heard: &Heard,
) -> Result<Value, CallError> {
    let limit = until.duration_since(Instant::now());
    let secrets = client.secrets.as_ref();
    let way = Way::of(client, server)?.knowing(&credentials::known(server, caller, secrets));
    let sent = Arc::new(AtomicBool::new(false));
    let watch = Watch::default();
    let ToolCall { tool, arguments, definition, tasks } = call;
    let end = Sending {
        client,
        way: &way,
        definition,
        tasks,
        until,
        sent: Arc::clone(&sent),
        watch: &watch,
        heard,
    };
    let request = Request { server, caller, method, tool, arguments, headers: Headers::default() };
    if let Ok(answer) = timeout_at(until, through(&end, request)).await {
        // An interceptor may have put anything into its error, also the token that it saw.
        return answer.map_err(|error| way.knowing(&client.tokens.known(&server.name)).told(error));
    }
    // The sending has the same limit and is asked first, so this is an interceptor that takes too long.
    let failure = Failure::timeout(limit);
    let begun = sent.load(Ordering::Acquire);
    Err(way.error(&if begun { failure } else { failure.before_sending() }))
}

/// Puts the chain together and sends the call through it.
async fn through(end: &Sending<'_>, request: Request<'_>) -> Result<Value, CallError> {
    let (client, server) = (end.client, request.server);
    let secrets = client.secrets.as_ref();
    let wanted = client.tokens.wanted(server, secrets).await.map_err(|error| error.of(&server.name))?;
    let token = wanted.map(|wanted| Authorized { keeper: &client.tokens, wanted, watch: end.watch });
    let (user, context) = (PerUser::of(server, secrets), FromContext::of(server));
    let custom = client.interceptors.named(&server.interceptors);
    let mut chain: Vec<&dyn Interceptor> = Vec::with_capacity(custom.len() + 3);
    chain.extend(token.as_ref().map(|token| token as &dyn Interceptor));
    chain.extend(user.as_ref().map(|user| user as &dyn Interceptor));
    chain.extend(context.as_ref().map(|context| context as &dyn Interceptor));
    chain.extend(custom.iter().map(AsRef::as_ref));
    Next::new(&chain, end).call(request).await
}

/// A tool whose marks for headers cannot be followed.
fn uncallable(problem: &'static str) -> Failure {
    Failure::new(
        CallFault::NotSent,
        format!("the tool cannot be called: {problem}; its server must change that"),
    )
}

fn is_of(definition: &Value, tool: &str) -> bool {
    definition.get("name").and_then(Value::as_str) == Some(tool)
}
