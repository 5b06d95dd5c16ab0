//! A model that says a word and then nothing more, for as long as somebody listens: a run that asks it ends only when it is ended.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The first chunk of its answer, as chat completions have it.
const WORD: &str = "data: {\"id\":\"silent\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\
     \"delta\":{\"role\":\"assistant\",\"content\":\"Well\"},\"finish_reason\":null}]}\n\n";

/// A provider that has such a model. It ends with this value.
pub struct Silent {
    url: String,
    _serving: JoinSet<()>,
}

impl Silent {
    /// Listens on a port of its own.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                open.spawn(answer(stream));
            }
        });
        Self { url, _serving: serving }
    }

    /// The models of a config: the built-in script is the default one, and `silent` is this.
    pub fn models(&self) -> Value {
        json!([
            { "name": "scripted", "use": "pudu:Scripted" },
            { "name": "silent", "use": "langchain_openai:ChatOpenAI", "model": "silent", "base_url": self.url, "api_key": "none" },
        ])
    }
}

/// Answers whatever comes first, and then waits until its client has gone.
async fn answer(mut stream: TcpStream) {
    let mut heard = [0; 4096];
    if stream.read(&mut heard).await.unwrap_or_default() == 0 {
        return;
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let said = format!("{head}{:x}\r\n{WORD}\r\n", WORD.len());
    if stream.write_all(said.as_bytes()).await.is_ok() {
        while stream.read(&mut heard).await.unwrap_or_default() > 0 {}
    }
}
