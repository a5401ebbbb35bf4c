//! Of all images found, the one to take for each kind of instance type.

use std::collections::BTreeMap;

use api::crd::Ami;
use k8s_openapi::api::core::v1::NodeSelectorRequirement;
use model::labels;
use serde::{Deserialize, Serialize};

use super::alias::Variant;

const GPUS: &str = "karpenter.k8s.aws/instance-gpu-count";
const ACCELERATORS: &str = "karpenter.k8s.aws/instance-accelerator-count";

/// An image, as far as choosing goes.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// When it was made, as EC2 writes it: texts of one form, in the order of time.
    pub created: String,
    /// Its owner advises against it.
    pub deprecated: bool,
    /// It can be started: one that is still being copied can't.
    pub available: bool,
    /// `amd64` or `arm64`.
    pub architecture: String,
    /// What it is made for, where its alias says so; empty stands for anything.
    pub variants: Vec<Variant>,
    /// The Windows build it holds.
    pub windows_build: Option<String>,
}

/// One image for each set of requirements, newest first. Those that can't be started don't count: an image that is
/// still being copied must not displace the one in use.
pub fn choose(images: impl IntoIterator<Item = Image>) -> Vec<Ami> {
    let mut best: BTreeMap<Vec<(String, String, Vec<String>)>, Image> = BTreeMap::new();
    for image in images.into_iter().filter(|image| image.available && !image.architecture.is_empty()) {
        let variants: Vec<Option<Variant>> = if image.variants.is_empty() {
            vec![None]
        } else {
            image.variants.iter().copied().map(Some).collect()
        };
        for variant in variants {
            let kept = best.entry(requirements(&image, variant)).or_insert_with(|| image.clone());
            if rank(&image) > rank(kept) {
                *kept = image.clone();
            }
        }
    }
    let mut chosen: Vec<_> = best.into_iter().collect();
    chosen.sort_by(|(one, first), (two, second)| {
        (&second.created, &first.id, one).cmp(&(&first.created, &second.id, two))
    });
    let amis = chosen.into_iter().map(|(requirements, image)| Ami {
        id: image.id,
        name: Some(image.name),
        deprecated: image.deprecated,
        requirements: requirements.into_iter().map(written).collect(),
    });
    amis.collect()
}

/// The better image is greater.
fn rank(image: &Image) -> (bool, &str, &str) {
    (!image.deprecated, &image.created, &image.name)
}

/// Key, operator and values, by length of the key and then by key.
fn requirements(image: &Image, variant: Option<Variant>) -> Vec<(String, String, Vec<String>)> {
    let is = |key: &str, value: &str| (key.to_owned(), "In".to_owned(), vec![value.to_owned()]);
    let has = |key: &str| (key.to_owned(), "Exists".to_owned(), Vec::new());
    let lacks = |key: &str| (key.to_owned(), "DoesNotExist".to_owned(), Vec::new());
    let mut out = vec![is(labels::ARCH, &image.architecture)];
    match variant {
        None => {}
        Some(Variant::Standard) => out.extend([lacks(GPUS), lacks(ACCELERATORS)]),
        Some(Variant::Nvidia) => out.push(has(GPUS)),
        Some(Variant::Neuron) => out.push(has(ACCELERATORS)),
    }
    out.extend(image.windows_build.as_ref().map(|build| is(labels::WINDOWS_BUILD, build)));
    out.sort_by(|(one, _, _), (two, _, _)| (one.len(), one).cmp(&(two.len(), two)));
    out
}

fn written((key, operator, values): (String, String, Vec<String>)) -> NodeSelectorRequirement {
    let values = if values.is_empty() { None } else { Some(values) };
    NodeSelectorRequirement { key, operator, values }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(id: &str, created: &str) -> Image {
        Image {
            id: id.to_owned(),
            name: format!("name of {id}"),
            created: created.to_owned(),
            available: true,
            architecture: "amd64".to_owned(),
            ..Image::default()
        }
    }

    fn ids(images: Vec<Image>) -> Vec<String> {
        choose(images).into_iter().map(|ami| ami.id).collect()
    }

    /// L03: an image that is still being copied does not count, however new.
    #[test]
    fn the_newest_that_can_be_started_is_taken() {
        let old = image("ami-old", "2026-01-01T00:00:00.000Z");
        let new = image("ami-new", "2026-02-01T00:00:00.000Z");
        assert_eq!(ids(vec![old.clone(), new.clone()]), ["ami-new"]);
        assert_eq!(ids(vec![new.clone(), old.clone()]), ["ami-new"]);
        let pending = Image { available: false, ..new.clone() };
        assert_eq!(ids(vec![old.clone(), pending]), ["ami-old"]);
        let deprecated = Image { deprecated: true, ..new };
        assert_eq!(ids(vec![deprecated.clone(), old]), ["ami-old"]);
        assert_eq!(ids(vec![deprecated]), ["ami-new"], "better than none");
    }

    /// 210: of equal requirements one, of different ones each; newest first, then by id.
    #[test]
    fn each_set_of_requirements_has_an_image() {
        let arm = Image { architecture: "arm64".to_owned(), ..image("ami-a", "2026-01-01") };
        let standard =
            Image { variants: vec![Variant::Standard, Variant::Neuron], ..image("ami-s", "2026-03-01") };
        let nvidia = Image { variants: vec![Variant::Nvidia], ..image("ami-n", "2026-03-01") };
        let windows = Image { windows_build: Some("10.0.20348".to_owned()), ..image("ami-w", "2026-02-01") };
        let told: Vec<String> = choose([arm, nvidia, windows, standard])
            .into_iter()
            .map(|ami| {
                let asked = ami.requirements.iter().map(|asked| {
                    let values: String = asked.values.iter().flatten().cloned().collect();
                    format!("{} {} {values}", asked.key, asked.operator).trim_end().to_owned()
                });
                format!("{}: {}", ami.id, asked.collect::<Vec<_>>().join(", "))
            })
            .collect();
        insta::assert_snapshot!(told.join("\n"), @r"
        ami-n: kubernetes.io/arch In amd64, karpenter.k8s.aws/instance-gpu-count Exists
        ami-s: kubernetes.io/arch In amd64, karpenter.k8s.aws/instance-accelerator-count Exists
        ami-s: kubernetes.io/arch In amd64, karpenter.k8s.aws/instance-gpu-count DoesNotExist, karpenter.k8s.aws/instance-accelerator-count DoesNotExist
        ami-w: kubernetes.io/arch In amd64, node.kubernetes.io/windows-build In 10.0.20348
        ami-a: kubernetes.io/arch In arm64
        ");
    }
}
