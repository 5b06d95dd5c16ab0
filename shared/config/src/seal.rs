//! Literal secrets are sealed inside a stored revision: XChaCha20-Poly1305, bound to their place, so that a sealed
//! value moved to another field does not open. Keyed digests come from the same key, each under its own label.

use std::fmt;
use std::sync::Arc;

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac};
use secrecy::{ExposeSecret, SecretBox, SecretString};
use serde_json::Value;
use sha2::Sha256;

use crate::archived::Archived;
use crate::canonical::canonical;
use crate::document::Document;
use crate::mask::stays_readable;
use crate::problem::Problem;
use crate::sensitive::{Edit, SEALED, walk_document};
use crate::server::Server;

/// Bytes of a nonce. Random nonces of this length may be drawn without a counter.
pub const NONCE_BYTES: usize = 24;
const PREFIX: &str = "sealed:v1:";

/// The key that seals. `Debug` shows nothing of it; clones share one copy in memory.
#[derive(Clone)]
pub struct SealKey(Arc<SecretBox<[u8; 32]>>);

/// The cipher refused, which it only does for values of gigabytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the value at {path} could not be sealed")]
pub struct SealError {
    /// Where.
    pub path: String,
}

/// Why a stored document does not open. Never shows a byte of a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Another key, an altered value, or one that was moved.
    #[error("the sealed value at {path} does not open: the key is another one or the value was altered")]
    Rejected {
        /// Where.
        path: String,
    },
    /// It opened, and is not a valid config.
    #[error("the stored config is not valid ({} problems; first: {})", problems.len(), first(problems))]
    Invalid {
        /// What is wrong.
        problems: Vec<Problem>,
    },
}

impl SealKey {
    /// A key of 32 random bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(Arc::new(SecretBox::new(Box::new(bytes))))
    }

    /// The stored form of a document: literals at sensitive places sealed, everything else as it is.
    /// `nonce` must give new random bytes each time.
    pub fn seal_document(
        &self,
        document: &Document,
        nonce: &mut dyn FnMut() -> [u8; NONCE_BYTES],
    ) -> Result<Value, SealError> {
        let mut stored = document.expose_raw().clone();
        walk_document(&mut stored, &mut |place, value| {
            if stays_readable(place, value) {
                return Ok(Edit::Keep);
            }
            // As JSON text, so that a number comes back as a number.
            self.seal(&place.to_string(), &value.to_string(), nonce()).map(|text| Edit::Replace(text.into()))
        })?;
        Ok(stored)
    }

    /// The document that [`SealKey::seal_document`] stored.
    pub fn open_document(&self, stored: Value) -> Result<Document, OpenError> {
        self.open_archived(stored)?.into_document().map_err(|problems| OpenError::Invalid { problems })
    }

    /// The same for a look back: what was stored long ago need not be valid by today's rules.
    pub fn open_archived(&self, stored: Value) -> Result<Archived, OpenError> {
        let mut raw = stored;
        walk_document(&mut raw, &mut |place, value| {
            if stays_readable(place, value) {
                return Ok(Edit::Keep);
            }
            // A literal without a seal passes: a later version may count more places as sensitive than the one that
            // stored this, and must still open it. The next write seals it; no literal of a user can look sealed.
            let Some(sealed) = value.as_str().filter(|text| text.starts_with(SEALED)) else {
                return Ok(Edit::Keep);
            };
            let path = place.to_string();
            let opened = self.open(&path, sealed)?;
            serde_json::from_str(opened.expose_secret())
                .map(Edit::Replace)
                .map_err(|_| OpenError::Rejected { path })
        })?;
        Ok(Archived::new(raw))
    }

    /// Seals one text for one place (for a token: its key in the table). The result is `sealed:v1:` and hex.
    pub fn seal(&self, place: &str, text: &str, nonce: [u8; NONCE_BYTES]) -> Result<String, SealError> {
        let payload = Payload { msg: text.as_bytes(), aad: place.as_bytes() };
        let sealed = self
            .cipher()
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| SealError { path: place.to_owned() })?;
        Ok(format!("{PREFIX}{}{}", hex::encode(nonce), hex::encode(sealed)))
    }

    /// Opens what [`SealKey::seal`] made for the same place.
    pub fn open(&self, place: &str, sealed: &str) -> Result<SecretString, OpenError> {
        self.opened(place, sealed).ok_or_else(|| OpenError::Rejected { path: place.to_owned() })
    }

    /// The `ETag` of a config: a keyed hash of its canonical content (32 hex characters), so that it reveals nothing
    /// about the secrets in it.
    pub fn etag(&self, document: &Document) -> String {
        self.keyed_hash("pudu config etag v1", &canonical(document.expose_raw()))
    }

    /// The digest (32 hex characters) of a server's effective entry, defaults filled in, and of the interceptors of its
    /// calls: another digest means that what is known about the server is out of date. Keyed like the etag, because it is part of a stored key and
    /// the entry holds secrets; it does not change when the entry is sealed again.
    pub fn digest(&self, server: &Server) -> String {
        let mut text = canonical(&server.effective_entry());
        // Without any, the digest is that of the entry alone: what is stored under it stays known.
        if !server.interceptors.is_empty() {
            text.push_str(&canonical(&server.interceptors.clone().into()));
        }
        self.keyed_hash("pudu server digest v1", &text)
    }

    /// The server with its digest.
    pub fn identified(&self, server: &Server) -> Server {
        let mut identified = server.clone();
        identified.digest = self.digest(server);
        identified
    }

    fn opened(&self, place: &str, sealed: &str) -> Option<SecretString> {
        let bytes = hex::decode(sealed.strip_prefix(PREFIX)?).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload { msg: sealed, aad: place.as_bytes() };
        let opened = self.cipher().decrypt(&XNonce::from(*nonce), payload).ok()?;
        String::from_utf8(opened).ok().map(SecretString::from)
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&self.mac("pudu seal v1").finalize().into_bytes())
    }

    pub(crate) fn keyed_hash(&self, label: &str, text: &str) -> String {
        let mut mac = self.mac(label);
        // Labels are of our own and hold no zero byte: label and text cannot run into each other.
        mac.update(&[0]);
        mac.update(text.as_bytes());
        let mut hash = hex::encode(mac.finalize().into_bytes());
        hash.truncate(32);
        hash
    }

    fn mac(&self, label: &str) -> Hmac<Sha256> {
        // A block of zeros after the key is what HMAC itself does to keys shorter than its block.
        let mut block = [0; 64];
        for (to, from) in block.iter_mut().zip(self.0.expose_secret()) {
            *to = *from;
        }
        let mut mac = Hmac::<Sha256>::new(&block.into());
        mac.update(label.as_bytes());
        mac
    }
}

fn first(problems: &[Problem]) -> String {
    problems.first().map(ToString::to_string).unwrap_or_default()
}

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealKey(***)")
    }
}

#[cfg(test)]
mod tests;
