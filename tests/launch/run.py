"""The corpus of the launch policy: what real launchers do with every vector.

`run.py record npx|uvx TOOLS` writes it, `run.py check npx|uvx TOOLS [EVERY]` runs every EVERYth vector again and compares. TOOLS is a
folder with `npm10`, `npm11`, `uv` and `node`. `scripts/launch-corpus` calls this with everything installed.
"""

import json
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import npx_vectors
import uvx_vectors
from world import World

CORPUS = Path(__file__).parents[2] / "shared/config/corpus"
SETS = {"npx": (npx_vectors, ["npm10", "npm11"]), "uvx": (uvx_vectors, ["uv"])}
PORTION = 100
WORKERS = int(os.environ.get("LAUNCH_WORKERS", "2"))


def generated(launcher: str) -> list[tuple[list[str], dict[str, str]]]:
    seen = {}
    for args, env in SETS[launcher][0].vectors():
        seen.setdefault(json.dumps([args, env]), (args, env))
    return list(seen.values())


def short(args: list[str], outcome):
    """The arguments of the package as how many of the last ones they are, where they are that."""
    if isinstance(outcome, list) and (not outcome or args[-len(outcome) :] == outcome):
        return len(outcome)
    return outcome


class Bench:
    """Worlds to run vectors in; making one takes seconds."""

    def __init__(self, launcher: str, tools: dict[str, Path]):
        self.launchers, self.folder, self.worlds = SETS[launcher][1], tempfile.TemporaryDirectory(prefix="launch-"), SimpleQueue()
        with ThreadPoolExecutor(WORKERS) as pool:
            for world in pool.map(lambda number: World(Path(self.folder.name) / str(number), tools), range(WORKERS)):
                self.worlds.put(world)

    def run(self, vector) -> list:
        args, env = vector
        world = self.worlds.get()
        try:
            filled = [world.fill(arg) for arg in args]
            return [short(filled, world.outcome(tool, args, env)) for tool in self.launchers]
        finally:
            self.worlds.put(world)

    def folder_config(self) -> list[str]:
        """What does not hold of an `.npmrc` in the working folder: npx runs what it names, unless it gets what Pudu gives it."""
        world, wrong = self.worlds.get(), []
        for line in ("script-shell={SHELL}", "node-options=--require={JS}"):
            (world.cwd / ".npmrc").write_text(world.fill(line) + "\n")
            for launcher in self.launchers:
                for env, expected in (({}, "code"), ({"npm_config_location": "global"}, ["serve"])):
                    outcome = world.outcome(launcher, ["-y", "pkg", "serve"], env)
                    if outcome != expected:
                        wrong.append(f"{launcher} in a folder with {line} and {env}: {outcome}, not {expected}")
        (world.cwd / ".npmrc").unlink()
        self.worlds.put(world)
        return wrong

    def measured(self, vectors) -> list[list]:
        with ThreadPoolExecutor(WORKERS) as pool:
            return list(pool.map(self.run, vectors))


def versions(launcher: str, tools: Path) -> dict[str, str]:
    return {name: text for name, text in json.loads((tools / "versions.json").read_text()).items() if name in [*SETS[launcher][1], "node"]}


def record(launcher: str, tools: Path, found: dict[str, Path]):
    """What was recorded with the same versions is kept; what was not is run, in portions, so that an interrupted run goes on."""
    vectors, head = generated(launcher), {"launchers": SETS[launcher][1], "versions": versions(launcher, tools)}
    file = CORPUS / f"{launcher}.jsonl"
    known = {}
    if file.exists():
        old, *rows = [json.loads(line) for line in file.read_text().splitlines()]
        known = {json.dumps(row[:2]): row for row in rows} if old == head else {}
    missing = [vector for vector in vectors if json.dumps(vector) not in known]
    bench = Bench(launcher, found)
    for start in range(0, len(missing), PORTION):
        portion = missing[start : start + PORTION]
        for (args, env), outcomes in zip(portion, bench.measured(portion), strict=True):
            known[json.dumps([args, env])] = [args, env, *outcomes]
        rows = [known[key] for vector in vectors if (key := json.dumps(vector)) in known]
        lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in [head, *rows]]
        file.write_text("\n".join(lines) + "\n")
        print(f"{launcher}: {len(rows)} of {len(vectors)} vectors recorded", flush=True)


def check(launcher: str, tools: Path, found: dict[str, Path], every: int) -> int:
    lines = (CORPUS / f"{launcher}.jsonl").read_text().splitlines()
    head, rows = json.loads(lines[0]), [json.loads(line) for line in lines[1:]]
    drift, vectors = 0, [json.dumps(vector) for vector in generated(launcher)]
    recorded = {json.dumps(row[:2]) for row in rows}
    if strange := recorded.difference(vectors):
        print(f"{launcher}: {len(strange)} recorded vectors are none of the generator's; record again")
        drift += 1
    print(f"{launcher}: {len(recorded)} of the generator's {len(vectors)} vectors are recorded")
    if head["versions"] != versions(launcher, tools):
        print(f"{launcher}: recorded with {head['versions']}, run with {versions(launcher, tools)}")
    sample, bench = rows[::every], Bench(launcher, found)
    for (args, env, *then), now in zip(sample, bench.measured([row[:2] for row in sample]), strict=True):
        if then != now:
            drift += 1
            print(f"{launcher}: {json.dumps(args)} {json.dumps(env)}: recorded {then}, now {now}")
    for wrong in bench.folder_config() if launcher == "npx" else []:
        drift += 1
        print(f"{launcher}: {wrong}")
    print(f"{launcher}: {len(sample)} of {len(rows)} vectors run again, {drift} drifted")
    return drift


def main() -> int:
    verb, launcher, tools, *rest = sys.argv[1:]
    tools = Path(tools).resolve()
    found = {name: (tools / name).absolute() for name in ("npm10", "npm11", "uv", "node")}
    if verb == "record":
        record(launcher, tools, found)
        return 0
    return 1 if check(launcher, tools, found, int(rest[0]) if rest else 1) else 0


if __name__ == "__main__":
    sys.exit(main())
