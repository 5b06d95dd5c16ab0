//! Seeded randomness: the same seed, the same numbers, on every machine.

use std::ops::Range;
use std::sync::Mutex;
use std::time::Duration;

use pudu_app::ports::Random;

use crate::lock::lock;

/// xoshiro256++ (Blackman and Vigna), seeded by splitmix64. A crate's default generator may change with its version, and
/// with it every seed ever reported; this one cannot.
#[derive(Debug)]
pub struct SeededRandom(Mutex<[u64; 4]>);

impl SeededRandom {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        Self(Mutex::new([next(), next(), next(), next()]))
    }

    /// A generator of its own for one part of the world, so that one part's draws never shift another's.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self::new(self.next())
    }

    /// The next 64 bits.
    pub fn next(&self) -> u64 {
        let mut state = lock(&self.0);
        let [a, b, c, d] = *state;
        let (c2, d2) = (c ^ a, d ^ b);
        *state = [a ^ d2, b ^ c2, c2 ^ (b << 17), d2.rotate_left(45)];
        a.wrapping_add(d).rotate_left(23).wrapping_add(a)
    }

    /// A number below `end`, which must not be 0. The bias of a remainder does not matter here.
    pub fn below(&self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// A duration of whole milliseconds.
    pub fn millis(&self, range: Range<u64>) -> Duration {
        Duration::from_millis(range.start + self.below(range.end.saturating_sub(range.start)))
    }

    /// One of them; none only of none.
    pub fn pick<'a, T>(&self, from: &'a [T]) -> Option<&'a T> {
        let at = usize::try_from(self.below(from.len() as u64)).unwrap_or(0);
        from.get(at)
    }
}

impl Random for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let drawn = self.next().to_le_bytes();
            for (byte, value) in chunk.iter_mut().zip(drawn) {
                *byte = value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of the reference implementation for the state that splitmix64 makes of seed 0.
    #[test]
    fn it_is_the_published_generator() {
        let seeded = SeededRandom::new(0);
        assert_eq!(lock(&seeded.0)[0], 0xe220_a839_7b1d_cdaf);
        let direct = SeededRandom(Mutex::new([1, 2, 3, 4]));
        let drawn: Vec<u64> = (0..4).map(|_| direct.next()).collect();
        assert_eq!(drawn, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn the_same_seed_draws_the_same() {
        let draw = |seed| {
            let random = SeededRandom::new(seed);
            let mut bytes = [0; 13];
            random.fill(&mut bytes);
            (bytes, random.fork().next(), random.millis(5..10))
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }
}
