"""Launch lines for uvx: the product of its options, their spellings, places and values that would run a canary.

A vector is (args, env). `{NAME}` stands for something of the world that `world.py` builds; the names are explained there.
"""

import itertools

# Every option of `uvx --help`, those it hides, and some that other parts of uv know.
OPTIONS = """
from with with-editable with-requirements constraints constraint build-constraints build-constraint overrides override isolated env-file
no-env-file lfs python-platform torch-backend version index default-index index-url extra-index-url find-links no-index index-strategy
keyring-provider upgrade upgrade-package upgrade-group resolution prerelease pre prerelease-package fork-strategy exclude-newer
exclude-newer-package no-sources no-sources-package reinstall reinstall-package link-mode compile-bytecode config-setting
config-settings config-settings-package no-build-isolation no-build-isolation-package no-build no-build-package no-binary
no-binary-package require-build-hashes no-cache cache-dir refresh refresh-package python managed-python no-managed-python
no-python-downloads python-preference python-fetch allow-python-downloads system quiet verbose color no-color system-certs native-tls
offline allow-insecure-host trusted-host no-progress directory project config-file no-config preview preview-features no-preview help
show-resolution generate-shell-completion call eval print shell node-arg node-options script module gui with-sources python-version
extra-index find-link anything-unknown
""".split()

EVIL = {
    "from": ["{WHEEL}", "./evil", "{DIR}/pyproject", "pkg @ file://{WHEEL}", "git+file://{PYREPO}", "file://{WHEEL}", "pkg@{WHEEL}"],
    "with": ["{WHEEL}", "other", "./evil", "pkg @ file://{WHEEL}", "pkg,other"],
    "with-editable": ["{DIR}/pyproject", "./evil"],
    "with-requirements": ["{REQS}", "{REQS_INDEX}"],
    "constraints": ["{REQS}", "{REQS_INDEX}"],
    "constraint": ["{REQS}"],
    "build-constraints": ["{REQS}"],
    "overrides": ["{REQS}", "{REQS_INDEX}"],
    "override": ["{REQS}"],
    "env-file": ["{ENV_FILE}"],
    "index": ["{EVIL_PYPI}"],
    "default-index": ["{EVIL_PYPI}"],
    "index-url": ["{EVIL_PYPI}"],
    "extra-index-url": ["{EVIL_PYPI}"],
    "find-links": ["{LINKS}"],
    "python": ["{PYTHON}", "./evil/run", "{DIR}/venv", "evilpython", "3.12", "3", "python3", "cpython", ">=3.8", "python3.11"],
    "cache-dir": ["{UV_CACHE}"],
    "directory": ["{DIR}"],
    "project": ["{DIR}"],
    "config-file": ["{TOML}"],
    "keyring-provider": ["subprocess"],
    "color": ["never"],
    "resolution": ["lowest"],
    "prerelease": ["allow"],
    "index-strategy": ["unsafe-best-match"],
    "link-mode": ["copy"],
    "exclude-newer": ["2030-01-01"],
    "refresh-package": ["pkg"],
    "upgrade-package": ["pkg"],
    "reinstall-package": ["pkg"],
    "no-build-package": ["pkg"],
    "no-binary-package": ["pkg"],
    "torch-backend": ["cpu"],
    "python-platform": ["linux"],
    "python-preference": ["system"],
    "config-setting": ["a=b"],
    "allow-insecure-host": ["127.0.0.1"],
    "fork-strategy": ["fewest"],
}
SHORT = {"w": "with", "c": "constraints", "b": "build-constraints", "i": "index-url", "f": "find-links", "P": "upgrade-package",
         "C": "config-setting", "p": "python", "U": None, "n": None, "q": None, "v": None, "h": None, "V": None, "e": None, "m": None,
         "x": None}  # fmt: skip
DANGEROUS = ["from", "with", "with-editable", "with-requirements", "constraints", "overrides", "env-file", "index", "default-index",
             "index-url", "extra-index-url", "find-links", "python", "cache-dir", "directory", "config-file"]  # fmt: skip


def spelled(name, value, dashes=("--",), separators=("=", " ")):
    for dash, separator in itertools.product(dashes, separators):
        yield [f"{dash}{name}={value}"] if separator == "=" else [f"{dash}{name}", value]


def options():
    for name in OPTIONS:
        for value in EVIL.get(name, ["{X}"]):
            yield from ([*form, "pkg", "serve"] for form in spelled(name, value))
        yield [f"--{name}", "pkg", "serve"]
        yield [f"--{name}", "--from", "{WHEEL}", "pkg"]
        yield [f"--no-{name}", "pkg", "serve"]
    for letter, name in SHORT.items():
        for value in EVIL.get(name, ["{X}"]):
            yield [f"-{letter}", value, "pkg", "serve"]
            yield [f"-{letter}={value}", "pkg", "serve"]
            yield [f"-{letter}{value}", "pkg", "serve"]
            yield [f"-q{letter}", value, "pkg", "serve"]
        yield [f"-{letter}", "pkg", "serve"]
        yield [f"-q{letter}", "pkg", "serve"]


def spellings():
    for name in DANGEROUS:
        value = EVIL[name][0]
        for case in sorted({name.upper(), name.capitalize(), name.replace("-", "_"), name[:-1], name[:3], name + "s", f"no-{name}"}):
            yield from ([*form, "pkg", "serve"] for form in spelled(case, value))
        for form in spelled(name, value, dashes=("-", "---")):
            yield [*form, "pkg", "serve"]
        yield from ([f"{pad}--{name}", value, "pkg"] for pad in (" ", "\t", "\n", "\u00a0"))
        yield [f"--{name} ", value, "pkg"]
        yield [f"--{name}=", value, "pkg"]
        yield [f"--{name}", "=", value, "pkg"]
        yield [f"--{name}", "--", value, "pkg"]


def places():
    for name in DANGEROUS:
        value = EVIL[name][0]
        for form in spelled(name, value):
            for before in (["-q"], ["--from", "pkg"], ["--from=pkg"], ["-p", "3"], ["--python", "3"], ["--isolated"], ["--offline"], ["--"],
                           ["-"], [""], ["--color", "never"], ["--quiet", "--verbose"], ["-n"], ["--refresh"], ["--no-config"]):  # fmt: skip
                yield [*before, *form, "pkg", "serve"]
            for before in (["pkg"], ["--", "pkg"], ["--from", "pkg", "pkg"], ["-q", "pkg"], ["pkg", "--"], ["pkg@1.0.0"], ["pkg==1.0.0"],
                           ["--with", "other", "pkg"]):  # fmt: skip
                yield [*before, *form]


SPECS = [
    "pkg", "pkg@1.0.0", "pkg@latest", "pkg==1.0.0", "pkg>=1", "pkg>=1,<2", "pkg~=1.0", "pkg!=2", "pkg[extra]", "pkg[extra]==1.0.0", "pkg[]",
    "pkg[a,b]", "Pkg", "PKG", "pkg.x", "p_kg", "pkg@", "pkg@>=1", "pkg @ file://{WHEEL}", "pkg@file://{WHEEL}", "pkg@{WHEEL}", "{WHEEL}",
    "./evil", "evil", "evil/", ".", "..", "{DIR}/pyproject", "file://{WHEEL}", "file:{WHEEL}", "FILE://{WHEEL}", "git+file://{PYREPO}",
    "git+file://{PYREPO}@main", "git+file://{PYREPO}#subdirectory=.", "git+ssh://git@127.0.0.1/x", "git+http://127.0.0.1:9/x", "{EVIL_PYPI}",
    "{EVIL_PYPI}pkg/pkg-9.0.0-py3-none-any.whl", "pkg @ {EVIL_PYPI}pkg/pkg-9.0.0-py3-none-any.whl", "evil.py", "./evil.py", "{DIR}/evil.py",
    "pkg; python_version>'3'", "pkg ; python_version > '3'", "", " pkg", "pkg ", "-pkg", "_pkg", ".pkg", "pkg;x", "$(touch {CANARY})",
    "`touch {CANARY}`", "pkg\n{X}", "{X}", "~/evil", "pkg,other", "pkg#x", "pkg?x", "evil-1.0.0-py3-none-any.whl", "nonexistent", "other",
    "python", "python3", "python@3", "python@3.12", "python3.11", "sh", "noscript", "git+https://127.0.0.1:9/x", "evil.whl", "pkg @ ./evil",
    "pkg@./evil", "pkg @ evil", "C:evil", "\\\\host\\evil",
]  # fmt: skip


def specs():
    for spec in SPECS:
        yield [spec, "serve"]
        yield ["--from", spec, "pkg", "serve"]
        yield [f"--from={spec}", "pkg"]
        yield ["--with", spec, "pkg"]
    yield from ([], ["--"], ["-q"], ["--from", "pkg"], ["--from"], ["--from="], ["--with", "pkg"], ["--from", "pkg", "--"], ["--offline"])
    yield from (["--from", "-q", "pkg"], ["--from", "--with", "pkg"], ["--from=--with", "pkg"], ["--from", "pkg", "--from", "{WHEEL}", "pkg"])


# The command is looked up in the package's environment and then in PATH.
PROGRAMS = [
    ["sh", "-c", "{X}"], ["bash", "-c", "{X}"], ["env", "{PROGRAM}"], ["python", "-c", "{PYCODE}"], ["python3", "-c", "{PYCODE}"],
    ["python", "-Ic", "{PYCODE}"], ["python", "{DIR}/evil.py"], ["python", "-m", "pkg", "-c", "{X}"], ["python", "-m", "timeit", "{PYCODE}"],
    ["python", "-X", "dev", "-c", "{PYCODE}"], ["python", "-W", "ignore", "-c", "{PYCODE}"], ["python@3", "-c", "{PYCODE}"],
    ["python", "-m", "pdb", "-c", "{X}"], ["pip", "install", "{WHEEL}"], ["node", "-e", "{JSCODE}"], ["xargs", "{PROGRAM}"], ["{PROGRAM}"],
    ["./evil/run"], ["evil/run"], ["../cwd/evil/run"], ["find", "{DIR}", "-maxdepth", "0", "-exec", "{PROGRAM}", ";"], ["timeout", "9", "{PROGRAM}"],
    ["nohup", "{PROGRAM}"], ["perl", "-e", "system('{X}')"], ["awk", "BEGIN{{AWK}}"], ["git", "-c", "alias.x=!{X}", "x"], ["make", "-f", "{MAKE}"],
    ["uv", "run", "{DIR}/evil.py"], ["uvx", "--from", "{WHEEL}", "pkg"], ["dash", "-c", "{X}"], ["setsid", "{PROGRAM}"], ["nice", "{PROGRAM}"],
    ["pkg", "-c", "{X}"], ["other", "serve"], ["pkg.exe", "serve"], ["python"], ["sh"], ["pythonw", "-c", "{PYCODE}"], ["PYTHON", "-c", "{PYCODE}"],
    ["env", "-S", "sh -c '{X}'"], ["busybox", "sh", "-c", "{X}"], ["python3.11", "-c", "{PYCODE}"], ["sh ", "-c", "{X}"], [" sh", "-c", "{X}"],
]  # fmt: skip


def programs():
    for program in PROGRAMS:
        yield ["--from", "pkg", *program]
        yield ["--from", "pkg", "--", *program]
        yield ["--with", "pkg", *program]
        yield program


NAMES = """
UV_AZURE_ENDPOINT_URL UV_BREAK_SYSTEM_PACKAGES UV_BUILD_CONSTRAINT UV_CACHE_DIR UV_COMPILE_BYTECODE UV_CONCURRENT_DOWNLOADS
UV_CONFIG_FILE UV_CONSTRAINT UV_CREDENTIALS_DIR UV_DEFAULT_INDEX UV_ENV_FILE UV_EXCLUDE_NEWER UV_EXTRA_INDEX_URL UV_FIND_LINKS
UV_FORK_STRATEGY UV_FROZEN UV_GIT_LFS UV_HTTP_RETRIES UV_HTTP_TIMEOUT UV_INDEX UV_INDEX_STRATEGY UV_INDEX_URL UV_INSECURE_HOST
UV_INSECURE_NO_ZIP_VALIDATION UV_INSTALL_DIR UV_ISOLATED UV_KEYRING_PROVIDER UV_LINK_MODE UV_LOCKED UV_LOG_CONTEXT UV_MANAGED_PYTHON
UV_NATIVE_TLS UV_NO_BINARY UV_NO_BUILD UV_NO_BUILD_ISOLATION UV_NO_CACHE UV_NO_CONFIG UV_NO_ENV_FILE UV_NO_MANAGED_PYTHON
UV_NO_PROGRESS UV_NO_SOURCES UV_NO_VERIFY_HASHES UV_OFFLINE UV_OVERRIDE UV_PRERELEASE UV_PREVIEW UV_PREVIEW_FEATURES UV_PROJECT
UV_PROJECT_ENVIRONMENT UV_PYPY_INSTALL_MIRROR UV_PYTHON UV_PYTHON_BIN_DIR UV_PYTHON_DOWNLOADS UV_PYTHON_DOWNLOADS_JSON_URL
UV_PYTHON_INSTALL_DIR UV_PYTHON_INSTALL_MIRROR UV_PYTHON_PREFERENCE UV_PYTHON_SEARCH_PATH UV_REQUIRE_HASHES UV_RESOLUTION
UV_SHOW_RESOLUTION UV_SYSTEM_CERTS UV_SYSTEM_PYTHON UV_TOOL_BIN_DIR UV_TOOL_DIR UV_TORCH_BACKEND UV_WITH UV_WITH_EDITABLE
UV_WORKING_DIR UV UV_PATH UVX UV_INDEX_EVIL_USERNAME
PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_CONFIG_FILE PIP_FIND_LINKS PIP_REQUIRE_VIRTUALENV VIRTUAL_ENV CONDA_PREFIX
PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONUSERBASE PYTHONWARNINGS PYTHONBREAKPOINT PYTHONINSPECT PYTHONEXECUTABLE PYTHONPLATLIBDIR
PYTHONPYCACHEPREFIX PYTHONUNBUFFERED PYTHONIOENCODING PYTHONUTF8 PYTHONDONTWRITEBYTECODE PYTHONSAFEPATH PYTHONNOUSERSITE pythonpath
PYTHON_PRESITE PYTHONCASEOK PYTHONOPTIMIZE PYTHONDEVMODE PYTHON_COLORS PYTHONHASHSEED
PATH HOME XDG_CONFIG_HOME XDG_CONFIG_DIRS XDG_DATA_HOME XDG_CACHE_HOME XDG_BIN_HOME USERPROFILE APPDATA LOCALAPPDATA PWD TMPDIR
LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH BASH_ENV ENV SHELL NODE_OPTIONS SSL_CERT_FILE HTTP_PROXY ALL_PROXY NO_COLOR RUST_LOG LANG API_KEY
GIT_SSH_COMMAND GIT_SSH GIT_ASKPASS SSH_ASKPASS GIT_EXEC_PATH GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_TEMPLATE_DIR GIT_DIR
GIT_EXTERNAL_DIFF GIT_EDITOR GIT_PAGER GIT_PROXY_COMMAND OPENSSL_CONF OPENSSL_MODULES GCONV_PATH CC CFLAGS MAKEFLAGS BROWSER EDITOR
""".split()
NAME_VALUES = {
    "UV_CACHE_DIR": ["{UV_CACHE}"],
    "UV_CONFIG_FILE": ["{TOML}"],
    "UV_CONSTRAINT": ["{REQS}"],
    "UV_OVERRIDE": ["{REQS}"],
    "UV_BUILD_CONSTRAINT": ["{REQS}"],
    "UV_ENV_FILE": ["{ENV_FILE}"],
    "UV_FIND_LINKS": ["{LINKS}"],
    "UV_PYTHON": ["{PYTHON}", "{DIR}/venv", "3"],
    "UV_PYTHON_SEARCH_PATH": ["{DIR}/bin"],
    "UV_PYTHON_INSTALL_DIR": ["{DIR}/pythons"],
    "UV_TOOL_DIR": ["{TOOLS}"],
    "UV_WORKING_DIR": ["{DIR}"],
    "UV_PROJECT": ["{DIR}"],
    "UV_KEYRING_PROVIDER": ["subprocess"],
    "PIP_CONFIG_FILE": ["{DIR}/pip.conf"],
    "PYTHONPATH": ["{DIR}/site"],
    "pythonpath": ["{DIR}/site"],
    "PYTHONHOME": ["{DIR}"],
    "PYTHONUSERBASE": ["{DIR}/userbase"],
    "PYTHONSTARTUP": ["{DIR}/evil.py"],
    "PYTHONWARNINGS": ["error::evil.Evil", "ignore"],
    "PYTHONEXECUTABLE": ["{PROGRAM}"],
    "VIRTUAL_ENV": ["{DIR}/venv"],
    "CONDA_PREFIX": ["{DIR}/venv"],
    "PATH": ["{DIR}/bin:{PATH}", "{DIR}/bin"],
    "HOME": ["{EVIL_HOME}"],
    "XDG_CONFIG_HOME": ["{EVIL_HOME}/.config"],
    "XDG_CONFIG_DIRS": ["{EVIL_HOME}/.config"],
    "XDG_CACHE_HOME": ["{EVIL_HOME}/.cache"],
    "XDG_DATA_HOME": ["{EVIL_HOME}/.local/share"],
    "LD_PRELOAD": ["{DIR}/evil.so"],
    "HTTP_PROXY": ["{EVIL_PYPI}"],
    "ALL_PROXY": ["{EVIL_PYPI}"],
}


def default(name):
    if "INDEX" in name or name.endswith(("_URL", "_MIRROR")):
        return ["{EVIL_PYPI}"]
    return ["1"] if name.startswith("UV_NO") or name in ("UV_OFFLINE", "UV_ISOLATED", "UV_PREVIEW") else ["{PROGRAM}"]


def names():
    for name in NAMES:
        for value in NAME_VALUES.get(name, default(name)):
            yield ["pkg", "serve"], {name: value}
            # A package that is not cached, so that it is looked for.
            yield ["fresh", "serve"], {name: value}
    for name in ["UV_INDEX_URL", "UV_CONFIG_FILE", "UV_PYTHON", "PYTHONPATH", "UV_ENV_FILE"]:
        value = NAME_VALUES.get(name, default(name))[0]
        for spelling in sorted({name.lower(), name.title(), f" {name}", f"{name} ", name.replace("_", "-"), f"{name}=" + value}):
            yield ["pkg", "serve"], {spelling: value}
    for name, value in {"GIT_SSH_COMMAND": "{X};false", "GIT_CONFIG_GLOBAL": "{GITCONFIG}", "GIT_EXEC_PATH": "{DIR}/bin", "GIT_TEMPLATE_DIR":
                        "{TEMPLATE}", "PATH": "{DIR}/bin:{PATH}", "GIT_SSH": "{PROGRAM}", "GIT_ASKPASS": "{PROGRAM}"}.items():  # fmt: skip
        for url in ("git+ssh://git@127.0.0.1/x", "git+file://{GOODREPO}"):
            yield ["--from", url, "pkg"], {name: value}
    yield ["--from", "git+file://{GOODREPO}", "pkg"], {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.hooksPath", "GIT_CONFIG_VALUE_0": "{TEMPLATE}/hooks"}
    yield ["--from", "git+file://{GOODREPO}", "pkg"], {"GIT_CONFIG_PARAMETERS": "'core.hooksPath={TEMPLATE}/hooks'"}


def vectors():
    for args in itertools.chain(options(), spellings(), places(), specs(), programs()):
        yield args, {}
    yield from names()
