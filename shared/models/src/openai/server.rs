//! What servers of chat completions take differently, by their addresses: each of these was seen to refuse what the others want.

use pudu_domain::text::first_chars;
use sha2::{Digest, Sha256};
use url::Url;

use crate::dialect::id_within;

/// Most characters of a tool's description at the provider itself, which refuses the whole call for one more.
const MAX_DESCRIPTION: usize = 1024;
/// Longest id of a call that the provider itself takes.
const MAX_ID: usize = 40;
/// How long a call's id is at Mistral, which has letters and digits only.
const MISTRAL_ID: usize = 9;

/// Who is spoken with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Server {
    /// `OpenAI`, there or on Azure.
    Own,
    Mistral,
    /// Anybody else.
    Compatible,
}

impl Server {
    pub(super) fn at(url: &Url) -> Self {
        match url.host_str().unwrap_or_default() {
            "api.openai.com" => Self::Own,
            "api.mistral.ai" => Self::Mistral,
            host if host.ends_with(".openai.azure.com") => Self::Own,
            _ => Self::Compatible,
        }
    }

    /// The name of the limit of an answer: the models of today take only the newer one, and most others only the older.
    pub(super) const fn limit(self) -> &'static str {
        match self {
            Self::Own => "max_completion_tokens",
            Self::Mistral | Self::Compatible => "max_tokens",
        }
    }

    /// Whether usage has to be asked for. Mistral tells it anyway, and refuses the question.
    pub(super) const fn is_asked_for_usage(self) -> bool {
        !matches!(self, Self::Mistral)
    }

    /// What a tool is for, as it is taken.
    pub(super) fn description(self, description: &str) -> String {
        let longest = MAX_DESCRIPTION - 1;
        match self {
            Self::Own if description.chars().count() > MAX_DESCRIPTION => {
                format!("{}…", first_chars(description, longest).trim_end())
            }
            Self::Own | Self::Mistral | Self::Compatible => description.to_owned(),
        }
    }

    /// The id of a call as it is taken: the same in the call and in its answer.
    pub(super) fn id(self, id: &str) -> String {
        match self {
            Self::Mistral => {
                if id.len() == MISTRAL_ID && id.chars().all(|c| c.is_ascii_alphanumeric()) {
                    return id.to_owned();
                }
                hex::encode(Sha256::digest(id)).chars().take(MISTRAL_ID).collect()
            }
            // Only what is too long is replaced: the ids of compatible providers have all sorts of characters.
            Self::Own | Self::Compatible if id.len() > MAX_ID => id_within(id, MAX_ID),
            Self::Own | Self::Compatible => id.to_owned(),
        }
    }
}
