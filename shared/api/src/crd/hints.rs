//! What a user probably meant.

use model::labels::{INSTANCE, is_well_known};

use super::{Kind, patterns};

/// Fields of older versions, or commonly put at the wrong place: kind, the field's parent, name, advice.
const MOVED: &[(Kind, &str, &str, &str)] = &[
    (Kind::NodePool, "spec.disruption", "expireAfter", "it stands in spec.template.spec since v1"),
    (Kind::NodePool, "spec", "expireAfter", "it stands in spec.template.spec"),
    (Kind::NodePool, "spec", "requirements", "it stands in spec.template.spec"),
    (Kind::NodePool, "spec", "taints", "it stands in spec.template.spec"),
    (Kind::NodePool, "spec", "labels", "it stands in spec.template.metadata"),
    (Kind::NodePool, "spec", "nodeClassRef", "it stands in spec.template.spec"),
    (Kind::NodePool, "spec", "consolidation", "it is spec.disruption.consolidationPolicy since v1"),
    (Kind::NodePool, "spec", "ttlSecondsAfterEmpty", "it is spec.disruption.consolidateAfter since v1"),
    (Kind::NodePool, "spec", "ttlSecondsUntilExpired", "it is spec.template.spec.expireAfter since v1"),
    (Kind::NodePool, "spec", "budgets", "it stands in spec.disruption"),
    (
        Kind::NodePool,
        "spec.template.spec",
        "kubelet",
        "it stands in the EC2NodeClass's spec.kubelet since v1",
    ),
    (Kind::NodePool, "spec.template.spec", "limits", "it stands in spec.limits"),
    (Kind::NodePool, "spec.template", "labels", "it stands in spec.template.metadata"),
    (Kind::NodePool, "spec.limits", "resources", "the resources stand in spec.limits itself since v1"),
    (
        Kind::NodePool,
        "spec.template.spec.nodeClassRef",
        "apiVersion",
        "it is group, without the version, since v1",
    ),
    (Kind::NodeClaim, "spec", "kubelet", "it stands in the EC2NodeClass's spec.kubelet since v1"),
    (Kind::NodeClaim, "spec.nodeClassRef", "apiVersion", "it is group, without the version, since v1"),
    (Kind::Ec2NodeClass, "spec", "subnetSelector", "it is subnetSelectorTerms, a list, since v1"),
    (
        Kind::Ec2NodeClass,
        "spec",
        "securityGroupSelector",
        "it is securityGroupSelectorTerms, a list, since v1",
    ),
    (Kind::Ec2NodeClass, "spec", "amiSelector", "it is amiSelectorTerms, a list, since v1"),
];

/// What to do about a field that isn't one.
pub(super) fn field<'a>(
    kind: Kind,
    parent: &str,
    name: &str,
    known: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let moved = MOVED.iter().find(|(of, at, old, _)| *of == kind && *at == parent && *old == name);
    moved.map(|(.., advice)| (*advice).to_owned()).or_else(|| did_you_mean(name, known))
}

/// What to do about a value that is none of those allowed.
pub(super) fn value(given: &str, allowed: &[&str]) -> Option<String> {
    if given == "WhenUnderutilized" {
        return Some("it is WhenEmptyOrUnderutilized since v1".to_owned());
    }
    did_you_mean(given, allowed.iter().copied())
}

/// What to do about a text that doesn't fit a pattern.
pub(super) fn pattern(pattern: &str, given: &str) -> Option<String> {
    let days = given.strip_suffix('d').and_then(|days| days.parse::<u32>().ok());
    match pattern {
        patterns::DURATION | patterns::DURATION_OR_NEVER | patterns::BUDGET_DURATION => {
            if let Some(hours) = days.and_then(|days| days.checked_mul(24)) {
                return Some(format!("write days as hours: {hours}h"));
            }
            match given {
                "never" | "NEVER" if pattern == patterns::DURATION_OR_NEVER => {
                    Some("did you mean Never?".to_owned())
                }
                "Never" => Some("leave the field out: without it there is no end".to_owned()),
                _ => None,
            }
        }
        patterns::GROUP => {
            let group = given.split('/').next().unwrap_or_default();
            Some(format!("leave out the version: {group}"))
        }
        patterns::QUANTITY => {
            let unit = given.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim();
            let right = match unit {
                "GB" | "gb" | "g" => "G or Gi",
                "GiB" | "gi" => "Gi",
                "MB" | "mb" => "M or Mi",
                "MiB" | "mi" => "Mi",
                "KB" | "kb" | "K" => "k or Ki",
                "KiB" | "ki" => "Ki",
                "TB" | "tb" | "t" => "T or Ti",
                "TiB" | "ti" => "Ti",
                _ => return None,
            };
            Some(format!("the unit is {right}"))
        }
        _ => None,
    }
}

/// What to do about a key that a rule blames: perhaps it is nearly a label of instance types.
pub(super) fn label(key: &str) -> Option<String> {
    let name = key.strip_prefix("karpenter.k8s.aws/").filter(|_| !is_well_known(key))?;
    let known = INSTANCE.iter().filter_map(|known| known.strip_prefix("karpenter.k8s.aws/"));
    nearest(name, known).map(|name| format!("did you mean karpenter.k8s.aws/{name}?"))
}

/// The words as a choice: `a`, `a or b`, `one of a, b and c`.
pub(super) fn either(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [one, two] => format!("{one} or {two}"),
        [many @ .., last] => format!("one of {} and {last}", many.join(", ")),
    }
}

/// The known word nearest to the given one, if any is near.
pub(super) fn did_you_mean<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    nearest(given, known).map(|word| format!("did you mean {word}?"))
}

fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lower = given.to_lowercase();
    let letters = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    let near = known
        .map(|word| (distance(&lower, &word.to_lowercase()), word))
        // A third of the letters may be wrong, letters exchanged, or an ending missing.
        .filter(|(distance, word)| {
            let word = word.to_lowercase();
            *distance * 3 <= word.len().max(3)
                || letters(&word) == letters(&lower)
                || word.starts_with(&lower)
        })
        .min()?;
    Some(near.1)
}

/// How many letters must be put in, taken out or exchanged to make one word of the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}
