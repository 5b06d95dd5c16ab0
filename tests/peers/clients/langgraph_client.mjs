// The official LangGraph SDK for JavaScript: threads, runs, streams, joins, cancels and states of agents.
// `tests/peers/run client-langgraph-javascript URL KEY`; what it saw is one line of JSON on stdout.

import { Client } from "@langchain/langgraph-sdk";

const [url, key] = process.argv.slice(2);
const client = new Client({ apiUrl: `${url}/api`, defaultHeaders: { Authorization: `Bearer ${key}` } });
const input = { messages: [{ role: "user", content: "What is a pudu?" }] };

async function all(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

const assistants = await client.assistants.search();
const thread = await client.threads.create({ metadata: { topic: "deer" } });
const id = thread.thread_id;

let made;
const parts = await all(
  client.runs.stream(id, "lead_agent", {
    input,
    streamMode: ["values", "messages-tuple", "custom"],
    streamResumable: true,
    onRunCreated: (run) => {
      made = run;
    },
  }),
);
const run = await client.runs.get(id, made.run_id);
const state = await client.threads.getState(id);
const history = await client.threads.getHistory(id);
const empty = await client.threads.getState(id, history.at(-1).checkpoint.checkpoint_id);
const first = await client.threads.getState(id, history.at(-2).checkpoint.checkpoint_id);
const joined = await all(client.runs.joinStream(id, run.run_id, { streamMode: "values" }));
const behind = await all(
  client.runs.joinStream(id, run.run_id, { streamMode: "values", lastEventId: parts.at(-2).id }),
);
const values = await client.runs.join(id, run.run_id);

const waited = await client.runs.wait(id, "lead_agent", { input });
const silent = { configurable: { model_name: "silent" } };
const begun = await client.runs.create(id, "lead_agent", { input, config: silent });
let spoke;
for await (const part of client.runs.joinStream(id, begun.run_id, { streamMode: "messages-tuple" })) {
  if (part.event !== "messages") continue;
  spoke = part.data[0].content;
  break;
}
await client.runs.cancel(id, begun.run_id, true);
const cancelled = await client.runs.get(id, begun.run_id);

await client.threads.update(id, { metadata: { seen: true } });
await client.threads.updateState(id, { values: { title: "Deer" } });
const found = await client.threads.search({ metadata: { seen: true } });
const runs = await client.runs.list(id);
const stateless = await all(client.runs.stream(null, "lead_agent", { input }));
await client.threads.delete(id);

console.log(
  JSON.stringify({
    assistants: assistants.map((assistant) => assistant.assistant_id),
    events: parts.map((part) => part.event),
    ids: parts.map((part) => part.id),
    end: parts.at(-1).data,
    status: run.status,
    messages: state.values.messages.map((message) => message.type),
    first: first.values.messages.map((message) => message.type),
    empty: [empty.metadata.step, empty.values.messages],
    history: history.length,
    joined: joined.map((part) => part.event),
    behind: behind.map((part) => part.event),
    same: JSON.stringify(values.messages) === JSON.stringify(state.values.messages),
    waited: waited.messages.length,
    spoke,
    cancelled: cancelled.status,
    found: found.map((row) => [row.thread_id === id, row.values.title]),
    runs: runs.length,
    stateless: stateless.map((part) => part.event),
  }),
);
