//! How a package is named: in a public registry, or in a git repository or archive over https. Paths, `file:`, plain http and
//! ssh are refused: what stands there is no published package, and on this machine a caller may have put it there.

use url::{Host, Url};

/// Whose names they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ecosystem {
    /// Names, `@scope/name`, versions and tags behind `@`, and what npm makes of `owner/repo`.
    Npm,
    /// Names with extras and versions.
    PyPi,
}

impl Ecosystem {
    pub(super) const fn must(self) -> &'static str {
        match self {
            Self::Npm => {
                "must be the name of an npm package such as @scope/name@version, or a repository over https; no path, alias or other URL"
            }
            Self::PyPi => {
                "must be the name of a Python package such as name[extra]==version, or git+https://host/owner/repository; no path or other URL"
            }
        }
    }
}

/// Endings that make a file of a name.
const ARCHIVES: [&str; 11] =
    [".tgz", ".tar.gz", ".tar", ".tar.bz2", ".tar.xz", ".tar.zst", ".zip", ".whl", ".egg", ".py", ".pyz"];

pub(super) fn is_package(ecosystem: Ecosystem, spec: &str) -> bool {
    match ecosystem {
        Ecosystem::Npm => npm(spec),
        Ecosystem::PyPi => python(spec),
    }
}

/// The bare name of a spec that is one; for a URL the whole text.
pub(super) fn name_of(ecosystem: Ecosystem, spec: &str) -> &str {
    if spec.contains(':') {
        return spec;
    }
    match ecosystem {
        Ecosystem::Npm => {
            let end = spec.char_indices().skip(1).find(|(_, character)| *character == '@');
            spec.get(..end.map_or(spec.len(), |(at, _)| at)).unwrap_or(spec)
        }
        Ecosystem::PyPi => {
            let end =
                spec.find(|character: char| !character.is_ascii_alphanumeric() && !"._-".contains(character));
            spec.get(..end.unwrap_or(spec.len())).unwrap_or(spec)
        }
    }
}

/// The words of a name or URL.
pub(super) fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
}

fn npm(spec: &str) -> bool {
    if spec.contains(':') {
        return github(spec) || remote(spec);
    }
    let (scope, rest) = match spec.strip_prefix('@').map(|rest| rest.split_once('/')) {
        Some(Some((scope, rest))) => (Some(scope), rest),
        Some(None) => return false,
        None => (None, spec),
    };
    let (name, version) = rest.split_once('@').map_or((rest, None), |(name, version)| (name, Some(version)));
    if scope.is_none() && name.contains('/') {
        // What npm reads as a repository on GitHub.
        return version.is_none() && repository(spec);
    }
    let part = |text: &str| plain_name(text) && !is_archive(text);
    scope.is_none_or(plain_name) && part(name) && version.is_none_or(npm_version)
}

/// A version, range or tag. One that begins with a dot or ends like an archive is a file to npm.
fn npm_version(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(['.', '-'])
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-+_^~<>=*".contains(&byte))
        && !is_archive(text)
}

fn python(spec: &str) -> bool {
    if let Some((name, url)) = spec.split_once('@').filter(|(_, url)| url.contains(':')) {
        // `name @ git+https://…`; without a name the `@` is in the URL itself.
        return if name.contains(':') {
            remote(spec)
        } else {
            python_name(name.trim_end()) && remote(url.trim_start())
        };
    }
    if spec.contains(':') {
        return remote(spec);
    }
    let end = spec.find(['@', '=', '!', '<', '>', '~', ' ']).unwrap_or(spec.len());
    let (named, version) = spec.split_at(end);
    python_name(named) && (version.is_empty() || python_version(version))
}

/// A name with extras.
fn python_name(text: &str) -> bool {
    let (name, extras) = match text.split_once('[') {
        Some((name, extras)) => (name, extras.strip_suffix(']')),
        None => (text, Some("")),
    };
    let legal = |name: &str| plain_name(name) && name.ends_with(|last: char| last.is_ascii_alphanumeric());
    let extras =
        extras.is_some_and(|extras| extras.is_empty() || extras.split(',').all(|extra| legal(extra.trim())));
    legal(name) && extras && !is_archive(name)
}

/// `@1.2`, `@latest`, or conditions such as `>=1,<2`.
fn python_version(text: &str) -> bool {
    let legal = |version: &str| {
        let rest = version.trim();
        rest.starts_with(|first: char| first.is_ascii_alphanumeric())
            && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".*+!-_".contains(&byte))
            && !is_archive(rest)
    };
    if let Some(version) = text.strip_prefix('@') {
        return legal(version) && !version.starts_with(' ');
    }
    text.split(',').all(|condition| {
        let condition = condition.trim();
        let version = condition.trim_start_matches(['=', '!', '<', '>', '~']);
        version.len() < condition.len() && legal(version)
    })
}

fn plain_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

pub(super) fn is_archive(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ARCHIVES.iter().any(|ending| text.ends_with(ending))
}

fn github(spec: &str) -> bool {
    ["github:", "gitlab:", "bitbucket:"].iter().any(|host| spec.strip_prefix(host).is_some_and(repository))
}

/// `owner/name`, with a branch, tag or commit behind `#`.
fn repository(text: &str) -> bool {
    let (path, reference) = text.split_once('#').map_or((text, None), |(path, rest)| (path, Some(rest)));
    let Some((owner, name)) = path.split_once('/') else { return false };
    plain_name(owner) && plain_name(name) && reference.is_none_or(is_reference)
}

/// Behind `#`: a branch, or pip's `subdirectory=` and `egg=`.
fn is_reference(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/+^~=&:[],".contains(&byte))
        && !text.split(['/', '=']).any(|part| part == "..")
}

/// A git repository or archive over https, on a host with a name, without credentials.
fn remote(spec: &str) -> bool {
    let address = spec.strip_prefix("git+").unwrap_or(spec);
    if !address.starts_with("https://") || !address.is_ascii() || address.contains(char::is_whitespace) {
        return false;
    }
    let Ok(url) = Url::parse(address) else { return false };
    let named = matches!(url.host(), Some(Host::Domain(host)) if host.contains('.') && !host.ends_with('.') && !host.ends_with(".localhost"));
    let path = url.path().trim_matches('/');
    named
        && url.username().is_empty()
        && url.password().is_none()
        && url.port().is_none()
        && url.query().is_none()
        && url.as_str().len() <= 2048
        && path.contains('/')
        && path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/@+".contains(&byte))
        && url.fragment().is_none_or(is_reference)
}
