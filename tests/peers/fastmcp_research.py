"""A tool whose calls FastMCP runs as background tasks (fastmcp-tasks, `io.modelcontextprotocol/tasks`), and tools that stay plain.

Run by `tests/peers/run fastmcp-tasks`: Streamable HTTP on a free port of the loopback, the URL on the first line of stdout. The wire,
the states and the queue are FastMCP's own; this file only says what the tools do.
"""

import asyncio
from datetime import timedelta
from typing import Any, Literal

import mcp_types
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.utilities.tasks import TaskConfig
from fastmcp_reports import serve
from fastmcp_tasks import TasksExtension
from mcp.shared.exceptions import MCPError

mcp = FastMCP("research", version="1.0.0")
mcp.add_extension(TasksExtension(url="memory://"))

SOON = timedelta(milliseconds=50)
YEAR = {"type": "object", "properties": {"year": {"type": "integer"}}, "required": ["year"]}

Outcome = Literal["completed", "tool_error", "protocol_error"]


@mcp.tool(task=TaskConfig(mode="required", poll_interval=SOON))
async def research(topic: str, seconds: float = 0.0, outcome: Outcome = "completed") -> dict[str, Any]:
    """Find out about something. It takes a while."""
    await asyncio.sleep(seconds)
    if outcome == "tool_error":
        raise ToolError(f"Nothing is known about {topic}")
    if outcome == "protocol_error":
        raise MCPError(code=-32050, message=f"The library about {topic} burnt down")
    return {"topic": topic, "text": f"All about {topic}"}


@mcp.tool(task=TaskConfig(mode="optional", poll_interval=SOON))
async def interview(topic: str, context: Context) -> dict[str, Any] | mcp_types.InputRequiredResult:
    """Find out about something in one year, which is asked for."""
    answer = (context.input_responses or {}).get("which")
    if answer is None:
        form = mcp_types.ElicitRequestFormParams(message=f"Which year of {topic}?", requested_schema=YEAR)
        return mcp_types.InputRequiredResult(input_requests={"which": mcp_types.ElicitRequest(params=form)})
    year = answer.content["year"] if answer.action == "accept" and answer.content else None
    return {"topic": topic, "action": answer.action, "year": year}


@mcp.tool
def lookup(topic: str) -> dict[str, str]:
    """Look something up. It is there at once."""
    if topic == "nothing":
        raise ToolError("Nothing is known about nothing")
    return {"topic": topic}


if __name__ == "__main__":
    serve(mcp.http_app())
