//! How fast problems are packed.
#![allow(
    dead_code,
    missing_docs,
    reason = "the kit serves several targets; criterion's macros make public items"
)]

#[path = "../tests/kit/mod.rs"]
mod kit;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

fn pack(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pack");
    group.sample_size(10);
    for (shape, units, classes) in [
        ("uniform", 1000, 20),
        ("uniform", 10_000, 50),
        ("uniform", 50_000, 50),
        ("diverse", 10_000, 200),
        ("diverse", 50_000, 700),
    ] {
        let problem = kit::problem(shape, units, classes, Some(32), 33);
        group.throughput(Throughput::Elements(u64::from(units)));
        group.bench_with_input(
            BenchmarkId::new(shape, format!("{units}x{classes}")),
            &problem,
            |bencher, problem| {
                bencher.iter(|| solver::solve(problem));
            },
        );
    }
    group.finish();
}

criterion_group!(benches, pack);
criterion_main!(benches);
