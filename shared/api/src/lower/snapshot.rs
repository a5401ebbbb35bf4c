//! Snapshots: the cluster with what can be bought for each of its classes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use model::{Catalogue, InstanceType, Note, Settings, Snapshot};

use super::error::LowerError;
use super::objects::{Objects, name_of};
use super::{LowerOptions, lower};
use crate::crd;

/// What can be bought.
#[derive(Clone, Debug, Default)]
pub enum Types {
    /// What the catalogue that comes with the program says.
    #[default]
    Embedded,
    /// Just these, whatever the class.
    Given {
        /// The AWS Region.
        region: String,
        /// The types, in name order.
        types: Vec<InstanceType>,
    },
}

/// How a snapshot is made.
#[derive(Clone, Debug)]
pub struct SnapshotOptions {
    /// The time it shows.
    pub now: Timestamp,
    /// The operator's choices.
    pub settings: Settings,
    /// How objects are lowered.
    pub lower: LowerOptions,
    /// What can be bought.
    pub types: Types,
}

/// The snapshot that `objects` describe, with what the reader should know about it.
pub fn snapshot(objects: &Objects, options: &SnapshotOptions) -> Result<(Snapshot, Vec<Note>), LowerError> {
    let lowered = lower(objects, &options.lower)?;
    let mut classes: BTreeMap<String, Option<&crd::Ec2NodeClass>> =
        lowered.cluster.pools.iter().map(|pool| (pool.node_class.name.clone(), None)).collect();
    for entry in &objects.classes {
        classes.insert(name_of(&entry.object.metadata).name, Some(&entry.object));
    }
    let catalogue = match &options.types {
        Types::Given { region, types } => given(region, types, &classes),
        Types::Embedded => return Err(LowerError::NoCatalogue),
    };
    let (now, settings) = (options.now, options.settings.clone());
    Ok((Snapshot { now, settings, cluster: lowered.cluster, catalogue }, lowered.notes))
}

/// The given types for every class, in the zones that its subnets are in.
fn given(
    region: &str,
    types: &[InstanceType],
    classes: &BTreeMap<String, Option<&crd::Ec2NodeClass>>,
) -> Catalogue {
    let all = Arc::new(types.to_vec());
    let types = classes.iter().map(|(name, class)| {
        let types = match class.and_then(zones) {
            None => all.clone(),
            Some(zones) => Arc::new(all.iter().map(|kind| within(kind, &zones)).collect()),
        };
        (name.clone(), types)
    });
    Catalogue { region: region.to_owned(), types: types.collect(), illustrative_spot: false }
}

/// The zones of a class's subnets, once they are known.
fn zones(class: &crd::Ec2NodeClass) -> Option<BTreeSet<&str>> {
    let subnets = class.status.as_ref().map(|status| status.subnets.as_slice()).unwrap_or_default();
    let zones: BTreeSet<&str> = subnets.iter().map(|subnet| subnet.zone.as_str()).collect();
    if zones.is_empty() { None } else { Some(zones) }
}

fn within(kind: &InstanceType, zones: &BTreeSet<&str>) -> InstanceType {
    let mut kind = kind.clone();
    kind.offerings.retain(|offering| zones.contains(offering.zone.as_str()));
    kind
}
