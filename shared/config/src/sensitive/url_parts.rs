//! A URL as text, cut at its secrets: user info, and the values of secret-looking parameters. Cutting instead of
//! parsing and writing again, because what is stored must come back byte for byte. It cuts what a lenient parser
//! would see, also in text that validation refuses later.

use url::form_urlencoded;

use super::SEALED;
use super::key::is_telling_parameter;

/// Which part of a text is a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The end of an argument, after this name (see [`arguments`](super::arguments)).
    Argument {
        /// As it stands there.
        name: String,
    },
    /// All before the last `@` of the authority.
    UserInfo,
    /// The value of a parameter.
    Query {
        /// Its position among all parameters, from 1.
        at: usize,
        /// Its decoded name.
        key: String,
    },
}

/// The pieces of a URL in order; joined they are the URL.
pub(crate) struct UrlParts(Vec<(Option<Part>, String)>);

impl UrlParts {
    pub(crate) fn of(url: &str) -> Self {
        let mut parts = Self(Vec::new());
        let parameters = url.find(['?', '#']).unwrap_or(url.len());
        let (address, rest) = url.split_at(parameters);
        parts.address(address);
        let mut at = 0;
        // A fragment is never sent, but tokens are pasted there.
        for piece in rest.split_inclusive(['#', '&']) {
            parts.parameters(piece, &mut at);
        }
        parts
    }

    pub(crate) fn secrets_mut(&mut self) -> impl Iterator<Item = (&Part, &mut String)> {
        self.0.iter_mut().filter_map(|(part, text)| part.as_ref().map(|part| (part, text)))
    }

    pub(crate) fn secrets(&self) -> impl Iterator<Item = (&Part, &str)> {
        self.0.iter().filter_map(|(part, text)| part.as_ref().map(|part| (part, text.as_str())))
    }

    pub(crate) fn joined(self) -> String {
        self.0.into_iter().map(|(_, text)| text).collect()
    }

    fn address(&mut self, address: &str) {
        // Without a scheme the first colon may be a port's, behind the user info, or that of a sealed user info.
        let is_scheme = |colon: &usize| {
            let before = address.split_at(*colon).0;
            !address.starts_with(SEALED) && !before.contains(['@', '/', '\\'])
        };
        let scheme = address.find(':').filter(is_scheme);
        let after_scheme = scheme.map_or(0, |colon| colon + 1);
        let (scheme, rest) = address.split_at(after_scheme);
        let slashes = rest.len() - rest.trim_start_matches(['/', '\\']).len();
        let (slashes, rest) = rest.split_at(slashes);
        let authority = rest.split(['/', '\\']).next().unwrap_or_default();
        match authority.rfind('@') {
            None => self.plain(address),
            Some(at) => {
                let (user_info, host) = rest.split_at(at);
                self.plain(scheme);
                self.plain(slashes);
                self.0.push((Some(Part::UserInfo), user_info.to_owned()));
                self.plain(host);
            }
        }
    }

    /// The parameters up to the next `&` or `#`, with that separator. `;` and `?` separate for some readers and belong
    /// to the value for others, so a secret that has begun goes on over them to the end.
    fn parameters(&mut self, piece: &str, at: &mut usize) {
        let pairs = piece.strip_suffix(['#', '&']).unwrap_or(piece);
        let mut rest = pairs;
        while let Some(pair) = rest.split_inclusive(['?', ';']).next() {
            let key = decoded(pair.split(['=', '?', ';']).next().unwrap_or_default());
            let secret = rest.split_once('=').filter(|_| pair.contains('=') && is_telling_parameter(&key));
            *at += usize::from(pair.len() > 1);
            if let Some((name, value)) = secret {
                self.plain(name);
                self.plain("=");
                self.0.push((Some(Part::Query { at: *at, key }), value.to_owned()));
                break;
            }
            self.plain(pair);
            rest = rest.get(pair.len()..).unwrap_or_default();
        }
        self.plain(piece.get(pairs.len()..).unwrap_or_default());
    }

    fn plain(&mut self, text: &str) {
        if !text.is_empty() {
            self.0.push((None, text.to_owned()));
        }
    }
}

fn decoded(name: &str) -> String {
    form_urlencoded::parse(name.as_bytes()).next().map(|(key, _)| key.into_owned()).unwrap_or_default()
}
