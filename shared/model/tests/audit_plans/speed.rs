//! The judge is quick enough to be asked before every action.

use model::audit;

use crate::world::{ask, plan, snapshot, spread};

/// Three pods a node; every pod has a spec of its own that equals the others', as after reading a snapshot from a file.
#[test]
fn fifty_thousand_pods_are_judged() {
    let names: Vec<String> = (0..50_000).map(|index| format!("p{index:05}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut snapshot = snapshot(&names[..1]);
    let first = snapshot.cluster.pods[0].clone();
    snapshot.cluster.pods = names
        .iter()
        .map(|name| {
            let mut pod = first.clone();
            pod.name.name = (*name).to_owned();
            pod.spec = std::sync::Arc::new((*pod.spec).clone());
            pod
        })
        .collect();
    // Drawn for the first pod only, then dealt out: drawing looks pods up one by one.
    let zones: [&[&str]; 3] = [&["a"], &["b"], &["c"]];
    let drawn = plan(&snapshot, &zones.map(|zone| (&names[..3], zone)));
    let mut plan = model::Plan::default();
    for (index, pods) in names.chunks(3).enumerate() {
        let (mut node, mut effect) = (drawn.nodes[index % 3].clone(), drawn.effects[index % 3].clone());
        node.name = format!("new-{index:05}");
        node.pods = pods.iter().map(|pod| crate::world::name(pod)).collect();
        if let model::Effect::CreateNodeClaim(draft) = &mut effect {
            std::sync::Arc::make_mut(draft).name.clone_from(&node.name);
        }
        plan.nodes.push(node);
        plan.effects.push(effect);
    }
    ask(&mut snapshot, |spec| spec.spread.push(spread(model::labels::ZONE, 3)));
    assert_eq!(audit(&plan, &snapshot), Vec::<String>::new());
}
