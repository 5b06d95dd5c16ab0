//! A small object store on loopback: as much of the real one's protocol as blobs need, with short pages of lists, so that more than
//! one is read.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{Method, StatusCode, Uri};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// The bucket.
const NAME: &str = "pudu-blobs";
/// Most objects of one page.
const PAGE: usize = 16;

#[derive(Default)]
struct Shelf {
    objects: BTreeMap<String, Vec<u8>>,
    asked: Vec<String>,
    /// So many requests are turned away from now on.
    busy: usize,
}

/// The service. Dropping it stops it.
pub struct ObjectStore {
    address: SocketAddr,
    shelf: Arc<Mutex<Shelf>>,
    _serving: JoinSet<()>,
}

impl ObjectStore {
    /// A service with one empty bucket.
    pub async fn start() -> Self {
        let shelf = Arc::new(Mutex::new(Shelf::default()));
        let router =
            Router::new().fallback(handle).layer(DefaultBodyLimit::disable()).with_state(shelf.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, shelf, _serving: serving }
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its bucket.
    pub fn bucket(&self) -> &'static str {
        NAME
    }

    /// The names of its objects.
    pub fn names(&self) -> Vec<String> {
        self.shelf.lock().unwrap().objects.keys().cloned().collect()
    }

    /// What was asked since the last look: methods with paths.
    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.shelf.lock().unwrap().asked)
    }

    /// Turns so many requests away from now on.
    pub fn busy(&self, requests: usize) {
        self.shelf.lock().unwrap().busy = requests;
    }
}

type Answer = (StatusCode, Vec<u8>);

async fn handle(State(shelf): State<Arc<Mutex<Shelf>>>, method: Method, uri: Uri, body: Bytes) -> Answer {
    let path = percent_encoding::percent_decode_str(uri.path()).decode_utf8().unwrap().into_owned();
    let mut shelf = shelf.lock().unwrap();
    shelf.asked.push(format!("{method} {path}"));
    if shelf.busy > 0 {
        shelf.busy -= 1;
        return refused(StatusCode::SERVICE_UNAVAILABLE, "SlowDown");
    }
    let Some(key) = path.strip_prefix('/').and_then(|path| path.strip_prefix(NAME)) else {
        return refused(StatusCode::NOT_FOUND, "NoSuchBucket");
    };
    let key = key.trim_start_matches('/');
    let query: Vec<(String, String)> =
        url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes())
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
    match method.as_str() {
        "PUT" if !key.is_empty() => {
            shelf.objects.insert(key.to_owned(), body.to_vec());
            (StatusCode::OK, Vec::new())
        }
        "GET" if key.is_empty() => {
            let prefix = query.iter().find(|(name, _)| name == "prefix").map_or("", |(_, value)| value);
            shelf.list(prefix)
        }
        "GET" => match shelf.objects.get(key) {
            Some(bytes) => (StatusCode::OK, bytes.clone()),
            None => refused(StatusCode::NOT_FOUND, "NoSuchKey"),
        },
        "POST" if key.is_empty() && query.iter().any(|(name, _)| name == "delete") => shelf.delete(&body),
        _ => refused(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed"),
    }
}

fn refused(status: StatusCode, code: &str) -> Answer {
    (status, format!("<Error><Code>{code}</Code><Message>injected</Message></Error>").into_bytes())
}

impl Shelf {
    fn list(&self, prefix: &str) -> Answer {
        let mut found = self.objects.keys().filter(|key| key.starts_with(prefix));
        let mut list = String::new();
        for key in found.by_ref().take(PAGE) {
            write!(list, "<Contents><Key>{key}</Key></Contents>").unwrap();
        }
        let more = found.next().is_some();
        let list = format!("<ListBucketResult><IsTruncated>{more}</IsTruncated>{list}</ListBucketResult>");
        (StatusCode::OK, list.into_bytes())
    }

    fn delete(&mut self, body: &[u8]) -> Answer {
        let body = std::str::from_utf8(body).unwrap();
        for part in body.split("<Key>").skip(1) {
            self.objects.remove(part.split_once("</Key>").unwrap().0);
        }
        (StatusCode::OK, b"<DeleteResult></DeleteResult>".to_vec())
    }
}
