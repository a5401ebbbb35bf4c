//! The rules of EC2NodeClass.

use serde_json::Value;

use super::super::Kind::{self, Ec2NodeClass};
use super::{Rule, Test, has, items, text};

const SUBNETS: &[(Kind, &str)] = &[(Ec2NodeClass, "spec.subnetSelectorTerms")];
const GROUPS: &[(Kind, &str)] = &[(Ec2NodeClass, "spec.securityGroupSelectorTerms")];
const RESERVATIONS: &[(Kind, &str)] = &[(Ec2NodeClass, "spec.capacityReservationSelectorTerms")];
const AMIS: &[(Kind, &str)] = &[(Ec2NodeClass, "spec.amiSelectorTerms")];
const ALIAS: &[(Kind, &str)] = &[(Ec2NodeClass, "spec.amiSelectorTerms[].alias")];
const SPEC: &[(Kind, &str)] = &[(Ec2NodeClass, "spec")];
const TAGS: &[(Kind, &str)] = &[(Ec2NodeClass, "spec.tags")];
const VOLUME: &[(Kind, &str)] = &[(Ec2NodeClass, "spec.blockDeviceMappings[].ebs")];
const INTERFACES: &[(Kind, &str)] = &[(Ec2NodeClass, "spec.networkInterfaces")];
const TERM_TAGS: &[(Kind, &str)] = &[
    (Ec2NodeClass, "spec.subnetSelectorTerms[].tags"),
    (Ec2NodeClass, "spec.securityGroupSelectorTerms[].tags"),
    (Ec2NodeClass, "spec.capacityReservationSelectorTerms[].tags"),
    (Ec2NodeClass, "spec.amiSelectorTerms[].tags"),
];

/// All of them. Where a list's rule reads `!self.all(…)`, one good term makes up for the bad ones: so it is in
/// Karpenter, and manifests that lean on it must stay valid.
pub(super) const RULES: &[Rule] = &[
    Rule {
        at: TERM_TAGS,
        cel: "self.all(k, k != '' && self[k] != '')",
        message: "tags may have no empty keys or values",
        help: Some("the value * stands for any"),
        test: Test::Entries(|key, value| !key.is_empty() && value != ""),
    },
    Rule {
        at: SUBNETS,
        cel: "self.all(t, has(t.tags) || has(t.id))",
        message: "a term needs tags or id",
        help: None,
        test: Test::Each("", |t| has_any(t, &["tags", "id"])),
    },
    Rule {
        at: SUBNETS,
        cel: "!self.all(t, has(t.id) && has(t.tags))",
        message: "id can't be combined with tags",
        help: Some("make two terms of it: a subnet is taken if any term selects it"),
        test: Test::NotAll(|t| has(t, "id") && has(t, "tags")),
    },
    Rule {
        at: GROUPS,
        cel: "self.all(t, has(t.tags) || has(t.id) || has(t.name))",
        message: "a term needs tags, id or name",
        help: None,
        test: Test::Each("", |t| has_any(t, &["tags", "id", "name"])),
    },
    Rule {
        at: GROUPS,
        cel: "!self.all(t, has(t.id) && (has(t.tags) || has(t.name)))",
        message: "id can't be combined with tags or name",
        help: Some("make two terms of it: a security group is taken if any term selects it"),
        test: Test::NotAll(|t| has(t, "id") && has_any(t, &["tags", "name"])),
    },
    Rule {
        at: GROUPS,
        cel: "!self.all(t, has(t.name) && (has(t.tags) || has(t.id)))",
        message: "name can't be combined with tags or id",
        help: Some("make two terms of it: a security group is taken if any term selects it"),
        test: Test::NotAll(|t| has(t, "name") && has_any(t, &["tags", "id"])),
    },
    Rule {
        at: RESERVATIONS,
        cel: "self.all(t, has(t.tags) || has(t.id) || has(t.instanceMatchCriteria))",
        message: "a term needs tags, id or instanceMatchCriteria",
        help: Some("ownerID alone selects too much"),
        test: Test::Each("", |t| has_any(t, &["tags", "id", "instanceMatchCriteria"])),
    },
    Rule {
        at: RESERVATIONS,
        cel: "size(self) == 0 || \
              !self.all(t, has(t.id) && (has(t.tags) || has(t.ownerID) || has(t.instanceMatchCriteria)))",
        message: "id can't be combined with tags, ownerID or instanceMatchCriteria",
        help: Some("make two terms of it: a reservation is taken if any term selects it"),
        test: Test::NotAll(|t| has(t, "id") && has_any(t, &["tags", "ownerID", "instanceMatchCriteria"])),
    },
    Rule {
        at: &[(Ec2NodeClass, "spec.placementGroupSelector")],
        cel: "has(self.name) != has(self.id)",
        message: "exactly one of name and id is needed",
        help: None,
        test: Test::Whole(|selector| has(selector, "name") != has(selector, "id")),
    },
    Rule {
        at: AMIS,
        cel: "self.all(t, has(t.tags) || has(t.id) || has(t.name) || has(t.alias) || has(t.ssmParameter))",
        message: "a term needs alias, tags, id, name or ssmParameter",
        help: Some("owner only narrows what name or tags select"),
        test: Test::Each("", |t| has_any(t, &["tags", "id", "name", "alias", "ssmParameter"])),
    },
    Rule {
        at: AMIS,
        cel: "self.all(t, !has(t.id) || !(has(t.alias) || has(t.tags) || has(t.name) || has(t.owner)))",
        message: "id can't be combined with alias, tags, name or owner",
        help: Some("an id says it all: remove the others"),
        test: Test::Each("id", |t| !has(t, "id") || !has_any(t, &["alias", "tags", "name", "owner"])),
    },
    Rule {
        at: AMIS,
        cel: "self.all(t, !has(t.alias) || !(has(t.id) || has(t.tags) || has(t.name) || has(t.owner)))",
        message: "alias can't be combined with id, tags, name or owner",
        help: Some("an alias says it all: remove the others"),
        test: Test::Each("alias", |t| !has(t, "alias") || !has_any(t, &["id", "tags", "name", "owner"])),
    },
    Rule {
        at: AMIS,
        cel: "size(self) == 1 || !self.exists(t, has(t.alias))",
        message: "a term with alias must be the only term",
        help: Some("remove the other terms, or give the images by id, name, tags or ssmParameter"),
        test: Test::Whole(|terms| {
            items(terms).len() == 1 || !items(terms).iter().any(|term| has(term, "alias"))
        }),
    },
    Rule {
        at: ALIAS,
        cel: "self.matches('^(al2|al2023|bottlerocket|windows2019|windows2022|windows2025)@')",
        message: "an alias is of the family al2, al2023, bottlerocket, windows2019, windows2022 or windows2025",
        help: Some("for example: al2023@latest"),
        test: Test::Whole(|alias| {
            alias.as_str().is_none_or(|alias| {
                alias.split_once('@').is_some_and(|(family, _)| FAMILIES.iter().any(|f| f.1 == family))
            })
        }),
    },
    Rule {
        at: ALIAS,
        cel: "!self.matches('^windows(2019|2022|2025)@') || self.matches('^[a-z0-9]+@latest$')",
        message: "an alias of a Windows family has the version latest",
        help: Some("for example: windows2022@latest"),
        test: Test::Whole(|alias| {
            let (family, version) =
                alias.as_str().and_then(|alias| alias.split_once('@')).unwrap_or_default();
            !matches!(family, "windows2019" | "windows2022" | "windows2025") || version == "latest"
        }),
    },
    Rule {
        at: SPEC,
        cel: "has(self.amiFamily) || self.amiSelectorTerms.exists(t, has(t.alias))",
        message: "amiFamily is needed unless amiSelectorTerms has an alias",
        help: Some("say how the image joins the cluster, for example amiFamily: AL2023"),
        test: Test::Whole(|spec| {
            // Without any terms their absence is the fault.
            let terms = spec.get("amiSelectorTerms");
            has(spec, "amiFamily")
                || terms.is_none_or(|terms| !terms.is_array())
                || terms.map_or(&[][..], items).iter().any(|term| has(term, "alias"))
        }),
    },
    Rule {
        at: SPEC,
        cel: "!has(self.amiFamily) || self.amiFamily == 'Custom' || \
              self.amiSelectorTerms.all(t, !has(t.alias) || t.alias.startsWith({'AL2': 'al2@', \
              'AL2023': 'al2023@', 'Bottlerocket': 'bottlerocket@', 'Windows2019': 'windows2019@', \
              'Windows2022': 'windows2022@', 'Windows2025': 'windows2025@'}[self.amiFamily]))",
        message: "amiFamily must be Custom or the family of the alias",
        help: Some("remove amiFamily: the alias tells"),
        test: Test::Whole(|spec| {
            let family = text(spec, "amiFamily");
            let Some((_, name)) = FAMILIES.iter().find(|(of, _)| *of == family) else { return true };
            let aliases = spec.get("amiSelectorTerms").map_or(&[][..], items).iter();
            aliases
                .filter_map(|term| term.get("alias")?.as_str())
                .all(|alias| alias.split('@').next() == Some(name))
        }),
    },
    Rule {
        at: SPEC,
        cel: "has(self.role) != has(self.instanceProfile)",
        message: "exactly one of role and instanceProfile is needed",
        help: None,
        test: Test::Whole(|spec| has(spec, "role") != has(spec, "instanceProfile")),
    },
    Rule {
        at: TAGS,
        cel: "self.all(k, k != '')",
        message: "tags may have no empty keys",
        help: None,
        test: Test::Keys(|key| !key.is_empty()),
    },
    Rule {
        at: TAGS,
        cel: "self.all(k, !k.startsWith('kubernetes.io/cluster') && !(k in ['eks:eks-cluster-name', \
              'karpenter.sh/nodepool', 'karpenter.sh/nodeclaim', 'karpenter.k8s.aws/ec2nodeclass']))",
        message: "the tag is restricted: machines get it by themselves",
        help: Some("remove it"),
        test: Test::Keys(|key| {
            !key.starts_with("kubernetes.io/cluster")
                && !matches!(
                    key,
                    "eks:eks-cluster-name"
                        | "karpenter.sh/nodepool"
                        | "karpenter.sh/nodeclaim"
                        | "karpenter.k8s.aws/ec2nodeclass"
                )
        }),
    },
    Rule {
        at: &[(Ec2NodeClass, "spec.blockDeviceMappings")],
        cel: "self.filter(m, has(m.rootVolume) && m.rootVolume).size() <= 1",
        message: "at most one mapping may have rootVolume",
        help: None,
        test: Test::Whole(|mappings| {
            items(mappings).iter().filter(|m| m.get("rootVolume") == Some(&Value::Bool(true))).count() <= 1
        }),
    },
    Rule {
        at: VOLUME,
        cel: "has(self.snapshotID) || has(self.volumeSize)",
        message: "ebs needs snapshotID or volumeSize",
        help: Some("for example: volumeSize: 100Gi"),
        test: Test::Whole(|ebs| has_any(ebs, &["snapshotID", "volumeSize"])),
    },
    Rule {
        at: VOLUME,
        cel: "!has(self.volumeInitializationRate) || (has(self.snapshotID) && self.snapshotID != '')",
        message: "volumeInitializationRate needs snapshotID",
        help: Some("an empty volume has nothing to read: remove volumeInitializationRate"),
        test: Test::Whole(|ebs| {
            !has(ebs, "volumeInitializationRate")
                || ebs.get("snapshotID").is_some_and(|id| !id.is_null() && id != "")
        }),
    },
    Rule {
        at: INTERFACES,
        cel: "size(self) == 0 || self.exists(n, n.networkCardIndex == 0 && n.deviceIndex == 0 && \
              n.interfaceType == 'interface')",
        message: "an interface of type interface is needed at card 0, device 0",
        help: Some("add {networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}"),
        test: Test::Whole(|list| {
            items(list).is_empty()
                || items(list)
                    .iter()
                    .any(|n| place(n) == (Some(0), Some(0)) && text(n, "interfaceType") == "interface")
        }),
    },
    Rule {
        at: INTERFACES,
        cel: "self.all(a, self.filter(b, b.networkCardIndex == a.networkCardIndex && \
              b.deviceIndex == a.deviceIndex).size() == 1)",
        message: "two interfaces can't have the same card and device",
        help: None,
        test: Test::Whole(|list| {
            items(list).iter().all(|a| items(list).iter().filter(|b| place(a) == place(b)).count() == 1)
        }),
    },
    Rule {
        at: INTERFACES,
        cel: "self.all(a, self.filter(b, b.networkCardIndex == a.networkCardIndex && \
              b.interfaceType == 'efa-only').size() <= 1)",
        message: "a card can have at most one interface of type efa-only",
        help: None,
        test: Test::Whole(|list| {
            let efa = |card| {
                let same = move |n: &&Value| place(n).0 == card && text(n, "interfaceType") == "efa-only";
                items(list).iter().filter(same).count()
            };
            items(list).iter().all(|n| efa(place(n).0) <= 1)
        }),
    },
    Rule {
        at: &[(Ec2NodeClass, "spec.connectionTracking")],
        cel: "has(self.tcpEstablishedTimeout) || has(self.udpStreamTimeout) || has(self.udpTimeout)",
        message: "one of tcpEstablishedTimeout, udpStreamTimeout and udpTimeout is needed",
        help: Some("remove connectionTracking to keep what EC2 does by itself"),
        test: Test::Whole(|tracking| {
            has_any(tracking, &["tcpEstablishedTimeout", "udpStreamTimeout", "udpTimeout"])
        }),
    },
];

/// The families with aliases, and what the aliases call them.
pub(in super::super) const FAMILIES: [(&str, &str); 6] = [
    ("AL2", "al2"),
    ("AL2023", "al2023"),
    ("Bottlerocket", "bottlerocket"),
    ("Windows2019", "windows2019"),
    ("Windows2022", "windows2022"),
    ("Windows2025", "windows2025"),
];

fn has_any(value: &Value, names: &[&str]) -> bool {
    !value.is_object() || names.iter().any(|name| has(value, name))
}

fn place(interface: &Value) -> (Option<i64>, Option<i64>) {
    let number = |name| interface.get(name).and_then(Value::as_i64);
    (number("networkCardIndex"), number("deviceIndex"))
}
