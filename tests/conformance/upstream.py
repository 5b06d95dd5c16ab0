"""The server behind the `/mcp` under test: it offers what the suite's server scenarios call, in revision 2026-07-28, with the tasks
extension. `upstream.py` prints its URL and serves until its stdin ends.

Written down to the bytes on purpose, with nothing but the standard library: what the suite sees of it has passed through Pudu, and a
server SDK in between would hide what Pudu changes.
"""

import base64
import hashlib
import hmac
import json
import struct
import sys
import threading
import time
import uuid
import zlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REVISION = "2026-07-28"
TASKS = "io.modelcontextprotocol/tasks"
META = "io.modelcontextprotocol/"
POLL_MS = 250
# What the state of a round is signed with, so that a client cannot make one up.
KEY = uuid.uuid4().bytes


class Refused(Exception):
    """A JSON-RPC error."""

    def __init__(self, code: int, message: str, data: object = None, status: int = 200) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})
        self.status = status


@dataclass
class Call:
    """One `tools/call`."""

    name: str
    arguments: dict
    responses: dict | None
    state: str | None
    meta: dict
    tell: object

    def can(self, capability: str) -> bool:
        return capability in self.meta.get(META + "clientCapabilities", {})

    def takes_tasks(self) -> bool:
        return TASKS in self.meta.get(META + "clientCapabilities", {}).get("extensions", {})


@dataclass
class Task:
    """A call that runs on."""

    id: str
    created: float
    ends: float | None
    outcome: object
    open: dict = field(default_factory=dict)
    given: dict = field(default_factory=dict)
    cancelled: bool = False
    changed: float = 0.0


tasks: dict[str, Task] = {}
lock = threading.Lock()


def text(*lines: str, **more: object) -> dict:
    return {"content": [{"type": "text", "text": line} for line in lines]} | more


def png() -> str:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixel = zlib.compress(b"\0\xff\0\0")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixel) + chunk(b"IEND", b"")).decode()


def wav() -> str:
    samples = b"\x80" * 8
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8)
    body = b"WAVE" + form + struct.pack("<4sI", b"data", len(samples)) + samples
    return base64.b64encode(struct.pack("<4sI", b"RIFF", len(body)) + body).decode()


def resource(uri: str, kind: str, content: str) -> dict:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": content}}


def form(message: str, **fields: str) -> dict:
    schema = {"type": "object", "properties": {name: {"type": kind} for name, kind in fields.items()}, "required": list(fields)}
    return {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}}


def sampling(prompt: str, tokens: int = 100) -> dict:
    message = {"role": "user", "content": {"type": "text", "text": prompt}}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": tokens}}


ROOTS = {"method": "roots/list", "params": {}}


def signed(what: str) -> str:
    return what + "." + hmac.new(KEY, what.encode(), hashlib.sha256).hexdigest()


def opened(state: str | None) -> str:
    what, _, _ = (state or "").rpartition(".")
    if not state or not hmac.compare_digest(signed(what), state):
        raise Refused(-32602, "the requestState is not one of this server's")
    return what


def asks(requests: dict, state: str | None = None) -> dict:
    return {"resultType": "input_required", "inputRequests": requests} | ({} if state is None else {"requestState": signed(state)})


def responses(call: Call, *keys: str) -> dict | None:
    """The answers to these questions, if all of them are there and are objects."""
    given = call.responses
    if given is None:
        return None
    if not isinstance(given, dict):
        raise Refused(-32602, "inputResponses must be an object")
    return given if all(isinstance(given.get(key), dict) for key in keys) else None


def needs(call: Call, capability: str) -> None:
    if not call.can(capability):
        data = {"requiredCapabilities": {capability: {}}}
        raise Refused(-32021, f"this takes a client that can do {capability}", data, 400)


# Plain tools.


def test_multiple_content_types(_: Call) -> dict:
    shown = resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
    return {"content": [{"type": "text", "text": "Multiple content types test:"}, {"type": "image", "data": png(), "mimeType": "image/png"}, shown]}


def test_tool_with_progress(call: Call) -> dict:
    token = call.meta.get("progressToken")
    for done in (0, 50, 100):
        if token is not None:
            call.tell("notifications/progress", {"progressToken": token, "progress": done, "total": 100})
        time.sleep(0.05)
    return text("The work is done.")


def test_logging_tool(call: Call) -> dict:
    if META + "logLevel" in call.meta:
        call.tell("notifications/message", {"level": "info", "data": "The tool runs."})
    return text("Logged, where that was wanted.")


def test_missing_capability(call: Call) -> dict:
    needs(call, "sampling")
    return text("The client can sample.")


def test_streaming_elicitation(call: Call) -> dict:
    needs(call, "elicitation")
    call.tell("notifications/progress", {"progressToken": call.meta.get("progressToken", 0), "progress": 1})
    return asks({"name": form("What is your name?", name="string")}, "streaming")


# Tools that ask something first (SEP-2322).


def rounds(key: str, request: dict, say: object) -> object:
    def tool(call: Call) -> dict:
        given = responses(call, key)
        return text(say(given[key])) if given else asks({key: request})

    return tool


def test_input_required_result_request_state(call: Call) -> dict:
    if responses(call, "confirm"):
        return text(f"state-ok: {opened(call.state)}")
    return asks({"confirm": form("Please confirm", ok="boolean")}, "confirming")


def test_input_required_result_multiple_inputs(call: Call) -> dict:
    wanted = {"user_name": form("What is your name?", name="string"), "greeting": sampling("Generate a greeting", 50), "client_roots": ROOTS}
    if responses(call, *wanted):
        return text(f"All three came back, for {opened(call.state)}.")
    return asks(wanted, "three")


def test_input_required_result_multi_round(call: Call) -> dict:
    if responses(call, "step2") and opened(call.state).startswith("2:"):
        return text("Both steps are done.")
    if (given := responses(call, "step1")) and opened(call.state) == "1":
        name = given["step1"].get("content", {}).get("name", "")
        return asks({"step2": form("Step 2: What is your favorite color?", color="string")}, f"2:{name}")
    return asks({"step1": form("Step 1: What is your name?", name="string")}, "1")


def test_input_required_result_tampered_state(call: Call) -> dict:
    if call.state is not None:
        opened(call.state)
        return text("The state is whole.")
    return asks({"confirm": form("Please confirm", ok="boolean")}, "whole")


def test_input_required_result_capabilities(call: Call) -> dict:
    if call.responses:
        return text("Answered.")
    wanted = {"elicitation": form("What is your name?", name="string"), "sampling": sampling("Say hello"), "roots": ROOTS}
    known = {name: request for name, request in wanted.items() if call.can(name)}
    return asks(known) if known else text("The client can do none of it.")


# Tools that run as tasks (SEP-2663).


def begun(call: Call, seconds: float | None, outcome: object, requests: dict | None = None) -> dict:
    now = time.time()
    task = Task(uuid.uuid4().hex, now, None if seconds is None else now + seconds, outcome, requests or {}, changed=now)
    with lock:
        tasks[task.id] = task
    return {"resultType": "task"} | bare(task)


def only_as_task(call: Call) -> None:
    if not call.takes_tasks():
        data = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        raise Refused(-32021, "this runs only as a task", data, 400)


def slow_compute(call: Call) -> dict:
    seconds = float(call.arguments.get("seconds", 0))
    done = text(f"Computed for {seconds} s: {call.arguments.get('label', '')}")
    if not call.takes_tasks():
        time.sleep(min(seconds, 5))
        return done
    return begun(call, seconds, done)


def failing_job(call: Call) -> dict:
    only_as_task(call)
    return begun(call, 0.3, text("The job failed.", isError=True))


def protocol_error_job(call: Call) -> dict:
    only_as_task(call)
    return begun(call, 0.3, {"code": -32603, "message": "The job broke."})


def confirm_delete(call: Call) -> dict:
    only_as_task(call)
    name = call.arguments.get("filename", "")
    done = lambda given: text(f"{name} is gone." if given["confirm"].get("action") == "accept" else f"{name} stays.")  # noqa: E731
    return begun(call, None, done, {"confirm": form(f"Delete {name}?", confirm="boolean")})


def multi_input(call: Call) -> dict:
    only_as_task(call)
    form_ = lambda which: form(f"The {which} input?", name="string", confirm="boolean")  # noqa: E731
    return begun(call, None, lambda given: text(f"{len(given)} inputs came."), {"first": form_("first"), "second": form_("second")})


def test_tool_with_task(call: Call) -> dict:
    only_as_task(call)
    given = responses(call, "user_name")
    if not given:
        return asks({"user_name": form("What is your name?", name="string")}, "naming")
    opened(call.state)
    return begun(call, 0.3, text(f"Hello, {given['user_name'].get('content', {}).get('name', '')}!"))


def bare(task: Task) -> dict:
    moment = lambda at: datetime.fromtimestamp(at, UTC).isoformat()  # noqa: E731
    return {
        "taskId": task.id,
        "status": status(task),
        "createdAt": moment(task.created),
        "lastUpdatedAt": moment(task.changed),
        "ttlMs": 600_000,
        "pollIntervalMs": POLL_MS,
    }


def status(task: Task) -> str:
    if task.cancelled:
        return "cancelled"
    if task.open:
        return "input_required"
    if task.ends is None or time.time() < task.ends:
        return "working"
    return "failed" if isinstance(task.outcome, dict) and "code" in task.outcome else "completed"


def task_of(params: dict) -> Task:
    if (task := tasks.get(params.get("taskId"))) is None:
        raise Refused(-32602, "there is no such task")
    return task


def tasks_get(params: dict) -> dict:
    with lock:
        task = task_of(params)
        now = status(task)
        more = {"completed": ("result", task.outcome), "failed": ("error", task.outcome), "input_required": ("inputRequests", task.open)}
        brought = {more[now][0]: more[now][1]} if now in more else {}
        return {"resultType": "complete"} | bare(task) | json.loads(json.dumps(brought))


def tasks_update(params: dict) -> dict:
    with lock:
        task = task_of(params)
        for key, response in params.get("inputResponses", {}).items():
            if task.open.pop(key, None):
                task.given[key], task.changed = response, time.time()
        if not task.open and callable(task.outcome):
            task.outcome, task.ends = task.outcome(task.given), time.time() + 0.2
    return {"resultType": "complete"}


def tasks_cancel(params: dict) -> dict:
    with lock:
        task = task_of(params)
        if status(task) in ("working", "input_required"):
            task.cancelled, task.changed = True, time.time()
    return {"resultType": "complete"}


def schema(**fields: str) -> dict:
    return {"type": "object", "properties": {name: {"type": kind} for name, kind in fields.items()}, "required": list(fields)}


SCHEMA_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

NONE = schema()
TOOLS = {
    "test_simple_text": (NONE, lambda _: text("This is a simple text response for testing.")),
    "test_image_content": (NONE, lambda _: {"content": [{"type": "image", "data": png(), "mimeType": "image/png"}]}),
    "test_audio_content": (NONE, lambda _: {"content": [{"type": "audio", "data": wav(), "mimeType": "audio/wav"}]}),
    "test_embedded_resource": (
        NONE,
        lambda _: {"content": [resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")]},
    ),
    "test_multiple_content_types": (NONE, test_multiple_content_types),
    "test_error_handling": (NONE, lambda _: text("This tool intentionally returns an error for testing", isError=True)),
    "test_tool_with_progress": (NONE, test_tool_with_progress),
    "test_logging_tool": (NONE, test_logging_tool),
    "test_missing_capability": (NONE, test_missing_capability),
    "test_streaming_elicitation": (NONE, test_streaming_elicitation),
    "json_schema_2020_12_tool": (SCHEMA_2020_12, lambda _: text("Fits.")),
    "test_header_argument": (
        {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}, "required": ["region"]},
        lambda call: text(f"Region: {call.arguments['region']}"),
    ),
    "test_input_required_result_elicitation": (
        NONE,
        rounds("user_name", form("What is your name?", name="string"), lambda said: f"Hello, {said.get('content', {}).get('name', '')}!"),
    ),
    "test_input_required_result_sampling": (
        NONE,
        rounds("capital_question", sampling("What is the capital of France?"), lambda said: said.get("content", {}).get("text", "")),
    ),
    "test_input_required_result_list_roots": (
        NONE,
        rounds("client_roots", ROOTS, lambda said: "Roots: " + ", ".join(root["uri"] for root in said.get("roots", []))),
    ),
    "test_input_required_result_request_state": (NONE, test_input_required_result_request_state),
    "test_input_required_result_multiple_inputs": (NONE, test_input_required_result_multiple_inputs),
    "test_input_required_result_multi_round": (NONE, test_input_required_result_multi_round),
    "test_input_required_result_tampered_state": (NONE, test_input_required_result_tampered_state),
    "test_input_required_result_capabilities": (NONE, test_input_required_result_capabilities),
    "greet": (schema(name="string"), lambda call: text(f"Hello, {call.arguments['name']}!")),
    "slow_compute": (
        {"type": "object", "properties": {"seconds": {"type": "number"}, "label": {"type": "string"}}},
        slow_compute,
    ),
    "failing_job": (NONE, failing_job),
    "protocol_error_job": (NONE, protocol_error_job),
    "confirm_delete": (schema(filename="string"), confirm_delete),
    "multi_input": (NONE, multi_input),
    "test_tool_with_task": (NONE, test_tool_with_task),
}


def discover(_: dict) -> dict:
    return {
        "resultType": "complete",
        "supportedVersions": [REVISION],
        "capabilities": {"tools": {}, "extensions": {TASKS: {}}},
        "ttlMs": 60_000,
        "cacheScope": "public",
        "_meta": {META + "serverInfo": {"name": "upstream", "version": "1"}},
    }


def tools_list(_: dict) -> dict:
    tools = [{"name": name, "description": f"For the scenario of {name}.", "inputSchema": takes} for name, (takes, _) in TOOLS.items()]
    return {"resultType": "complete", "tools": tools, "ttlMs": 60_000, "cacheScope": "public"}


METHODS = {
    "server/discover": discover,
    "tools/list": tools_list,
    "tasks/get": tasks_get,
    "tasks/update": tasks_update,
    "tasks/cancel": tasks_cancel,
}


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    streaming = False

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.streaming = False
        if "id" not in message:
            self.send_response(202)
            self.send_header("content-length", "0")
            self.end_headers()
            return
        answer = {"jsonrpc": "2.0", "id": message["id"]}
        status = 200
        try:
            answer["result"] = self.result(message["method"], message.get("params") or {})
        except Refused as refused:
            answer["error"], status = refused.error, refused.status
        if self.streaming:
            self.event(answer)
            self.wfile.write(b"0\r\n\r\n")
            return
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def result(self, method: str, params: dict) -> dict:
        meta = params.get("_meta") or {}
        if meta.get(META + "protocolVersion") != REVISION:
            raise Refused(-32602, "only 2026-07-28 is spoken here", status=400)
        if method in METHODS:
            return METHODS[method](params)
        if method != "tools/call":
            raise Refused(-32601, f"there is no method {method}", status=404)
        if params["name"] not in TOOLS:
            raise Refused(-32602, f"there is no tool {params['name']}")
        call = Call(
            params["name"], params.get("arguments") or {}, params.get("inputResponses"), params.get("requestState"), meta, self.tell
        )
        if "inputResponses" in params and call.responses is None:
            raise Refused(-32602, "inputResponses must be an object")
        result = TOOLS[call.name][1](call)
        return {"resultType": "complete"} | result

    def tell(self, method: str, params: dict) -> None:
        if not self.streaming:
            self.streaming = True
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
        self.event({"jsonrpc": "2.0", "method": method, "params": params})

    def event(self, message: dict) -> None:
        data = f"event: message\ndata: {json.dumps(message)}\n\n".encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_port}/mcp", flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
