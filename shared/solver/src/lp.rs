//! A small dense linear programme.

/// Slack below which a number counts as zero.
const EPSILON: f64 = 1e-9;

/// The `x ≥ 0` that maximises `value · x` while `rows · x ≤ limits`, and the price of each row. All limits must be at
/// least 0. Stops after a number of steps with what it has: `x` is always feasible, the prices may then not be.
pub(crate) fn maximise(value: &[f64], rows: &[Vec<f64>], limits: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (n, m) = (value.len(), rows.len());
    // Columns: x, slacks, right-hand side. The basis starts as the slacks.
    let stride = n + m + 1;
    let mut table = vec![0.0; (m + 1) * stride];
    for (index, row) in rows.iter().enumerate() {
        let line = &mut table[index * stride..(index + 1) * stride];
        line[..n].copy_from_slice(row);
        line[n + index] = 1.0;
        line[n + m] = limits[index].max(0.0);
    }
    for (index, value) in value.iter().enumerate() {
        table[m * stride + index] = -value;
    }
    let mut basis: Vec<usize> = (n..n + m).collect();
    for step in 0..50 * (n + m) + 100 {
        let objective = &table[m * stride..m * stride + n + m];
        let entering = if step < 20 * (n + m) {
            let best = objective.iter().enumerate().min_by(|one, other| one.1.total_cmp(other.1));
            best.filter(|(_, cost)| **cost < -EPSILON).map(|(column, _)| column)
        } else {
            // Bland's rule ends cycles.
            objective.iter().position(|cost| *cost < -EPSILON)
        };
        let Some(entering) = entering else { break };
        let mut leaving: Option<(f64, usize)> = None;
        for row in 0..m {
            let pivot = table[row * stride + entering];
            if pivot > EPSILON {
                let ratio = table[row * stride + n + m] / pivot;
                let better =
                    leaving.is_none_or(|(best, at)| ratio < best || ratio == best && basis[row] < basis[at]);
                if better {
                    leaving = Some((ratio, row));
                }
            }
        }
        let Some((_, leaving)) = leaving else { break };
        let scale = 1.0 / table[leaving * stride + entering];
        let mut line = table[leaving * stride..(leaving + 1) * stride].to_vec();
        line.iter_mut().for_each(|cell| *cell *= scale);
        table[leaving * stride..(leaving + 1) * stride].copy_from_slice(&line);
        for row in (0..=m).filter(|row| *row != leaving) {
            let factor = table[row * stride + entering];
            if factor != 0.0 {
                let cells = &mut table[row * stride..(row + 1) * stride];
                cells.iter_mut().zip(&line).for_each(|(cell, pivot)| *cell -= factor * pivot);
            }
        }
        basis[leaving] = entering;
    }
    let mut x = vec![0.0; n];
    for (row, column) in basis.iter().enumerate() {
        if *column < n {
            x[*column] = table[row * stride + n + m].max(0.0);
        }
    }
    let prices = (0..m).map(|row| table[m * stride + n + row].max(0.0)).collect();
    (x, prices)
}

#[cfg(test)]
mod tests {
    use super::maximise;

    #[test]
    fn finds_the_corner_and_its_prices() {
        // 3x + 5y with x ≤ 4, 2y ≤ 12, 3x + 2y ≤ 18: the textbook's answer is (2, 6) with prices (0, 3/2, 1).
        let rows = vec![vec![1.0, 0.0], vec![0.0, 2.0], vec![3.0, 2.0]];
        let (x, prices) = maximise(&[3.0, 5.0], &rows, &[4.0, 12.0, 18.0]);
        let near =
            |got: &[f64], want: &[f64]| got.iter().zip(want).all(|(got, want)| (got - want).abs() < 1e-9);
        assert!(near(&x, &[2.0, 6.0]), "{x:?}");
        assert!(near(&prices, &[0.0, 1.5, 1.0]), "{prices:?}");
    }

    #[test]
    fn nothing_to_gain_is_the_origin() {
        assert_eq!(maximise(&[-1.0], &[vec![1.0]], &[3.0]).0, [0.0]);
    }
}
