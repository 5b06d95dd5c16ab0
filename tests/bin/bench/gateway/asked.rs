//! The request of each way, as bytes that are made beforehand.

use acceptance::Pudu;
use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::call::{Raw, Speaks, arguments, check};

/// One request, sent again and again.
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<String>,
}

impl Asked {
    /// As the bare way sends it.
    pub(super) fn of(raw: &Raw) -> Self {
        let shown = |value: &http::HeaderValue| value.to_str().unwrap_or_default().to_owned();
        let headers = raw.headers.iter().map(|(name, value)| (name.to_string(), shown(value))).collect();
        Self { method: "POST".to_owned(), url: raw.url.clone(), headers, body: Some(raw.body.clone()) }
    }

    /// A client of 2026-07-28 that calls `tool`.
    pub(super) fn mcp(url: &str, tool: &str, key: Option<&str>) -> Self {
        let prefix = "io.modelcontextprotocol/";
        let revision = Speaks::Newest.name();
        let meta = json!({
            format!("{prefix}protocolVersion"): revision,
            format!("{prefix}clientInfo"): {"name": "bench", "version": "1"},
            format!("{prefix}clientCapabilities"): {},
        });
        let params = json!({"name": tool, "arguments": arguments(), "_meta": meta});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let headers = [
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", revision),
            ("mcp-method", "tools/call"),
            ("mcp-name", tool),
        ];
        Self::post(url.to_owned(), key, &headers, &message)
    }

    /// A caller of Pudu's own API.
    pub(super) fn api(pudu: &Pudu, tool: &str) -> Self {
        let url = pudu.url(&format!("/api/threads/bench/tools/{tool}"));
        Self::post(url, pudu.key(), &[], &json!({"arguments": arguments()}))
    }

    /// A reader of Pudu's own API.
    pub(super) fn get(pudu: &Pudu, path: &str) -> Self {
        let headers = authorised(pudu.key());
        Self { method: "GET".to_owned(), url: pudu.url(path), headers, body: None }
    }

    fn post(url: String, key: Option<&str>, headers: &[(&str, &str)], body: &Value) -> Self {
        let mut all = authorised(key);
        all.push(("content-type".to_owned(), "application/json".to_owned()));
        all.extend(headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        Self { method: "POST".to_owned(), url, headers: all, body: Some(body.to_string()) }
    }

    /// That the answer is the echo: the load tool looks only at statuses.
    pub(super) async fn echoes(&self) -> anyhow::Result<()> {
        let client = reqwest::Client::builder().no_proxy().build()?;
        let mut request = client.post(&self.url);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let answer = request.body(self.body.clone().unwrap_or_default()).send().await?;
        let (status, text) = (answer.status(), answer.text().await?);
        ensure!(status.is_success(), "{status} {text}");
        // A server may answer by a stream although it was asked for JSON.
        let json = text.lines().find_map(|line| line.strip_prefix("data: {")).map(|rest| format!("{{{rest}"));
        let answer: Value =
            serde_json::from_str(json.as_deref().unwrap_or(&text)).context("an answer in JSON")?;
        check(answer.get("result").unwrap_or(&answer))
    }
}

fn authorised(key: Option<&str>) -> Vec<(String, String)> {
    key.map(|key| ("authorization".to_owned(), format!("Bearer {key}"))).into_iter().collect()
}
