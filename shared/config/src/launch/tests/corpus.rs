//! The policy against the real launchers: `corpus/npx.jsonl` and `corpus/uvx.jsonl` say what each of them did with every vector
//! (`scripts/launch-corpus`).

use serde_json::Value;

use super::with;

/// What stands for what in a vector, as `tests/launch/world.py` has it, somewhere on a machine.
const PLACES: [(&str, &str); 33] = [
    ("{X}", "touch /tmp/w/canary"),
    ("{CANARY}", "/tmp/w/canary"),
    ("{JSCODE}", "require('fs').writeFileSync('/tmp/w/canary','')"),
    ("{PYCODE}", "open('/tmp/w/canary','w')"),
    ("{AWK}", "system(\"touch /tmp/w/canary\")"),
    ("{PROGRAM}", "/tmp/w/planted/program"),
    ("{SHELL}", "/tmp/w/planted/shell"),
    ("{PYTHON}", "/tmp/w/planted/python"),
    ("{JS}", "/tmp/w/planted/evil.js"),
    ("{RC_CALL}", "/tmp/w/planted/rc-call"),
    ("{RC_SHELL}", "/tmp/w/planted/rc-shell"),
    ("{RC_NODE}", "/tmp/w/planted/rc-node"),
    ("{DIR}", "/tmp/w/planted"),
    ("{CACHE}", "/tmp/w/evil-cache"),
    ("{NPM}", "http://127.0.0.1:4873/"),
    ("{EVIL_NPM}", "http://127.0.0.1:4874/"),
    ("{EVIL_PYPI}", "http://127.0.0.1:4874/simple/"),
    ("{WHEEL}", "/tmp/w/planted/links/pkg-9.0.0-py3-none-any.whl"),
    ("{REQS_INDEX}", "/tmp/w/planted/reqs-index"),
    ("{REQS}", "/tmp/w/planted/reqs"),
    ("{ENV_FILE}", "/tmp/w/planted/env"),
    ("{LINKS}", "/tmp/w/planted/links"),
    ("{UV_CACHE}", "/tmp/w/evil-home/.cache/uv"),
    ("{TOOLS}", "/tmp/w/evil-home/.local/share/uv/tools"),
    ("{TOML}", "/tmp/w/planted/uv.toml"),
    ("{EVIL_HOME}", "/tmp/w/evil-home"),
    ("{EVIL_PREFIX}", "/tmp/w/evil-prefix"),
    ("{REPO}", "/tmp/w/repo"),
    ("{PYREPO}", "/tmp/w/pyrepo"),
    ("{GOODREPO}", "/tmp/w/goodrepo"),
    ("{MAKE}", "/tmp/w/planted/makefile"),
    ("{CWD}", "/tmp/w/cwd"),
    ("{PATH}", "/usr/bin:/bin"),
];

struct Vector {
    args: Vec<String>,
    env: Vec<String>,
    /// Of each launcher: `"code"`, `"nothing"`, or what the package got: so many of the last arguments, or these.
    outcomes: Vec<Value>,
    line: String,
}

fn filled(text: &str) -> String {
    PLACES.iter().fold(text.to_owned(), |text, (name, place)| text.replace(name, place))
}

fn vectors(text: &str) -> (Value, Vec<Vector>) {
    let mut lines = text.lines();
    let head = serde_json::from_str(lines.next().unwrap()).unwrap();
    let vector = |line: &str| {
        let row: Vec<Value> = serde_json::from_str(line).unwrap();
        let args = row[0].as_array().unwrap().iter().map(|arg| filled(arg.as_str().unwrap())).collect();
        let env = row[1].as_object().unwrap().keys().map(|name| filled(name)).collect();
        Vector { args, env, outcomes: row[2..].to_vec(), line: line.to_owned() }
    };
    (head, lines.map(vector).collect())
}

/// Judges every vector: none that ran code may pass, and of one that passes the package must have got what stands behind its
/// place in the policy's model.
fn compare(command: &str, text: &str, at_least: usize) {
    let (head, vectors) = vectors(text);
    let launchers = head["launchers"].as_array().unwrap();
    assert!(vectors.len() >= at_least, "only {} vectors", vectors.len());
    let (mut code, mut ran, mut accepted, mut misses, mut wrong) = (0, 0, 0, Vec::new(), Vec::new());
    for vector in &vectors {
        assert_eq!(vector.outcomes.len(), launchers.len(), "{}", vector.line);
        let args: Vec<&str> = vector.args.iter().map(String::as_str).collect();
        let env: Vec<&str> = vector.env.iter().map(String::as_str).collect();
        let verdict = with("", command, &args, &env);
        let runs_code = vector.outcomes.iter().any(|outcome| outcome == "code");
        code += usize::from(runs_code);
        ran += usize::from(vector.outcomes.iter().any(|outcome| !outcome.is_string()));
        let Ok(approved) = verdict else { continue };
        accepted += 1;
        if runs_code {
            misses.push(&vector.line);
        }
        let place = approved.program_at.unwrap();
        for outcome in &vector.outcomes {
            // A number is how many of the last arguments the package got; a list is something else that it got.
            let got = match outcome {
                Value::Number(count) => Some(args.len() - usize::try_from(count.as_u64().unwrap()).unwrap()),
                Value::Array(_) => None,
                _ => continue,
            };
            // Both launchers keep a `--` for themselves that follows the package at once.
            let behind = match args.get(place + 1).copied() {
                Some("-m") if args[place] == "python" => [Some(place + 3), None],
                Some("--") => [Some(place + 1), Some(place + 2)],
                _ => [Some(place + 1), None],
            };
            if !behind.contains(&got) {
                wrong.push(&vector.line);
            }
        }
    }
    println!(
        "{command} {}: {} vectors, {code} ran planted code, {ran} ran the package, {accepted} accepted, {} misses",
        head["versions"],
        vectors.len(),
        misses.len()
    );
    assert_eq!(misses, [] as [&String; 0], "accepted although a launcher ran planted code");
    assert_eq!(wrong, [] as [&String; 0], "the package is not where the policy took it to be");
    // Numbers that would be there if the corpus or the policy were empty.
    assert!(
        code * 10 > vectors.len() && accepted * 50 > vectors.len(),
        "{code} and {accepted} of {}",
        vectors.len()
    );
}

#[test]
fn nothing_that_npx_runs_as_code_is_accepted() {
    compare("npx", include_str!("../../../corpus/npx.jsonl"), 2_000);
}

#[test]
fn nothing_that_uvx_runs_as_code_is_accepted() {
    compare("uvx", include_str!("../../../corpus/uvx.jsonl"), 2_600);
}
