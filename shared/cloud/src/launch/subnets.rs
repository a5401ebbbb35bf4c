//! Which subnet machines start in.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// A subnet and how many addresses it has left.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FreeSubnet {
    /// Its id.
    pub id: String,
    /// Its zone's name.
    pub zone: String,
    /// Its zone's id, the same for all accounts.
    pub zone_id: Option<String>,
    /// Addresses that nothing has yet.
    pub free: u32,
}

/// Per zone the subnet with most free addresses; of equals the first. A closed one stands for itself alone: its zone
/// is left out only when no other subnet is in it.
pub fn best_by_zone<'a>(
    subnets: &'a [FreeSubnet],
    closed: &BTreeSet<String>,
) -> BTreeMap<&'a str, &'a FreeSubnet> {
    let mut best: BTreeMap<&str, &FreeSubnet> = BTreeMap::new();
    for subnet in subnets.iter().filter(|subnet| !closed.contains(&subnet.id)) {
        let kept = best.entry(&subnet.zone).or_insert(subnet);
        if subnet.free > kept.free {
            *kept = subnet;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L01: one empty subnet does not close the zone. 183: most free addresses first.
    #[test]
    fn each_zone_has_its_roomiest_open_subnet() {
        let subnet = |id: &str, zone: &str, free| FreeSubnet {
            id: id.to_owned(),
            zone: zone.to_owned(),
            zone_id: None,
            free,
        };
        let mut subnets =
            vec![subnet("s1", "a", 90), subnet("s2", "a", 80), subnet("s3", "b", 5), subnet("s4", "b", 5)];
        let chosen = |subnets: &[FreeSubnet], closed: &[&str]| -> Vec<String> {
            let closed = closed.iter().map(|id| (*id).to_owned()).collect();
            best_by_zone(subnets, &closed).values().map(|subnet| subnet.id.clone()).collect()
        };
        assert_eq!(chosen(&subnets, &[]), ["s1", "s3"]);
        assert_eq!(chosen(&subnets, &["s1"]), ["s2", "s3"]);
        assert_eq!(chosen(&subnets, &["s1", "s2"]), ["s3"], "only now is zone a closed");
        subnets[0].free = 79;
        assert_eq!(chosen(&subnets, &[]), ["s2", "s3"]);
    }
}
