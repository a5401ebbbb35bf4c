//! How fast pending pods become a plan, against every EC2 type of a Region.
#![expect(clippy::expect_used, reason = "a benchmark without its input is none")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use planner::{PROVISION, decide};
use tests::workloads::{Shape, snapshot};

fn provision(criterion: &mut Criterion) {
    let embedded = catalog::embedded().expect("the embedded catalogue reads");
    let types = Arc::new(catalog::resolve(&embedded, &catalog::ClassShape::default()));
    let mut group = criterion.benchmark_group("provision");
    group.sample_size(10).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(5));
    for shape in [Shape::Uniform, Shape::Diverse] {
        for pods in [1_000_usize, 10_000, 50_000] {
            let snapshot = snapshot(shape, pods, false, types.clone());
            group.throughput(Throughput::Elements(pods as u64));
            group.bench_function(format!("{}-{pods}", shape.name()), |bencher| {
                bencher.iter(|| decide(black_box(&snapshot), PROVISION));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, provision);
criterion_main!(benches);
