//! Prints how long plans take: `cargo run --release -p tests --example speed [SHAPE-COUNT…]`.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "it prints a table, or has nothing to print")]

use std::sync::Arc;
use std::time::Instant;

use planner::{PROVISION, decide};
use tests::workloads::{Shape, snapshot};

fn main() {
    let embedded = catalog::embedded().expect("the embedded catalogue reads");
    let types = Arc::new(catalog::resolve(&embedded, &catalog::ClassShape::default()));
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    println!("| problem | nodes | $/h | bound $/h | seconds, best of three | pods a second |");
    println!("|---|---|---|---|---|---|");
    for shape in [Shape::Uniform, Shape::Diverse, Shape::Distinct] {
        for count in [1_000, 10_000, 50_000] {
            let name = format!("{}-{count}", shape.name());
            if !wanted.is_empty() && !wanted.contains(&name) {
                continue;
            }
            let snapshot = snapshot(shape, count, false, types.clone());
            let mut best = f64::INFINITY;
            let mut plan = model::Plan::default();
            for _ in 0..3 {
                let start = Instant::now();
                plan = decide(&snapshot, PROVISION);
                best = best.min(start.elapsed().as_secs_f64());
            }
            let (price, bound) = (plan.price().usd(), plan.lower_bound.unwrap_or_default().usd());
            let rate = count as f64 / best;
            println!("| {name} | {} | {price:.2} | {bound:.2} | {best:.3} | {rate:.0} |", plan.nodes.len());
        }
    }
}
