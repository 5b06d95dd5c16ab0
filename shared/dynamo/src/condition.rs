//! Condition expressions: every condition under which a row is written, with its reason, in one place.
//!
//! Attribute names always go through placeholders (`#gen`), because the list of reserved words is long and grows.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use pudu_domain::bucket::Bucket;
use pudu_domain::{Expect, Generation, Timestamp};

use crate::item::beacon::ENDS;
use crate::item::bucket::FULL_AT;
use crate::key::Key;
use crate::row::{attr, number, seconds};
use crate::schema::TTL;

#[cfg(test)]
mod tests;

/// When a write may happen.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum When {
    /// Whatever is there.
    Always,
    /// A durable row is what its writer expects.
    Expect(Expect),
    /// A durable row may be claimed from this index partition.
    Claimable {
        /// Lane and shard.
        due_pk: String,
    },
    /// The row is still under this very claim.
    ClaimedBy {
        /// The lease's owner.
        owner: String,
    },
    /// The row is still in this index partition, and nobody holds it: no lease, or one that is over.
    WaitingIn {
        /// Lane and shard.
        due_pk: String,
    },
    /// There is no such row.
    Absent,
    /// There is such a row.
    Present,
    /// What a task or a run wants to own is free, over, or already that of the hot row at this key.
    Free(Key),
    /// The thread is not being deleted.
    Open,
    /// The thread is there, and is not being deleted.
    Standing,
    /// What has an owner has the one at this key.
    OwnedBy(Key),
    /// No version, or a lower one, was delivered.
    Below(u32),
    /// The conversation is the one that was read.
    Revision(u64),
    /// The config pointer names this revision.
    Pointer(u64),
    /// A token's row is still the version that was read.
    Token {
        /// Its generation.
        generation: Generation,
        /// The owner of its lease, if it had one.
        owner: Option<String>,
    },
    /// A beacon does not shine for anybody else, or for somebody who ends before that.
    Dark {
        /// Who would raise it.
        owner: String,
        /// Who ends before this is relieved.
        relieves: Option<Timestamp>,
    },
    /// A beacon shines.
    Lit,
    /// A bucket is this one; all that are full are one.
    Bucket(Bucket),
    /// A breaker was changed so often; never is none.
    Breaker(u64),
    /// There is no list of tools, or one that was not asked for after this.
    NotListedAfter(Timestamp),
}

/// An expression with what its placeholders mean.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Expression {
    pub(crate) text: String,
    names: Vec<&'static str>,
    values: Vec<(&'static str, AttributeValue)>,
}

impl When {
    /// The expression at `now`; none for an unconditional write. `now` is read again for every attempt: a retry must not
    /// believe in a lease that ended while it waited.
    pub(crate) fn at(&self, now: Timestamp) -> Option<Expression> {
        Some(match self {
            Self::Always => return None,
            Self::Expect(expect) => of_expect(expect, now),
            // Due, and this lane's; a lease still counts at its last instant (reference 6.5).
            Self::Claimable { due_pk } => Expression::new(
                "#due_pk = :due_pk AND #due_at <= :now AND (attribute_not_exists(#lu) OR #lu < :now)",
            )
            .names(&[attr::DUE_PK, attr::DUE_AT, attr::LEASE_UNTIL])
            .value(":due_pk", AttributeValue::S(due_pk.clone()))
            .value(":now", number(now.as_millis())),
            // The nonce in the owner is fresh for each claim, so it says as much as a generation that may not read.
            Self::ClaimedBy { owner } => Expression::new("#lo = :owner")
                .names(&[attr::LEASE_OWNER])
                .value(":owner", AttributeValue::S(owner.clone())),
            // Whoever claimed it meanwhile could read it, so it is not corrupt to everybody. A lease that is over is no
            // claim, exactly as in the claim that found the row: a row that kept one could else never be put away.
            Self::WaitingIn { due_pk } => {
                Expression::new("#due_pk = :due_pk AND (attribute_not_exists(#lu) OR #lu < :now)")
                    .names(&[attr::DUE_PK, attr::LEASE_UNTIL])
                    .value(":due_pk", AttributeValue::S(due_pk.clone()))
                    .value(":now", number(now.as_millis()))
            }
            // An event, a revision, the first pointer: written once, never over another.
            Self::Absent => Expression::new("attribute_not_exists(#pk)").names(&[attr::PK]),
            // An update alone would make a row of nothing but what it sets.
            Self::Present => Expression::new("attribute_exists(#pk)").names(&[attr::PK]),
            // What is the owner's already is no conflict: the write is a repetition. Nor is what is over, whether or not the
            // table has removed it.
            Self::Free(owner) => {
                let free = "attribute_not_exists(#pk) OR (#opk = :opk AND #osk = :osk) OR #ttl <= :seconds";
                Expression::new(free)
                    .names(&[attr::PK, attr::OWNER_PK, attr::OWNER_SK, TTL])
                    .value(":seconds", number(seconds(now)))
                    .value(":opk", AttributeValue::S(owner.pk()))
                    .value(":osk", AttributeValue::S(owner.sk()))
            }
            // Nothing new starts in a thread that is being deleted: its rows would outlive it.
            Self::Open => Expression::new("attribute_not_exists(#deleting)").names(&[attr::DELETING]),
            // The tombstone: over an open thread, and only if there is one.
            Self::Standing => Expression::new("attribute_exists(#pk) AND attribute_not_exists(#deleting)")
                .names(&[attr::PK, attr::DELETING]),
            // A handle or a key that another task took after the owner's time was over is that one's.
            Self::OwnedBy(owner) => Expression::new("#opk = :opk AND #osk = :osk")
                .names(&[attr::OWNER_PK, attr::OWNER_SK])
                .value(":opk", AttributeValue::S(owner.pk()))
                .value(":osk", AttributeValue::S(owner.sk())),
            // Nothing is delivered twice, or after a newer version.
            Self::Below(version) => Expression::new("attribute_not_exists(#pk) OR #ver < :ver")
                .names(&[attr::PK, attr::VERSION])
                .value(":ver", number(*version)),
            // Nobody admitted, replaced or ended a run of it, or edited it, since it was read.
            Self::Revision(read) => {
                Expression::new("#rv = :rv").names(&[attr::REVISION]).value(":rv", number(*read))
            }
            // The next revision: nobody moved the pointer since it was read.
            Self::Pointer(before) => {
                Expression::new("#num = :num").names(&[attr::NUMBER]).value(":num", number(*before))
            }
            // Nobody claimed, committed or fenced it since: generation and lease together name a version.
            Self::Token { generation, owner: Some(owner) } => Expression::new("#gen = :gen AND #lo = :owner")
                .names(&[attr::GENERATION, attr::LEASE_OWNER])
                .value(":gen", number(generation.number()))
                .value(":owner", AttributeValue::S(owner.clone())),
            Self::Token { generation, owner: None } => {
                Expression::new("#gen = :gen AND attribute_not_exists(#lo)")
                    .names(&[attr::GENERATION, attr::LEASE_OWNER])
                    .value(":gen", number(generation.number()))
            }
            // One is awake at a time, and counts as such in the last moment of its lease, like the holder of any other.
            Self::Dark { owner, relieves } => {
                let text = if relieves.is_some() {
                    "attribute_not_exists(#lo) OR #lo = :owner OR #lu < :now OR #ends < :relieves"
                } else {
                    "attribute_not_exists(#lo) OR #lo = :owner OR #lu < :now"
                };
                let expression = Expression::new(text)
                    .names(&[attr::LEASE_OWNER, attr::LEASE_UNTIL])
                    .value(":owner", AttributeValue::S(owner.clone()))
                    .value(":now", number(now.as_millis()));
                match relieves {
                    None => expression,
                    Some(at) => expression.names(&[ENDS]).value(":relieves", number(at.as_millis())),
                }
            }
            // Word that is left with nobody would look as if it had been heard.
            Self::Lit => Expression::new("#lu >= :now")
                .names(&[attr::LEASE_UNTIL])
                .value(":now", number(now.as_millis())),
            // Full is what has no row, and what was full before now: the table takes its time to remove rows.
            Self::Bucket(before) if before.is_full(now) => {
                Expression::new("attribute_not_exists(#pk) OR #full <= :now_us")
                    .names(&[attr::PK, FULL_AT])
                    .value(":now_us", number(Bucket::full_from(now).micros()))
            }
            // Nobody took from it since it was seen.
            Self::Bucket(before) => {
                Expression::new("#full = :full").names(&[FULL_AT]).value(":full", number(before.micros()))
            }
            // Without a row it is closed, and so it is when its row says nothing any more.
            Self::Breaker(0) => Expression::new("attribute_not_exists(#pk) OR #ttl <= :seconds")
                .names(&[attr::PK, TTL])
                .value(":seconds", number(seconds(now))),
            // Nobody changed it since it was seen.
            Self::Breaker(revision) => {
                Expression::new("#num = :num").names(&[attr::NUMBER]).value(":num", number(*revision))
            }
            // A slow writer does not bring back what a server listed before.
            Self::NotListedAfter(at) => Expression::new("attribute_not_exists(#pk) OR #lt <= :lt")
                .names(&[attr::PK, attr::LISTED_AT])
                .value(":lt", number(at.as_millis())),
        })
    }
}

fn of_expect(expect: &Expect, now: Timestamp) -> Expression {
    match expect {
        // A birth: nothing was there.
        Expect::Absent { .. } => Expression::new("attribute_not_exists(#pk)").names(&[attr::PK]),
        // The claim still stands: nobody fenced or took over, nobody wrote beside it, and its time is not over. After
        // a commit there is no `lu`, and the comparison with a missing attribute is false.
        Expect::Held { generation, wake } => Expression::new("#gen = :gen AND #wake = :wake AND #lu >= :now")
            .names(&[attr::GENERATION, attr::WAKE, attr::LEASE_UNTIL])
            .value(":gen", number(generation.number()))
            .value(":wake", number(*wake))
            .value(":now", number(now.as_millis())),
        // Nobody claimed, fenced or woke it, and its holder did not commit: that leaves the generation, takes the lease.
        Expect::Unchanged { generation, wake, leased } => Expression::new(if *leased {
            "#gen = :gen AND #wake = :wake AND attribute_exists(#lu)"
        } else {
            "#gen = :gen AND #wake = :wake AND attribute_not_exists(#lu)"
        })
        .names(&[attr::GENERATION, attr::WAKE, attr::LEASE_UNTIL])
        .value(":gen", number(generation.number()))
        .value(":wake", number(*wake)),
    }
}

impl Expression {
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    pub(crate) fn names(mut self, names: &[&'static str]) -> Self {
        self.names.extend(names);
        self
    }

    pub(crate) fn value(mut self, placeholder: &'static str, value: AttributeValue) -> Self {
        self.values.push((placeholder, value));
        self
    }

    /// Takes the placeholders of another expression of the same request.
    pub(crate) fn with(mut self, other: &Self) -> Self {
        self.names.extend(&other.names);
        self.values.extend(other.values.iter().cloned());
        self
    }

    /// `ExpressionAttributeNames`.
    pub(crate) fn name_map(&self) -> Option<HashMap<String, String>> {
        let map: HashMap<_, _> =
            self.names.iter().map(|name| (format!("#{name}"), (*name).to_owned())).collect();
        Some(map).filter(|map| !map.is_empty())
    }

    /// `ExpressionAttributeValues`; an empty map is a validation error.
    pub(crate) fn value_map(&self) -> Option<HashMap<String, AttributeValue>> {
        let map: HashMap<_, _> =
            self.values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Some(map).filter(|map| !map.is_empty())
    }
}
