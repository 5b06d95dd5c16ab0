"""Launch lines for npx: the product of its options, their spellings, places and values that would run a canary.

A vector is (args, env). `{NAME}` stands for something of the world that `world.py` builds; the names are explained there.
"""

import itertools

# Every option of npm 10 and 11 (`@npmcli/config`), and those that npx itself knows. What a later version adds is unknown to both.
OPTIONS = """
_auth access all allow-same-version allow-directory allow-file allow-git allow-remote allow-scripts also audit audit-level auth-type
before bin-links browser bypass-2fa ca cache cache-max cache-min cafile call cert cidr color commit-hooks cpu
dangerously-allow-all-scripts depth description dev diff diff-ignore-all-space diff-name-only diff-no-prefix diff-dst-prefix
diff-src-prefix diff-text diff-unified dry-run editor engine-strict expect-result-count expect-results fetch-retries fetch-timeout
force foreground-scripts format-package-lock fund git git-tag-version global globalconfig global-style heading https-proxy if-present
ignore-scripts include include-staged include-workspace-root init-module init.module install-links install-strategy json key
legacy-bundling legacy-peer-deps libc link local-address location lockfile-version loglevel logs-dir logs-max long maxsockets message
min-release-age name node-gyp node-options noproxy offline omit omit-lockfile-registry-resolved only optional os otp package
package-lock package-lock-only pack-destination parseable prefer-dedupe prefer-offline prefer-online prefix preid production progress
provenance provenance-file proxy read-only rebuild-bundle registry replace-registry-host save save-bundle save-dev save-exact
save-optional save-peer save-prefix save-prod sbom-format scope script-shell searchopts shell shrinkwrap sign-git-commit
strict-allow-scripts strict-peer-deps strict-ssl tag timing umask unicode update-notifier usage user-agent userconfig version versions
viewer which workspace workspaces workspaces-update yes
always-spawn ignore-existing shell-auto-fallback npm node-arg n no-install quiet q silent verbose v help h d dd ddd s desc local no
porcelain readonly reg iwr a c f g L l m p C S B D E O P ? H w ws y enjoy-by anything-unknown
""".split()

# What a value must be to run something, by the option that takes it.
EVIL = {
    "call": ["{X}"],
    "c": ["{X}"],
    "script-shell": ["{SHELL}"],
    "shell": ["{SHELL}"],
    "node-options": ["--require={JS}", "--import={JS}"],
    "node-arg": ["--require={JS}"],
    "n": ["--require={JS}"],
    "userconfig": ["{RC_CALL}", "{RC_SHELL}", "{RC_NODE}"],
    "globalconfig": ["{RC_SHELL}", "{RC_NODE}"],
    "prefix": ["{DIR}"],
    "C": ["{DIR}"],
    "cache": ["{CACHE}"],
    "registry": ["{EVIL_NPM}"],
    "reg": ["{EVIL_NPM}"],
    "workspace": ["{DIR}", "evil"],
    "w": ["{DIR}"],
    "package": ["{DIR}/pkg", "file:{DIR}/pkg", "./evil"],
    "p": ["{DIR}/pkg", "./evil"],
    "location": ["global", "project"],
    "git": ["{PROGRAM}"],
    "node-gyp": ["{PROGRAM}"],
    "editor": ["{PROGRAM}"],
    "viewer": ["{PROGRAM}"],
    "browser": ["{PROGRAM}"],
    "npm": ["{PROGRAM}"],
    "init-module": ["{JS}"],
    "loglevel": ["silly"],
    "tag": ["evil"],
}
DANGEROUS = ["call", "c", "script-shell", "shell", "node-options", "userconfig", "globalconfig", "prefix", "C", "cache", "registry"]
# Switches that people know, to be denied.
SWALLOWS = ["install", "audit", "color", "fund", "yes", "save", "progress", "update-notifier", "package-lock", "anything-unknown"]
SINGLES = list("acfgLlmpCSBDEOP?Hhvwyndsq")


def prefixes(name):
    """Abbreviations, of which npm takes those that are unambiguous."""
    return [name[:length] for length in range(2, len(name))]


def spelled(name, value, dashes=("--",), separators=("=", " ")):
    for dash, separator in itertools.product(dashes, separators):
        yield [f"{dash}{name}={value}"] if separator == "=" else [f"{dash}{name}", value]


def options():
    for name in OPTIONS:
        for value in EVIL.get(name, []):
            yield from ([*form, "pkg", "serve"] for form in spelled(name, value))
        if name not in EVIL:
            yield [f"--{name}", "{X}", "pkg", "serve"]
        # As a switch before the package, swallowing what follows, and denied.
        dash = "-" if len(name) == 1 else "--"
        yield [f"{dash}{name}", "pkg", "serve"]
        yield [f"{dash}{name}", "-c", "{X}"]
        if name in EVIL or name in SWALLOWS:
            yield [f"--no-{name}", "-c", "{X}"]


def spellings():
    for name in DANGEROUS:
        value = EVIL[name][0]
        rest = [] if name in ("call", "c") else ["pkg"]
        for case in (name, name.upper()):
            for form in spelled(case, value, dashes=("-", "--", "---")):
                yield [*form, *rest]
        for case in (name.capitalize(), name.replace("-", "_"), f"no-{name}", f"no-no-{name}", f"NO-{name}"):
            yield [f"--{case}={value}", *rest]
        for short in prefixes(name):
            yield [f"--{short}", value, *rest]
        # Padded and empty: what a trimming screen and the launcher may read in two ways.
        yield from ([f"{pad}--{name}", value, *rest] for pad in (" ", "\t", "\n", "\u00a0"))
        yield [f"--{name} ", value, *rest]
        yield [f"--{name}", "=", value, *rest]
        yield [f"--{name}=", value, *rest]


def places():
    for name in ["call", "c", "script-shell"]:
        dash = "-" if len(name) == 1 else "--"
        value = EVIL[name][0]
        for form in spelled(name, value, dashes=(dash,)):
            for before in (
                ["-y"], ["--yes"], ["-y", "--yes"], ["-q"], ["--silent"], ["-p", "pkg"], ["-p=pkg"], ["--package", "pkg"],
                ["--package=pkg"], ["--package=@s/p", "-y"], ["--no-install"], ["--no"], ["-n"], ["-n", "val"], ["--prefer-offline"],
                ["--registry", "{NPM}"], ["--loglevel", "silly"], ["--loglevel"], ["--unknown", "v"], ["--unknown"], ["-w", "ws"],
                ["--yes", "true"], ["--yes=false"], ["--yes", "false"], ["-P"], ["--parseable"], ["-C", "{CWD}"], [""], ["-"],
                ["--color", "always"], ["--color"], ["--omit", "dev"], ["--", ""], ["-y", "--"],
            ):  # fmt: skip
                yield [*before, *form]
            for before in (["pkg"], ["-y", "pkg"], ["--", "pkg"], ["-y", "--", "pkg"], ["-p", "pkg", "pkg"], ["--package=@s/p", "bin"],
                           ["pkg", "--"], ["--yes", "@s/p"], ["@s/p", "--", "x"], ["--quiet", "pkg"], ["--silent", "@s/p"],
                           ["--no-install", "pkg"], ["--color", "pkg"], ["--always-spawn", "pkg"], ["--parseable", "pkg"],
                           ["-P", "pkg"], ["-p", "@s/p", "-p", "pkg", "pkg"], ["pkg@1.0.0"], ["pkg@latest"], ["pkg@^1.0.0"]):  # fmt: skip
                yield [*before, *form]


def clusters():
    for one in SINGLES:
        yield [f"-{one}c", "{X}"]
        yield [f"-c{one}", "{X}"]
        yield [f"-{one}p", "pkg", "pkg", "serve"]
        yield [f"-y{one}", "pkg", "serve"]
        yield [f"-{one}", "pkg", "-c", "{X}"]
        yield [f"-y{one}C", "{DIR}", "pkg"]
    yield from ([f"-{letters}", "{X}"] for letters in ("yqc", "ydc", "yyc", "ycy", "dddc", "cc", "cp", "ycp", "-yc", "-yqc"))
    yield from ([f"-{letters}={{X}}"] for letters in ("yc", "dc", "qc", "yqc", "-yc"))
    yield from ([dashes, "-c", "{X}"] for dashes in ("-", "--", "---", "----", "-=", "--=", "-=x"))
    yield from ([dashes, "pkg", "serve"] for dashes in ("-", "--", "---", "----", "-=", "--=", "-=x", ""))


SPECS = [
    "pkg", "pkg@1.0.0", "pkg@latest", "pkg@", "pkg@^1.0.0", "pkg@>=1", "pkg@1.x", "pkg@*", "pkg@~1.0", "@s/p", "@s/p@1.0.0", "@s/p@latest",
    "pkg@evil", "evil", "./evil", "evil/", "../cwd/evil", "{DIR}/pkg", "file:{DIR}/pkg", "file:./evil", "FILE:evil", "evil.tgz",
    "./evil.tgz", "{DIR}/evil.tgz", "file:evil.tgz", "{EVIL_NPM}pkg.tgz", "pkg@file:evil", "pkg@./evil", "pkg@.", "pkg@..", "pkg@evil.tgz",
    "pkg@{DIR}/pkg", "pkg@{EVIL_NPM}pkg.tgz", "pkg@npm:evil", "alias@npm:evil@1.0.0", "npm:evil", "git+file://{REPO}", "git+file://{REPO}#main",
    "pkg@git+file://{REPO}", "git+ssh://git@127.0.0.1/x", "git://127.0.0.1/x", "git+http://127.0.0.1:9/x", "~/evil", "pkg@~/evil", ".", "..",
    "/", "", " pkg", "pkg ", "Pkg", "PKG", "-pkg", "_pkg", ".pkg", "pkg;x", "$(touch {CANARY})", "`touch {CANARY}`", "pkg$(touch {CANARY})",
    "'; {X}; '", "pkg'; {X}; '", "pkg\n{X}", "{X}", "pkg@$(touch {CANARY})", "pkg@1;{X}", "pkg@1 || {X}", "@s/", "@/p", "@s", "@s/p/q", "a//b",
    "pkg#x", "pkg?x", "pkg%20x", "C:evil", "evil@file:evil", "@s/p@file:evil", "workspace:evil", "nonexistent", "node_modules",
    "constructor", "__proto__",
]  # fmt: skip


def specs():
    for spec in SPECS:
        yield ["-y", spec, "serve"]
        yield ["-y", "-p", spec, "pkg", "serve"]
    yield from (["-y", "-p", spec] for spec in ("pkg", "@s/p", "pkg@1.0.0"))
    yield from ([], ["-y"], ["--"], ["-y", "--"], ["-q"], ["--no-install"], ["-p"], ["--package"], ["--package="], ["-p="], ["-p", "--", "pkg"])
    yield from (["-p", "-y", "pkg"], ["-p", "-c", "{X}"], ["--package", "--call", "{X}"], ["-p=-c", "pkg"], ["-p", "pkg", "-p", "@s/p"])


# With a package that was named apart, the command is looked up in PATH as well.
PROGRAMS = [
    ["sh", "-c", "{X}"], ["bash", "-c", "{X}"], ["env", "{PROGRAM}"], ["env", "sh", "-c", "{X}"], ["node", "-e", "{JSCODE}"],
    ["node", "--eval={JSCODE}"], ["node", "-pe", "{JSCODE}"], ["node", "--require={JS}", "-v"], ["node", "{JS}"], ["npm", "exec", "-c", "{X}"],
    ["npx", "-c", "{X}"], ["xargs", "{PROGRAM}"], ["find", "{DIR}", "-maxdepth", "0", "-exec", "{PROGRAM}", ";"], ["awk", "BEGIN{{AWK}}"],
    ["sed", "1e {X}"], ["perl", "-e", "system('{X}')"], ["python3", "-c", "{PYCODE}"], ["{PROGRAM}"], ["./evil/run"], ["../cwd/evil/run"],
    ["evil/run"], ["timeout", "9", "{PROGRAM}"], ["nohup", "{PROGRAM}"], ["nice", "{PROGRAM}"], ["time", "{PROGRAM}"], ["setsid", "{PROGRAM}"],
    ["stdbuf", "-o0", "{PROGRAM}"], ["git", "-c", "alias.x=!{X}", "x"], ["tar", "cf", "/dev/null", "{JS}", "--checkpoint=1",
    "--checkpoint-action=exec={X}"], ["make", "-f", "{MAKE}"], ["dash", "-c", "{X}"], ["exec", "{PROGRAM}"], ["eval", "{X}"],
    ["command", "{PROGRAM}"], ["source", "{SHELL}"], ["SH", "-c", "{X}"], ["sh "], ["other", "serve"], ["pkg", "-c", "{X}"],
    ["env", "-S", "sh -c '{X}'"], ["busybox", "sh", "-c", "{X}"], ["corepack", "x"], ["nodejs", "-e", "{JSCODE}"], ["node"], ["sh"],
]  # fmt: skip


def programs():
    for program in PROGRAMS:
        yield ["-y", "-p", "pkg", *program]
        yield ["-y", *program]


NAMES = """
NODE_OPTIONS node_options NODE_PATH NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED NODE_REPL_EXTERNAL_MODULE NODE NODE_ENV NODE_DEBUG
BASH_ENV ENV SHELL SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND IFS CDPATH LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH LD_DEBUG DYLD_INSERT_LIBRARIES
PATH HOME PREFIX DESTDIR USERPROFILE APPDATA LOCALAPPDATA XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME TMPDIR PWD OLDPWD INIT_CWD
PYTHONPATH PYTHONHOME PYTHONSTARTUP PERL5OPT PERL5LIB RUBYOPT RUBYLIB GIT_SSH_COMMAND GIT_SSH GIT_ASKPASS SSH_ASKPASS GIT_EXEC_PATH
GIT_CONFIG_GLOBAL GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_TEMPLATE_DIR EDITOR VISUAL PAGER BROWSER ComSpec COMSPEC HTTP_PROXY HTTPS_PROXY
http_proxy NPM_TOKEN API_KEY DEBUG LANG TZ CI npm_execpath npm_node_execpath npm_package_name npm_lifecycle_event npm_command
OPENSSL_CONF OPENSSL_MODULES SSL_CERT_FILE GCONV_PATH LOCPATH NODE_ICU_DATA NODE_V8_COVERAGE NODE_COMPILE_CACHE NODE_GYP_FORCE_PYTHON
COREPACK_HOME NVM_DIR VOLTA_HOME
""".split()
NAME_VALUES = {
    "NODE_OPTIONS": ["--require={JS}", "--import={JS}", "--max-old-space-size=512"],
    "node_options": ["--require={JS}"],
    "NODE_PATH": ["{DIR}/node_modules"],
    "PATH": ["{DIR}/bin:{PATH}", "{DIR}/bin"],
    "HOME": ["{EVIL_HOME}"],
    "PREFIX": ["{EVIL_PREFIX}"],
    "DESTDIR": ["{EVIL_PREFIX}"],
    "XDG_CONFIG_HOME": ["{EVIL_HOME}"],
    "LD_PRELOAD": ["{DIR}/evil.so"],
    "SHELL": ["{SHELL}"],
    "ENV": ["{SHELL}"],
    "BASH_ENV": ["{SHELL}"],
    "SHELLOPTS": ["xtrace"],
    "PS4": ["$({X})"],
    "HTTP_PROXY": ["{EVIL_NPM}"],
    "http_proxy": ["{EVIL_NPM}"],
    "NODE_COMPILE_CACHE": ["{DIR}"],
}


def names():
    line = ["-y", "pkg", "serve"]
    for name in NAMES:
        for value in NAME_VALUES.get(name, ["{PROGRAM}"]):
            yield line, {name: value}
    yield line, {"NODE_OPTIONS=--require={JS} ": "x"}
    yield line, {"npm_config_location": "global"}
    yield line, {"SHELLOPTS": "xtrace", "PS4": "$({X})"}
    yield line, {"BASH_FUNC_pkg%%": "() { {X}; }"}
    for name, values in EVIL.items():
        for value in values[:2]:
            # `call` refuses arguments, so it is tried without a package too.
            yield line, {f"npm_config_{name.replace('-', '_')}": value}
            if name in DANGEROUS:
                yield ["-y"], {f"npm_config_{name}": value}
    for name in ("yes", "loglevel", "offline", "global", "ignore-scripts", "audit", "update-notifier", "color", "anything-unknown"):
        yield line, {f"npm_config_{name.replace('-', '_')}": "true"}
    for name in ["call", "script-shell", "node-options", "userconfig", "globalconfig", "prefix", "registry", "cache", "package"]:
        value = EVIL[name][0]
        low = f"npm_config_{name.replace('-', '_')}"
        args = [] if name == "call" else line
        for spelling in sorted({
            low.upper(), low.title(), f"NPM_CONFIG_{name}", f"npm_config_{name}", f"npm_config_{name.upper()}", f"Npm_Config_{name}",
            f"npm_config__{name}", f"npm_config_{name}_", f" {low}", f"{low} ", f"npm-config-{name}", f"NPM_{name}", f"npmconfig_{name}",
            f"npm_config_{name.replace('-', '')}", f"npm_config_no_{name}", f"npm_config_{name[:4]}", f"npm_config.{name}", f"npm_{low}",
            f"npm_config_--{name}", f"npm_package_config_{name}", f"NPM_CONFIG_{name.replace('-', '__')}", f"nPm_cOnFiG_{low[11:]}",
        }):  # fmt: skip
            yield args, {spelling: value}


def vectors():
    for args in itertools.chain(options(), spellings(), places(), clusters(), specs(), programs()):
        yield args, {}
    yield from names()
