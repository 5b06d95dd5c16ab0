//! Which names tell that their value is a secret (reference 5.10, "sensitive key test").

const WORDS: &[&str] = &[
    "api_key",
    "apikey",
    "access_key",
    "private_key",
    "client_secret",
    "secret",
    "token",
    "password",
    "passwd",
    "credential",
    "credentials",
    "authorization",
    "bearer",
];

/// Whether a field of this name is masked: its words, in snake case, contain one of the telling ones as whole words.
pub fn is_sensitive_key(key: &str) -> bool {
    let words = format!("_{}_", snake(key));
    WORDS.iter().any(|word| words.contains(&format!("_{word}_")))
}

/// Words that tell it of a command line's flag, where they come last: `--auth`, `--db-pass`, `--openai-key`. Fields of a config
/// are judged as the reference judges them.
const LAST_WORDS: &[&str] = &["auth", "key", "pass", "passphrase", "pat", "pwd"];

/// Whether the last word of a flag's name tells that its value is a secret, beyond [`is_sensitive_key`].
pub(super) fn is_telling_word(name: &str) -> bool {
    let name = snake(name);
    name.rsplit('_').next().is_some_and(|last| LAST_WORDS.contains(&last))
}

/// Whether a parameter of a URL is a secret by its name: also keys of a function's address (`code`) and signatures.
pub(super) fn is_telling_parameter(name: &str) -> bool {
    let words = snake(name);
    let is_signature = matches!(words.rsplit('_').next(), Some("sig" | "signature"));
    is_sensitive_key(name) || is_telling_word(name) || is_signature || words == "code"
}

/// Camel case split, lower case, everything else than `[a-z0-9]` collapsed to `_`, without `_` at the ends.
fn snake(key: &str) -> String {
    let characters: Vec<char> = key.chars().collect();
    let mut out = String::with_capacity(key.len() + 4);
    let mut previous = None;
    for (at, &character) in characters.iter().enumerate() {
        let next = characters.get(at + 1).copied();
        if previous.is_some_and(|before| starts_word(before, character, next)) {
            separate(&mut out);
        }
        match character.to_ascii_lowercase() {
            lower if lower.is_ascii_lowercase() || lower.is_ascii_digit() => out.push(lower),
            _ => separate(&mut out),
        }
        previous = Some(character);
    }
    out.trim_end_matches('_').to_owned()
}

/// `xY` (also after a digit) and the last capital of `XYz`.
fn starts_word(before: char, character: char, next: Option<char>) -> bool {
    let after_small = before.is_ascii_lowercase() || before.is_ascii_digit();
    character.is_ascii_uppercase()
        && (after_small
            || (before.is_ascii_uppercase() && next.is_some_and(|next| next.is_ascii_lowercase())))
}

fn separate(out: &mut String) {
    if !out.is_empty() && !out.ends_with('_') {
        out.push('_');
    }
}
