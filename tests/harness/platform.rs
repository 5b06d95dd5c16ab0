//! A small Lambda service on loopback that does what it is asked: an asynchronous invocation goes to an environment of its function
//! that is free, or to a new one, and it is answered before anything runs. An invocation that fails is not repeated here, which is
//! less than the platform promises; its environment goes.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path as FilePath, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::function::{Function, Start};
use crate::invocations::is_event;
use crate::process::status_of;

/// The time limit of an invocation.
const TIMEOUT: Duration = Duration::from_secs(180);

/// A function that can be invoked.
pub struct Offer {
    /// Its package.
    pub package: &'static str,
    /// Our variables and the SDK's.
    pub environment: Vec<(&'static str, String)>,
}

/// One function with its environments.
struct Hosted {
    offer: Offer,
    free: Vec<Function>,
    /// The processes that are at work.
    busy: Vec<u32>,
    /// Every process there ever was.
    processes: Vec<u32>,
    invoked: usize,
    failed: Vec<String>,
}

#[derive(Default)]
struct Functions {
    by_name: BTreeMap<&'static str, Hosted>,
    running: JoinSet<()>,
}

struct Shared {
    folder: PathBuf,
    functions: Mutex<Functions>,
    /// How many invocations were taken and have not ended.
    open: watch::Sender<usize>,
}

/// The service. Dropping it stops it, and every environment.
pub struct Platform {
    address: SocketAddr,
    shared: Arc<Shared>,
    _serving: JoinSet<()>,
}

impl Platform {
    /// A service without functions; logs go to `folder`.
    pub async fn start(folder: &FilePath) -> Self {
        let open = watch::Sender::new(0);
        let shared = Arc::new(Shared { folder: folder.to_owned(), functions: Mutex::default(), open });
        let path = "/2015-03-31/functions/{name}/invocations";
        let router = Router::new().route(path, post(invoke)).with_state(Arc::clone(&shared));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, shared, _serving: serving }
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on there is a function of this name.
    pub fn offer(&self, name: &'static str, offer: Offer) {
        let hosted = Hosted {
            offer,
            free: Vec::new(),
            busy: Vec::new(),
            processes: Vec::new(),
            invoked: 0,
            failed: Vec::new(),
        };
        self.shared.functions.lock().unwrap().by_name.insert(name, hosted);
    }

    /// Invokes a function, as its schedule does.
    pub fn invoke(&self, name: &str, event: Value) {
        assert!(take(&self.shared, name, event), "there is no function {name}");
    }

    /// Waits until every invocation has ended, with those that they made. What broke in between breaks here.
    pub async fn settled(&self) {
        self.shared.open.subscribe().wait_for(|open| *open == 0).await.unwrap();
        while let Some(joined) = self.shared.functions.lock().unwrap().running.try_join_next() {
            joined.unwrap();
        }
    }

    /// Kills whatever works for a function right now; how many processes that were.
    pub fn kill(&self, name: &str) -> usize {
        let busy = self.of(name, |hosted| hosted.busy.clone());
        for process in &busy {
            let process = i32::try_from(*process).ok().and_then(rustix::process::Pid::from_raw).unwrap();
            // It may have just ended.
            let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
        }
        busy.len()
    }

    /// How many environments of a function there ever were.
    pub fn environments(&self, name: &str) -> usize {
        self.of(name, |hosted| hosted.processes.len())
    }

    /// How often a function was invoked.
    pub fn invoked(&self, name: &str) -> usize {
        self.of(name, |hosted| hosted.invoked)
    }

    /// What became of the invocations that did not end well.
    pub fn failed(&self, name: &str) -> Vec<String> {
        self.of(name, |hosted| hosted.failed.clone())
    }

    /// The most that each environment's resident memory ever was, in KiB, of those that there still are.
    pub fn resident(&self, name: &str) -> Vec<u64> {
        let most = |process: &u32| status_of(*process, "VmHWM:");
        self.of(name, |hosted| hosted.processes.iter().filter_map(most).collect())
    }

    fn of<T>(&self, name: &str, see: impl FnOnce(&Hosted) -> T) -> T {
        see(&self.shared.functions.lock().unwrap().by_name[name])
    }
}

/// As the service answers to `InvocationType: Event`; nobody invokes otherwise, or unsigned.
async fn invoke(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    if !is_event(&headers) {
        return StatusCode::INTERNAL_SERVER_ERROR;
    }
    let event = serde_json::from_slice(&body).unwrap();
    if take(&shared, &name, event) { StatusCode::ACCEPTED } else { StatusCode::NOT_FOUND }
}

/// Takes an invocation, which then runs by itself; whether there is such a function.
fn take(shared: &Arc<Shared>, name: &str, event: Value) -> bool {
    let mut functions = shared.functions.lock().unwrap();
    let Some((name, _)) = functions.by_name.get_key_value(name) else { return false };
    let name = *name;
    let open = Open::new(shared);
    functions.running.spawn(async move { work(&open.0, name, event).await });
    true
}

/// An invocation that was taken and has not ended, also where taking it breaks.
struct Open(Arc<Shared>);

impl Open {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.open.send_modify(|open| *open += 1);
        Self(Arc::clone(shared))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.send_modify(|open| *open -= 1);
    }
}

async fn work(shared: &Shared, name: &'static str, event: Value) {
    let (free, package, environment, number) = {
        let mut functions = shared.functions.lock().unwrap();
        let hosted = functions.by_name.get_mut(name).unwrap();
        hosted.invoked += 1;
        let number = hosted.invoked;
        (hosted.free.pop(), hosted.offer.package, hosted.offer.environment.clone(), number)
    };
    let mut function = if let Some(function) = free {
        function
    } else {
        let folder = shared.folder.join(format!("{name}-{number}"));
        std::fs::create_dir_all(&folder).unwrap();
        Start { package, environment, folder: &folder }.run().await
    };
    let process = function.process().unwrap();
    {
        let mut functions = shared.functions.lock().unwrap();
        let hosted = functions.by_name.get_mut(name).unwrap();
        hosted.busy.push(process);
        if !hosted.processes.contains(&process) {
            hosted.processes.push(process);
        }
    }
    let outcome = function.try_invoke(event, TIMEOUT).await;
    let mut functions = shared.functions.lock().unwrap();
    let hosted = functions.by_name.get_mut(name).unwrap();
    hosted.busy.retain(|busy| *busy != process);
    match outcome {
        Ok(_) => hosted.free.push(function),
        Err(why) => hosted.failed.push(format!("{why}\n{}", function.log())),
    }
}
