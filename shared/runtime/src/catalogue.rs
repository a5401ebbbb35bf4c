//! What can be bought: the catalogue object in S3, or the one that comes with the program where there is none.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use api::crd::Ec2NodeClass;
use api::lower::{LowerOptions, SnapshotOptions, Types, snapshot};
use catalog::Ec2Catalogue;
use cloud::store::Fetched;
use jiff::Timestamp;
use model::{Avoided, InstanceType, Offering, Snapshot, labels};

use crate::counted::available;
use crate::error::RunError;
use crate::world::World;

/// Prices change by the hour: asking more often costs more than it brings.
const FRESH: Duration = Duration::from_secs(60);

/// The catalogue last read.
pub(crate) struct Known {
    catalogue: Arc<Ec2Catalogue>,
    etag: Option<String>,
    asked: Instant,
}

impl World {
    /// What can be bought, at most a minute old.
    pub(crate) async fn catalogue(&mut self) -> Result<Arc<Ec2Catalogue>, RunError> {
        if let Some(known) = self.catalogue.as_ref().filter(|known| known.asked.elapsed() < FRESH) {
            return Ok(known.catalogue.clone());
        }
        let etag = self.catalogue.as_ref().and_then(|known| known.etag.clone());
        let found = match &self.config.bucket {
            Some(bucket) => self.cloud.get_catalogue(bucket, etag.as_deref()).await?,
            None => Fetched::Absent,
        };
        let (catalogue, etag) = match (found, self.catalogue.take()) {
            (Fetched::New(stored), _) => (Arc::new(stored.catalogue), Some(stored.etag)),
            (Fetched::Unchanged, Some(known)) => (known.catalogue, known.etag),
            (_, Some(known)) => (known.catalogue, None),
            (_, None) => {
                tracing::warn!("no catalogue yet: prices are those that came with the program");
                (Arc::new(catalog::embedded()?), None)
            }
        };
        self.catalogue = Some(Known { catalogue: catalogue.clone(), etag, asked: Instant::now() });
        Ok(catalogue)
    }

    /// What could be bought when last asked.
    pub(crate) fn catalogue_known(&self) -> Option<Arc<Ec2Catalogue>> {
        self.catalogue.as_ref().map(|known| known.catalogue.clone())
    }

    /// Whether it is the deployment's own, not the one that came with the program.
    pub(crate) fn is_catalogue_stored(&self) -> bool {
        self.catalogue.as_ref().is_some_and(|known| known.etag.is_some())
    }

    /// Has it read anew.
    pub(crate) fn forget_catalogue(&mut self) {
        self.catalogue = None;
    }

    /// Everything a decision about pods and nodes is taken from.
    pub(crate) async fn observe(&mut self, name: &str) -> Result<Snapshot, RunError> {
        let settings = self.config.cluster(name)?.settings();
        let types = Types::Ec2(self.catalogue().await?);
        let avoided = self.avoided().await?;
        let objects = self.site(name).await?.observer.observe().await?;
        if objects.has_unjudged() {
            self.ask_for_statuses(name).await?;
        }
        let options =
            SnapshotOptions { now: Timestamp::now(), settings, lower: LowerOptions::default(), types };
        let (mut snapshot, notes) = snapshot(&objects, &options)?;
        for note in notes {
            tracing::debug!(place = note.place, note.message);
        }
        // A cluster at rest has nothing to tell: what is not told costs nothing.
        let matters = !avoided.is_empty() || snapshot.cluster.pods.iter().any(|pod| pod.node.is_none());
        for (class, types) in &mut snapshot.catalogue.types {
            let all = available(types);
            if !avoided.is_empty() {
                avoid(Arc::make_mut(types).as_mut_slice(), &avoided, objects.node_class(class));
            }
            if matters {
                self.metrics.offerings(name, class, &all, &available(types));
            }
        }
        Ok(snapshot)
    }

    /// What is not to be bought for now.
    pub(crate) async fn avoided(&self) -> Result<Vec<Avoided>, RunError> {
        let Some(table) = &self.config.table else { return Ok(Vec::new()) };
        let facts = self.cloud.avoided(table, Timestamp::now()).await?;
        Ok(facts.into_iter().map(|fact| fact.value).collect())
    }

    /// Spot that was short or taken back within a day.
    pub(crate) async fn unsteady(&self) -> Result<Vec<Avoided>, RunError> {
        let Some(table) = &self.config.table else { return Ok(Vec::new()) };
        let facts = self.cloud.unsteady(table, Timestamp::now()).await?;
        Ok(facts.into_iter().map(|fact| fact.value).collect())
    }
}

/// Marks offerings that are known to be unsteady.
pub(crate) fn unsettle(types: &mut [InstanceType], unsteady: &[Avoided]) {
    for kind in types {
        for offering in &mut kind.offerings {
            offering.unsteady |= unsteady.iter().any(|what| is_of(what, &kind.name, offering));
        }
    }
}

/// Whether it is this very offering that is meant.
fn is_of(what: &Avoided, kind: &str, offering: &Offering) -> bool {
    match what {
        Avoided::Offering { instance_type, zone, capacity_type }
        | Avoided::InPlacementGroup { instance_type, zone, capacity_type, .. } => {
            instance_type == kind && *zone == offering.zone && *capacity_type == offering.capacity_type
        }
        _ => false,
    }
}

/// Marks what is avoided as not to be had. A zone is closed only once all of the class's subnets there are.
pub(crate) fn avoid(types: &mut [InstanceType], avoided: &[Avoided], class: Option<&Ec2NodeClass>) {
    if avoided.is_empty() {
        return;
    }
    let closed = closed_zones(avoided, class);
    let is_avoided = |kind: &str, placed: Option<&str>, offering: &Offering| {
        closed.contains(offering.zone.as_str())
            || avoided.iter().any(|what| match what {
                Avoided::Offering { .. } => is_of(what, kind, offering),
                Avoided::InPlacementGroup { group, .. } => {
                    placed == Some(group) && is_of(what, kind, offering)
                }
                Avoided::CapacityType(capacity_type) => *capacity_type == offering.capacity_type,
                Avoided::Reservation(id) => {
                    offering.reservation.as_ref().is_some_and(|reservation| reservation.id == *id)
                }
                Avoided::Subnet(_) => false,
            })
    };
    for kind in types {
        let group = kind.requirements.get(labels::PLACEMENT_GROUP_ID).and_then(|group| group.single());
        for offering in &mut kind.offerings {
            offering.available &= !is_avoided(&kind.name, group, offering);
        }
    }
}

/// Zones with subnets of the class, none of which is open.
fn closed_zones<'a>(avoided: &[Avoided], class: Option<&'a Ec2NodeClass>) -> BTreeSet<&'a str> {
    let status = class.and_then(|class| class.status.as_ref());
    let subnets = status.map(|status| status.subnets.as_slice()).unwrap_or_default();
    let is_closed = |id: &str| avoided.iter().any(|what| *what == Avoided::Subnet(id.to_owned()));
    let zones: BTreeSet<&str> = subnets.iter().map(|subnet| subnet.zone.as_str()).collect();
    let open: BTreeSet<&str> =
        subnets.iter().filter(|subnet| !is_closed(&subnet.id)).map(|subnet| subnet.zone.as_str()).collect();
    zones.difference(&open).copied().collect()
}

#[cfg(test)]
mod tests {
    use model::{CapacityType, MicroUsd, Requirement, Requirements, Resources};
    use serde_json::json;

    use super::*;
    use crate::kit;

    fn types() -> Vec<InstanceType> {
        let offering = |zone: &str, capacity_type| Offering {
            zone: zone.into(),
            zone_id: None,
            capacity_type,
            price: MicroUsd(1),
            available: true,
            unsteady: false,
            reservation: None,
        };
        let offerings = ["a", "b"].into_iter().flat_map(|zone| {
            [CapacityType::Spot, CapacityType::OnDemand].map(|capacity_type| offering(zone, capacity_type))
        });
        let kind = |name: &str| InstanceType {
            name: name.into(),
            requirements: Requirements::new(),
            capacity: Resources::default(),
            overhead: Resources::default(),
            offerings: offerings.clone().collect(),
        };
        let mut placed = kind("c.large");
        placed.requirements.add(labels::PLACEMENT_GROUP_ID, Requirement::is_in(["pg-1"]));
        vec![kind("m.large"), placed]
    }

    fn class() -> Ec2NodeClass {
        let mut class = kit::node_class();
        class["status"]["subnets"] = json!([
            {"id": "subnet-1", "zone": "a"}, {"id": "subnet-2", "zone": "a"}, {"id": "subnet-3", "zone": "b"},
        ]);
        serde_json::from_value(class).unwrap()
    }

    #[test]
    fn offerings_are_measured_while_pods_want_room() {
        let measured = |objects: &[(&str, serde_json::Value)]| {
            let objects =
                [&[("/apis/karpenter.k8s.aws/v1/ec2nodeclasses/default", kit::node_class())], objects]
                    .concat();
            kit::wait(async {
                let (mut world, _hints) = kit::world(|_| kit::denied(), kit::holding(&objects), &[]);
                world.observe("prod").await.unwrap();
                world.metrics.told()
            })
        };
        let pod = json!({
            "metadata": {"namespace": "default", "name": "web", "uid": "web", "resourceVersion": "5",
                "creationTimestamp": "2026-06-01T12:00:00Z"},
            "spec": {"containers": [{"name": "web"}], "schedulerName": "default-scheduler"},
            "status": {"phase": "Pending", "conditions": [
                {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]},
        });
        assert_eq!(measured(&[]), Vec::<String>::new());
        let told = measured(&[("/api/v1/pods/web", pod)]);
        let start =
            "instance_type_offerings_available{capacity_type=on-demand,cluster=prod,nodeclass=default} ";
        let available = told.iter().find_map(|line| line.strip_prefix(start)).unwrap();
        assert!(available.parse::<usize>().unwrap() > 500, "one zone's: {available}");
        let avoided = told.iter().filter(|line| line.starts_with("instance_type_offerings_avoided"));
        assert!(avoided.clone().count() > 1 && avoided.clone().all(|line| line.ends_with("} 0")), "{told:?}");
    }

    #[test]
    fn c133_what_is_avoided_is_not_to_be_had_and_nothing_else() {
        let subnet = |id: &str| Avoided::Subnet(id.into());
        let in_group = |group: &str, kind: &str| Avoided::InPlacementGroup {
            group: group.into(),
            instance_type: kind.into(),
            zone: "a".into(),
            capacity_type: CapacityType::Spot,
        };
        for (avoided, left) in [
            (
                vec![],
                "m.large a spot, a on-demand, b spot, b on-demand; c.large a spot, a on-demand, b spot, b on-demand",
            ),
            (
                vec![Avoided::Offering {
                    instance_type: "m.large".into(),
                    zone: "a".into(),
                    capacity_type: CapacityType::Spot,
                }],
                "m.large a on-demand, b spot, b on-demand; c.large a spot, a on-demand, b spot, b on-demand",
            ),
            (
                vec![in_group("pg-1", "m.large"), in_group("pg-1", "c.large"), in_group("pg-2", "c.large")],
                "m.large a spot, a on-demand, b spot, b on-demand; c.large a on-demand, b spot, b on-demand",
            ),
            (
                vec![Avoided::CapacityType(CapacityType::Spot)],
                "m.large a on-demand, b on-demand; c.large a on-demand, b on-demand",
            ),
            (
                vec![subnet("subnet-1")],
                "m.large a spot, a on-demand, b spot, b on-demand; c.large a spot, a on-demand, b spot, b on-demand",
            ),
            (
                vec![subnet("subnet-1"), subnet("subnet-2")],
                "m.large b spot, b on-demand; c.large b spot, b on-demand",
            ),
        ] {
            let mut types = types();
            avoid(&mut types, &avoided, Some(&class()));
            let told = types.iter().map(|kind| {
                let open = kind.offerings.iter().filter(|offering| offering.available);
                let open: Vec<String> =
                    open.map(|offering| format!("{} {}", offering.zone, offering.capacity_type)).collect();
                format!("{} {}", kind.name, open.join(", "))
            });
            assert_eq!(told.collect::<Vec<_>>().join("; "), left, "{avoided:?}");
        }
    }

    #[test]
    fn what_was_short_is_unsteady_and_can_be_had_all_the_same() {
        let mut types = types();
        let short = Avoided::Offering {
            instance_type: "c.large".into(),
            zone: "b".into(),
            capacity_type: CapacityType::Spot,
        };
        unsettle(&mut types, &[short]);
        let told = types.iter().flat_map(|kind| {
            let unsteady = kind.offerings.iter().filter(|offering| offering.unsteady && offering.available);
            unsteady.map(|offering| (kind.name.as_str(), offering.zone.as_str(), offering.capacity_type))
        });
        let told: Vec<_> = told.collect();
        assert_eq!(told, [("c.large", "b", CapacityType::Spot)]);
    }
}
