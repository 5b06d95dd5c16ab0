"""Runs the suite's scenarios and compares them with the tables in README.md: `run.py client BINARY [SCENARIO…]` runs those for clients
against that client, `run.py server BINARY [SCENARIO…]` those for servers against the `/mcp` of that Pudu, before `upstream.py`.

`scripts/conformance` calls it, with everything installed and the right Node in PATH. A scenario runs once for each protocol
revision that the suite lists for it, and passes when the suite is content every time and has seen at least one thing that it
asserts: the suite is also content with a client that does nothing.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
SUITE = ["node", str(HERE / "node_modules/@modelcontextprotocol/conformance/dist/index.js")]
LISTED = re.compile(r"^  - (\S+) \[([^\]]*)\]$")
ROW = re.compile(r"^\| `([^`]+)` \| (pass|no|pass at [\d, -]+) \| (.*?) *\|$")
TASKS = re.compile(r"^  - (tasks-\S+)", re.MULTILINE)
TASKS_ROW = re.compile(r"^\| `(tasks-[^`]+)` \| [^|]*\w[^|]*\|$", re.MULTILINE)
REVISION = re.compile(r"^\d{4}-\d\d-\d\d$")
# The suite's own limit for a scenario, and ours for the suite.
SCENARIO_MS, SUITE_SECONDS = 30_000, 60
GATEWAY = re.compile(r"gateway +(http://[^/]+)/")


@dataclass
class Outcome:
    """What came of one scenario in one revision."""

    passed: bool
    why: str


def suite_list() -> str:
    return subprocess.run([*SUITE, "list"], capture_output=True, text=True, check=True).stdout


def listed(text: str, side: str) -> dict[str, list[str]]:
    """Every scenario for that side and what it runs at; an extension runs without a revision."""
    _, _, section = text.partition(f"{side.capitalize()} scenarios")
    scenarios = {}
    for line in section.splitlines()[1:]:
        if not line.strip():
            break
        match = LISTED.match(line)
        if not match:
            sys.exit(f"run.py: a line of `conformance list` that nobody understands: {line}")
        revisions = [part for part in match[2].split(",") if REVISION.match(part)]
        scenarios[match[1]] = revisions or [""]
    if len(scenarios) < 40:
        sys.exit(f"run.py: `conformance list` names only {len(scenarios)} {side} scenarios")
    return scenarios


def tasks(text: str) -> str:
    """What is wrong with the table of the scenarios for tasks, which drive servers only."""
    servers, _, clients = text.partition("Client scenarios")
    theirs = set(TASKS.findall(servers))
    ours = set(TASKS_ROW.findall((HERE / "README.md").read_text()))
    problems = [f"the suite can drive a client now: {name}" for name in TASKS.findall(clients)]
    problems += [f"the table does not have {name}" for name in sorted(theirs - ours)]
    problems += [f"the suite does not have {name} any more" for name in sorted(ours - theirs)]
    return "; ".join(problems) if theirs else "the suite has no scenarios for tasks"


def table(side: str) -> dict[str, tuple[str, str]]:
    """The expected outcome of each scenario for that side, and why it does not pass where it does not."""
    rows = {}
    _, _, section = (HERE / "README.md").read_text().partition(f"\n## {side.capitalize()}\n")
    for line in section.partition("\n## ")[0].splitlines():
        if match := ROW.match(line):
            if match[1] in rows or (match[2] == "pass") == bool(match[3]):
                sys.exit(f"run.py: a scenario twice, a `no` without a reason or a `pass` with one: {line}")
            rows[match[1]] = match[2], match[3]
    return rows


def run(subject: list[str], scenario: str, revision: str) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        at = ["--spec-version", revision] if revision else []
        command = [*SUITE, *subject, "--scenario", scenario, *at]
        command += ["--timeout", str(SCENARIO_MS), "--output-dir", folder]
        environment = {**os.environ, "RUST_BACKTRACE": "0"}
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=SUITE_SECONDS
            )
        except subprocess.TimeoutExpired:
            return Outcome(False, f"the suite did not end within {SUITE_SECONDS} s")
        checks = [check for file in Path(folder).rglob("checks.json") for check in json.loads(file.read_text())]
        said = [line for file in Path(folder).rglob("stderr.txt") for line in file.read_text().splitlines() if line.strip()]
    failures = [f"{check['name']}: {check.get('errorMessage', check['description'])}" for check in checks if check["status"] == "FAILURE"]
    if failures:
        return Outcome(False, failures[0] + (f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""))
    if done.returncode:
        return Outcome(False, f"exit status {done.returncode}: {said[-1] if said else 'nobody said why'}")
    # `initialize` passes by its events alone: the suite records them as information.
    seen = [check for check in checks if check["status"] == "SUCCESS"]
    return Outcome(bool(seen), "" if seen else "the suite asserted nothing")


@contextmanager
def pudu(binary: str) -> Iterator[str]:
    """A Pudu of its own before the suite's upstream: the URL of its `/mcp`."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        upstream = [sys.executable, str(HERE / "upstream.py")]
        behind = running.enter_context(process(upstream)).stdout.readline().strip()
        config = Path(folder) / "config.json"
        # Without a prefix, so that the suite finds its tools by their names.
        config.write_text(json.dumps({"mcpServers": {"suite": {"type": "http", "url": behind, "tool_name_prefix": False}}}))
        command = [binary, "--port", "0", "--example-port", "0", "--data-dir", f"{folder}/data", "--config-file", str(config), "--no-auth"]
        for line in running.enter_context(process(command)).stdout:
            if match := GATEWAY.search(line):
                yield match[1] + "/mcp"
                return
    sys.exit("run.py: Pudu did not start")


@contextmanager
def process(command: list[str]) -> Iterator[subprocess.Popen]:
    """A process that ends with this block: by the end of its stdin, and by a signal."""
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield started
    finally:
        started.stdin.close()
        started.terminate()
        started.wait()


def main() -> None:
    side, binary, *wanted = sys.argv[1:]
    text = suite_list()
    scenarios, expected = listed(text, side), table(side)
    if unknown := [name for name in wanted if name not in scenarios]:
        sys.exit(f"run.py: no such scenario: {', '.join(unknown)}")
    counts = {"passed": 0, "failed": 0, "skipped": 0}

    def report(kind: str, name: str, why: str = "") -> None:
        counts[kind] += 1
        print(f"{kind:8}{name}{': ' + why if why else ''}", flush=True)

    chosen = wanted or list(scenarios)
    jobs = [(name, revision) for name in chosen for revision in scenarios[name]]
    with ExitStack() as running, ThreadPoolExecutor(2) as pool:
        subject = ["client", "--command", binary] if side == "client" else ["server", "--url", running.enter_context(pudu(binary))]
        outcomes = dict(zip(jobs, pool.map(lambda job: run(subject, *job), jobs)))
        # The suite gives some answers half a second: what was late on a busy machine may try once more, by itself.
        for job in [job for job in jobs if not outcomes[job].passed and expected.get(job[0], ("",))[0] == "pass"]:
            outcomes[job] = run(subject, *job)
    for name in chosen:
        runs = {revision: outcomes[name, revision] for revision in scenarios[name]}
        bad = [f"{revision} {run.why}".strip() for revision, run in runs.items() if not run.passed]
        match expected.get(name):
            case None:
                report("failed", name, "the table does not have it" + (f"; {bad[0]}" if bad else ""))
            case "pass", _:
                report("failed" if bad else "passed", name, "; ".join(bad))
            case some, reason if some.startswith("pass at "):
                good = [revision for revision, run in runs.items() if run.passed]
                same = good == some.removeprefix("pass at ").split(", ")
                report("passed" if same else "failed", name, reason if same else f"passes at {', '.join(good)}; {'; '.join(bad)}")
            case _, reason if len(bad) < len(runs):
                report("failed", name, f"passes at {', '.join(r for r in runs if runs[r].passed) or 'last'}, and the table says: {reason}")
            case _, reason:
                report("skipped", name, f"{reason} [{bad[0]}]")
    if not wanted:
        if side == "client" and (wrong := tasks(text)):
            report("failed", "tasks", wrong)
        for name in expected.keys() - scenarios.keys():
            report("failed", name, "the suite does not have it any more; take it out of the table")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    sys.exit(counts["failed"] > 0)


if __name__ == "__main__":
    main()
