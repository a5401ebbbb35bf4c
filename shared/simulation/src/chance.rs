//! What would be chance in a real cluster: a stream of numbers that follows from a seed.

use model::Fnv1a;

/// Splitmix64: small, and good enough for delays and ties.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    /// The stream of `seed` for one purpose. Each purpose has its own, so that a longer boot doesn't change which jobs
    /// come.
    pub fn new(seed: u64, purpose: &str) -> Self {
        let mut hash = Fnv1a::default();
        hash.write(purpose.bytes());
        Self(seed ^ hash.value())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from `low` to `high`, both included; `low` if they are the wrong way round.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let width = u64::try_from(high.saturating_sub(low)).map_or(1, |width| width.saturating_add(1));
        low.saturating_add(i64::try_from(self.next() % width).unwrap_or(0))
    }

    /// Whether the one of `n` falls on us.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.next().is_multiple_of(n.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_follows_from_seed_and_purpose() {
        let draw = |seed, purpose| {
            let mut chance = Chance::new(seed, purpose);
            (0..8).map(|_| chance.between(1, 1000)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1, "boot"), draw(1, "boot"));
        assert_ne!(draw(1, "boot"), draw(2, "boot"));
        assert_ne!(draw(1, "boot"), draw(1, "jobs"));
    }

    #[test]
    fn numbers_reach_both_ends_and_no_further() {
        let mut chance = Chance::new(7, "ends");
        let drawn: Vec<i64> = (0..1000).map(|_| chance.between(3, 6)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&3), Some(&6)));
        assert_eq!(chance.between(5, 5), 5);
        assert_eq!(chance.between(5, 4), 5);
    }
}
