use proptest::prelude::*;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_793_491_200_000);

fn rate(per_second: u32, burst: u32) -> Rate {
    Rate::new(per_second, burst).unwrap()
}

fn take(bucket: &mut Bucket, rate: Rate, now: Timestamp, wanted: u32) -> u32 {
    match bucket.take(rate, now, wanted) {
        Taken::Some { tokens, left } => {
            *bucket = left;
            tokens
        }
        Taken::None { .. } => 0,
    }
}

#[test]
fn a_full_bucket_gives_its_burst_and_then_what_comes_back() {
    let (rate, mut bucket) = (rate(50, 100), Bucket::default());
    assert_eq!(take(&mut bucket, rate, NOW, 50), 50);
    assert_eq!(take(&mut bucket, rate, NOW, 80), 50);
    assert_eq!(bucket.take(rate, NOW, 1), Taken::None { wait: Duration::from_millis(20) });
    assert_eq!(take(&mut bucket, rate, NOW + Duration::from_millis(19), 1), 0);
    assert_eq!(take(&mut bucket, rate, NOW + Duration::from_millis(20), 9), 1);
    assert_eq!(take(&mut bucket, rate, NOW + Duration::from_millis(520), 99), 25);
    assert!(
        !bucket.is_full(NOW + Duration::from_millis(2519))
            && bucket.is_full(NOW + Duration::from_millis(2520))
    );
    assert_eq!(take(&mut bucket, rate, NOW + Duration::from_hours(1), 1000), 100, "it never holds more");
}

#[test]
fn a_rate_has_a_range() {
    for (per_second, burst) in [(0, 1), (1, 0), (10_001, 1), (1, 100_001)] {
        assert_eq!(Rate::new(per_second, burst), None);
    }
    assert!(Rate::new(10_000, 100_000).is_some() && Rate::new(1, 1).is_some());
}

#[test]
fn a_clock_that_is_ahead_empties_a_bucket_and_one_that_was_wrong_does_not() {
    let rate = rate(10, 20);
    let full_in = |seconds: u64| Bucket::full_at(micros(NOW + Duration::from_secs(seconds)));
    for seconds in [2, 3, 62] {
        assert_eq!(full_in(seconds).take(rate, NOW, 1), Taken::None { wait: Duration::from_millis(100) });
    }
    let mut wrong = full_in(63);
    assert_eq!(take(&mut wrong, rate, NOW, 99), 20, "it is as good as none");
    assert!(wrong.is_full(NOW + Duration::from_secs(2)));
}

proptest! {
    #[test]
    fn no_history_exceeds_burst_and_rate(
        per_second in 1_u32..=10_000, burst in 1_u32..=100_000,
        steps in prop::collection::vec((0_u64..5_000, 1_u32..=1_000), 1..60),
    ) {
        let (rate, mut bucket) = (rate(per_second, burst), Bucket::default());
        let (mut now, mut taken) = (NOW, 0_u64);
        for (pause, wanted) in steps {
            now = now + Duration::from_millis(pause);
            taken += u64::from(take(&mut bucket, rate, now, wanted));
            let elapsed = u64::try_from(now.since(NOW).as_micros()).unwrap();
            // The last term is one microsecond of rounding.
            let most = u64::from(burst) * MICROS + (elapsed + 1) * u64::from(per_second);
            prop_assert!(taken * MICROS <= most, "{taken} after {elapsed} µs");
        }
    }

    #[test]
    fn who_waits_as_long_as_told_is_served(
        per_second in 1_u32..=10_000, burst in 1_u32..=1_000, part in 0_u64..=1000,
    ) {
        let rate = rate(per_second, burst);
            let bucket = Bucket::full_at(micros(NOW) + rate.micros(burst) * part / 1000);
        if let Taken::None { wait } = bucket.take(rate, NOW, 1) {
            // The clock counts milliseconds.
            let then = Timestamp::from_millis(NOW.as_millis() + u64::try_from(wait.as_micros().div_ceil(1000)).unwrap());
            let served = matches!(bucket.take(rate, then, 1), Taken::Some { tokens: 1, .. });
            prop_assert!(served);
        }
    }

    #[test]
    fn an_untouched_bucket_gives_all_of_its_burst(per_second in 1_u32..=10_000, burst in 1_u32..=100_000) {
        let (rate, mut bucket) = (rate(per_second, burst), Bucket::default());
        prop_assert_eq!(take(&mut bucket, rate, NOW, u32::MAX), burst);
        let full = bucket.ends();
        prop_assert!(bucket.is_full(full));
        prop_assert_eq!(take(&mut bucket, rate, full, u32::MAX), burst);
    }
}
