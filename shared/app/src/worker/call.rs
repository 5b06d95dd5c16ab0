//! Why a background function was invoked, and what that lets it work on.

use std::time::Duration;

use pudu_domain::Timestamp;

use crate::ports::{Raised, Wake};

/// The period of the schedule, and what a tick may be late by: one who is awake and ends before that would leave nobody.
const UNTIL_NEXT_TICK: Duration = Duration::from_secs(65);
/// By how much longer somebody must work to relieve another one.
const WORTHWHILE: Duration = Duration::from_secs(10);

/// Why a background function was invoked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// By its schedule.
    Tick,
    /// For these items.
    Wake(Vec<Wake>),
}

/// What an invocation works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stance {
    /// Everything, until nothing is due soon.
    Everything,
    /// Only what is long overdue, whoever should have worked on it: somebody else is awake.
    Overdue,
    /// Only the items that it was woken for, which whoever is awake may not see yet.
    Own,
}

impl Stance {
    /// What `call` lets an invocation work on, by what came of raising the beacon; none when the table did not say: then it
    /// is as if nobody were awake, because two who work side by side cost little, and nobody who works costs a minute.
    pub(super) const fn of(call: &Call, raised: Option<Raised>) -> Self {
        match (raised, call) {
            (None | Some(Raised::Ours { .. }), _) => Self::Everything,
            (Some(Raised::Theirs), Call::Tick) => Self::Overdue,
            (Some(Raised::Theirs), Call::Wake(_)) => Self::Own,
        }
    }
}

impl Call {
    /// Whom an invocation relieves that begins at `now` and stops beginning anything at `ends`: one who would end before
    /// the next tick, and so much earlier that it is worth it. Without that there would be nobody for up to a minute each
    /// time that a busy worker ends. Only a tick: a wake-up is for its items.
    pub(super) fn relieves(&self, now: Timestamp, ends: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Wake(_) => None,
            Self::Tick => {
                let shorter = ends.since(Timestamp::default() + WORTHWHILE);
                Some((now + UNTIL_NEXT_TICK).min(Timestamp::default() + shorter))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_finds_somebody_awake_works_on_little() {
        let (tick, wake) = (Call::Tick, Call::Wake(Vec::new()));
        let ours = Some(Raised::Ours { knocks: 7 });
        for (call, raised, stance) in [
            (&tick, ours, Stance::Everything),
            (&tick, None, Stance::Everything),
            (&tick, Some(Raised::Theirs), Stance::Overdue),
            (&wake, ours, Stance::Everything),
            (&wake, None, Stance::Everything),
            (&wake, Some(Raised::Theirs), Stance::Own),
        ] {
            assert_eq!(Stance::of(call, raised), stance, "{call:?} {raised:?}");
        }
    }

    #[test]
    fn only_a_tick_relieves_and_only_one_who_ends_before_the_next() {
        let at = |seconds: u64| Timestamp::from_millis(1000 * seconds);
        assert_eq!(Call::Tick.relieves(at(1000), at(1170)), Some(at(1065)), "long before it ends itself");
        assert_eq!(Call::Tick.relieves(at(1000), at(1050)), Some(at(1040)), "not its own double");
        assert_eq!(Call::Wake(Vec::new()).relieves(at(1000), at(1170)), None);
    }
}
