"""The contract against a running Pudu, with generated input: `run.py PUDU SCHEMATHESIS SECONDS`.

`scripts/contract` calls it, with everything built and installed. It checks that the contract is OpenAPI, starts a Pudu of its own on
a free port in a temporary folder, gives it something to be asked for, and has schemathesis send what the contract allows and what
it does not to every operation. No answer may be a 500, or other than the contract says. Where a Chromium is installed, the page is
opened in it. The last line is `N operations, N answers, N failures`.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from openapi_spec_validator import OpenAPIV31SpecValidator
from referencing.exceptions import Unresolvable

HERE = Path(__file__).parent
# Fixed, so that a run that fails here fails elsewhere.
SEED = 20261130
# More would be no faster on two cores, and CPython 3.11 fails now and then where two threads parse source at once.
WORKERS = 1
STARTING, STOPPING, REQUEST, BROWSER = 60, 20, 30, 60
THREAD, TOOL = "contract", "example_submit_report"


def fail(why: str) -> None:
    sys.exit(f"run.py: {why}")


def environment(**more: str) -> dict[str, str]:
    """Ours without proxies: everything here is on this machine."""
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return {**kept, **more}


class Pudu:
    """A running Pudu."""

    def __init__(self, address: str, key: str) -> None:
        self.base, self.key = f"http://{address}", key

    def ask(self, method: str, path: str, body: object = None) -> object:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Authorization": f"Bearer {self.key}"}, method=method)
        if data is not None:
            request.add_header("Content-Type", "application/json")
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=REQUEST) as answer:
            return json.load(answer)


@contextmanager
def pudu(binary: str, folder: Path):
    """Starts one, and ends it however this ends."""
    log = folder / "pudu.log"
    words = [binary, "--port", "0", "--example-port", "0", "--data-dir", str(folder / "data"), "--config-source", "table"]
    with log.open("wb") as out:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=folder, env=environment())
    try:
        announced = folder / "data/pudu.json"
        until = time.monotonic() + STARTING
        while not announced.exists():
            if process.poll() is not None or time.monotonic() > until:
                fail(f"Pudu did not start\n{log.read_text()}")
            time.sleep(0.05)
        run = json.loads(announced.read_text())
        yield Pudu(run["address"], run["key"])
        if process.poll() is not None:
            fail(f"Pudu ended with {process.returncode}\n{log.read_text()}")
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOPPING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            fail(f"Pudu did not stop\n{log.read_text()}")


def validated(text: str) -> dict:
    """The contract, if it is one."""
    contract = json.loads(text)
    try:
        errors = [f"{'/'.join(map(str, error.path))}: {error.message}" for error in OpenAPIV31SpecValidator(contract).iter_errors()]
    except Unresolvable as error:
        errors = [str(error)]
    if errors or not contract["openapi"].startswith("3.1."):
        fail("\n".join(["this is no OpenAPI 3.1", *errors]))
    return contract


def seeded(running: Pudu) -> list[str]:
    """Tasks that take long, that ask, and that have ended."""
    bodies = [
        {"title": "long", "duration_seconds": 3600},
        {"title": "asks", "duration_seconds": 3600, "ask": "Which year?", "answer_after_seconds": 3600},
        {"title": "ends", "duration_seconds": 1},
    ]
    path = f"/api/threads/{THREAD}/tools/{TOOL}"
    return [running.ask("POST", path, {"arguments": body})["task_id"] for body in bodies]


def settings(tasks: list[str]) -> str:
    """What schemathesis may do, with what is really there: most generated names would only ever find a 404."""
    words = {
        "threads": [THREAD], "tasks": tasks, "tools": [TOOL, "example_echo"], "servers": ["example", "web"], "revisions": [0, 1, 2, 3],
    }
    parts = [f"hooks = {json.dumps(str(HERE / 'hooks.py'))}", (HERE / "schemathesis.toml").read_text()]
    parts += [f"[dictionaries.{name}]\nvalues = {json.dumps(values)}\n" for name, values in words.items()]
    return "\n".join(parts)


def generated(schemathesis: str, running: Pudu, config: Path, scope: list[str], seconds: int) -> tuple[bool, int]:
    """Runs schemathesis and shows what it says: whether it found nothing, and how many answers it looked at."""
    report = config.parent / "report.ndjson"
    words = [
        schemathesis, "--config-file", str(config), "run", str(config.parent / "openapi.json"), "--url", running.base, *scope,
        "--seed", str(SEED), "--workers", str(WORKERS), "--max-time", str(seconds), "--request-timeout", str(REQUEST),
        "--header", f"Authorization: Bearer {running.key}",
        "--report", "ndjson", "--report-ndjson-path", str(report), "--no-color",
    ]
    # It may finish what it has begun.
    limit = seconds * 2 + 60
    ended = subprocess.run(words, stdin=subprocess.DEVNULL, cwd=config.parent, env=environment(), timeout=limit)
    answers = sum(line.count('"status_code"') for line in report.open()) if report.exists() else 0
    return ended.returncode == 0, answers


def browsed(running: Pudu, contract: dict, folder: Path) -> None:
    """The page in a real browser: every operation is there, and its policy stopped nothing of it."""
    browser = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
    if browser is None:
        print("docs: skipped, no chromium is installed")
        return
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    flags += " --disable-component-update --disable-sync --virtual-time-budget=10000 --enable-logging=stderr --dump-dom"
    words = [browser, *flags.split(), f"--user-data-dir={folder / 'chromium'}", f"{running.base}/docs"]
    shown = subprocess.run(words, capture_output=True, text=True, timeout=BROWSER, env=environment(HOME=str(folder)))
    wanted = [one["operationId"] for item in contract["paths"].values() for one in item.values() if "responses" in one]
    missing = [name for name in wanted if f'id="{name}"' not in shown.stdout]
    refused = [line for line in shown.stderr.splitlines() if "CONSOLE" in line]
    if missing or refused or f"{len(wanted)} operations" not in shown.stdout:
        fail("\n".join([f"the page in {browser}: missing {missing}", *refused, shown.stdout[-2000:] if missing else ""]))
    print(f"docs: {len(wanted)} operations are on the page")


def there(contract: dict, scope: list[str]) -> bool:
    """Whether the contract has operations of that scope: schemathesis takes none for a fault."""
    tags = [one["tags"] for item in contract["paths"].values() for one in item.values() if "responses" in one]
    return any((scope[1] in own) == (scope[0] == "--include-tag") for own in tags)


def main() -> None:
    binary, schemathesis, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    # From the file and not from its address: what is at the address of its own contract, schemathesis leaves out.
    text = subprocess.run([binary, "openapi"], capture_output=True, text=True, check=True).stdout
    contract = validated(text)
    with tempfile.TemporaryDirectory(prefix="pudu-contract-") as path:
        folder = Path(path)
        with pudu(binary, folder) as running:
            browsed(running, contract, folder)
            (folder / "openapi.json").write_text(text)
            config = folder / "schemathesis.toml"
            config.write_text(settings(seeded(running)))
            # What changes the servers comes last: after it there may be no tool to call.
            scopes = [["--exclude-tag", "config"], ["--include-tag", "config"]]
            ended = [generated(schemathesis, running, config, scope, seconds // 2) for scope in scopes if there(contract, scope)]
            # It still serves after all that.
            running.ask("GET", "/healthz")
        operations = sum("responses" in one for item in contract["paths"].values() for one in item.values())
        panics = re.findall(r"panicked at .*", (folder / "pudu.log").read_text())
    answers = sum(answers for _, answers in ended)
    failures = sum(not well for well, _ in ended) + len(panics)
    for panic in panics:
        print(panic)
    print(f"{operations} operations, {answers} answers, {failures} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
