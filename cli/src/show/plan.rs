//! A plan as tables.

use std::collections::BTreeMap;

use api::report::shows_illustrative_spot;
use model::{MicroUsd, Plan, PlannedNode, Reason, Snapshot, Unschedulable};

use crate::output::{Out, Paint};
use crate::show::pods::Pods;
use crate::show::text::{Align, HOURS_A_MONTH, count, paragraph, table, usd};

/// Nodes that read the same: count, and what each costs and carries.
struct Alike<'a> {
    node: &'a PlannedNode,
    pods: String,
    count: u64,
}

/// Writes nodes to launch, existing places, pods without a place, and what it costs.
pub fn show(out: &mut Out, plan: &Plan, snapshot: &Snapshot) -> miette::Result<()> {
    let pods = Pods::new(&snapshot.cluster);
    nodes(out, plan, &pods)?;
    existing(out, plan, &pods)?;
    unschedulable(out, plan, &pods)?;
    notes(out, plan)?;
    summary(out, plan, snapshot)
}

fn nodes(out: &mut Out, plan: &Plan, pods: &Pods<'_>) -> miette::Result<()> {
    if plan.nodes.is_empty() {
        return Ok(());
    }
    out.heading("Nodes to launch")?;
    let rows = alike(plan, pods)
        .into_iter()
        .map(|Alike { node, pods, count }| {
            vec![
                count.to_string(),
                node.offer.instance_type.clone(),
                node.offer.zone.clone(),
                node.offer.capacity_type.to_string(),
                node.pool.clone(),
                usd(node.price),
                usd(node.price.times(count)),
                pods,
            ]
        })
        .collect();
    let columns = [
        ("COUNT", Align::Right),
        ("TYPE", Align::Left),
        ("ZONE", Align::Left),
        ("CAPACITY", Align::Left),
        ("NODEPOOL", Align::Left),
        ("EACH/H", Align::Right),
        ("ALL/H", Align::Right),
        ("PODS ON EACH", Align::Left),
    ];
    table(out, &columns, rows)
}

/// The plan's nodes, those that read the same together, the dearest lot first.
fn alike<'a>(plan: &'a Plan, pods: &Pods<'_>) -> Vec<Alike<'a>> {
    let mut groups = BTreeMap::new();
    for node in &plan.nodes {
        let pods = pods.summary(&node.pods);
        let key =
            (&node.pool, &node.offer.instance_type, &node.offer.zone, node.offer.capacity_type, node.price);
        let group = groups.entry((key, pods.clone())).or_insert(Alike { node, pods, count: 0 });
        group.count += 1;
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.node.price.times(group.count)));
    groups
}

fn existing(out: &mut Out, plan: &Plan, pods: &Pods<'_>) -> miette::Result<()> {
    if plan.existing.is_empty() {
        return Ok(());
    }
    out.heading("Room on nodes that exist or are coming")?;
    let rows = plan.existing.iter().map(|(node, names)| vec![node.clone(), pods.summary(names)]).collect();
    table(out, &[("NODE", Align::Left), ("PODS", Align::Left)], rows)
}

fn unschedulable(out: &mut Out, plan: &Plan, pods: &Pods<'_>) -> miette::Result<()> {
    let mut groups: BTreeMap<String, (&Reason, Vec<&Unschedulable>)> = BTreeMap::new();
    for entry in &plan.unschedulable {
        let key = format!("{} {}", entry.reason.code(), entry.reason);
        groups.entry(key).or_insert((&entry.reason, Vec::new())).1.push(entry);
    }
    if groups.is_empty() {
        return Ok(());
    }
    out.heading("Pods without a node")?;
    for (reason, entries) in groups.into_values() {
        let names: Vec<_> = entries.iter().map(|entry| entry.pod.clone()).collect();
        let code = out.paint(Paint::Bad, reason.code());
        out.line(format!("{code}: {}", count(names.len(), "pod")))?;
        paragraph(out, 2, &pods.summary(&names))?;
        paragraph(out, 2, &reason.to_string())?;
        if let Some(help) = reason.help() {
            paragraph(out, 2, &format!("help: {help}"))?;
        }
    }
    if let Some(first) = plan.unschedulable.first() {
        let hint =
            format!("`journeyman explain {} …` shows what each rule left of each NodePool.", first.pod);
        paragraph(out, 0, &hint)?;
    }
    Ok(())
}

fn notes(out: &mut Out, plan: &Plan) -> miette::Result<()> {
    if plan.notes.is_empty() {
        return Ok(());
    }
    out.heading("Notes")?;
    for note in &plan.notes {
        paragraph(out, 2, &format!("{}: {}", note.place, note.message))?;
    }
    Ok(())
}

fn summary(out: &mut Out, plan: &Plan, snapshot: &Snapshot) -> miette::Result<()> {
    let launched: usize = plan.nodes.iter().map(|node| node.pods.len()).sum();
    let placed: usize = plan.existing.values().map(Vec::len).sum();
    let without = plan.unschedulable.len();
    out.line("")?;
    if launched + placed + without == 0 && plan.nodes.is_empty() {
        return out.line("Nothing to do: no pod waits for a node.");
    }
    let price = plan.price();
    let total = format!(
        "{} for {}: {} an hour, about ${:.2} a month",
        count(plan.nodes.len(), "new node"),
        count(launched, "pod"),
        usd(price),
        price.times(HOURS_A_MONTH).usd()
    );
    let total = out.paint(Paint::Bold, total);
    out.line(total)?;
    if let Some(bound) = plan.lower_bound.filter(|_| !plan.nodes.is_empty()) {
        out.line(format!("{} ({} an hour).", distance(price, bound), usd(bound)))?;
    }
    if placed > 0 {
        out.line(format!("{} on {}.", count(placed, "pod"), count(plan.existing.len(), "existing node")))?;
    }
    if without > 0 {
        let text = out.paint(Paint::Bad, format!("{} without a node.", count(without, "pod")));
        out.line(text)?;
    }
    if snapshot.settings.fee_per_node > MicroUsd::ZERO {
        out.line(format!("Prices include {} an hour per node.", usd(snapshot.settings.fee_per_node)))?;
    }
    if shows_illustrative_spot(plan, snapshot) {
        out.line("Spot prices are illustrative: made up from on-demand prices, not seen on the market.")?;
    }
    Ok(())
}

/// How far the price is from what can't be undercut, rounded up to a tenth of a percent.
fn distance(price: MicroUsd, bound: MicroUsd) -> String {
    if price <= bound || bound == MicroUsd::ZERO {
        return "The cheapest possible".to_owned();
    }
    let tenths = ((price.0 - bound.0).saturating_mul(1000)).div_ceil(bound.0);
    format!("Within {}.{} % of the cheapest possible", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_to_the_bound_is_never_flattered() {
        for (price, bound, text) in [
            (100, 100, "The cheapest possible"),
            (1018, 1000, "Within 1.8 % of the cheapest possible"),
            (100_001, 100_000, "Within 0.1 % of the cheapest possible"),
            (250, 100, "Within 150.0 % of the cheapest possible"),
        ] {
            assert_eq!(distance(MicroUsd(price), MicroUsd(bound)), text);
        }
    }
}
