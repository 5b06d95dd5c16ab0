"""Two tiny registries on loopback, npm and PyPI in one: an honest one, whose packages write their arguments down, and an evil one, whose
packages have the same names, higher versions and a canary.
"""

import base64
import hashlib
import http.server
import io
import json
import tarfile
import threading
import zipfile
from urllib.parse import unquote

# name → commands. `sh` and `noscript` have none: what does a launcher do then?
NPM = {"pkg": ["pkg", "other"], "@s/p": ["p", "bin"], "evil": ["evil"], "other": ["other"]}
PYPI = {"pkg": ["pkg", "other"], "fresh": ["fresh"], "other": ["other"], "evil": ["evil"], "p-kg": ["p_kg"], "sh": [], "noscript": [],
        "serve": ["serve"]}  # fmt: skip


def node_code(canary: str | None) -> bytes:
    act = f"require('fs').writeFileSync({json.dumps(canary)}, '')" if canary else (
        "process.env.PKG_OUT && require('fs').writeFileSync(process.env.PKG_OUT, JSON.stringify(process.argv.slice(2)))"
    )  # fmt: skip
    return f"#!/usr/bin/env node\n{act}\n".encode()


def python_code(canary: str | None) -> str:
    act = f"open({canary!r}, 'w')" if canary else (
        "out = os.environ.get('PKG_OUT')\n    if out: open(out, 'w').write(json.dumps(sys.argv[1:]))"
    )  # fmt: skip
    return f"import json, os, sys\ndef main():\n    {act}\nif __name__ == '__main__':\n    main()\n"


def tarball(name: str, commands: list[str], canary: str | None, version: str) -> bytes:
    manifest = json.dumps({"name": name, "version": version, "bin": {command: "cli.js" for command in commands}})
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for path, content in {"package.json": manifest.encode(), "cli.js": node_code(canary)}.items():
            entry = tarfile.TarInfo(f"package/{path}")
            entry.size, entry.mode = len(content), 0o755
            archive.addfile(entry, io.BytesIO(content))
    return data.getvalue()


def wheel(name: str, commands: list[str], canary: str | None, version: str) -> tuple[str, bytes]:
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    scripts = "[console_scripts]\n" + "".join(f"{command} = {module}:main\n" for command in commands)
    files = {
        f"{module}.py": python_code(canary),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nProvides-Extra: extra\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": scripts,
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for path, content in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(path, content)
    return f"{module}-{version}-py3-none-any.whl", data.getvalue()


class Registry:
    """Serves until the process ends."""

    def __init__(self, canary: str | None):
        version = "9.0.0" if canary else "1.0.0"
        self.npm = {name: tarball(name, commands, canary, version) for name, commands in NPM.items()}
        self.pypi = {name: wheel(name, commands, canary, version) for name, commands in PYPI.items()}
        self.version = version
        registry = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                found = registry.answer(unquote(self.path).lstrip("/"))
                kind, body = found or ("text/plain", b"no")
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        # A launcher that ends before it has read everything is no error of ours.
        server.handle_error = lambda *_: None
        self.url = f"http://127.0.0.1:{server.server_port}/"
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def answer(self, path: str) -> tuple[str, bytes] | None:
        if path.endswith(".tgz") and path[:-4] in self.npm:
            return "application/octet-stream", self.npm[path[:-4]]
        if path in self.npm and not path.endswith("/"):
            return "application/json", self.packument(path)
        parts = [part for part in path.split("/") if part]
        if parts[:1] == ["simple"]:
            parts = parts[1:]
        if len(parts) == 1 and parts[0] in self.pypi:
            name, data = self.pypi[parts[0]]
            digest = hashlib.sha256(data).hexdigest()
            return "text/html", f'<a href="/simple/{parts[0]}/{name}#sha256={digest}">{name}</a>'.encode()
        if len(parts) == 2 and parts[0] in self.pypi and parts[1] == self.pypi[parts[0]][0]:
            return "application/octet-stream", self.pypi[parts[0]][1]
        return None

    def packument(self, name: str) -> bytes:
        data = self.npm[name]
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
        manifest = {"name": name, "version": self.version, "bin": {command: "cli.js" for command in NPM[name]},
                    "dist": {"tarball": f"{self.url}{name}.tgz", "integrity": integrity}}  # fmt: skip
        return json.dumps({"name": name, "dist-tags": {"latest": self.version}, "versions": {self.version: manifest}}).encode()
