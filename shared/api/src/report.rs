//! Plans for programs: one JSON object, its field names stable.

use model::{CapacityType, MicroUsd, Offer, Plan, PlannedNode, Resources, Snapshot};
use serde_json::{Map, Value, json};

/// The plan as `--output json` has it.
pub fn plan_json(plan: &Plan, snapshot: &Snapshot) -> Value {
    let mut report = Map::new();
    report.insert("usdPerHour".to_owned(), json!(plan.price().usd()));
    if let Some(bound) = plan.lower_bound {
        report.insert("lowerBoundUsdPerHour".to_owned(), json!(bound.usd()));
    }
    report.insert("nodes".to_owned(), plan.nodes.iter().map(node).collect());
    let existing: Map<String, Value> = plan
        .existing
        .iter()
        .map(|(node, pods)| (node.clone(), pods.iter().map(|pod| json!(pod.to_string())).collect()))
        .collect();
    report.insert("existing".to_owned(), Value::Object(existing));
    let unschedulable = plan.unschedulable.iter().map(|entry| {
        let mut report = Map::new();
        report.insert("pod".to_owned(), json!(entry.pod.to_string()));
        report.insert("code".to_owned(), json!(entry.reason.code().as_str()));
        report.insert("message".to_owned(), json!(entry.reason.to_string()));
        if let Some(help) = entry.reason.help() {
            report.insert("help".to_owned(), json!(help.to_string()));
        }
        Value::Object(report)
    });
    report.insert("unschedulable".to_owned(), unschedulable.collect());
    let mut notes: Vec<Value> =
        plan.notes.iter().map(|note| json!({ "place": note.place, "message": note.message })).collect();
    if shows_illustrative_spot(plan, snapshot) {
        let message = "Spot prices are illustrative: they are not AWS's";
        notes.push(json!({ "place": "catalogue", "message": message }));
    }
    report.insert("notes".to_owned(), Value::Array(notes));
    Value::Object(report)
}

/// What goes and what stays, as `disrupt --output json` has it.
pub fn disrupt_json(plan: &Plan) -> Value {
    let usd = |price: Option<MicroUsd>| price.unwrap_or_default().usd();
    let disruptions = plan.disruptions.iter().map(|command| {
        json!({
            "nodes": command.nodes,
            "reason": command.reason.as_str(),
            "message": command.message,
            "replacements": command.replacements.iter().map(node).collect::<Vec<_>>(),
            "podsMoved": command.pods_moved,
            "usdPerHourSaved": command.saved() as f64 / 1e6,
        })
    });
    let kept = plan
        .kept
        .iter()
        .map(|kept| json!({ "node": kept.node, "code": kept.code.as_str(), "message": kept.message }));
    json!({
        "usdPerHourBefore": usd(plan.price_before),
        "usdPerHourAfter": usd(plan.price_after()),
        "disruptions": disruptions.collect::<Vec<_>>(),
        "kept": kept.collect::<Vec<_>>(),
        "nodes": plan.nodes.iter().map(node).collect::<Vec<_>>(),
        "notes": plan.notes.iter().map(|note| json!({ "place": note.place, "message": note.message })).collect::<Vec<_>>(),
    })
}

/// Whether prices are shown that were made up.
pub fn shows_illustrative_spot(plan: &Plan, snapshot: &Snapshot) -> bool {
    let spot = |offer: &Offer| offer.capacity_type == CapacityType::Spot;
    snapshot.catalogue.illustrative_spot
        && plan.nodes.iter().any(|node| spot(&node.offer) || node.options.iter().any(spot))
}

fn node(node: &PlannedNode) -> Value {
    let option = |offer: &Offer| {
        json!({
            "instanceType": offer.instance_type,
            "zone": offer.zone,
            "capacityType": offer.capacity_type.as_str(),
            "usdPerHour": offer.price.usd(),
        })
    };
    json!({
        "name": node.name,
        "nodePool": node.pool,
        "instanceType": node.offer.instance_type,
        "zone": node.offer.zone,
        "capacityType": node.offer.capacity_type.as_str(),
        "usdPerHour": node.price.usd(),
        "pods": node.pods.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "requests": amounts(&node.requests),
        "allocatable": amounts(&node.allocatable),
        "options": node.options.iter().map(option).collect::<Vec<_>>(),
    })
}

fn amounts(resources: &Resources) -> Value {
    let amounts = resources.iter().map(|(name, amount)| (name.to_owned(), json!(amount.display(name))));
    Value::Object(amounts.collect())
}
