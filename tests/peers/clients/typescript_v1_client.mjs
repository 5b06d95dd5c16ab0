// The official TypeScript SDK's client of the years before (v1, 2025-11-25): lists the tools, calls one, and follows a task by tools.
// `tests/peers/run client-typescript-v1 URL KEY`; what it saw is one line of JSON on stdout.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, key] = process.argv.slice(2);
const client = new Client({ name: "pudu-peers", version: "1.0.0" });
const headers = { Authorization: `Bearer ${key}` };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));

const listed = await client.listTools();
const echo = await client.callTool({ name: "example_echo", arguments: { text: "größer" } });
const report = { title: "Deer", duration_seconds: 0.3, poll_after_seconds: 0.1 };
const started = await client.callTool({ name: "example_submit_report", arguments: report });
const statuses = [];
let told;
do {
  await new Promise((resolve) => setTimeout(resolve, 50));
  const { task_id } = started.structuredContent;
  told = (await client.callTool({ name: "pudu_tasks_get", arguments: { task_id } })).structuredContent;
  if (statuses.at(-1) !== told.status) statuses.push(told.status);
} while (!["completed", "failed", "cancelled"].includes(told.status));

console.log(
  JSON.stringify({
    server: client.getServerVersion()?.name,
    tools: listed.tools.map((tool) => tool.name),
    echo: echo.structuredContent,
    report: told.result.structuredContent,
    statuses,
  }),
);
await client.close();
