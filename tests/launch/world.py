"""A place in which a launcher runs: a home with warm caches, a working directory, and everything that an attacker could have planted and a
vector can point at. Whatever is planted touches the canary; only honest packages write their arguments down.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

from registry import NPM, Registry, node_code, python_code, tarball, wheel

SECONDS = 30


class World:
    """One launcher at a time runs here."""

    def __init__(self, root: Path, tools: dict[str, Path]):
        self.tools, self.root = tools, root
        self.home, self.keep, self.cwd, self.dir = root / "home", root / "home.keep", root / "cwd", root / "planted"
        self.canary, self.out = root / "canary", root / "out.json"
        self.good, self.evil = Registry(None), Registry(str(self.canary))
        for folder in (self.home, self.cwd, self.dir, root / "bin"):
            folder.mkdir(parents=True)
        (root / "bin/node").symlink_to(tools["node"])
        self.path = f"{root}/bin:/usr/local/bin:/usr/bin:/bin"
        self.clean = None
        self.names = self.plant()
        self.configure(self.home, self.good)
        self.warm()
        shutil.copytree(self.home, self.keep, symlinks=True)
        self.plant_caches()

    # What stands for what in a vector; where a value has no file behind it, the text itself is what runs.
    def plant(self) -> dict[str, str]:
        x, at = f"touch {self.canary}", self.dir
        js = f"require('fs').writeFileSync('{self.canary}','')"
        py = f"open('{self.canary}','w')"
        self.script(at / "program", f"{x}\n")
        self.script(at / "shell", f'{x}\nexec /bin/sh "$@"\n')
        self.script(at / "python", f'{x}\nexec python3 "$@"\n')
        self.text(at / "evil.js", js)
        self.text(at / "evil.py", py)
        self.text(at / "rc-call", f"call={x}\n")
        self.text(at / "rc-shell", f"script-shell={at}/shell\nregistry={self.good.url}\n")
        self.text(at / "rc-node", f"node-options=--require={at}/evil.js\nregistry={self.good.url}\n")
        # A folder that a launcher may be told to work in.
        self.text(at / ".npmrc", f"script-shell={at}/shell\n")
        self.npm_folder(at, "pkg")
        self.script(at / "node_modules/.bin/pkg", f"{x}\n")
        self.npm_folder(at / "node_modules/pkg", "pkg")
        self.npm_folder(at / "pkg", "pkg")
        (at / "evil.tgz").write_bytes(tarball("pkg", NPM["pkg"], str(self.canary), "9.0.0"))
        self.python_folder(at / "pyproject")
        for name in ("node", "sh", "bash", "git", "python", "python3", "ssh", "uv", "env", "keyring", "git-clone", "git-remote-https"):
            self.script(at / "bin" / name, f"{x}\n")
        for name in ("sitecustomize", "usercustomize", "evil"):
            self.text(at / f"site/{name}.py", py)
        version = "python" + subprocess.run(["python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True).stdout.strip()
        self.text(at / f"userbase/lib/{version}/site-packages/usercustomize.py", py)
        self.script(at / "venv/bin/python", f'{x}\nexec python3 "$@"\n')
        self.text(at / "venv/pyvenv.cfg", "home = /usr/bin\n")
        self.shared_object(at / "evil.so")
        name, data = wheel("pkg", ["pkg", "other"], str(self.canary), "9.0.0")
        (at / "links").mkdir()
        (at / "links" / name).write_bytes(data)
        self.text(at / "reqs", f"pkg @ file://{at}/links/{name}\n")
        self.text(at / "reqs-index", f"--index-url {self.evil.url}simple\npkg\n")
        self.text(at / "env", f"PYTHONPATH={at}/site\nNODE_OPTIONS=--require={at}/evil.js\n")
        self.text(at / "uv.toml", f'index-url = "{self.evil.url}simple"\n')
        self.text(at / "pip.conf", f"[global]\nindex-url = {self.evil.url}simple\n")
        self.text(at / "makefile", f"all:\n\t{x}\n")
        self.script(at / "template/hooks/post-checkout", f"{x}\n")
        self.text(at / "gitconfig", f"[core]\n\thooksPath = {at}/template/hooks\n\tsshCommand = {at}/program\n")
        evil_home = self.root / "evil-home"
        self.configure(evil_home, self.evil)
        self.text(evil_home / ".npmrc", f"script-shell={at}/shell\nregistry={self.good.url}\n")
        self.text(self.root / "evil-prefix/etc/npmrc", f"script-shell={at}/shell\n")
        # Beside the thread's own files, under relative names.
        self.npm_folder(self.cwd / "evil", "evil")
        self.python_folder(self.cwd / "evil")
        self.script(self.cwd / "evil/run", f"{x}\n")
        self.text(self.cwd / "evil.py", py)
        shutil.copy(at / "evil.tgz", self.cwd)
        shutil.copy(at / "links" / name, self.cwd / "evil-1.0.0-py3-none-any.whl")
        repo, pyrepo, good = (self.root / name for name in ("repo", "pyrepo", "goodrepo"))
        self.npm_folder(repo, "pkg")
        self.python_folder(pyrepo)
        self.python_folder(good, canary=None)
        for folder in (repo, pyrepo, good):
            self.commit(folder)
        return {
            "{X}": x, "{CANARY}": str(self.canary), "{JSCODE}": js, "{PYCODE}": py, "{AWK}": f'system("{x}")', "{PROGRAM}": f"{at}/program",
            "{SHELL}": f"{at}/shell", "{PYTHON}": f"{at}/python", "{JS}": f"{at}/evil.js", "{RC_CALL}": f"{at}/rc-call",
            "{RC_SHELL}": f"{at}/rc-shell", "{RC_NODE}": f"{at}/rc-node", "{DIR}": str(at), "{CACHE}": f"{self.root}/evil-cache",
            "{NPM}": self.good.url, "{EVIL_NPM}": self.evil.url, "{EVIL_PYPI}": f"{self.evil.url}simple/", "{WHEEL}": f"{at}/links/{name}",
            "{REQS}": f"{at}/reqs", "{REQS_INDEX}": f"{at}/reqs-index", "{ENV_FILE}": f"{at}/env", "{LINKS}": f"{at}/links",
            "{UV_CACHE}": f"{self.root}/evil-home/.cache/uv", "{TOOLS}": f"{self.root}/evil-home/.local/share/uv/tools", "{TOML}": f"{at}/uv.toml",
            "{EVIL_HOME}": f"{self.root}/evil-home", "{EVIL_PREFIX}": f"{self.root}/evil-prefix", "{REPO}": str(repo), "{PYREPO}": str(pyrepo),
            "{GOODREPO}": str(good), "{MAKE}": f"{at}/makefile", "{GITCONFIG}": f"{at}/gitconfig", "{TEMPLATE}": f"{at}/template",
            "{CWD}": str(self.cwd), "{PATH}": self.path,
        }  # fmt: skip

    def configure(self, home: Path, registry: Registry):
        """A home in which the launchers use `registry` and no other."""
        self.text(home / ".npmrc", f"registry={registry.url}\naudit=false\nfund=false\nupdate-notifier=false\nfetch-retries=0\n")
        self.text(home / ".config/uv/uv.toml", f'index-url = "{registry.url}simple"\npython-downloads = "never"\n')

    def warm(self):
        for tool, args in (("npm10", ["-y", "pkg"]), ("npm11", ["-y", "@s/p"]), ("uv", ["pkg"]), ("uv", ["--from", "pkg", "other"])):
            self.launch(tool, args, {})

    def plant_caches(self):
        """Caches as the launchers write them, in which the package was replaced."""
        cache = self.root / "evil-cache"
        shutil.copytree(self.home / ".npm", cache, symlinks=True, dirs_exist_ok=True)
        for file in cache.glob("_npx/*/node_modules/*/cli.js"):
            file.write_bytes(node_code(str(self.canary)))
        evil = self.root / "evil-home/.cache/uv"
        shutil.copytree(self.home / ".cache/uv", evil, symlinks=True, dirs_exist_ok=True)
        for file in evil.rglob("pkg.py"):
            file.unlink()
            self.text(file, python_code(str(self.canary)))
        tools = self.root / "evil-home/.local/share/uv/tools"
        env = {**self.env({}), "HOME": str(self.root / "evil-home"), "UV_TOOL_DIR": str(tools), "UV_CACHE_DIR": str(self.root / "other-cache")}
        subprocess.run([self.tools["uv"].resolve().parent / "uv", "tool", "install", "-q", "pkg"], env=env, cwd=self.cwd, check=True)

    def env(self, extra: dict[str, str]) -> dict[str, str]:
        # What a stdio server inherits from Pudu.
        inherited = {"HOME": str(self.home), "LOGNAME": "u", "PATH": self.path, "SHELL": "/bin/sh", "TERM": "dumb", "USER": "u"}
        return {**inherited, "PKG_OUT": str(self.out), **extra}

    def fill(self, text: str) -> str:
        for name, value in self.names.items():
            text = text.replace(name, value)
        return text

    def launch(self, tool: str, args: list[str], env: dict[str, str]):
        # A request as a client writes it; its arguments come from any caller, so a shell that reads it runs them.
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"x": f"$(touch {self.canary})"}}) + "\n"
        process = subprocess.Popen([self.tools[tool], *args], env=self.env(env), cwd=self.cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip
        try:
            output, _ = process.communicate(line.encode(), timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            output, _ = process.communicate()
        return output.decode(errors="replace")

    def outcome(self, tool: str, args: list[str], env: dict[str, str]) -> str | list[str]:
        """`code` when something planted ran, the arguments of the honest package when that ran, `nothing` when neither did."""
        self.canary.unlink(missing_ok=True)
        self.out.unlink(missing_ok=True)
        self.reset()
        try:
            self.launch(tool, [self.fill(arg) for arg in args], {self.fill(name): self.fill(value) for name, value in env.items()})
        except (ValueError, OSError):
            # The system cannot start it like that.
            return "nothing"
        if self.canary.exists():
            return "code"
        return json.loads(self.out.read_text()) if self.out.exists() else "nothing"

    def reset(self):
        """The home as it was. Copying it takes longer than many a launch, so it is looked at first."""
        shutil.rmtree(self.home / ".npm/_logs", ignore_errors=True)
        if self.state() != self.clean:
            shutil.rmtree(self.home)
            shutil.copytree(self.keep, self.home, symlinks=True)
            self.clean = self.state()

    def state(self) -> set:
        found = set()
        for folder, _, files in os.walk(self.home):
            for name in files:
                entry = os.lstat(f"{folder}/{name}")
                found.add((folder, name, entry.st_mtime_ns, entry.st_size))
        return found

    def text(self, path: Path, content: str):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def script(self, path: Path, body: str):
        self.text(path, f"#!/bin/sh\n{body}")
        path.chmod(0o755)

    def npm_folder(self, at: Path, name: str):
        self.text(at / "package.json", json.dumps({"name": name, "version": "9.0.0", "bin": {name: "cli.js"}}))
        self.text(at / "cli.js", node_code(str(self.canary)).decode())
        (at / "cli.js").chmod(0o755)

    def python_folder(self, at: Path, canary: str | None = ""):
        canary = str(self.canary) if canary == "" else canary
        name, data = wheel("pkg", ["pkg"], canary, "9.0.0")
        # A build backend of its own that needs nothing: it hands out a finished wheel, and runs code as every backend does.
        run = f"open({canary!r}, 'w')\n" if canary else ""
        body = f"""{run}import base64, os
def build_wheel(into, *_a, **_k):
    open(os.path.join(into, {name!r}), 'wb').write(base64.b64decode({__import__("base64").b64encode(data)!r}))
    return {name!r}
build_editable = build_wheel
def get_requires_for_build_wheel(*_a): return []
get_requires_for_build_editable = get_requires_for_build_wheel
"""
        self.text(at / "backend.py", body)
        self.text(at / "pyproject.toml", '[project]\nname = "pkg"\nversion = "9.0.0"\n[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n')

    def commit(self, at: Path):
        identity = ["-c", "user.name=u", "-c", "user.email=u@localhost"]
        for command in (["init", "-q", "-b", "main"], ["add", "."], [*identity, "commit", "-qm", "x"]):
            subprocess.run(["git", *command], cwd=at, check=True, env=self.env({}))

    def shared_object(self, path: Path):
        source = f'#include <fcntl.h>\n__attribute__((constructor)) static void f(void) {{ creat("{self.canary}", 0600); }}\n'
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-o", path, "-"], input=source.encode(), check=True)


