// The official TypeScript SDK's client (v2): lists the tools, calls one, and follows a task by the official tasks extension for it.
// `tests/peers/run client-typescript URL KEY`; what it saw is one line of JSON on stdout.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createTaskSessionFromClient, resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";

const [url, key] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${key}` };
const clientInfo = { name: "pudu-peers", version: "1.0.0" };
const report = { title: "Deer", duration_seconds: 0.3, poll_after_seconds: 0.1 };

const client = new Client(clientInfo, { versionNegotiation: { mode: "auto" } });
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));

const listed = await client.listTools();
const echo = await client.callTool({ name: "example_echo", arguments: { text: "größer" } });

// The SDK's codecs know no task: the extension's requests go by the host, as its guide has it.
let next = 0;
const sent = [];
async function rawDispatch(request) {
  const name = request.params?.name ?? request.params?.taskId;
  sent.push(request.method);
  const answer = await fetch(url, {
    method: "POST",
    headers: {
      ...headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": request.method,
      ...(name === undefined ? {} : { "mcp-name": name }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: `raw-${next++}`, ...request }),
  });
  const message = await answer.json();
  return message.error === undefined
    ? { kind: "result", result: message.result }
    : { kind: "error", error: message.error };
}

const session = createTaskSessionFromClient(client, {
  endpointId: "pudu",
  rawDispatch,
  v2RequestFraming: { protocolVersion: "2026-07-28", clientInfo, clientCapabilities: {} },
});
const execution = await session.callTool("example_submit_report", report);
const { outcome } = await execution.settle();
const result = resultFromTaskOutcome(outcome);

console.log(
  JSON.stringify({
    era: client.getProtocolEra(),
    tools: listed.tools.map((tool) => tool.name),
    echo: echo.structuredContent,
    report: result.structuredContent,
    asked: sent.includes("tasks/get"),
  }),
);
await session.close();
await client.close();
