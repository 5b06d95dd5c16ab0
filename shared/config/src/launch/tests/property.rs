//! Whatever the arguments: an accepted line has its package where the real npx takes it. The model of npx below is its own loop
//! (`npx-cli.js` of npm 10 and 11, in our words), and `corpus` holds the policy to what npx really did.

use proptest::prelude::*;

use super::npx;

/// Configs of npm that may be switches, of those that the words below can name.
const SWITCHES: &[&str] = &[
    "yes",
    "color",
    "parseable",
    "save-prod",
    "offline",
    "prefer-offline",
    "no-install",
    "quiet",
    "q",
    "v",
    "version",
    "help",
    "h",
    "always-spawn",
    "audit",
    "usage",
    "ignore-scripts",
    "legacy-peer-deps",
    "prefer-online",
    "global",
    "force",
];
const VALUES: &[&str] =
    &["package", "p", "cache", "userconfig", "call", "c", "shell", "npm", "node-arg", "n"];
const REMOVED: &[&str] = &["always-spawn", "npm", "node-arg", "n"];

fn shorthand(key: &str) -> Option<&'static [&'static str]> {
    Some(match key {
        "y" => &["--yes"],
        "q" | "quiet" => &["--loglevel", "warn"],
        "s" | "silent" => &["--loglevel", "silent"],
        "verbose" => &["--loglevel", "verbose"],
        "d" => &["--loglevel", "info"],
        "c" => &["--call"],
        "C" => &["--prefix"],
        "P" => &["--save-prod"],
        "w" => &["--workspace"],
        "f" => &["--force"],
        "g" => &["--global"],
        _ => return None,
    })
}

/// How many of the last arguments are behind the `--` that npx puts before its first positional, or finds.
fn behind_the_separator(args: &[&str]) -> Option<usize> {
    let mut args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let mut at = 0;
    while at < args.len() {
        let arg = args[at].clone();
        if arg == "--" {
            return Some(args.len() - at - 1);
        }
        if !arg.starts_with('-') {
            return Some(args.len() - at);
        }
        let bare = arg.trim_start_matches('-');
        let (key, value) = bare.split_once('=').map_or((bare, None), |(key, value)| (key, Some(value)));
        if !["p", "shell", "no-install"].contains(&key)
            && !REMOVED.contains(&key)
            && let Some(words) = shorthand(key)
        {
            let words = words.iter().map(|word| (*word).to_owned()).chain(value.map(str::to_owned));
            args.splice(at..=at, words);
            continue;
        }
        let removed = REMOVED.contains(&key);
        if removed {
            args.remove(at);
        } else {
            at += 1;
        }
        let next_is_option = args.get(at).is_some_and(|next| next.starts_with('-'));
        if value.is_none() && !SWITCHES.contains(&key) && (VALUES.contains(&key) || !next_is_option) {
            if removed && at < args.len() {
                args.remove(at);
            } else {
                at += 1;
            }
        }
    }
    None
}

fn words() -> impl Strategy<Value = Vec<String>> {
    let word = prop::sample::select(vec![
        "-y",
        "--yes",
        "-q",
        "--quiet",
        "-s",
        "--silent",
        "--verbose",
        "--offline",
        "--prefer-offline",
        "--prefer-online",
        "--no-install",
        "--color",
        "--parseable",
        "-P",
        "--save-prod",
        "--always-spawn",
        "--ignore-scripts",
        "--legacy-peer-deps",
        "-p",
        "--package",
        "--package=pkg",
        "-p=pkg",
        "--loglevel",
        "silent",
        "--loglevel=warn",
        "--registry",
        "https://packages.example",
        "--",
        "-",
        "",
        "pkg",
        "pkg",
        "@s/p@1",
        "pkg-mcp",
        "true",
        "false",
        "-c",
        "--call",
        "--call=x",
        "-yc",
        "--no-audit",
        "--no",
        "-n",
        "-C",
        "/d",
        "--userconfig",
        "x",
        "--unknown",
        "-w",
        "--anything=1",
        "---",
        "-d",
        "--version",
    ]);
    prop::collection::vec(word.prop_map(str::to_owned), 0..9)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn an_accepted_line_has_its_package_where_npx_takes_it(words in words()) {
        let args: Vec<&str> = words.iter().map(String::as_str).collect();
        if let Ok(approved) = npx(&args) {
            let place = approved.program_at.unwrap();
            prop_assert_eq!(behind_the_separator(&args), Some(args.len() - place), "{:?}", args);
            prop_assert!(!args[place].starts_with('-') && !args[place].is_empty(), "{:?}", args);
        }
    }
}

proptest! {
    #[test]
    fn no_line_makes_it_panic(
        command in "\\PC{0,8}",
        args in prop::collection::vec("[-=@a-z0-9/.$:~]{0,12}|\\PC{0,6}", 0..6),
        env in prop::collection::vec("\\PC{0,8}", 0..3),
    ) {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let env: Vec<&str> = env.iter().map(String::as_str).collect();
        for command in [command.as_str(), "npx", "uvx", "python", "node", "perl"] {
            let verdict = super::with("python,node,perl", command, &args, &env);
            if let Err(refusal) = verdict {
                prop_assert!(!refusal.to_string().is_empty());
            }
        }
    }
}
