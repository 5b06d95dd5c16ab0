//! An OAuth token that several processes share: who may renew it, what stays of it when that fails, and when it is over.
//!
//! The same mechanism as for everything durable (DESIGN section 3): whoever renews a token *claims* its row first
//! (lease, generation +1), so that a refresh token is never presented by two; the outcome is *committed* under that
//! generation. A holder that dies is taken over when its lease ends. One thing is different: the tokens that a holder
//! brings too late are not dropped, because a rotated refresh token that is dropped is lost for good ([`Token::late`]).
//!
//! What the row holds is sealed by others and never looked into here.

use std::fmt;
use std::time::Duration;

use crate::durable::{Generation, Lease};
use crate::time::Timestamp;

/// Pause after the first failure of a token endpoint, and after the first token that its server rejected; it doubles.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
/// Longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// A rejection that lies back as far as this is no longer counted.
const REJECTION_COUNTS: Duration = Duration::from_secs(600);
const MAX_DOUBLINGS: u32 = 16;

/// A sealed text. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed(String);

/// What is sent to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// The header's value.
    pub sealed: Sealed,
    /// When it was given.
    pub granted_at: Timestamp,
    /// When it stops being valid.
    pub expires_at: Timestamp,
}

/// What stands in the way of a new token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing.
    #[default]
    None,
    /// The last attempts failed.
    Failing {
        /// How many in a row.
        attempts: u32,
        /// No other before this.
        retry_at: Timestamp,
        /// What happened, without secrets.
        reason: String,
    },
    /// The token server refused the grant for good: another attempt would be refused, too.
    Refused {
        /// What it said, without secrets.
        reason: String,
    },
}

/// How often a server rejected tokens that should have been valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rejections {
    /// How many in a row.
    pub count: u32,
    /// When the last one was.
    pub at: Timestamp,
}

/// The row of one token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Token {
    /// Counts claims and fences.
    pub generation: Generation,
    /// Who renews it.
    pub lease: Option<Lease>,
    /// What is sent, while there is any.
    pub access: Option<Access>,
    /// The refresh token that replaced the configured one.
    pub refresh: Option<Sealed>,
    /// The claim that brought `access`.
    pub granted_in: Generation,
    /// What stands in the way of the next one.
    pub trouble: Trouble,
    /// Tokens that did not work.
    pub rejections: Option<Rejections>,
}

/// What to do for a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan<'a> {
    /// Send it.
    Use(&'a Access),
    /// Claim the row and ask for a new one.
    Refresh,
    /// Somebody asks for a new one, at the latest until then.
    Wait(Timestamp),
    /// The last attempt failed: none before then.
    Backoff {
        /// When there may be another.
        until: Timestamp,
        /// What happened.
        reason: &'a str,
    },
    /// There is no token, and there will be none.
    Refused(&'a str),
}

/// What a token server gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// What is sent.
    pub access: Access,
    /// The refresh token that replaces the one before, if it gave one.
    pub refresh: Option<Sealed>,
}

impl Token {
    /// What to do at `now` for a caller that wants a token with more than `skew` left, or with more than half of its life:
    /// else one that lives no longer than the skew would be renewed by every call.
    pub fn plan(&self, now: Timestamp, skew: Duration) -> Plan<'_> {
        if let Trouble::Refused { reason } = &self.trouble {
            return Plan::Refused(reason);
        }
        let valid = self.access.as_ref().filter(|access| access.expires_at > now);
        if let Some(fresh) = valid.filter(|access| access.expires_at > now + skew.min(access.lifetime() / 2))
        {
            return Plan::Use(fresh);
        }
        // As for every lease: at its last instant the holder still has it.
        let held = self.lease.as_ref().filter(|lease| lease.until >= now);
        match (held, &self.trouble, valid) {
            (None, Trouble::Failing { retry_at, .. }, Some(old)) if *retry_at > now => Plan::Use(old),
            (None, Trouble::Failing { retry_at, reason, .. }, None) if *retry_at > now => {
                Plan::Backoff { until: *retry_at, reason }
            }
            (None, ..) => Plan::Refresh,
            (Some(_), _, Some(old)) => Plan::Use(old),
            (Some(lease), _, None) => Plan::Wait(lease.until),
        }
    }

    /// The row after a claim.
    #[must_use]
    pub fn claimed(&self, lease: Lease) -> Self {
        Self { generation: self.generation.next(), lease: Some(lease), ..self.clone() }
    }

    /// Whether the holder of this claim still has `time` to work. To be asked right before a refresh token is presented: who
    /// was stopped for so long that somebody else may be at it must not.
    pub fn is_held_for(&self, time: Duration, now: Timestamp) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.until >= now + time)
    }

    /// The row after its holder's success. A refresh token that was not replaced stays.
    #[must_use]
    pub fn granted(&self, grant: &Grant) -> Self {
        Self {
            lease: None,
            access: Some(grant.access.clone()),
            refresh: grant.refresh.clone().or_else(|| self.refresh.clone()),
            granted_in: self.generation,
            trouble: Trouble::None,
            ..self.clone()
        }
    }

    /// The row after its holder's failure: what is still valid stays, and the next attempt waits, longer each time.
    #[must_use]
    pub fn failed(&self, now: Timestamp, reason: String) -> Self {
        let before = match &self.trouble {
            Trouble::Failing { attempts, .. } => *attempts,
            Trouble::None | Trouble::Refused { .. } => 0,
        };
        let attempts = before.saturating_add(1);
        let trouble = Trouble::Failing { attempts, retry_at: now + pause(before), reason };
        Self { lease: None, trouble, ..self.clone() }
    }

    /// The row after its holder was refused for good.
    #[must_use]
    pub fn refused(&self, reason: String) -> Self {
        Self { lease: None, access: None, trouble: Trouble::Refused { reason }, ..self.clone() }
    }

    /// The row without the token that a server has just rejected; `None` when there is nothing to take away: it is not the
    /// stored one any more, somebody already asks for a new one, or a new one was rejected moments ago, too, so that yet
    /// another would only burden the token server.
    pub fn rejected(&self, token: &Sealed, now: Timestamp) -> Option<Self> {
        let stored = self.access.as_ref().is_some_and(|access| access.sealed == *token);
        let held = self.lease.as_ref().is_some_and(|lease| lease.until >= now);
        let counted = self.rejections.filter(|before| now.is_within(REJECTION_COUNTS, before.at));
        let too_soon = counted.is_some_and(|before| now < before.at + pause(before.count.saturating_sub(1)));
        if !stored || held || too_soon {
            return None;
        }
        let count = counted.map_or(0, |before| before.count).saturating_add(1);
        Some(Self {
            generation: self.generation.next(),
            lease: None,
            access: None,
            rejections: Some(Rejections { count, at: now }),
            ..self.clone()
        })
    }

    /// What to write when the holder of claim `mine` comes with its grant, and the row is no longer its: the grant, as a
    /// fence, unless a later claim has brought tokens. Whoever holds the row now presents a refresh token that is used up.
    pub fn late(&self, mine: Generation, grant: &Grant) -> Option<Self> {
        if self.granted_in >= mine {
            return None;
        }
        let fenced = Self { generation: self.generation.next(), ..self.clone() };
        Some(fenced.granted(grant))
    }

    /// Whether a write by somebody who read `seen` may replace `stored`. Every write raises the generation or takes the
    /// lease, so both together name a version of the row.
    pub fn is_unchanged(seen: Option<&Self>, stored: Option<&Self>) -> bool {
        match (seen, stored) {
            (None, None) => true,
            (Some(seen), Some(stored)) => {
                let owner = |token: &Self| token.lease.as_ref().map(|lease| lease.owner.clone());
                seen.generation == stored.generation && owner(seen) == owner(stored)
            }
            _ => false,
        }
    }
}

impl Access {
    fn lifetime(&self) -> Duration {
        self.expires_at.since(self.granted_at)
    }
}

impl Sealed {
    /// A text that is sealed already.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The sealed text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealed(…)")
    }
}

/// Pause after the failure that follows `before` earlier ones in a row.
fn pause(before: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << before.min(MAX_DOUBLINGS)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests;
