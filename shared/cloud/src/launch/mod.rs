//! Getting machines: a launch order becomes launch templates and one CreateFleet request.
//!
//! What is asked is made here as plain values, named and compared without AWS; with the feature `aws` they are carried
//! out. The launch group's name is the client token and a tag on the instances: asking again is not asking twice.

mod answer;
#[cfg(feature = "aws")]
mod collect;
#[cfg(feature = "aws")]
mod convert;
mod devices;
mod fleet;
mod hash;
mod interfaces;
mod machines;
#[cfg(feature = "aws")]
mod perform;
mod request;
mod subnets;
mod tags;
mod template;

pub use answer::{classify, failure};
pub use devices::{BlockDevice, Volume};
pub use fleet::{FleetOverride, FleetSpec, FleetTemplate, OnDemandStrategy, TargetCapacity};
#[cfg(feature = "aws")]
pub(crate) use hash::text as content_hash;
pub use interfaces::NetworkInterface;
pub use machines::{Machine, Machines, machines};
#[cfg(feature = "aws")]
pub use perform::Launched;
pub use request::{LaunchError, LaunchPlan, LaunchRequest};
pub use subnets::{FreeSubnet, best_by_zone};
pub use tags::{CLUSTER_NAME, class_tags, cluster_owned, launch_tags};
pub use template::{Market, MetadataOptions, Placement, TemplateSpec};
