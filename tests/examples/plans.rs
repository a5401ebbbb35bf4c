//! Prints what plans cost against their proven bound, on problems of several kinds: `cargo run --release -p tests --example plans`.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "it prints a table, or has nothing to print")]

use std::sync::Arc;
use std::time::Instant;

use planner::{PROVISION, decide};
use tests::workloads::{Shape, snapshot};

fn main() {
    let embedded = catalog::embedded().expect("the embedded catalogue reads");
    let types = Arc::new(catalog::resolve(&embedded, &catalog::ClassShape::default()));
    println!("| problem | pods | nodes | $/h | bound $/h | ratio | seconds | unplaced |");
    println!("|---|---|---|---|---|---|---|---|");
    let mut ratios = Vec::new();
    for shape in Shape::ALL {
        for (count, small) in [(1000, false), (1000, true), (5000, false), (5000, true)] {
            let snapshot = snapshot(shape, count, small, types.clone());
            let start = Instant::now();
            let plan = decide(&snapshot, PROVISION);
            let seconds = start.elapsed().as_secs_f64();
            let faults = model::audit(&plan, &snapshot);
            assert!(faults.is_empty(), "{}-{count}: {:?}", shape.name(), &faults[..faults.len().min(3)]);
            let (price, bound) = (plan.price().usd(), plan.lower_bound.unwrap_or_default().usd());
            ratios.push(price / bound);
            println!(
                "| {}-{count}{} | {count} | {} | {price:.2} | {bound:.2} | {:.3} | {seconds:.2} | {} |",
                shape.name(),
                if small { "-le32" } else { "" },
                plan.nodes.len(),
                price / bound,
                plan.unschedulable.len()
            );
        }
    }
    println!("\nmean ratio {:.3}", ratios.iter().sum::<f64>() / ratios.len() as f64);
}
