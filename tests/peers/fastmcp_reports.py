"""An ordinary toolset served by FastMCP: submit_report, get_report_status, cancel_report, and tools for plain calls.

Run by `tests/peers/run fastmcp [REVISION] [--transport http|sse|stdio] [--issuer URL]`. It listens on a free port of the loopback,
prints its URL as the first line of stdout when it accepts calls, and ends when stdin closes or at SIGTERM. The wire is FastMCP's own;
this file only says what the tools do. With an issuer it takes only calls with a bearer token of that issuer.

REVISION is one protocol revision that the server then speaks alone, as a server of that time would; without it the server speaks
all that FastMCP knows, and the client chooses: 2026-07-28 by its header and `_meta` in every request, the older ones by `initialize`.
"""

import argparse
import asyncio
import socket
import sys
import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import uvicorn
from fastmcp import Context, FastMCP
from fastmcp.server.auth.providers.jwt import JWTVerifier
from fastmcp.server.dependencies import get_access_token
from fastmcp.tools import ToolResult
from mcp.server import runner, streamable_http_manager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS
from pydantic import Field
from starlette.types import ASGIApp, Receive, Scope, Send

Outcome = Literal["completed", "failed", "input_required"]
Answer = dict[str, Any]

# What the token server is asked a token for; it is a name, nothing listens there.
AUDIENCE = "http://127.0.0.1/mcp"

mcp = FastMCP("reports", version="1.0.0")


@dataclass
class Report:
    """A report that writes itself: its status follows from the time since it was submitted."""

    title: str
    seconds: float
    outcome: Outcome
    question_seconds: float
    submitted_at: float = field(default_factory=time.monotonic)
    cancelled: bool = False

    def answer(self, task_id: str) -> Answer:
        """What the status tool says; each status brings the fields that belong to it and no other."""
        age = time.monotonic() - self.submitted_at
        if self.cancelled:
            return {"task_id": task_id, "status": "cancelled"}
        if age < self.seconds:
            return {"task_id": task_id, "status": "running", "poll_after_seconds": max(self.seconds - age, 0.1)}
        if self.outcome == "input_required" and age < self.seconds + self.question_seconds:
            question = {"message": f"Which tone should {self.title!r} have?", "schema": {"type": "string"}}
            return {"task_id": task_id, "status": "input_required", "input_required": question, "poll_after_seconds": 0.5}
        if self.outcome == "failed":
            return {"task_id": task_id, "status": "failed", "error": f"The report {self.title!r} could not be written"}
        return {
            "task_id": task_id,
            "status": "completed",
            "result": {"title": self.title, "text": f"All about {self.title}"},
            "result_artifact": {"uri": f"report://{task_id}", "mime_type": "text/markdown"},
        }


reports: dict[str, Report] = {}


def not_found(task_id: str, status: str) -> Answer:
    return {"task_id": task_id, "status": status, "error": "No such report", "error_code": "task_not_found"}


@mcp.tool
def submit_report(
    title: Annotated[str, Field(min_length=1, description="What the report is about")],
    seconds: Annotated[float, Field(ge=0, le=3600, description="How long writing it takes")] = 1.0,
    outcome: Annotated[Outcome, Field(description="How it ends; a question is asked before it is completed")] = "completed",
    question_seconds: Annotated[float, Field(ge=0, description="How long a question waits before work goes on")] = 5.0,
) -> Answer:
    """Start writing a report. It takes a while: ask for its status."""
    task_id = f"report-{uuid.uuid4()}"
    reports[task_id] = Report(title, seconds, outcome, question_seconds)
    return {"task_id": task_id, "status": "running"}


@mcp.tool
def get_report_status(task_id: Annotated[str, Field(description="What submit_report answered")]) -> Answer:
    """How far a report is."""
    report = reports.get(task_id)
    return report.answer(task_id) if report else not_found(task_id, "failed")


@mcp.tool
def cancel_report(task_id: Annotated[str, Field(description="What submit_report answered")]) -> Answer:
    """Stop writing a report. One that has ended keeps its end."""
    report = reports.get(task_id)
    if report is None:
        return not_found(task_id, "cancelled")
    if report.answer(task_id)["status"] in {"running", "input_required"}:
        report.cancelled = True
    return report.answer(task_id)


@mcp.tool
def echo(text: Annotated[str, Field(description="What to say back")], context: Context) -> Answer:
    """Say it back, and which protocol revision this call was made in."""
    return {"text": text, "protocol_revision": context.request_context.protocol_version}


@mcp.tool(output_schema={"type": "object", "properties": {"degrees": {"type": "number"}}, "required": ["degrees"]})
def temperature(honest: Annotated[bool, Field(description="Whether to answer as declared")] = True) -> ToolResult:
    """How warm it is, with a declared output; a dishonest answer has a text where a number is declared."""
    # FastMCP does not check what a tool returns ready-made, as many servers check nothing.
    return ToolResult(content="warm", structured_content={"degrees": 21.5 if honest else "warm"})


@mcp.tool
def whoami() -> Answer:
    """Whose token this call came with."""
    token = get_access_token()
    return {"client": token.client_id if token else None}


def speak_only(revision: str, application: ASGIApp) -> ASGIApp:
    """Narrows what the SDK negotiates to one revision; nothing of how it speaks.

    An older server has no entry for requests of 2026-07-28: it takes every request for one of its own, and so must this one. The
    alternative, an empty list of modern revisions, would answer a probe with an error code that no server of that time knew.
    """
    if revision in HANDSHAKE_PROTOCOL_VERSIONS:
        runner.HANDSHAKE_PROTOCOL_VERSIONS = (revision,)
        runner.LATEST_HANDSHAKE_VERSION = revision
        streamable_http_manager.HANDSHAKE_PROTOCOL_VERSIONS = KNOWN_PROTOCOL_VERSIONS
        return application

    # A server without the old handshake takes every request for a modern one, also one that names no revision.
    streamable_http_manager.HANDSHAKE_PROTOCOL_VERSIONS = ()

    async def modern(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not any(name == b"mcp-protocol-version" for name, _ in scope["headers"]):
            scope["headers"] = [*scope["headers"], (b"mcp-protocol-version", revision.encode())]
        await application(scope, receive, send)

    return modern


class Announced(uvicorn.Server):
    """Prints the URL once the application has started and the socket accepts."""

    path = "/mcp"

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started and sockets:
            print(f"http://127.0.0.1:{sockets[0].getsockname()[1]}{self.path}", flush=True)


def end_with_stdin(server: uvicorn.Server) -> None:
    # Whoever started this holds the other end: if that process dies, in whatever way, the server must not stay.
    while sys.stdin.buffer.read(4096):
        pass
    server.should_exit = True


def serve(application: ASGIApp, path: str = "/mcp") -> None:
    """Serves until stdin closes or SIGTERM comes."""
    listener = socket.create_server(("127.0.0.1", 0))
    # One second for streams that clients hold open: they never end by themselves.
    config = uvicorn.Config(application, log_level="warning", timeout_graceful_shutdown=1, ws="none")
    server = Announced(config)
    server.path = path
    threading.Thread(target=end_with_stdin, args=(server,), daemon=True).start()
    asyncio.run(server.serve(sockets=[listener]))


def main() -> None:
    parser = argparse.ArgumentParser(prog="fastmcp")
    parser.add_argument("revision", nargs="?", choices=KNOWN_PROTOCOL_VERSIONS)
    parser.add_argument("--transport", choices=["http", "sse", "stdio"], default="http")
    parser.add_argument("--issuer", help="whose bearer tokens are asked for")
    arguments = parser.parse_args()
    if arguments.transport == "stdio":
        # It ends with its stdin by itself.
        mcp.run(transport="stdio", show_banner=False)
        return
    if arguments.issuer:
        mcp.auth = JWTVerifier(jwks_uri=f"{arguments.issuer}/jwks", issuer=arguments.issuer, audience=AUDIENCE)
    application = mcp.http_app(transport=arguments.transport)
    if arguments.revision:
        application = speak_only(arguments.revision, application)
    serve(application, "/sse" if arguments.transport == "sse" else "/mcp")


if __name__ == "__main__":
    main()
