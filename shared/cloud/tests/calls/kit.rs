//! What the tests share: one launch, and what changes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use api::crd::Ec2NodeClass;
use catalog::class::AmiFamily;
use catalog::{ClassShape, Ec2Catalogue, embedded, resolve};
use cloud::launch::{FreeSubnet, LaunchError, LaunchPlan, LaunchRequest, Machine, machines};
use model::{CapacityType, LaunchOrder, MicroUsd, Offer};
use serde_json::{Value, json};

pub static EC2: LazyLock<Ec2Catalogue> = LazyLock::new(|| embedded().unwrap());

/// A launch, with all that it is made from.
#[derive(Clone)]
pub struct Launch {
    pub region: String,
    pub ipv6: bool,
    pub order: LaunchOrder,
    pub class: Ec2NodeClass,
    pub shape: ClassShape,
    pub subnets: Vec<FreeSubnet>,
    pub closed: BTreeSet<String>,
}

/// Two c7g.large or m7g.large on demand for pool `general`, of a class that says nothing beyond what it must.
pub fn launch() -> Launch {
    Launch {
        region: "us-east-1".into(),
        ipv6: false,
        order: order(&[
            ("c7g.large", "us-east-1a", 72_500),
            ("m7g.large", "us-east-1a", 81_600),
            ("c7g.large", "us-east-1b", 72_500),
        ]),
        class: class(json!({}), json!({})),
        shape: ClassShape::default(),
        subnets: vec![
            subnet("subnet-a1", "us-east-1a", 100),
            subnet("subnet-a2", "us-east-1a", 200),
            subnet("subnet-b1", "us-east-1b", 50),
        ],
        closed: BTreeSet::new(),
    }
}

impl Launch {
    pub fn machines(&self) -> Vec<Machine> {
        let types: BTreeSet<&str> =
            self.order.offers.iter().map(|offer| offer.instance_type.as_str()).collect();
        let few = types.iter().filter_map(|name| EC2.get(name).cloned()).collect();
        let few = Ec2Catalogue { types: few, ..EC2.clone() };
        let amis = self.class.status.as_ref().map(|status| status.amis.clone()).unwrap_or_default();
        let sorted =
            machines(&self.order.offers, &few, &self.shape, &resolve(&few, &self.shape), &amis).machines;
        let filled = sorted.into_iter().map(|machine| {
            let user_data = format!("{} pods on {}", machine.max_pods, machine.image);
            Machine { user_data, ..machine }
        });
        filled.collect()
    }

    pub fn try_plan(&self) -> Result<LaunchPlan, LaunchError> {
        self.request(&self.machines()).plan()
    }

    pub fn request<'a>(&'a self, machines: &'a [Machine]) -> LaunchRequest<'a> {
        LaunchRequest {
            cluster: "prod",
            region: &self.region,
            ipv6: self.ipv6,
            order: &self.order,
            class: &self.class,
            shape: &self.shape,
            machines,
            subnets: &self.subnets,
            closed_subnets: &self.closed,
        }
    }

    #[track_caller]
    pub fn plan(&self) -> LaunchPlan {
        self.try_plan().unwrap()
    }

    /// The same with other fields in the class's spec.
    pub fn spec(mut self, spec: Value) -> Self {
        self.class = class(spec, json!({}));
        self
    }

    /// The same for another family of images.
    pub fn family(mut self, family: AmiFamily) -> Self {
        self.shape.ami_family = family;
        self
    }

    /// The same with other offers, all bought one way.
    pub fn offers(mut self, capacity_type: CapacityType, offers: &[(&str, &str, u64)]) -> Self {
        self.order = LaunchOrder { capacity_type, ..order(offers) };
        for offer in &mut self.order.offers {
            offer.capacity_type = capacity_type;
        }
        self
    }

    /// The same for pods that ask for something special.
    pub fn requests(mut self, name: &str) -> Self {
        self.order.requests.set(name, model::Quantity::from_units(1));
        self
    }
}

fn subnet(id: &str, zone: &str, free: u32) -> FreeSubnet {
    FreeSubnet { id: id.into(), zone: zone.into(), zone_id: None, free }
}

/// Type, zone and price of each offer.
fn order(offers: &[(&str, &str, u64)]) -> LaunchOrder {
    let offers = offers.iter().map(|(instance_type, zone, price)| Offer {
        instance_type: (*instance_type).into(),
        zone: (*zone).into(),
        capacity_type: CapacityType::OnDemand,
        price: MicroUsd(*price),
        reservation: None,
    });
    LaunchOrder {
        group: "general-x7k2p".into(),
        token: "general-x7k2p-1".into(),
        claims: vec!["general-1".into(), "general-2".into()],
        pool: Some("general".into()),
        node_class: model::NodeClassRef {
            group: "karpenter.k8s.aws".into(),
            kind: "EC2NodeClass".into(),
            name: "default".into(),
        },
        capacity_type: CapacityType::OnDemand,
        reservation_type: None,
        offers: offers.collect(),
        labels: BTreeMap::new(),
        taints: Vec::new(),
        requirements: model::Requirements::new(),
        requests: model::Resources::new(),
        min_values_relaxed: false,
    }
}

/// A class with these fields beside those it must have.
pub fn class(spec: Value, status: Value) -> Ec2NodeClass {
    let mut class = json!({
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "default"},
        "spec": {
            "subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": "prod"}}],
            "securityGroupSelectorTerms": [{"tags": {"karpenter.sh/discovery": "prod"}}],
            "amiSelectorTerms": [{"alias": "al2023@latest"}],
            "role": "nodes",
        },
        "status": {
            "securityGroups": [{"id": "sg-2"}, {"id": "sg-1"}],
            "instanceProfile": "prod_profile",
            "amis": [
                {"id": "ami-arm", "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}]},
                {"id": "ami-nvidia", "requirements": [
                    {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
                    {"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "Exists"},
                ]},
                {"id": "ami-x86", "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]},
            ],
        },
    });
    for (part, fields) in [("spec", spec), ("status", status)] {
        for (key, value) in fields.as_object().unwrap() {
            class[part][key] = value.clone();
        }
    }
    serde_json::from_value(class).unwrap()
}

/// A plan's templates by place in the fleet, and the fleet, for comparison: names follow from contents and say nothing.
fn shown(plan: &LaunchPlan) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    for (index, used) in plan.fleet.templates.iter().enumerate() {
        flatten(
            &format!("template {index}"),
            &serde_json::to_value(&plan.templates[&used.name]).unwrap(),
            &mut out,
        );
    }
    let mut fleet = serde_json::to_value(&plan.fleet).unwrap();
    for template in fleet["templates"].as_array_mut().unwrap() {
        template.as_object_mut().unwrap().remove("name");
    }
    flatten("fleet", &fleet, &mut out);
    out
}

fn flatten(path: &str, value: &Value, out: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, field) in fields {
                flatten(&format!("{path}.{key}"), field, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                flatten(&format!("{path}[{index}]"), item, out);
            }
        }
        Value::Null => {}
        plain => drop(out.insert(path.to_owned(), plain.to_string())),
    }
}

/// All that is asked of EC2, a line a field.
pub fn whole(plan: &LaunchPlan) -> String {
    shown(plan).into_iter().map(|(path, value)| format!("{path}: {value}\n")).collect()
}

/// The lines that differ from the plain launch's.
#[track_caller]
pub fn changes(launch_of: &Launch) -> String {
    let (before, after) = (shown(&launch().plan()), shown(&launch_of.plan()));
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let line = |path: &String| {
        let (was, is) = (before.get(path), after.get(path));
        match (was, is) {
            (was, is) if was == is => None,
            (_, Some(is)) => Some(format!("{path}: {is}\n")),
            (_, None) => Some(format!("{path}: gone\n")),
        }
    };
    paths.into_iter().filter_map(line).collect()
}
