"""FastMCP's client: lists the tools, calls one, and follows a task by the tasks extension, which it speaks by itself.

`tests/peers/run client-fastmcp URL KEY`; what it saw is one line of JSON on stdout.
"""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp_tasks import call_tool_task

REPORT = {"title": "Deer", "duration_seconds": 0.3, "poll_after_seconds": 0.1}


async def main(url: str, key: str) -> None:
    async with Client(StreamableHttpTransport(url, auth=key), timeout=60) as client:
        tools = await client.list_tools()
        echo = await client.call_tool("example_echo", {"text": "größer"})
        # As every caller of this client gets it: the call returns when the task has ended.
        awaited = await client.call_tool("example_submit_report", REPORT)
        # And by the handle.
        task = await call_tool_task(client, "example_submit_report", REPORT)
        first = await task.status()
        followed = await task.result()
        last = await task.status()
        cancelled = await call_tool_task(client, "example_submit_report", {**REPORT, "duration_seconds": 3600})
        await cancelled.cancel()
        ended = await cancelled.wait()
    print(
        json.dumps(
            {
                "tools": [tool.name for tool in tools],
                "echo": echo.structured_content,
                "awaited": awaited.structured_content,
                "task_id": task.task_id,
                "first": first.status,
                "followed": followed.structured_content,
                "last": last.status,
                "cancelled": ended.status,
            }
        )
    )


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
