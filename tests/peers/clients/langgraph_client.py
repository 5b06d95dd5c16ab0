"""The official LangGraph SDK for Python: threads, runs, streams, joins, cancels and states of agents.

`tests/peers/run client-langgraph-python URL KEY`; what it saw is one line of JSON on stdout.
"""

import asyncio
import json
import sys

from langgraph_sdk import get_client

ASKED = {"messages": [{"role": "user", "content": "What is a pudu?"}]}
MODES = ["values", "messages-tuple", "custom"]


async def main(url: str, key: str) -> None:
    client = get_client(url=f"{url}/api", headers={"Authorization": f"Bearer {key}"})
    assistants = await client.assistants.search()
    thread = await client.threads.create(metadata={"topic": "deer"})
    id = thread["thread_id"]

    made = []
    parts = []
    async for part in client.runs.stream(
        id, "lead_agent", input=ASKED, stream_mode=MODES, on_run_created=made.append
    ):
        parts.append(part)
    run = await client.runs.get(id, made[0]["run_id"])
    state = await client.threads.get_state(id)
    history = await client.threads.get_history(id)
    empty = await client.threads.get_state(id, checkpoint_id=history[-1]["checkpoint"]["checkpoint_id"])
    first = await client.threads.get_state(id, checkpoint_id=history[-2]["checkpoint"]["checkpoint_id"])

    joined = [part.event async for part in client.runs.join_stream(id, run["run_id"], stream_mode="values")]
    behind = [
        part.event
        async for part in client.runs.join_stream(
            id, run["run_id"], stream_mode="values", last_event_id=parts[-2].id
        )
    ]
    values = await client.runs.join(id, run["run_id"])

    waited = await client.runs.wait(id, "lead_agent", input=ASKED)
    silent = {"configurable": {"model_name": "silent"}}
    cancelled = await client.runs.create(id, "lead_agent", input=ASKED, config=silent, stream_mode=MODES)
    async for part in client.runs.join_stream(id, cancelled["run_id"], stream_mode="messages-tuple"):
        if part.event == "messages":
            spoke = part.data[0]["content"]
            break
    await client.runs.cancel(id, cancelled["run_id"], wait=True)
    cancelled = await client.runs.get(id, cancelled["run_id"])

    await client.threads.update(id, metadata={"seen": True})
    await client.threads.update_state(id, {"title": "Deer"})
    found = await client.threads.search(metadata={"seen": True})
    runs = await client.runs.list(id)
    stateless = [part.event async for part in client.runs.stream(None, "lead_agent", input=ASKED)]
    await client.threads.delete(id)

    print(
        json.dumps(
            {
                "assistants": [assistant["assistant_id"] for assistant in assistants],
                "events": [part.event for part in parts],
                "ids": [part.id for part in parts],
                "end": parts[-1].data,
                "status": run["status"],
                "messages": [message["type"] for message in state["values"]["messages"]],
                "first": [message["type"] for message in first["values"]["messages"]],
                "empty": [empty["metadata"]["step"], empty["values"]["messages"]],
                "history": len(history),
                "joined": joined,
                "behind": behind,
                "same": values["messages"] == state["values"]["messages"],
                "waited": len(waited["messages"]),
                "spoke": spoke,
                "cancelled": cancelled["status"],
                "found": [[row["thread_id"] == id, row["values"]["title"]] for row in found],
                "runs": len(runs),
                "stateless": stateless,
            }
        )
    )


asyncio.run(main(*sys.argv[1:]))
