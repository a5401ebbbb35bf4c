//! The kinds that users and controllers write: types, defaults, schemas and every rule about them.

mod checks;
mod defaults;
mod ec2nodeclass;
mod ec2nodeclass_status;
mod fault;
mod fields;
mod hints;
mod judged;
mod kind;
mod kubelet;
mod kubelet_fields;
mod nodeclaim;
mod nodepool;
mod patterns;
mod rules;
mod schedule;
mod schema;
mod validate;
mod walk;

pub use defaults::apply_defaults;
pub use fault::{Fault, Stage};
pub use kind::Kind;
pub use model::labels::USD_PER_HOUR;
pub use schema::{crd, crds};
pub use validate::{validate, validate_update};

pub use ec2nodeclass::{
    AmiFamily, AmiSelectorTerm, BlockDevice, BlockDeviceMapping, CapacityReservationSelectorTerm,
    ConnectionTracking, CpuOptions, Ec2NodeClass, Ec2NodeClassSpec, HttpTokens, InstanceMatchCriteria,
    InstanceStorePolicy, InterfaceType, MetadataOptions, NetworkInterface, PlacementGroupSelector,
    SecurityGroupSelectorTerm, SubnetSelectorTerm, Switch, VolumeType,
};
pub use ec2nodeclass_status::{Ami, CapacityReservation, Ec2NodeClassStatus, SecurityGroup, Subnet};
pub use fields::{NodeClassReference, Operator, Requirement, duration};
pub use nodeclaim::{NodeClaim, NodeClaimSpec, NodeClaimStatus, ResourceRequests};
pub use nodepool::{
    Budget, ConsolidationPolicy, Disruption, DisruptionReason, NodeClaimTemplate, NodeClaimTemplateSpec,
    NodePool, NodePoolSpec, NodePoolStatus, TemplateMetadata,
};
