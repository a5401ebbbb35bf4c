//! What looks at a cluster cost: `cargo run -p cluster --example look -- KUBECONFIG [CONTEXT]`.

use std::error::Error;
use std::io::Write;
use std::time::{Duration, Instant};

use cluster::{Access, Cluster, Observer, Plugins, Traffic};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().map(Into::into);
    let plugins = Some(Plugins::of_kubectl());
    let access = Access::Kubeconfig { path, context: arguments.next(), plugins };
    let cluster = Cluster::connect(access).await?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "server {}", cluster.version().await?)?;
    let mut meter = Meter { cluster: cluster.clone(), traffic: cluster.traffic(), start: Instant::now() };
    let mut observer = Observer::new(&cluster);

    let rest = observer.at_rest().await?;
    let (pending, claims, nodes) = (rest.pending.len(), rest.claims.len(), rest.nodes.len());
    let found = format!("{pending} pods, {claims} claims and {nodes} nodes not at rest");
    writeln!(out, "cold, cheap: {} {found}", meter.read())?;
    observer.suspend();
    observer.at_rest().await?;
    writeln!(out, "warm, cheap: {}", meter.read())?;

    let objects = observer.observe().await?;
    let lowered = api::lower::lower(&objects, &api::lower::LowerOptions::default())?;
    drop(objects);
    let seen = &lowered.cluster;
    let found =
        format!("{} pods on {} nodes, {} notes", seen.pods.len(), seen.nodes.len(), lowered.notes.len());
    writeln!(out, "whole:       {} {found}", meter.read())?;
    drop(lowered);
    for note in ["again", "and again"] {
        observer.suspend();
        let objects = observer.observe().await?;
        writeln!(out, "whole {note}: {}", meter.read())?;
        drop(objects);
    }
    observer.suspend();
    observer.at_rest().await?;
    writeln!(out, "warm, cheap, all pods known: {}", meter.read())?;
    let waiting = observer.changed(tokio::time::Instant::now() + Duration::from_secs(10)).await?;
    writeln!(out, "waited at most 10 s: {} {waiting:?}", meter.read())?;
    Ok(())
}

struct Meter {
    cluster: Cluster,
    traffic: Traffic,
    start: Instant,
}

impl Meter {
    /// Requests, bytes and time since the last reading, and the most memory so far.
    fn read(&mut self) -> String {
        let traffic = self.cluster.traffic();
        let Traffic { requests, bytes } = traffic - self.traffic;
        self.traffic = traffic;
        let time = self.start.elapsed().as_millis();
        self.start = Instant::now();
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim();
        format!("{requests} requests, {bytes} bytes, {time} ms, peak {peak};")
    }
}
