//! What a launcher is to run: a package by name, or a command of one that was named before it.

use super::options::Region;
use super::source::{Ecosystem, is_archive, is_package, name_of, words_of};
use super::{Refusal, Why, Word, base, interpreter, listed};

/// Shells, interpreters and programs that run what their arguments say. With `-p` or `--from` a launcher looks a command up in
/// the package and then in PATH (measured), so a command of such a name is not the package's; and as packages they do the
/// same. Interpreters whose options are known are screened instead (`interpreter`).
const RUNNERS: &[&str] = &[
    "sh yash posh rc es osh ysh oksh ion murex bash dash zsh ksh mksh fish csh tcsh ash rbash busybox toybox pwsh powershell cmd elvish nu xonsh env xargs \
    parallel find fd awk gawk mawk nawk sed perl ruby irb php lua luajit tclsh wish expect guile racket sbcl clisp \
    emacs vi vim nvim ex ed nano less more man git hg svn make gmake cmake ninja just task ssh scp sftp rsync tar \
    zip unzip cpio 7z curl wget nc ncat netcat socat telnet docker podman nerdctl kubectl helm npm npx pnpm pnpx \
    yarn yarnpkg bunx corepack uv uvx pip pip3 pipx pipenv poetry pdm hatch conda mamba nox tox nohup setsid timeout \
    time nice ionice chrt taskset stdbuf unbuffer script scriptreplay watch screen tmux sudo su doas runuser pkexec \
    chroot unshare nsenter systemd-run flock strace ltrace gdb lldb valgrind gcc cc g++ clang go cargo rustc java \
    jshell javac kotlin scala groovy swift dotnet csharp mono rscript r julia ghc runghc ghci erl elixir iex mix gem \
    bundle rake ocaml crystal nim zig gnuplot sqlite3 psql mysql xdg-open open start at batch crontab run-parts \
    start-stop-daemon ipython ipython3 ptpython bpython jupyter bun deno zx shx cross-env cross-env-shell env-cmd \
    dotenv dotenv-cli dotenvx execa-cli concurrently conc nodemon supervisor forever pm2 npm-run-all run-s run-p \
    onchange chokidar-cli chokidar wait-on start-server-and-test husky lerna nx turbo gulp grunt ld ld-linux eval \
    exec command source builtin honcho foreman supergateway-shell fabric invoke",
];

pub(super) fn judge(
    command: &str,
    ecosystem: Ecosystem,
    region: &Region<'_>,
    words: &[Word<'_>],
) -> Result<(), Refusal> {
    let at = region.program_at;
    let program = match words.get(at) {
        Some(Word::Text(text)) => *text,
        Some(Word::Variable) => return Err(Refusal::arg(at, Why::Variable { command: command.to_owned() })),
        None => return Err(Refusal::arg(at, Why::NoPackage { command: command.to_owned() })),
    };
    let name = if region.sources.is_empty() {
        if !is_package(ecosystem, program) {
            let why = Why::Package { command: command.to_owned(), must: ecosystem.must() };
            return Err(Refusal::arg(at, why));
        }
        name_of(ecosystem, program)
    } else {
        // `python@3.12` is uvx's own way to ask for an interpreter.
        let name = program.split_once('@').map_or(program, |(name, _)| name);
        if !is_command(name) {
            let must = "must be followed by a single command of the package, without slashes";
            return Err(Refusal::arg(at, Why::Package { command: command.to_owned(), must }));
        }
        name
    };
    if listed(RUNNERS, &interpreter::plain(name)) {
        return Err(Refusal::arg(at, Why::Program { program: name.to_owned() }));
    }
    if interpreter::is_known(name) {
        return interpreter::judge_module(name, words, at + 1);
    }
    let apart = !region.sources.is_empty() && !region.sources.iter().any(|source| related(name, source));
    if apart && words.len() > at + 1 {
        return Err(Refusal::arg(at, Why::Unrelated { program: name.to_owned() }));
    }
    Ok(())
}

fn is_command(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        && !is_archive(name)
}

/// Whether a command may be one of that package: it has a word of three letters or more in common with it, or `mcp` in it.
/// Another one would be looked up in PATH, and no list knows every program of every machine: without arguments it is taken, with
/// some it could be told to run anything.
fn related(program: &str, source: &str) -> bool {
    let joined = |text: &str| words_of(text).collect::<String>();
    let (program, source) = (base(program), source.to_ascii_lowercase());
    // Of a URL only what names the repository: a scheme and a host have words that programs begin with, such as `git`.
    let path = source
        .split_once("://")
        .map_or(source.as_str(), |(_, rest)| rest.split_once('/').map_or("", |(_, path)| path));
    let path = path.split_once(':').map_or(path, |(_, repository)| repository);
    let package = words_of(path).collect::<Vec<_>>();
    program.contains("mcp")
        || words_of(&program).any(|word| word.len() >= 3 && package.contains(&word))
        || package.iter().any(|word| word.len() >= 4 && joined(&program).contains(word))
}
