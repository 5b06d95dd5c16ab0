//! Moments as callers and models are shown them, in UTC; the last one of the calendar for one that it does not have.

use jiff::Timestamp as Moment;
use pudu_domain::Timestamp;

/// In ISO 8601 (RFC 3339).
pub fn moment(at: Timestamp) -> String {
    of(at).to_string()
}

/// The day, as `2026-11-30, Monday`.
pub fn day(at: Timestamp) -> String {
    of(at).strftime("%Y-%m-%d, %A").to_string()
}

fn of(at: Timestamp) -> Moment {
    let millis = i64::try_from(at.as_millis()).unwrap_or(i64::MAX);
    Moment::from_millisecond(millis).unwrap_or(Moment::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_in_utc_and_all_of_them_are_shown() {
        assert_eq!(moment(Timestamp::from_millis(1_793_491_200_123)), "2026-11-01T00:00:00.123Z");
        assert!(moment(Timestamp::from_millis(u64::MAX)).starts_with("9999-12-30"));
        let at = Timestamp::from_millis(1_793_491_200_000);
        assert_eq!((moment(at).as_str(), day(at).as_str()), ("2026-11-01T00:00:00Z", "2026-11-01, Sunday"));
    }
}
