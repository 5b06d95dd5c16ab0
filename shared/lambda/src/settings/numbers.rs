//! The numbers that an operator may change (reference 1.8), each with its range; the same names in the cloud and on one
//! machine.

use std::ops::RangeInclusive;
use std::time::Duration;

use pudu_app::limits::Limits;
use pudu_domain::Policy;

use super::SettingError;
use crate::env::Source;

/// How long a claim is held, in seconds, 5 to 3600. Default 120 in the cloud, 30 on one machine.
pub const LEASE_SECONDS: &str = "PUDU_LEASE_SECONDS";
/// Pause between two polls when the server gives no hint, in seconds, 1 to 300. Default 5.
pub const POLL_INTERVAL_SECONDS: &str = "PUDU_POLL_INTERVAL_SECONDS";
/// Least pause while the server waits for input, in seconds, 5 to 3600. Default 60.
pub const INPUT_REQUIRED_SECONDS: &str = "PUDU_INPUT_REQUIRED_POLL_INTERVAL_SECONDS";
/// Most pause after failures, in seconds, 1 to 3600. Default 300.
pub const MAX_BACKOFF_SECONDS: &str = "PUDU_MAX_POLL_BACKOFF_SECONDS";
/// Failed polls in a row after which tracking counts as degraded, 1 to 100. Default 3.
pub const DEGRADED_AFTER_ERRORS: &str = "PUDU_TRACKING_DEGRADED_AFTER_ERRORS";
/// Largest result that is kept whole, in bytes of compact JSON, 1024 to 10485760, of which 262144 are used. Default 65536.
pub const MAX_RESULT_BYTES: &str = "PUDU_MAX_RESULT_BYTES";
/// Characters of a larger result that are kept, 64 to 100000. Default 2000.
pub const RESULT_PREVIEW_CHARS: &str = "PUDU_RESULT_PREVIEW_MAX_CHARS";
/// How long a cancel is tried before the task ends without the server's word, in seconds, 10 to 86400. Default 600.
pub const CANCEL_DEADLINE_SECONDS: &str = "PUDU_CANCEL_DEADLINE_SECONDS";
/// How long what has ended is kept, in days, 1 to 3650. Default 30.
pub const RETENTION_DAYS: &str = "PUDU_RETENTION_DAYS";
/// Items that one process works on at once, 1 to 1024. Default 64.
pub const MAX_CONCURRENT_POLLS: &str = "PUDU_MAX_CONCURRENT_POLLS";
/// Of those, for one server, 1 to 1024. Default 8.
pub const MAX_CONCURRENT_PER_SERVER: &str = "PUDU_MAX_CONCURRENT_POLLS_PER_SERVER";

const DAY: u64 = 86_400;

/// Largest result that fits a row, with everything else that a task may have brought (DESIGN "The table").
pub const LARGEST_RESULT: usize = 262_144;

/// The numbers, and what is to be said about them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbers {
    /// Intervals and bounds.
    pub policy: Policy,
    /// Lease and permits.
    pub limits: Limits,
    /// What an operator should know about a number that is not used as it was given.
    pub warnings: Vec<String>,
}

impl Numbers {
    /// Reads what is set over `limits` and the policy's defaults.
    pub fn read(source: &dyn Source, limits: &Limits) -> Result<Self, SettingError> {
        let defaults = Policy::default();
        let seconds = |name, range, default: Duration| {
            number(source, name, range, default.as_secs()).map(Duration::from_secs)
        };
        let asked = number(source, MAX_RESULT_BYTES, 1024..=10_485_760, defaults.max_result_bytes)?;
        let policy = Policy {
            poll_interval: seconds(POLL_INTERVAL_SECONDS, 1..=300, defaults.poll_interval)?,
            input_required_interval: seconds(
                INPUT_REQUIRED_SECONDS,
                5..=3600,
                defaults.input_required_interval,
            )?,
            max_backoff: seconds(MAX_BACKOFF_SECONDS, 1..=3600, defaults.max_backoff)?,
            degraded_after: number(source, DEGRADED_AFTER_ERRORS, 1..=100, defaults.degraded_after)?,
            max_result_bytes: asked.min(LARGEST_RESULT),
            result_preview_chars: number(
                source,
                RESULT_PREVIEW_CHARS,
                64..=100_000,
                defaults.result_preview_chars,
            )?,
            cancel_deadline: seconds(CANCEL_DEADLINE_SECONDS, 10..=86_400, defaults.cancel_deadline)?,
            retention: Duration::from_secs(
                DAY * number(source, RETENTION_DAYS, 1..=3650, defaults.retention.as_secs() / DAY)?,
            ),
            ..defaults
        };
        let lease = seconds(LEASE_SECONDS, 5..=3600, limits.lease)?;
        let limits = Limits {
            lease,
            // What a killed worker held is free again then, so somebody must be called for it.
            beacon: limits.beacon.min(lease),
            at_once: number(source, MAX_CONCURRENT_POLLS, 1..=1024, limits.at_once)?,
            at_once_per_server: number(
                source,
                MAX_CONCURRENT_PER_SERVER,
                1..=1024,
                limits.at_once_per_server,
            )?,
            ..limits.clone()
        };
        let mut warnings = Vec::new();
        if asked > LARGEST_RESULT {
            warnings.push(format!(
                "{MAX_RESULT_BYTES} is {asked}: results of more than {LARGEST_RESULT} bytes do not fit a row and are kept as a preview"
            ));
        }
        if limits.at_once_per_server > limits.at_once {
            let (per_server, at_once) = (limits.at_once_per_server, limits.at_once);
            warnings.push(format!(
                "{MAX_CONCURRENT_PER_SERVER} is {per_server}: no more than the {at_once} of {MAX_CONCURRENT_POLLS} are worked on at once"
            ));
        }
        Ok(Self { policy, limits, warnings })
    }

    /// Says what there is to say. After telemetry began.
    pub fn warn(&self) {
        for warning in &self.warnings {
            tracing::warn!("{warning}");
        }
    }
}

/// A whole number in its range.
pub(super) fn number<T>(
    source: &dyn Source,
    name: &'static str,
    range: RangeInclusive<T>,
    default: T,
) -> Result<T, SettingError>
where
    T: std::str::FromStr + PartialOrd + std::fmt::Display,
{
    let Some(text) = source.get(name) else { return Ok(default) };
    text.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| SettingError {
        name,
        problem: format!("must be a whole number from {} to {}", range.start(), range.end()),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn read(pairs: &[(&'static str, &str)]) -> Result<Numbers, SettingError> {
        Numbers::read(&pairs.iter().copied().collect::<BTreeMap<_, _>>(), &Limits::default())
    }

    #[test]
    fn the_defaults_are_those_of_the_reference() {
        let numbers = read(&[]).unwrap();
        assert_eq!(
            numbers,
            Numbers { policy: Policy::default(), limits: Limits::default(), warnings: Vec::new() }
        );
        let policy = numbers.policy;
        let seconds = [policy.poll_interval, policy.input_required_interval, policy.max_backoff];
        assert_eq!(seconds.map(|duration| duration.as_secs()), [5, 60, 300]);
        assert_eq!(
            (policy.degraded_after, policy.max_result_bytes, policy.result_preview_chars),
            (3, 65_536, 2000)
        );
    }

    #[test]
    fn each_number_is_read_from_its_name() {
        let numbers = read(&[
            (LEASE_SECONDS, "5"),
            (POLL_INTERVAL_SECONDS, "300"),
            (INPUT_REQUIRED_SECONDS, "5"),
            (MAX_BACKOFF_SECONDS, "3600"),
            (DEGRADED_AFTER_ERRORS, "100"),
            (MAX_RESULT_BYTES, "1024"),
            (RESULT_PREVIEW_CHARS, "64"),
            (CANCEL_DEADLINE_SECONDS, "10"),
            (RETENTION_DAYS, "3650"),
            (MAX_CONCURRENT_POLLS, "128"),
            (MAX_CONCURRENT_PER_SERVER, "1"),
        ])
        .unwrap();
        let (policy, limits) = (&numbers.policy, &numbers.limits);
        let seconds =
            [limits.lease, policy.poll_interval, policy.input_required_interval, policy.max_backoff];
        assert_eq!(seconds.map(|duration| duration.as_secs()), [5, 300, 5, 3600]);
        assert_eq!(
            (policy.degraded_after, policy.max_result_bytes, policy.result_preview_chars),
            (100, 1024, 64)
        );
        let (retention, cancel) = (policy.retention, policy.cancel_deadline);
        assert_eq!((retention.as_secs(), cancel.as_secs()), (DAY * 3650, 10));
        assert_eq!((limits.at_once, limits.at_once_per_server, numbers.warnings.len()), (128, 1, 0));
        assert_eq!(limits.beacon, limits.lease, "nobody counts as awake whose claims are over");
    }

    #[test]
    fn what_is_out_of_range_names_the_variable() {
        for (name, values) in [
            (LEASE_SECONDS, ["4", "3601", "2m"]),
            (POLL_INTERVAL_SECONDS, ["0", "301", "5.0"]),
            (INPUT_REQUIRED_SECONDS, ["4", "3601", "-5"]),
            (MAX_BACKOFF_SECONDS, ["0", "3601", "x"]),
            (DEGRADED_AFTER_ERRORS, ["0", "101", " 3"]),
            (MAX_RESULT_BYTES, ["1023", "10485761", "64k"]),
            (RESULT_PREVIEW_CHARS, ["63", "100001", "1e3"]),
            (CANCEL_DEADLINE_SECONDS, ["9", "86401", "10m"]),
            (RETENTION_DAYS, ["0", "3651", "1y"]),
            (MAX_CONCURRENT_POLLS, ["0", "1025", "all"]),
            (MAX_CONCURRENT_PER_SERVER, ["0", "1025", "1,000"]),
        ] {
            for value in values {
                let error = read(&[(name, value)]).unwrap_err();
                assert_eq!(error.name, name, "{value}");
                assert!(error.to_string().contains("whole number from"), "{error}");
            }
        }
    }

    #[test]
    fn a_result_never_grows_past_its_row_and_that_is_said() {
        for (given, used, warnings) in
            [("262144", 262_144, 0), ("262145", 262_144, 1), ("10485760", 262_144, 1)]
        {
            let numbers = read(&[(MAX_RESULT_BYTES, given)]).unwrap();
            assert_eq!(
                (numbers.policy.max_result_bytes, numbers.warnings.len()),
                (used, warnings),
                "{given}"
            );
        }
        let more_than_all = read(&[(MAX_CONCURRENT_POLLS, "4")]).unwrap();
        assert!(more_than_all.warnings[0].contains(MAX_CONCURRENT_PER_SERVER), "{more_than_all:?}");
    }
}
