//! Prints what half-empty clusters come down to: `cargo run --release -p tests --example consolidate [NAME…]`.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "it prints a table, or has nothing to print")]

use std::sync::Arc;
use std::time::Instant;

use jiff::SignedDuration;
use planner::{PROVISION, Weights, consolidate, decide};
use tests::clusters::{Half, afresh, apply, half_empty, overfull, price};
use tests::workloads::Shape;

/// No cluster takes more rounds than this.
const MOST_ROUNDS: usize = 1000;

fn main() {
    let embedded = catalog::embedded().expect("the embedded catalogue reads");
    let types = Arc::new(catalog::resolve(&embedded, &catalog::ClassShape::default()));
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let shape = Shape::Uniform;
    let clusters = [
        (
            "consol-100",
            Half { shape, nodes: 100, pods: 698, small: true, spot: false, budget: "10%", seed: 1 },
        ),
        (
            "consol-300",
            Half { shape, nodes: 300, pods: 1750, small: true, spot: false, budget: "10%", seed: 2 },
        ),
        (
            "consol-spot-200",
            Half { shape, nodes: 200, pods: 1101, small: true, spot: true, budget: "10%", seed: 3 },
        ),
        (
            "consol-300-b100",
            Half { shape, nodes: 300, pods: 1750, small: true, spot: false, budget: "100%", seed: 2 },
        ),
        (
            "consol-2000",
            Half { shape, nodes: 2000, pods: 30_000, small: true, spot: false, budget: "10%", seed: 4 },
        ),
    ];
    println!(
        "| cluster | pods | nodes | $/h | bound $/h | ratio | fresh $/h | rounds | moved | moved a $ | first s | s |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for (name, half) in clusters {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| wanted == name) {
            continue;
        }
        let mut snapshot = half_empty(half, &types);
        let (nodes, before) = (snapshot.cluster.nodes.len(), price(&snapshot));
        let (mut moved, mut rounds, mut seconds, mut first) = (0, 0, 0.0, None);
        let weights = Weights::default();
        while rounds < MOST_ROUNDS {
            let start = Instant::now();
            let sweep = consolidate(&snapshot, &weights);
            let took = start.elapsed().as_secs_f64();
            first.get_or_insert(took);
            seconds += took;
            rounds += 1;
            for one in &sweep.consolidations {
                moved += apply(
                    &mut snapshot,
                    &one.nodes,
                    one.replacements.iter().map(|(node, _)| node),
                    &one.existing,
                );
            }
            if std::env::var("TRACE").is_ok() {
                println!(
                    "  {rounds}: {took:.3} s, {} commands, {} go, {} come, ${:.2}",
                    sweep.consolidations.len(),
                    sweep.consolidations.iter().map(|one| one.nodes.len()).sum::<usize>(),
                    sweep.consolidations.iter().map(|one| one.replacements.len()).sum::<usize>(),
                    price(&snapshot)
                );
            }
            if sweep.consolidations.is_empty() && !sweep.cut_short {
                break;
            }
            // What one look has no work left for is that of another minute.
            snapshot.now += SignedDuration::from_mins(1);
        }
        assert_eq!(overfull(&snapshot), None, "{name}");
        let after = price(&snapshot);
        let fresh = decide(&afresh(&snapshot), PROVISION);
        let bound = fresh.lower_bound.unwrap_or_default().usd();
        println!(
            "| {name} | {} | {nodes} → {} | {before:.2} → {after:.2} | {bound:.2} | {:.3} | {:.2} | {rounds} | {moved} | {:.1} | {:.2} | {seconds:.2} |",
            snapshot.cluster.pods.len(),
            snapshot.cluster.nodes.len(),
            after / bound,
            fresh.price().usd(),
            moved as f64 / (before - after),
            first.unwrap_or_default(),
        );
    }
}
