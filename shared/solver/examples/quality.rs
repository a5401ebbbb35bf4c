//! Prints what packing costs against first-fit and against the bound, for made-up problems of several shapes.
#![allow(clippy::print_stdout, dead_code, reason = "an example prints")]

#[path = "../tests/kit/mod.rs"]
mod kit;

fn main() {
    println!(
        "| problem | units | bins | $/h | first-fit $/h | bound $/h | ratio | first-fit's ratio | strategy |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let (mut ratios, mut baseline, mut problems) = (0.0, 0.0, 0.0);
    for shape in kit::SHAPES {
        for (units, classes) in [(1000, 20), (5000, 60)] {
            for most in [None, Some(32)] {
                let problem = kit::problem(shape, units, classes, most, 30);
                let solution = solver::solve(&problem);
                let base = solver::first_fit(&problem);
                let faults = solver::check(&problem, &solution);
                assert!(faults.is_empty(), "{shape}: {faults:?}");
                let dollars = |micro: u64| micro as f64 / 1e6;
                let ratio = solution.cost as f64 / solution.bound.max(1) as f64;
                let theirs = base.cost as f64 / base.bound.max(1) as f64;
                let bins: u32 = solution.bins.iter().map(|bin| bin.copies).sum();
                let suffix = if most.is_some() { "-le32" } else { "" };
                println!(
                    "| {shape}-{units}{suffix} | {units} | {bins} | {:.2} | {:.2} | {:.2} | {ratio:.3} | {theirs:.3} | {} |",
                    dollars(solution.cost),
                    dollars(base.cost),
                    dollars(solution.bound),
                    solution.strategy
                );
                ratios += ratio;
                baseline += theirs;
                problems += 1.0;
            }
        }
    }
    println!("| mean | | | | | | {:.3} | {:.3} | |", ratios / problems, baseline / problems);
}
