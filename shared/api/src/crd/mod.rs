//! The kinds that users and controllers write: types, defaults, schemas and every rule about them.

mod ec2nodeclass;
mod ec2nodeclass_status;
mod fields;
mod nodeclaim;
mod nodepool;
mod patterns;

pub use ec2nodeclass::{
    AmiFamily, AmiSelectorTerm, BlockDevice, BlockDeviceMapping, CapacityReservationSelectorTerm,
    ConnectionTracking, CpuOptions, Ec2NodeClass, Ec2NodeClassSpec, HttpTokens, InstanceMatchCriteria,
    InstanceStorePolicy, InterfaceType, MetadataOptions, NetworkInterface, PlacementGroupSelector,
    SecurityGroupSelectorTerm, SubnetSelectorTerm, Switch, VolumeType,
};
pub use ec2nodeclass_status::{Ami, CapacityReservation, Ec2NodeClassStatus, SecurityGroup, Subnet};
pub use fields::{NodeClassReference, Operator, Requirement, USD_PER_HOUR, duration};
pub use nodeclaim::{NodeClaim, NodeClaimSpec, NodeClaimStatus, ResourceRequests};
pub use nodepool::{
    Budget, ConsolidationPolicy, Disruption, DisruptionReason, NodeClaimTemplate, NodeClaimTemplateSpec,
    NodePool, NodePoolSpec, NodePoolStatus, TemplateMetadata,
};
