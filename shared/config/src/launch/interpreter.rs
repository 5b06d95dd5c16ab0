//! Interpreters: on the operator's longer allowlist, or as what a launcher runs. The reference screens every argument (9.2),
//! and so refuses `node server.js -verbose`; here the words of Python's and Node's own options are told from those of the
//! program they run. Everything else on the allowlist is screened as in the reference.
//!
//! A launcher may start Python for a module of a package that it named; a file is no package, and the operator who wants that
//! puts the interpreter on the list.

use super::{Refusal, Why, Word, base, listed};

/// Reference 9.2, for commands that are no launcher.
const EXECUTES: [&str; 9] =
    ["-c", "--call", "-e", "--eval", "--print", "--shell", "--node-arg", "--node-options", "-p"];

/// Options of Node that run, load or open something before the program, without case and with dashes only. Each also with
/// more words behind it, as `--env-file-if-exists`.
const NODE_LOADS: [&str; 18] = [
    "--eval",
    "--print",
    "--require",
    "--import",
    "--loader",
    "--experimental-loader",
    "--env-file",
    "--interactive",
    "--run",
    "--inspect",
    "--debug",
    "--snapshot-blob",
    "--build-snapshot",
    "--openssl-config",
    "--experimental-config-file",
    "--experimental-default-config-file",
    "--experimental-sea-config",
    "--node-",
];
/// Options of Node with no value. What is on no list may have one, so the word behind it may be the program or not.
const NODE_SWITCHES: [&str; 7] =
    ["--no-", "--trace-", "--enable-", "--experimental-", "--preserve-", "--use-", "--expose-"];

/// Modules of Python that run what their arguments or their input say, or install it.
const PYTHON_RUNS: &[&str] = &[
    "timeit pdb code codeop trace profile cProfile runpy doctest unittest pip ensurepip venv idlelib zipapp asyncio \
    IPython ipython ptpython bpython pipx uv poetry pytest invoke site sqlite3 this",
];

/// What Python is to run.
enum Runs {
    Module,
    File,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Python,
    Node,
}

/// Whether its own options can be told from those of the program it runs.
pub(super) fn is_known(name: &str) -> bool {
    family(name).is_some()
}

/// The name without ending, case and version: `python3.12.exe` is `python`.
pub(super) fn plain(name: &str) -> String {
    let name = base(name);
    let letters = name.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.' || last == '-');
    if letters.is_empty() { name } else { letters.to_owned() }
}

fn family(name: &str) -> Option<Family> {
    match plain(name).as_str() {
        "python" | "pythonw" | "pypy" | "py" => Some(Family::Python),
        "node" | "nodejs" | "tsx" | "ts-node" | "ts-node-esm" | "esno" | "babel-node" => Some(Family::Node),
        _ => None,
    }
}

/// The same for an interpreter that a launcher starts: only for a module.
pub(super) fn judge_module(command: &str, words: &[Word<'_>], start: usize) -> Result<(), Refusal> {
    let refused = || Refusal::arg(start.saturating_sub(1), Why::Program { program: command.to_owned() });
    match family(command) {
        Some(Family::Python) => match python(command, words, start)? {
            Runs::Module => Ok(()),
            Runs::File => Err(refused()),
        },
        _ => Err(refused()),
    }
}

/// Screens the words of `command` from `start` on.
pub(super) fn judge(command: &str, words: &[Word<'_>], start: usize) -> Result<(), Refusal> {
    match family(command) {
        Some(Family::Python) => python(command, words, start).map(|_| ()),
        Some(Family::Node) => node(command, words, start),
        None => anything_else(command, words, start),
    }
}

fn runs_code(command: &str, at: usize, flag: impl Into<String>) -> Refusal {
    Refusal::arg(at, Why::RunsCode { command: command.to_owned(), flag: flag.into() })
}

fn text<'a>(command: &str, words: &[Word<'a>], at: usize) -> Result<&'a str, Refusal> {
    match words.get(at) {
        Some(Word::Text(text)) => Ok(text),
        Some(Word::Variable) => Err(Refusal::arg(at, Why::Variable { command: command.to_owned() })),
        None => Err(Refusal::arg(at, Why::Input { command: command.to_owned() })),
    }
}

/// Where the program is what is sent to it: callers write that.
fn is_input(script: &str) -> bool {
    script.is_empty() || script == "-" || script.starts_with("/dev/") || script.starts_with("/proc/")
}

fn python(command: &str, words: &[Word<'_>], start: usize) -> Result<Runs, Refusal> {
    let mut at = start;
    loop {
        let word = text(command, words, at)?;
        if is_input(word) {
            return Err(Refusal::arg(at, Why::Input { command: command.to_owned() }));
        }
        if let Some(long) = word.strip_prefix("--") {
            match long {
                "check-hash-based-pycs" => at += 2,
                _ => {
                    return Err(Refusal::arg(
                        at,
                        Why::Option { command: command.to_owned(), flag: flag_of(word).to_owned() },
                    ));
                }
            }
            continue;
        }
        let Some(letters) = word.strip_prefix('-') else { return Ok(Runs::File) };
        let mut used = at;
        for (place, letter) in letters.char_indices() {
            let attached = letters.get(place + letter.len_utf8()..).unwrap_or_default();
            let mut value = |missing: usize| -> Result<&str, Refusal> {
                if attached.is_empty() {
                    used = missing;
                    text(command, words, missing)
                } else {
                    Ok(attached)
                }
            };
            match letter {
                'm' => {
                    let module = value(at + 1)?;
                    let first = module.split('.').next().unwrap_or_default();
                    let harmful = listed(PYTHON_RUNS, first) || module.is_empty() || module.starts_with('-');
                    return if harmful { Err(runs_code(command, at, "-m")) } else { Ok(Runs::Module) };
                }
                // A warning's category and a hook before `site` are imported.
                'W' if value(at + 1)?.contains('.') => return Err(runs_code(command, at, "-W")),
                'X' if value(at + 1)?.starts_with("presite") => return Err(runs_code(command, at, "-X")),
                'W' | 'X' => break,
                'b' | 'B' | 'd' | 'E' | 'I' | 'O' | 'P' | 'q' | 'R' | 's' | 'S' | 't' | 'u' | 'v' | 'x' => {}
                other => return Err(runs_code(command, at, format!("-{other}"))),
            }
        }
        at = used + 1;
    }
}

fn node(command: &str, words: &[Word<'_>], start: usize) -> Result<(), Refusal> {
    let (mut at, mut may_be_value, mut program) = (start, false, false);
    loop {
        if program && at >= words.len() {
            return Ok(());
        }
        let word = text(command, words, at)?;
        let flag = flag_of(word).to_ascii_lowercase().replace('_', "-");
        at += 1;
        if word == "--" {
            let script = text(command, words, at)?;
            return if is_input(script) {
                Err(Refusal::arg(at, Why::Input { command: command.to_owned() }))
            } else {
                Ok(())
            };
        }
        if is_input(word) {
            return Err(Refusal::arg(at - 1, Why::Input { command: command.to_owned() }));
        }
        if !word.starts_with('-') {
            if !may_be_value {
                return Ok(());
            }
            // The value of an option that is not known, or the program: what follows is looked at as if it were the former.
            (may_be_value, program) = (false, true);
        } else if flag.starts_with("--") {
            if NODE_LOADS.iter().any(|loads| flag.starts_with(loads)) || EXECUTES.contains(&flag.as_str()) {
                return Err(runs_code(command, at - 1, flag));
            }
            let switch = NODE_SWITCHES.iter().any(|switch| flag.starts_with(switch));
            may_be_value = !switch && !word.contains('=');
            if flag == "--conditions" && may_be_value {
                (may_be_value, at) = (false, at + 1);
            }
        } else {
            if let Some(letter) = word.chars().find(|letter| "cepri".contains(*letter)) {
                return Err(runs_code(command, at - 1, format!("-{letter}")));
            }
            may_be_value = true;
            if word == "-C" {
                (may_be_value, at) = (false, at + 1);
            }
        }
    }
}

/// Reference 9.2: every argument, and single letters in clusters.
fn anything_else(command: &str, words: &[Word<'_>], start: usize) -> Result<(), Refusal> {
    for (at, word) in words.iter().enumerate().skip(start) {
        let Word::Text(word) = *word else { continue };
        let flag = flag_of(word.trim()).to_lowercase();
        if EXECUTES.contains(&flag.as_str()) {
            return Err(runs_code(command, at, flag));
        }
        let letters = if flag.starts_with("--") { None } else { flag.strip_prefix('-') };
        if let Some(letter) =
            letters.and_then(|letters| letters.chars().find(|letter| "cep".contains(*letter)))
        {
            return Err(runs_code(command, at, format!("-{letter}")));
        }
    }
    Ok(())
}

fn flag_of(word: &str) -> &str {
    word.split_once('=').map_or(word, |(flag, _)| flag)
}
