//! What goes and what stays, as tables.

use model::{Command, MicroUsd, Plan, PlannedNode};

use crate::output::Out;
use crate::show::text::{Align, HOURS_A_MONTH, count, paragraph, table, usd};

/// Writes each node once: it goes, with what that saves, or it stays, by which rule.
pub fn show(out: &mut Out, plan: &Plan) -> miette::Result<()> {
    if !plan.disruptions.is_empty() {
        out.heading("Nodes to give up")?;
        let rows = plan.disruptions.iter().flat_map(rows).collect();
        let columns = [
            ("NODE", Align::Left),
            ("REASON", Align::Left),
            ("REPLACED BY", Align::Left),
            ("SAVED/H", Align::Right),
            ("WHY", Align::Left),
        ];
        table(out, &columns, rows)?;
    }
    if !plan.kept.is_empty() {
        out.heading("Nodes that stay")?;
        let rows = plan
            .kept
            .iter()
            .map(|kept| vec![kept.node.clone(), kept.code.as_str().to_owned(), kept.message.clone()]);
        table(out, &[("NODE", Align::Left), ("RULE", Align::Left), ("WHY", Align::Left)], rows.collect())?;
    }
    if !plan.nodes.is_empty() {
        out.heading("Nodes that pools of fixed size lack")?;
        let offer = |node: &PlannedNode| {
            format!("{} {} {}", node.offer.instance_type, node.offer.zone, node.offer.capacity_type)
        };
        let rows = plan
            .nodes
            .iter()
            .map(|node| vec![node.name.clone(), node.pool.clone(), offer(node), usd(node.price)]);
        let columns = [
            ("NODECLAIM", Align::Left),
            ("NODEPOOL", Align::Left),
            ("CHEAPEST", Align::Left),
            ("PRICE/H", Align::Right),
        ];
        table(out, &columns, rows.collect())?;
    }
    for note in &plan.notes {
        paragraph(out, 0, &format!("note: {}: {}", note.place, note.message))?;
    }
    let (before, after) = (plan.price_before.unwrap_or_default(), plan.price_after().unwrap_or_default());
    let going = plan.disruptions.iter().map(|command| command.nodes.len()).sum::<usize>();
    let month = |price: MicroUsd| usd(price.times(HOURS_A_MONTH));
    let text = format!(
        "{} of {} would go. {}/h before, {}/h after; {} and {} a month.",
        going,
        count(going + plan.kept.len(), "node"),
        usd(before),
        usd(after),
        month(before),
        month(after)
    );
    out.line("")?;
    paragraph(out, 0, &text)
}

/// A line for each node of a command; the saving stands with the first.
fn rows(command: &Command) -> Vec<Vec<String>> {
    let replaced: Vec<String> = command
        .replacements
        .iter()
        .map(|node| format!("{} {} {}", node.offer.instance_type, node.offer.zone, node.offer.capacity_type))
        .collect();
    let replaced = if replaced.is_empty() { "-".to_owned() } else { replaced.join(", ") };
    let saved = command.saved();
    let sign = if saved < 0 { "-" } else { "" };
    let saved = format!("{sign}{}", usd(MicroUsd(saved.unsigned_abs())));
    let line = |(index, node): (usize, &String)| {
        let once = |text: &String| if index == 0 { text.clone() } else { "\"".to_owned() };
        let reason = command.reason.as_str().to_owned();
        vec![node.clone(), reason, once(&replaced), once(&saved), once(&command.message)]
    };
    command.nodes.iter().enumerate().map(line).collect()
}
