//! The report for people.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use model::{MicroUsd, Note};
use simulation::{MoveKind, Report};

use crate::output::{Out, Paint};
use crate::show::text::{Align, count, item, paragraph, table};

/// Bill lines beyond this are summed up.
const LINES: usize = 14;

/// Writes the report.
pub fn show(out: &mut Out, report: &Report, notes: &[Note], moves: bool) -> miette::Result<()> {
    head(out, report)?;
    if moves {
        list_moves(out, report)?;
    }
    timeline(out, report)?;
    bill(out, report)?;
    pods(out, report)?;
    unplaced(out, report)?;
    audit(out, report)?;
    for note in notes {
        item(out, 2, &format!("note: {}: {}", note.place, note.message))?;
    }
    Ok(())
}

fn head(out: &mut Out, report: &Report) -> miette::Result<()> {
    let title = out.paint(Paint::Bold, format!("Simulated: {}", report.scenario));
    out.line(title)?;
    let length = report.end.duration_since(report.start).as_hours();
    let spot = if report.illustrative_spot_prices {
        " Spot prices are made up for illustration; on-demand prices are list prices."
    } else {
        ""
    };
    let from = report.start.strftime("%a %Y-%m-%d %H:%M UTC");
    let text = format!(
        "{} from {from}, seed {}. The planner is real; pods, scheduler, boots and the clock are simulated.{spot}",
        count(usize::try_from(length).unwrap_or(0), "hour"),
        report.seed
    );
    paragraph(out, 0, &text)
}

fn timeline(out: &mut Out, report: &Report) -> miette::Result<()> {
    use Align::{Left, Right};
    out.heading("Hour by hour (as each ended)")?;
    let peak = report.hours.iter().map(|hour| hour.usd_per_hour).max().unwrap_or_default();
    let rows = report.hours.iter().map(|hour| {
        vec![
            hour.until.strftime("%a %H:%M").to_string(),
            hour.nodes.to_string(),
            dash(hour.coming),
            dash(hour.going),
            hour.running.to_string(),
            dash(hour.pending),
            signed('+', hour.launched),
            signed('-', hour.removed),
            dollars(hour.usd_per_hour, 3),
            dollars(hour.cost, 2),
            bar(hour.usd_per_hour, peak),
        ]
    });
    let columns = [
        ("time", Left),
        ("nodes", Right),
        ("booting", Right),
        ("leaving", Right),
        ("pods", Right),
        ("pending", Right),
        ("new", Right),
        ("gone", Right),
        ("$/h", Right),
        ("cost", Right),
        ("", Left),
    ];
    table(out, &columns, rows.collect())
}

fn bill(out: &mut Out, report: &Report) -> miette::Result<()> {
    use Align::{Left, Right};
    out.heading("The bill (simulated)")?;
    if report.bill.is_empty() {
        return out.line("Nothing was launched.");
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    for line in report.bill.iter().take(LINES) {
        rows.push(vec![
            line.pool.clone(),
            line.instance_type.clone(),
            line.capacity_type.to_string(),
            line.instances.to_string(),
            hours(line.life),
            dollars(line.cost, 2),
        ]);
    }
    let rest = report.bill.get(LINES..).unwrap_or_default();
    if !rest.is_empty() {
        rows.push(vec![
            "others".to_owned(),
            count(rest.len(), "type"),
            String::new(),
            rest.iter().map(|line| line.instances).sum::<usize>().to_string(),
            hours(rest.iter().map(|line| line.life).sum()),
            dollars(rest.iter().map(|line| line.cost).sum(), 2),
        ]);
    }
    let columns = [
        ("pool", Left),
        ("type", Left),
        ("capacity", Left),
        ("instances", Right),
        ("hours", Right),
        ("cost", Right),
    ];
    table(out, &columns, rows)?;
    let mut by_pool: BTreeMap<&str, MicroUsd> = BTreeMap::new();
    let mut by_capacity: BTreeMap<&str, MicroUsd> = BTreeMap::new();
    for line in &report.bill {
        for (sums, key) in
            [(&mut by_pool, line.pool.as_str()), (&mut by_capacity, line.capacity_type.as_str())]
        {
            let sum = sums.entry(key).or_default();
            *sum = sum.plus(line.cost);
        }
    }
    let list = |sums: BTreeMap<&str, MicroUsd>| {
        let parts: Vec<String> =
            sums.iter().map(|(key, sum)| format!("{key} {}", dollars(*sum, 2))).collect();
        parts.join(", ")
    };
    let total = out.paint(Paint::Bold, format!("Total {}", dollars(report.cost, 2)));
    out.line(format!("\n{total}"))?;
    item(out, 2, &format!("by pool: {}", list(by_pool)))?;
    item(out, 2, &format!("by capacity type: {}", list(by_capacity)))?;
    let (all, own) = (report.always_on_peak.0, report.cost.0);
    let saved = if all == 0 { 0 } else { 100 * u128::from(all.saturating_sub(own)) / u128::from(all) };
    let text = format!(
        "Keeping what the dearest moment had ({} at {}/h) all the time would cost {}: this is {saved} % less.",
        count(report.peak_instances, "instance"),
        dollars(report.peak_price, 2),
        dollars(report.always_on_peak, 2),
    );
    paragraph(out, 0, &text)
}

fn pods(out: &mut Out, report: &Report) -> miette::Result<()> {
    out.heading("Pods")?;
    let text = format!(
        "{} made: {} done, {} scaled down, {} moved, {} on nodes and {} without one at the end.",
        report.pods_created,
        report.pods_finished,
        report.pods_scaled_down,
        report.pods_evicted,
        report.pods_running,
        report.pods_pending
    );
    paragraph(out, 0, &text)?;
    let waits = &report.waits;
    let text = format!(
        "Time to a node: half within {}, 95 % within {}, all within {}.",
        seconds(waits.p50_ms),
        seconds(waits.p95_ms),
        seconds(waits.max_ms)
    );
    paragraph(out, 0, &text)?;
    match report.cost_per_pod_hour {
        Some(cost) => out.line(format!("{} pod-hours at {} each.", hours(report.pod_time), dollars(cost, 4))),
        None => Ok(()),
    }
}

fn unplaced(out: &mut Out, report: &Report) -> miette::Result<()> {
    if report.unplaced.is_empty() {
        return Ok(());
    }
    out.heading("Without a node at the end")?;
    for group in &report.unplaced {
        let code = group.code.map_or("on-the-way", model::Code::as_str);
        item(out, 2, &format!("{} {code}: {}", count(group.pods, "pod"), group.message))?;
    }
    Ok(())
}

fn audit(out: &mut Out, report: &Report) -> miette::Result<()> {
    let decisions = format!("{} decisions", report.decisions);
    if report.launch_failures > 0 {
        out.line(format!("{} NodeClaims could not be launched.", report.launch_failures))?;
    }
    if report.audit_faults.is_empty() {
        let fine = out.paint(Paint::Good, "the audit objected to none");
        return out.line(format!("{decisions}; {fine}."));
    }
    let bad = out.paint(Paint::Bad, format!("the audit objected {} times", report.audit_faults.len()));
    out.line(format!("{decisions}; {bad}:"))?;
    for (at, fault) in report.audit_faults.iter().take(10) {
        item(out, 2, &format!("{}: {fault}", at.strftime("%a %H:%M:%S")))?;
    }
    Ok(())
}

fn list_moves(out: &mut Out, report: &Report) -> miette::Result<()> {
    out.heading("Instances that came and went")?;
    let rows = report.moves.iter().map(|step| {
        vec![
            step.at.strftime("%a %H:%M:%S").to_string(),
            match step.kind {
                MoveKind::Launched => "+".to_owned(),
                MoveKind::Removed => "-".to_owned(),
            },
            step.claim.clone(),
            step.instance_type.clone(),
            step.zone.clone(),
            step.capacity_type.to_string(),
            dollars(step.price, 3),
            step.reason.clone(),
        ]
    });
    let columns = ["time", "", "NodeClaim", "type", "zone", "capacity", "$/h", "reason"];
    let columns = columns.map(|name| (name, if name == "$/h" { Align::Right } else { Align::Left }));
    table(out, &columns, rows.collect())
}

/// Dollars with so many decimals, rounded.
fn dollars(amount: MicroUsd, decimals: u32) -> String {
    let step = 10_u64.pow(6 - decimals.min(6));
    let rounded = amount.0.saturating_add(step / 2) / step;
    let whole = 10_u64.pow(decimals.min(6));
    format!("${}.{:0width$}", rounded / whole, rounded % whole, width = decimals as usize)
}

fn hours(life: SignedDuration) -> String {
    format!("{:.1}", life.as_secs_f64() / 3600.0)
}

fn seconds(milliseconds: i128) -> String {
    format!("{} s", (milliseconds + 999) / 1000)
}

fn dash(number: usize) -> String {
    if number == 0 { "-".to_owned() } else { number.to_string() }
}

fn signed(sign: char, number: usize) -> String {
    if number == 0 { "-".to_owned() } else { format!("{sign}{number}") }
}

fn bar(price: MicroUsd, peak: MicroUsd) -> String {
    let width = if peak.0 == 0 { 0 } else { (u128::from(price.0) * 16).div_ceil(u128::from(peak.0)) };
    "▇".repeat(usize::try_from(width).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_round_to_the_nearest() {
        for (micro, decimals, text) in [
            (0, 2, "$0.00"),
            (994_999, 2, "$0.99"),
            (995_000, 2, "$1.00"),
            (12_345_678, 3, "$12.346"),
            (5, 4, "$0.0000"),
            (1, 6, "$0.000001"),
        ] {
            assert_eq!(dollars(MicroUsd(micro), decimals), text);
        }
    }

    #[test]
    fn bars_grow_with_the_price_and_fit() {
        let widths: Vec<usize> = [0, 1, 50, 100]
            .iter()
            .map(|price| bar(MicroUsd(*price), MicroUsd(100)).chars().count())
            .collect();
        assert_eq!(widths, [0, 1, 8, 16]);
        assert_eq!(bar(MicroUsd(1), MicroUsd::ZERO), "");
    }
}
