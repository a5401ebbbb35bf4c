//! The machines' disks.

use api::crd;
use catalog::class::AmiFamily;
use model::Quantity;
use serde::{Deserialize, Serialize};

use super::LaunchError;

const GIB: i64 = 1 << 30;

/// A disk as a launch template has it.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BlockDevice {
    /// The name of the device.
    pub device_name: Option<String>,
    /// The volume behind it.
    pub ebs: Option<Volume>,
}

/// An EBS volume as a launch template has it.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Volume {
    /// Whether it goes with the machine.
    pub delete_on_termination: Option<bool>,
    /// Whether it is encrypted.
    pub encrypted: Option<bool>,
    /// Operations a second.
    pub iops: Option<i32>,
    /// The key to encrypt it with.
    pub kms_key_id: Option<String>,
    /// The snapshot to fill it from.
    pub snapshot_id: Option<String>,
    /// MiB a second.
    pub throughput: Option<i32>,
    /// MiB a second at which the snapshot is read.
    pub initialization_rate: Option<i32>,
    /// GiB.
    pub size: Option<i32>,
    /// EC2's name of its type.
    pub kind: Option<String>,
}

/// The class's disks; without any, what suits the family.
pub(super) fn devices(
    spec: &crd::Ec2NodeClassSpec,
    family: AmiFamily,
) -> Result<Vec<BlockDevice>, LaunchError> {
    if spec.block_device_mappings.is_empty() {
        return Ok(defaults(family).iter().map(|(name, size)| plain(name, *size)).collect());
    }
    let mapped = spec.block_device_mappings.iter().map(|mapping| {
        let ebs = mapping.ebs.as_ref().map(volume).transpose()?;
        Ok(BlockDevice { device_name: mapping.device_name.clone(), ebs })
    });
    mapped.collect()
}

/// Devices and GiB. On Bottlerocket the first is the system's, the second the pods'.
fn defaults(family: AmiFamily) -> &'static [(&'static str, i32)] {
    match family {
        AmiFamily::Al2 | AmiFamily::Al2023 => &[("/dev/xvda", 20)],
        AmiFamily::Bottlerocket => &[("/dev/xvda", 4), ("/dev/xvdb", 20)],
        AmiFamily::Windows2019 | AmiFamily::Windows2022 | AmiFamily::Windows2025 => &[("/dev/sda1", 50)],
        AmiFamily::Custom => &[],
    }
}

fn plain(name: &str, size: i32) -> BlockDevice {
    let ebs =
        Volume { encrypted: Some(true), size: Some(size), kind: Some("gp3".to_owned()), ..Volume::default() };
    BlockDevice { device_name: Some(name.to_owned()), ebs: Some(ebs) }
}

fn volume(ebs: &crd::BlockDevice) -> Result<Volume, LaunchError> {
    let narrow = |field: &'static str, number: Option<i64>| {
        let narrow = |number: i64| i32::try_from(number).map_err(|_| LaunchError::Number { field, number });
        number.map(narrow).transpose()
    };
    let size = ebs.volume_size.as_ref().map(|size| gibibytes(&size.0)).transpose()?;
    Ok(Volume {
        delete_on_termination: ebs.delete_on_termination,
        encrypted: ebs.encrypted,
        iops: narrow("iops", ebs.iops)?,
        kms_key_id: ebs.kms_key_id.clone(),
        snapshot_id: ebs.snapshot_id.clone(),
        throughput: narrow("throughput", ebs.throughput)?,
        initialization_rate: ebs.volume_initialization_rate,
        size: narrow("volumeSize", size)?,
        kind: ebs.volume_type.map(|kind| volume_type(kind).to_owned()),
    })
}

/// Whole GiB, rounded up: a disk smaller than asked for would be a wrong one.
fn gibibytes(text: &str) -> Result<i64, LaunchError> {
    let read: Result<Quantity, _> = text.parse();
    let bytes = read.map_err(|cause| LaunchError::VolumeSize { text: text.to_owned(), cause })?.units();
    Ok(bytes / GIB + i64::from(bytes % GIB > 0))
}

fn volume_type(kind: crd::VolumeType) -> &'static str {
    match kind {
        crd::VolumeType::Standard => "standard",
        crd::VolumeType::Io1 => "io1",
        crd::VolumeType::Io2 => "io2",
        crd::VolumeType::Gp2 => "gp2",
        crd::VolumeType::Sc1 => "sc1",
        crd::VolumeType::St1 => "st1",
        crd::VolumeType::Gp3 => "gp3",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 160: sizes in whole GiB, rounded up.
    #[test]
    fn sizes_round_up() {
        for (text, gib) in [("200G", 187), ("20Gi", 20), ("1Ti", 1024), ("1G", 1), ("64T", 59605)] {
            assert_eq!(gibibytes(text).unwrap(), gib, "{text}");
        }
        assert!(matches!(gibibytes("big"), Err(LaunchError::VolumeSize { text, .. }) if text == "big"));
    }
}
