//! Moments as people and programs write them, in UTC.

use jiff::Timestamp as Moment;
use pudu_domain::Timestamp;

/// In RFC 3339; the epoch for a moment that no calendar has.
pub(crate) fn rfc3339(at: Timestamp) -> String {
    moment(at).to_string()
}

/// The day, as `2026-11-30, Monday`.
pub(crate) fn day(at: Timestamp) -> String {
    moment(at).strftime("%Y-%m-%d, %A").to_string()
}

fn moment(at: Timestamp) -> Moment {
    let millis = i64::try_from(at.as_millis()).unwrap_or_default();
    Moment::from_millisecond(millis).unwrap_or(Moment::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_in_utc() {
        let at = Timestamp::from_millis(1_793_491_200_000);
        assert_eq!((rfc3339(at).as_str(), day(at).as_str()), ("2026-11-01T00:00:00Z", "2026-11-01, Sunday"));
    }
}
