//! Aliases such as `al2023@latest`: the public SSM parameters that hold the images AWS maintains for EKS.

use catalog::class::AmiFamily;
use serde::{Deserialize, Serialize};

/// Where AWS keeps them.
pub const PUBLIC_PREFIX: &str = "/aws/service";

/// A family's images of one version.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Alias {
    /// The family.
    pub family: AmiFamily,
    /// `latest`, or a release such as `v20260901`.
    pub version: String,
}

/// Which instance types an image is made for, beside its architecture.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Those without accelerators.
    Standard,
    /// Those with NVIDIA's.
    Nvidia,
    /// Those with AWS's own.
    Neuron,
}

/// A parameter and what the image in it is for.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Which instance types it is for: an image may be for several. None stands for all.
    pub variants: Vec<Variant>,
}

impl Alias {
    /// From `family@version`. `None` if there is no such family.
    pub fn read(text: &str) -> Option<Self> {
        let (family, version) = text.split_once('@')?;
        let family = AmiFamily::from_name(family).filter(|family| *family != AmiFamily::Custom)?;
        Some(Self { family, version: version.to_owned() })
    }

    /// Whether AWS makes such images for a Kubernetes version such as `1.35`.
    pub fn is_supported(&self, kubernetes: &str) -> bool {
        let minor = kubernetes.split_once('.').and_then(|(_, minor)| minor.parse::<u32>().ok());
        match (self.family, minor) {
            (AmiFamily::Al2, Some(minor)) => minor < 33,
            (AmiFamily::Windows2025, Some(minor)) => minor >= 35,
            _ => true,
        }
    }
}

/// The parameters of an alias for a Kubernetes version such as `1.35`, below `prefix`. Not each of them need exist.
pub fn parameters(alias: &Alias, kubernetes: &str, prefix: &str) -> Vec<Parameter> {
    use Variant::{Neuron, Nvidia, Standard};
    let named = |name: String, variants: &[Variant]| Parameter {
        name: format!("{prefix}/{name}/image_id"),
        variants: variants.to_vec(),
    };
    let latest = alias.version == "latest";
    let version = alias.version.as_str();
    match alias.family {
        AmiFamily::Al2 => {
            let each = [
                ("", "", [Standard].as_slice()),
                ("-arm64", "-arm64", &[Standard]),
                ("-gpu", "-gpu", &[Neuron, Nvidia]),
            ];
            let named = each.into_iter().map(|(folder, kind, variants)| {
                let release = if latest {
                    "recommended".to_owned()
                } else {
                    format!("amazon-eks{kind}-node-{kubernetes}-{version}")
                };
                named(format!("eks/optimized-ami/{kubernetes}/amazon-linux-2{folder}/{release}"), variants)
            });
            named.collect()
        }
        AmiFamily::Al2023 => {
            let each = [
                ("x86_64", "standard", Standard),
                ("x86_64", "nvidia", Nvidia),
                ("x86_64", "neuron", Neuron),
                ("arm64", "standard", Standard),
                ("arm64", "nvidia", Nvidia),
            ];
            let named = each.into_iter().map(|(arch, variant, suits)| {
                let release = if latest {
                    "recommended".to_owned()
                } else {
                    format!("amazon-eks-node-al2023-{arch}-{variant}-{kubernetes}-{version}")
                };
                let folder = format!("eks/optimized-ami/{kubernetes}/amazon-linux-2023/{arch}/{variant}");
                named(format!("{folder}/{release}"), &[suits])
            });
            named.collect()
        }
        AmiFamily::Bottlerocket => {
            let release = version.strip_prefix('v').unwrap_or(version);
            let each = [
                ("", "x86_64", [Standard, Neuron].as_slice()),
                ("-nvidia", "x86_64", &[Nvidia]),
                ("", "arm64", &[Standard]),
                ("-nvidia", "arm64", &[Nvidia]),
            ];
            let named = each.into_iter().map(|(kind, arch, variants)| {
                named(format!("bottlerocket/aws-k8s-{kubernetes}{kind}/{arch}/{release}"), variants)
            });
            named.collect()
        }
        AmiFamily::Windows2019 => vec![named(windows(2019, kubernetes), &[])],
        AmiFamily::Windows2022 => vec![named(windows(2022, kubernetes), &[])],
        AmiFamily::Windows2025 => vec![named(windows(2025, kubernetes), &[])],
        AmiFamily::Custom => Vec::new(),
    }
}

fn windows(year: u16, kubernetes: &str) -> String {
    format!("ami-windows-latest/Windows_Server-{year}-English-Core-EKS_Optimized-{kubernetes}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(alias: &str, kubernetes: &str) -> String {
        let parameters = parameters(&Alias::read(alias).unwrap(), kubernetes, PUBLIC_PREFIX);
        let lines = parameters.iter().map(|parameter| format!("{} {:?}", parameter.name, parameter.variants));
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn parameters_are_where_aws_keeps_them() {
        insta::assert_snapshot!(named("al2023@latest", "1.35"), @r"
        /aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/standard/recommended/image_id [Standard]
        /aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/nvidia/recommended/image_id [Nvidia]
        /aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/neuron/recommended/image_id [Neuron]
        /aws/service/eks/optimized-ami/1.35/amazon-linux-2023/arm64/standard/recommended/image_id [Standard]
        /aws/service/eks/optimized-ami/1.35/amazon-linux-2023/arm64/nvidia/recommended/image_id [Nvidia]
        ");
        insta::assert_snapshot!(named("al2023@v20260901", "1.35").lines().next().unwrap(), @"/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/standard/amazon-eks-node-al2023-x86_64-standard-1.35-v20260901/image_id [Standard]");
        insta::assert_snapshot!(named("al2@v20260901", "1.32"), @r"
        /aws/service/eks/optimized-ami/1.32/amazon-linux-2/amazon-eks-node-1.32-v20260901/image_id [Standard]
        /aws/service/eks/optimized-ami/1.32/amazon-linux-2-arm64/amazon-eks-arm64-node-1.32-v20260901/image_id [Standard]
        /aws/service/eks/optimized-ami/1.32/amazon-linux-2-gpu/amazon-eks-gpu-node-1.32-v20260901/image_id [Neuron, Nvidia]
        ");
        insta::assert_snapshot!(named("bottlerocket@v1.50.0", "1.35"), @r"
        /aws/service/bottlerocket/aws-k8s-1.35/x86_64/1.50.0/image_id [Standard, Neuron]
        /aws/service/bottlerocket/aws-k8s-1.35-nvidia/x86_64/1.50.0/image_id [Nvidia]
        /aws/service/bottlerocket/aws-k8s-1.35/arm64/1.50.0/image_id [Standard]
        /aws/service/bottlerocket/aws-k8s-1.35-nvidia/arm64/1.50.0/image_id [Nvidia]
        ");
        insta::assert_snapshot!(named("windows2022@latest", "1.35"), @"/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.35/image_id []");
    }

    #[test]
    fn some_families_end_or_begin_with_a_version() {
        for (alias, kubernetes, supported) in [
            ("al2@latest", "1.32", true),
            ("al2@latest", "1.33", false),
            ("windows2025@latest", "1.34", false),
            ("windows2025@latest", "1.35", true),
            ("al2023@latest", "1.40", true),
        ] {
            assert_eq!(
                Alias::read(alias).unwrap().is_supported(kubernetes),
                supported,
                "{alias} {kubernetes}"
            );
        }
        assert_eq!(Alias::read("custom@latest"), None);
        assert_eq!(Alias::read("al2023"), None);
        assert_eq!(Alias::read("ubuntu@latest"), None);
    }
}
