//! The word that was probably meant.

/// The candidate nearest to `word`, if any is near enough to be worth asking about.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// How many letters must be changed, added or left out, or swapped with their neighbour.
fn distance(one: &str, two: &str) -> usize {
    let (one, two): (Vec<char>, Vec<char>) = (one.chars().collect(), two.chars().collect());
    let mut rows = vec![vec![0; two.len() + 1]; one.len() + 1];
    for (row, cells) in rows.iter_mut().enumerate() {
        cells[0] = row;
    }
    for (column, cell) in rows[0].iter_mut().enumerate() {
        *cell = column;
    }
    for row in 1..=one.len() {
        for column in 1..=two.len() {
            let change = usize::from(one[row - 1] != two[column - 1]);
            let mut least = (rows[row - 1][column - 1] + change)
                .min(rows[row - 1][column] + 1)
                .min(rows[row][column - 1] + 1);
            let swapped =
                row > 1 && column > 1 && one[row - 1] == two[column - 2] && one[row - 2] == two[column - 1];
            if swapped {
                least = least.min(rows[row - 2][column - 2] + 1);
            }
            rows[row][column] = least;
        }
    }
    rows[one.len()][two.len()]
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn near_words_are_suggested_and_far_ones_not() {
        let known = ["requirements", "template", "taints", "key", "cpu"];
        #[rustfmt::skip]
        let table = [
            ("requirments", Some("requirements")), ("Taints", Some("taints")), ("ky", Some("key")), ("cup", Some("cpu")),
            ("replicas", None), ("zzz", None), ("", None),
        ];
        for (word, meant) in table {
            assert_eq!(closest(word, known), meant, "{word}");
        }
    }
}
