"""The official Python SDK's client: lists the tools, calls one, and follows a task, in either era.

`tests/peers/run client-python URL KEY [legacy]`; what it saw is one line of JSON on stdout. The SDK has no tasks of its own: here they are
an extension of it, made with what it offers for that (SEP-2133). A legacy client has none, and follows a task by tools.
"""

import asyncio
import json
import sys
from typing import Any, Literal

import mcp_types
from mcp import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from pydantic import Field

ENDS = {"completed", "failed", "cancelled"}
REPORT = {"title": "Deer", "duration_seconds": 0.3, "poll_after_seconds": 0.1}


class Created(mcp_types.Result):
    """A call that became a task."""

    result_type: Literal["task"] = Field(alias="resultType")
    task_id: str = Field(alias="taskId")
    status: str


class Task(mcp_types.Result):
    """What `tasks/get` says."""

    task_id: str = Field(alias="taskId")
    status: str
    result: dict[str, Any] | None = None


class GetTaskParams(mcp_types.RequestParams):
    task_id: str = Field(serialization_alias="taskId")


class GetTask(mcp_types.Request[GetTaskParams, Literal["tasks/get"]]):
    name_param = "taskId"
    method: Literal["tasks/get"] = "tasks/get"
    params: GetTaskParams


class Tasks(ClientExtension):
    """Follows every task to its end, and remembers what it saw."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.ids: list[str] = []

    def claims(self) -> tuple[ResultClaim[Any], ...]:
        return (ResultClaim(result_type="task", model=Created, resolve=self.follow),)

    async def follow(self, created: Created, context: ClaimContext) -> mcp_types.CallToolResult:
        self.ids.append(created.task_id)
        self.seen.append(created.status)
        while True:
            request = GetTask(params=GetTaskParams(task_id=created.task_id))
            task = await context.session.send_request(request, Task)
            if self.seen[-1] != task.status:
                self.seen.append(task.status)
            if task.status in ENDS:
                return mcp_types.CallToolResult.model_validate(task.result or {})
            await asyncio.sleep(0.05)


async def by_tools(client: Client, started: mcp_types.CallToolResult, tasks: Tasks) -> mcp_types.CallToolResult:
    """Follows the task that a call says it has started, by the gateway's own tool."""
    task_id = (started.structured_content or {})["task_id"]
    tasks.ids.append(task_id)
    while True:
        told = (await client.call_tool("pudu_tasks_get", {"task_id": task_id})).structured_content or {}
        if tasks.seen[-1:] != [told["status"]]:
            tasks.seen.append(told["status"])
        if told["status"] in ENDS:
            return mcp_types.CallToolResult.model_validate(told["result"])
        await asyncio.sleep(0.05)


async def main(url: str, key: str, mode: Literal["auto", "legacy"] = "auto") -> None:
    tasks = Tasks()
    http = create_mcp_http_client(headers={"Authorization": f"Bearer {key}"})
    transport = streamable_http_client(url, http_client=http)
    async with http, Client(transport, mode=mode, extensions=[tasks], read_timeout_seconds=60) as client:
        listed = await client.list_tools()
        echo = await client.call_tool("example_echo", {"text": "größer"})
        report = await client.call_tool("example_submit_report", REPORT)
        if mode == "legacy":
            report = await by_tools(client, report, tasks)
        print(
            json.dumps(
                {
                    "revision": client.session.protocol_version,
                    "tools": [tool.name for tool in listed.tools],
                    "echo": echo.structured_content,
                    "report": report.structured_content,
                    "task_ids": tasks.ids,
                    "statuses": tasks.seen,
                }
            )
        )


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
