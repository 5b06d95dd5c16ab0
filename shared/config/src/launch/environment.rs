//! Names in the environment by which a program runs code when it starts, or a launcher is told what to run or where to get it
//! from (reference 9.3). Compared without case, as npm and some systems do; values do not matter.
//!
//! Beyond the reference: `HOME`, `PATH` and the folders of config files, because a launcher reads its own config there and was
//! seen to run what it names. `LD_LIBRARY_PATH`, `DYLD_LIBRARY_PATH` and `NODE_PATH` stay allowed as in the reference: they
//! run something only when a needed library is planted there.

use super::{Place, Refusal, Why, listed};

/// Refused by their whole name.
const NAMES: &[&str] = &[
    // Loaders.
    "LD_PRELOAD LD_AUDIT LD_PRELOAD_32 LD_PRELOAD_64 GCONV_PATH OPENSSL_CONF OPENSSL_MODULES OPENSSL_ENGINES",
    // Shells.
    "BASH_ENV ENV SHELLOPTS BASHOPTS PROMPT_COMMAND PS4 IFS ZDOTDIR",
    // Where programs, and config files that name programs, are looked for.
    "PATH HOME PREFIX XDG_CONFIG_HOME XDG_CONFIG_DIRS XDG_DATA_HOME XDG_CACHE_HOME",
    // Interpreters.
    "NODE_OPTIONS NODE_REPL_EXTERNAL_MODULE NODE_COMPILE_CACHE NODE_GYP_FORCE_PYTHON BUN_OPTIONS BUN_INSPECT_PRELOAD \
     PYTHON_PRESITE VIRTUAL_ENV CONDA_PREFIX PERL5OPT PERL5LIB PERL5DB PERLLIB RUBYOPT RUBYLIB PHPRC PHP_INI_SCAN_DIR \
     LUA_INIT JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS DOTNET_STARTUP_HOOKS ERL_FLAGS ERL_AFLAGS ERL_ZFLAGS \
     R_PROFILE R_PROFILE_USER TS_NODE_COMPILER TS_NODE_REQUIRE TS_NODE_PROJECT",
    // What a launcher starts to get a package.
    "GIT_SSH GIT_SSH_COMMAND GIT_ASKPASS SSH_ASKPASS GIT_PROXY_COMMAND GIT_EXTERNAL_DIFF GIT_EXEC_PATH GIT_EDITOR \
     GIT_SEQUENCE_EDITOR GIT_PAGER GIT_TEMPLATE_DIR GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR GIT_CONFIG CC CXX MAKEFLAGS",
];
/// Refused by how they begin.
const PREFIXES: &[&str] = &["NPM_CONFIG_", "PIP_", "UV_", "BASH_FUNC_", "GIT_CONFIG_", "COREPACK_", "DYLD_"];
/// Not refused although they begin like that.
const HARMLESS: &[&str] = &[
    "DYLD_LIBRARY_PATH DYLD_FALLBACK_LIBRARY_PATH UV_COMPILE_BYTECODE UV_CONCURRENT_BUILDS UV_CONCURRENT_DOWNLOADS \
    UV_CONCURRENT_INSTALLS UV_EXCLUDE_NEWER UV_HTTP_RETRIES UV_HTTP_TIMEOUT UV_ISOLATED UV_LINK_MODE UV_LOG_CONTEXT \
    UV_MANAGED_PYTHON UV_NATIVE_TLS UV_NO_BUILD UV_NO_CACHE UV_NO_CONFIG UV_NO_ENV_FILE UV_NO_MANAGED_PYTHON \
    UV_NO_PROGRESS UV_NO_SOURCES UV_OFFLINE UV_PRERELEASE UV_PYTHON_DOWNLOADS UV_PYTHON_PREFERENCE UV_RESOLUTION \
    UV_SYSTEM_CERTS PYTHONUNBUFFERED PYTHONIOENCODING PYTHONUTF8 PYTHONDONTWRITEBYTECODE PYTHONHASHSEED \
    PYTHONNOUSERSITE PYTHONSAFEPATH PYTHONFAULTHANDLER PYTHONDEVMODE PYTHONOPTIMIZE PYTHONTRACEMALLOC \
    PYTHONLEGACYWINDOWSSTDIO PYTHONLEGACYWINDOWSFSENCODING PYTHONASYNCIODEBUG PYTHONCOERCECLOCALE PYTHONVERBOSE \
    PYTHONINTMAXSTRDIGITS PYTHONNODEBUGRANGES",
];

pub(super) fn judge(names: &[&str]) -> Result<(), Refusal> {
    for given in names {
        // A name with `=` in it would set another variable than it says.
        let legal = |character: char| character.is_ascii_alphanumeric() || "_.-()".contains(character);
        let name = given.trim();
        if name.is_empty() || !name.chars().all(legal) {
            return Err(Refusal { place: Place::Environment, why: Why::NoName });
        }
        if runs_code(&name.to_ascii_uppercase()) {
            let why = Why::Environment { name: name.to_owned() };
            return Err(Refusal { place: Place::Env((*given).to_owned()), why });
        }
    }
    Ok(())
}

fn runs_code(name: &str) -> bool {
    // Python reads `PYTHON` with a letter behind it; `PYTHON_…` is mostly somebody else's.
    let python = name
        .strip_prefix("PYTHON")
        .is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_alphabetic()));
    let prefixed = python || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    listed(NAMES, name) || (prefixed && !listed(HARMLESS, name))
}
