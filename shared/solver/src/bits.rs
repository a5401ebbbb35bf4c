//! A set of small integers of a fixed length.

/// A set of integers below a fixed length. Sets that meet in an operation must have the same length.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitSet {
    words: Vec<u64>,
    length: usize,
}

impl BitSet {
    /// The empty set over `0..length`.
    pub fn new(length: usize) -> Self {
        Self { words: vec![0; length.div_ceil(64)], length }
    }

    /// The set of all of `0..length`.
    pub fn full(length: usize) -> Self {
        let mut words = vec![u64::MAX; length.div_ceil(64)];
        if let Some(last) = words.last_mut()
            && !length.is_multiple_of(64)
        {
            *last = (1 << (length % 64)) - 1;
        }
        Self { words, length }
    }

    /// How many integers the set ranges over.
    pub fn capacity(&self) -> usize {
        self.length
    }

    /// Adds an integer; one beyond the length is ignored.
    pub fn insert(&mut self, index: usize) {
        if index < self.length {
            self.words[index / 64] |= 1 << (index % 64);
        }
    }

    /// Adds the integers from `start` up to `end`; those beyond the length are ignored.
    pub fn insert_range(&mut self, start: usize, end: usize) {
        let mut at = start;
        let end = end.min(self.length);
        while at < end {
            let upto = end.min((at / 64 + 1) * 64);
            self.words[at / 64] |= u64::MAX >> (64 - (upto - at)) << (at % 64);
            at = upto;
        }
    }

    /// Takes an integer out.
    pub fn remove(&mut self, index: usize) {
        if index < self.length {
            self.words[index / 64] &= !(1 << (index % 64));
        }
    }

    /// Whether the integer is in the set.
    pub fn contains(&self, index: usize) -> bool {
        self.words.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// Keeps what is also in `other`.
    pub fn and_assign(&mut self, other: &Self) {
        for (index, word) in self.words.iter_mut().enumerate() {
            *word &= other.words.get(index).copied().unwrap_or(0);
        }
    }

    /// Adds what is in `other`.
    pub fn or_assign(&mut self, other: &Self) {
        for (word, theirs) in self.words.iter_mut().zip(&other.words) {
            *word |= theirs;
        }
    }

    /// Whether nothing is in the set.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// How many integers are in the set.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The integers of the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(index, word)| {
            let next = |rest: &u64| (rest & (rest - 1) != 0).then(|| rest & (rest - 1));
            std::iter::successors((*word != 0).then_some(*word), next)
                .map(move |rest| index * 64 + rest.trailing_zeros() as usize)
        })
    }

    /// Whether the sets share an integer.
    pub fn intersects(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).any(|(ours, theirs)| ours & theirs != 0)
    }

    /// Whether all of this set is in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        let theirs = |index: usize| other.words.get(index).copied().unwrap_or(0);
        self.words.iter().enumerate().all(|(index, ours)| ours & !theirs(index) == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::BitSet;

    #[test]
    fn a_full_set_holds_its_length_and_no_more() {
        for length in [0, 1, 63, 64, 65, 200] {
            let full = BitSet::full(length);
            assert_eq!(full.count(), length);
            assert!(full.iter().eq(0..length), "length {length}");
            assert!(!full.contains(length));
        }
    }

    #[test]
    fn a_range_is_its_integers() {
        for (start, end) in [(0, 0), (0, 64), (3, 5), (60, 70), (64, 128), (1, 199), (130, 500), (300, 400)] {
            let (mut range, mut single) = (BitSet::new(200), BitSet::new(200));
            range.insert_range(start, end);
            (start..end).for_each(|index| single.insert(index));
            assert_eq!(range, single, "{start}..{end}");
        }
    }

    #[test]
    fn set_algebra_agrees_with_arithmetic() {
        let multiples = |step: usize| {
            let mut set = BitSet::new(150);
            (0..150).step_by(step).for_each(|index| set.insert(index));
            set
        };
        let (mut twos, threes, sixes) = (multiples(2), multiples(3), multiples(6));
        assert!(sixes.is_subset(&twos) && !twos.is_subset(&sixes) && twos.intersects(&threes));
        let mut either = twos.clone();
        either.or_assign(&threes);
        assert_eq!(either.count(), 100);
        twos.and_assign(&threes);
        assert_eq!(twos, sixes);
        twos.remove(144);
        assert!(twos != sixes && !twos.contains(144));
        sixes.iter().for_each(|index| twos.remove(index));
        assert!(twos.is_empty());
    }
}
