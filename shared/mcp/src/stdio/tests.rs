//! Stdio servers as real child processes: shell scripts, so that nothing but a POSIX system is needed. Nothing waits by
//! sleeping: a script holds a named pipe open, and the end of that pipe is the end of the last process that had it.

mod calls;
mod ends;
mod starts;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pudu_app::changes::ListChanges;
use pudu_app::ports::{CallError, Caller, McpClient, ToolCall};
use pudu_config::{Document, Secrets, Server};
use pudu_domain::{ThreadId, ThreadKey, UserId};
use secrecy::SecretString;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::timeout;

use calls::Does;

use crate::{Client, Egress, Launcher};

/// Far longer than anything here takes, also on a machine that is busy.
const LONG: Duration = Duration::from_mins(1);

/// A server that behaves. It says what it has, by the name of the tool. `LIFE` is the named pipe.
const PEER: &str = r#"
exec 9<>"$LIFE"
printf 'start\n' >> "$LOG"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
text() { answer "{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}]}"; }
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case "$line" in
    *'"method":"initialize"'*)
      answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}';;
    *'"method":"notifications/'*) printf '%s\n' "$line" >> "$LOG";;
    *'"method":"tools/list"'*) answer '{"tools":[{"name":"pid","inputSchema":{"type":"object"},"x-new":1}]}';;
    *'"name":"pid"'*) answer "{\"content\":[],\"structuredContent\":{\"pid\":$$}}";;
    *'"name":"cwd"'*) text "$(pwd -P)";;
    *'"name":"env"'*) text "$(env | sort | tr '\n' ' ')";;
    *'"name":"line"'*) printf '%s\n' "$line" >> "$LOG"; text 'done';;
    *'"name":"write"'*) mkdir -p deep; echo x > deep/page.yml; text 'wrote page.yml and deep/page.yml';;
    *'"name":"fail"'*) answer '{"content":[{"type":"text","text":"no"}],"isError":true}';;
    *'"name":"die"'*) echo "leaking $SECRET" >&2; exit 3;;
    *'"name":"hang"'*) printf 'hang\n' >> "$LOG";;
  esac
done
printf 'end\n' >> "$LOG"
"#;

/// A client with a launcher, and a folder for what scripts leave behind.
struct World {
    folder: TempDir,
    client: Client,
    changes: ListChanges,
}

/// In which `TOKEN` alone is set.
struct Token;

impl Secrets for Token {
    fn get(&self, name: &str) -> Option<SecretString> {
        (name == "TOKEN").then(|| SecretString::from("canary-secret"))
    }
}

impl World {
    fn new() -> Self {
        Self::with(|name| (name == "PATH").then(|| "/usr/bin:/bin".to_owned()))
    }

    fn with(environment: impl Fn(&str) -> Option<String>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let launcher = Launcher::new(folder.path().join("data"), environment, true);
        let changes = ListChanges::default();
        let client = Client::new(Arc::new(Token), Egress::machine(), pudu_testkit::fixture::token_ports())
            .expect("a client");
        let client = client.with_stdio(launcher).with_changes(changes.clone()).with_interceptors(Does::all());
        let world = Self { folder, client, changes };
        let made = std::process::Command::new("mkfifo").arg(world.at("life")).status().expect("mkfifo");
        assert!(made.success());
        world
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The entry `sh` that runs `script`, with these fields over the usual ones.
    fn server(&self, script: &str, fields: &Value) -> Server {
        fs::write(self.at("script.sh"), script).expect("a script");
        let mut entry = json!({
            "command": "/bin/sh",
            "args": [self.at("script.sh")],
            "env": {"LOG": self.at("log"), "LIFE": self.at("life"), "SECRET": "$TOKEN"},
        });
        for (name, value) in fields.as_object().expect("fields") {
            match (entry.get_mut(name), value) {
                (Some(Value::Object(there)), Value::Object(more)) => there.extend(more.clone()),
                _ => entry[name] = value.clone(),
            }
        }
        let names = entry["interceptors"].take();
        let document = json!({"mcpServers": {"sh": entry}, "mcpInterceptors": names.as_array()});
        let document = Document::parse(document).expect("a valid config");
        document.server("sh").expect("the entry").clone()
    }

    fn peer(&self) -> Server {
        self.server(PEER, &json!({}))
    }

    async fn call(&self, server: &Server, tool: &str) -> Result<Value, CallError> {
        self.call_as(server, &caller("local:u", "t"), tool, LONG).await
    }

    async fn call_as(
        &self,
        server: &Server,
        caller: &Caller,
        tool: &str,
        limit: Duration,
    ) -> Result<Value, CallError> {
        let call = ToolCall::plain(tool, Map::new());
        self.client.call_tool(server, caller, call, limit).await
    }

    async fn text(&self, server: &Server, tool: &str) -> String {
        let result = self.call(server, tool).await.expect("a result");
        result["content"][0]["text"].as_str().expect("a text").to_owned()
    }

    async fn pid(&self, server: &Server) -> u64 {
        let result = self.call(server, "pid").await.expect("a result");
        result["structuredContent"]["pid"].as_u64().expect("a number")
    }

    /// What scripts wrote into `log`.
    fn log(&self) -> Vec<String> {
        let log = fs::read_to_string(self.at("log")).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }

    /// What is held open by every process of this world; to be taken while one lives.
    fn life(&self) -> Life {
        Life(pipe::OpenOptions::new().open_receiver(self.at("life")).expect("a named pipe"))
    }
}

/// The reading end of a named pipe.
struct Life(pipe::Receiver);

impl Life {
    /// Waits until no process has the other end.
    async fn over(mut self) {
        let mut rest = Vec::new();
        timeout(LONG, self.0.read_to_end(&mut rest)).await.expect("all processes end").expect("a pipe");
    }
}

fn caller(user: &str, thread: &str) -> Caller {
    let user = UserId::parse(user).expect("a user");
    Caller::of(ThreadKey { user, thread: ThreadId::parse(thread).expect("a thread") })
}
