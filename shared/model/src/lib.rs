//! The plain values that everything else speaks in: what is seen (`Snapshot`), what is decided (`Plan`), what is
//! done (`Effect`), why not (`Reason`), and an independent judge of plans (`audit`).
//!
//! Nothing here reads a clock, a file or the network, and nothing here decides.

pub mod audit;
pub mod catalogue;
pub mod cluster;
pub mod disruption;
pub mod effect;
pub mod hash;
pub mod interruption;
pub mod labels;
pub mod lifecycle;
pub mod money;
pub mod plan;
pub mod pod;
pub mod quantity;
pub mod reason;
pub mod requirement;
pub mod requirements;
pub mod resources;
pub mod selector;
pub mod snapshot;
pub mod suggest;
pub mod taint;

pub use audit::{audit, audit_disruption};
pub use catalogue::{CapacityType, Catalogue, InstanceType, Offering, Reservation};
pub use cluster::{
    Budget, BudgetReason, Cluster, ConsolidationPolicy, DaemonSet, Disruption, LaunchTrouble, Node,
    NodeClassRef, NodePool, PoolStatus,
};
pub use disruption::{
    ClassFacts, Command, DisruptionReason, KeepCode, Kept, Mark, NodeFacts, PodDisruptionBudget, PodFacts,
    Resolved,
};
pub use effect::{
    Avoided, ClaimChange, Condition, ConditionStatus, Effect, EventKind, LaunchOrder, MarkOrder, NodeChange,
    NodeClaimDraft, ObjectRef, Registration, RegistrationFailure, RestartOrder, StartStage, readiness,
};
pub use hash::Fnv1a;
pub use interruption::{InterruptionSnapshot, Notice, NoticeKind, machine_id};
pub use lifecycle::{
    Attachment, BoundPod, Care, Claim, ClaimNode, ClassStatus, Deployment, Instance, InstanceState,
    LaunchAnswer, LaunchClass, LaunchFailure, LaunchFailureKind, LeavingClass, LifecycleSnapshot, PlannedPod,
    Rollout, Surge, SweepSnapshot, UnboundPod,
};
pub use money::MicroUsd;
pub use plan::{Funnel, FunnelStep, Note, Offer, Plan, PlannedNode, Unschedulable};
pub use pod::{
    AffinityTerm, HostPort, Namespaces, ObjectName, Owner, Phase, Pod, PodSpec, Spread, Volume, VolumeFault,
    Weighted, deployment_of,
};
pub use quantity::{Quantity, QuantityError};
pub use reason::{Code, Help, Reason};
pub use requirement::{Operator, Requirement};
pub use requirements::{Conflict, Requirements, Undefined};
pub use resources::Resources;
pub use selector::{LabelSelector, SelectorOperator, SelectorRequirement};
pub use snapshot::{MinValuesPolicy, PreferencePolicy, Settings, Snapshot};
pub use taint::{Taint, TaintEffect, Toleration, TolerationOperator};
