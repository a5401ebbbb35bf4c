//! Snapshots: the cluster with what can be bought for each of its classes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use catalog::{ClassShape, Ec2Catalogue};
use jiff::Timestamp;
use model::{Catalogue, InstanceType, Note, Settings, Snapshot};

use super::error::LowerError;
use super::objects::Objects;
use super::{LowerOptions, lower};

/// What can be bought.
#[derive(Clone, Debug, Default)]
pub enum Types {
    /// What the catalogue that comes with the program says.
    #[default]
    Embedded,
    /// What this catalogue says.
    Ec2(Arc<Ec2Catalogue>),
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
    let catalogue = match &options.types {
        Types::Given { region, types } => given(region, types, &lowered.classes),
        Types::Ec2(catalogue) => resolved(catalogue, &lowered.classes),
        Types::Embedded => resolved(&catalog::embedded()?, &lowered.classes),
    };
    let (now, settings) = (options.now, options.settings.clone());
    Ok((Snapshot { now, settings, cluster: lowered.cluster, catalogue }, lowered.notes))
}

/// The types of EC2 as each class makes them; classes that are alike share theirs.
fn resolved(ec2: &Ec2Catalogue, classes: &BTreeMap<String, ClassShape>) -> Catalogue {
    let mut known: Vec<(&ClassShape, Arc<Vec<InstanceType>>)> = Vec::new();
    let mut types = BTreeMap::new();
    for (name, shape) in classes {
        let shared = known.iter().find(|(other, _)| *other == shape).map(|(_, types)| types.clone());
        let own = shared.unwrap_or_else(|| Arc::new(catalog::resolve(ec2, shape)));
        known.push((shape, own.clone()));
        types.insert(name.clone(), own);
    }
    Catalogue { region: ec2.region.clone(), types, illustrative_spot: ec2.spot_illustrative }
}

/// The given types for every class, in the zones that its subnets are in.
fn given(region: &str, types: &[InstanceType], classes: &BTreeMap<String, ClassShape>) -> Catalogue {
    let all = Arc::new(types.to_vec());
    let types = classes.iter().map(|(name, class)| {
        let types = match &class.zones {
            None => all.clone(),
            Some(zones) => Arc::new(all.iter().map(|kind| within(kind, zones)).collect()),
        };
        (name.clone(), types)
    });
    Catalogue { region: region.to_owned(), types: types.collect(), illustrative_spot: false }
}

fn within(kind: &InstanceType, zones: &BTreeSet<String>) -> InstanceType {
    let mut kind = kind.clone();
    kind.offerings.retain(|offering| zones.contains(&offering.zone));
    kind
}
