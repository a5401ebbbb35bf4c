//! One pod's place, or why it has none.

use api::report::shows_illustrative_spot;
use model::{ObjectName, Plan, PlannedNode, Pod, Snapshot, Unschedulable};

use crate::output::{Out, Paint};
use crate::show::pods::Pods;
use crate::show::text::{Align, count, paragraph, table, usd};

/// Options shown of a planned node.
const OPTIONS: usize = 10;

/// Writes what the plan says about `pod`.
pub fn show(out: &mut Out, pod: &Pod, plan: &Plan, snapshot: &Snapshot) -> miette::Result<()> {
    let pods = Pods::new(&snapshot.cluster);
    if let Some(entry) = plan.unschedulable.iter().find(|entry| entry.pod == pod.name) {
        return without(out, pod, entry);
    }
    if let Some(node) = plan.nodes.iter().find(|node| node.pods.binary_search(&pod.name).is_ok()) {
        launched(out, pod, node, &pods)?;
        if shows_illustrative_spot(plan, snapshot) {
            out.line("Spot prices are illustrative: made up from on-demand prices, not seen on the market.")?;
        }
        return Ok(());
    }
    if let Some((node, names)) = plan.existing.iter().find(|(_, names)| names.contains(&pod.name)) {
        title(out, pod, &format!("goes to {node}, which exists or is coming"))?;
        asks(out, pod)?;
        return neighbours(out, &pod.name, names, &pods);
    }
    title(out, pod, &untouched(pod))
}

fn title(out: &mut Out, pod: &Pod, what: &str) -> miette::Result<()> {
    let name = out.paint(Paint::Bold, &pod.name);
    out.line(format!("{name} {what}"))
}

fn asks(out: &mut Out, pod: &Pod) -> miette::Result<()> {
    paragraph(out, 2, &format!("It asks {}.", pod.spec.requests))
}

fn neighbours(out: &mut Out, name: &ObjectName, all: &[ObjectName], pods: &Pods<'_>) -> miette::Result<()> {
    let others: Vec<_> = all.iter().filter(|other| *other != name).cloned().collect();
    if others.is_empty() {
        return paragraph(out, 2, "No other pending pod goes there.");
    }
    paragraph(out, 2, &format!("With it: {}.", pods.summary(&others)))
}

/// Why the plan says nothing about a pod.
fn untouched(pod: &Pod) -> String {
    let why = match &pod.node {
        Some(node) => return format!("is on node {node}, where it stays"),
        None if pod.daemon => "belongs to a DaemonSet, which no node is launched for",
        None if pod.mirror => "is a static pod, which belongs to its node",
        None if pod.terminating => "is being deleted",
        None if pod.phase != model::Phase::Pending => "has come to its end",
        None => "has not been found unschedulable by kube-scheduler yet, or is promised a node already",
    };
    why.to_owned()
}

fn without(out: &mut Out, pod: &Pod, entry: &Unschedulable) -> miette::Result<()> {
    let code = out.paint(Paint::Bad, entry.reason.code());
    title(out, pod, &format!("has no node: {code}"))?;
    asks(out, pod)?;
    paragraph(out, 2, &format!("{}.", entry.reason))?;
    if let Some(help) = entry.reason.help() {
        paragraph(out, 2, &format!("help: {help}"))?;
    }
    if entry.funnels.is_empty() {
        return Ok(());
    }
    out.heading("What each rule left of each NodePool's instance types")?;
    let mut rows = Vec::new();
    for funnel in entry.funnels.iter() {
        rows.push(vec![funnel.pool.clone(), "in its EC2NodeClass".to_owned(), funnel.types.to_string()]);
        for step in &funnel.steps {
            rows.push(vec![String::new(), step.rule.clone(), step.left.to_string()]);
        }
    }
    table(out, &[("NODEPOOL", Align::Left), ("RULE", Align::Left), ("TYPES LEFT", Align::Right)], rows)
}

fn launched(out: &mut Out, pod: &Pod, node: &PlannedNode, pods: &Pods<'_>) -> miette::Result<()> {
    title(out, pod, &format!("goes to the new node {}", node.name))?;
    asks(out, pod)?;
    let offer = &node.offer;
    let node_text = format!(
        "NodePool {} launches {} in {}, {}, for {} an hour.",
        node.pool,
        offer.instance_type,
        offer.zone,
        offer.capacity_type,
        usd(node.price)
    );
    paragraph(out, 2, &node_text)?;
    paragraph(
        out,
        2,
        &format!("Pods and daemons there ask {}; it has {}.", node.requests, node.allocatable),
    )?;
    neighbours(out, &pod.name, &node.pods, pods)?;
    if !node.pinned.is_empty() {
        let labels: Vec<_> = node.pinned.iter().map(|(key, value)| format!("{key}={value}")).collect();
        paragraph(out, 2, &format!("Its place among other pods relies on {}.", labels.join(", ")))?;
    }
    out.heading(&format!("The cheapest of {} that hold these pods", count(node.options.len(), "offer")))?;
    let rows = node.options.iter().take(OPTIONS).map(|offer| {
        vec![
            offer.instance_type.clone(),
            offer.zone.clone(),
            offer.capacity_type.to_string(),
            usd(offer.price),
            offer.reservation.clone().unwrap_or_default(),
        ]
    });
    let columns = [
        ("TYPE", Align::Left),
        ("ZONE", Align::Left),
        ("CAPACITY", Align::Left),
        ("PRICE/H", Align::Right),
        ("RESERVATION", Align::Left),
    ];
    table(out, &columns, rows.collect())
}
