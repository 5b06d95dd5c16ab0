//! Moments as callers are shown them.

use pudu_domain::Timestamp;

/// ISO 8601, UTC; the last moment of the calendar for one that it does not have.
pub fn moment(at: Timestamp) -> String {
    let millis = i64::try_from(at.as_millis()).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_in_utc_and_all_of_them_are_shown() {
        assert_eq!(moment(Timestamp::from_millis(1_793_491_200_123)), "2026-11-01T00:00:00.123Z");
        assert!(moment(Timestamp::from_millis(u64::MAX)).starts_with("9999-12-30"));
    }
}
